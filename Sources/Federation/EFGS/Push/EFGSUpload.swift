package import ExposureKeys
package import KeyPeers
package import KeyStorage

/// How a batch of own keys is handed to a federation gateway, and what its answers mean. Pure, like the machines that pull.
///
/// Source: EFGS as it runs (`POST diagnosiskeys/upload`). Where its documents and its code differ, the code counts: after 207
/// nothing of the batch is stored, also not the keys that it lists under 201.
package enum EFGSUpload {
  /// What the gateway takes at most in one batch. EFGS answers 413 to more; other gateways take fewer.
  package static let batchKeys = 1...5000
  /// EFGS keeps tags in 64 characters.
  package static let tagLength = 64

  /// - Parameters:
  ///   - location: the gateway's address, below which `diagnosiskeys` is.
  ///   - body: as the media type says.
  package static func request(_ push: NewPush, body: [UInt8], to location: String) -> PeerRequest {
    PeerRequest(
      url: PeerAddress.join(location, "diagnosiskeys/upload"),
      headers: [
        .init("Content-Type", push.mediaType), .init("Accept", "application/json; version=1.0"),
        .init("batchTag", push.tag), .init("batchSignature", push.signature),
      ], byteLimit: answerLimit, body: body)
  }

  /// A question that changes nothing and needs the same certificate: the batches of a day.
  package static func probe(of location: String, on day: Day) -> PeerRequest {
    PeerRequest(
      url: PeerAddress.join(location, "diagnosiskeys/download/\(day)"),
      headers: [.init("Accept", "application/protobuf; version=1.0")], byteLimit: PeerProtocol.efgsBatchBytes)
  }

  /// Of an answer; 5,000 numbers are 30,000 bytes.
  static let answerLimit = 1 << 20
}

/// What an answer to a batch means.
package enum UploadVerdict: Hashable, Sendable {
  /// The gateway has all keys.
  case stored
  /// The gateway has stored nothing now. It has the `known` ones from before; the others are to be signed anew and sent again.
  /// The places are those in the batch, from 0; each is in one of the three.
  case partly(wouldBeStored: [Int], known: [Int], failed: [Int])
  /// Another batch has this tag there, or this very one had it before: the answer does not tell.
  case tagTaken
  /// A key cannot be taken, and so none was; `nil` where the gateway does not say which one.
  case keyRefused(Int?, DocumentFault)
  case tooLarge(DocumentFault)
  /// The batch cannot be taken, whatever its keys are: a person has to see to it. Nothing was stored now.
  case refused(DocumentFault)
  /// Nothing left this machine.
  case notSent(DocumentFault)
  /// Nobody knows whether it was stored: the same bytes are to be sent again, under the same tag and signature.
  case unknown(DocumentFault)
}

extension EFGSUpload {
  /// - Parameter keyCount: of the batch.
  package static func verdict(of answer: PeerAnswer, keyCount: Int) -> UploadVerdict {
    let (head, body): (ResponseHead, [UInt8])
    switch answer {
    case .fault(let fault): return neverLeft.contains(fault.code) ? .notSent(fault) : .unknown(fault)
    case .response(let response, let bytes): (head, body) = (response, bytes)
    }
    switch head.status {
    case 201: return .stored
    case 207: return partly(body, keyCount: keyCount)
    case 400: return refusal(of: body, keyCount: keyCount)
    case 409: return .tagTaken
    case 413: return .tooLarge(fault(413, .tooLarge, body))
    // It was not heard to its end, or the gateway has trouble: what it had stored until then nobody knows.
    case 408, 425, 429, 500...599: return .unknown(fault(head.status, .httpStatus, body))
    case 401, 403: return .refused(fault(head.status, .forbidden, body))
    // 200 and the like are no answers of such a gateway, and redirects lead somewhere else.
    default: return .refused(fault(head.status, .httpStatus, body))
    }
  }

  /// Faults of connections that never stood.
  private static let neverLeft: Set<FaultCode> = [
    .badAddress, .badHeader, .nameNotFound, .unreachable, .hostRefused, .secretRefused, .connectionRefused,
  ]

  /// `{"201":[0,2],"409":[1],"500":[]}`. Each key of the batch is in one of the three lists, and nothing else is: whoever
  /// cannot count the keys of a batch cannot be believed about what became of them.
  private static func partly(_ body: [UInt8], keyCount: Int) -> UploadVerdict {
    func malformed(_ reason: String) -> UploadVerdict {
      .unknown(DocumentFault(code: .malformedAnswer, reason: "the gateway answered 207 \(reason)"))
    }
    guard let lists = PeerJSON.value([String: [Int]].self, in: body) else {
      return malformed("with \(body.count) bytes that do not say what became of each key")
    }
    var names: [String?] = Array(repeating: nil, count: keyCount)
    for name in ["201", "409", "500"] {
      for place in lists[name] ?? [] {
        guard names.indices.contains(place) else {
          return malformed("and names a key \(place) under \(name), allowed 0...\(keyCount - 1)")
        }
        if let other = names[place], other != name {
          return malformed("and names key \(place) under both \(other) and \(name)")
        }
        names[place] = name
      }
    }
    if let place = names.firstIndex(of: nil) {
      let missing = names.count { $0 == nil }
      return malformed("and does not say what became of \(missing) of \(keyCount) keys, the first is key \(place)")
    }
    func places(_ name: String) -> [Int] { names.indices.filter { names[$0] == name } }
    return .partly(wouldBeStored: places("201"), known: places("409"), failed: places("500"))
  }

  /// What a refusal says: EFGS `message`, a problem document `detail` and `title`. A Keyferry names the key, or the step of the
  /// signature's verification that failed.
  private struct Refusal: Decodable {
    var message: String?
    var detail: String?
    var title: String?
    var key: Int?
    var step: JSONScalar?
  }

  /// A number or a text.
  private struct JSONScalar: Decodable {
    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      guard (try? value.decode(Int.self)) != nil || (try? value.decode(String.self)) != nil else {
        throw DecodingError.dataCorruptedError(in: value, debugDescription: "neither a number nor a text")
      }
    }
  }

  private static func refusal(of body: [UInt8], keyCount: Int) -> UploadVerdict {
    let fault = fault(400, .httpStatus, body)
    guard let refusal = PeerJSON.value(Refusal.self, in: body), refusal.step == nil else { return .refused(fault) }
    if let key = refusal.key, (0..<keyCount).contains(key) { return .keyRefused(key, fault) }
    // What EFGS says of a field of some key; of signatures, origins and certificates it speaks otherwise.
    let isOfKey = (refusal.message ?? "").lowercased().contains("validation of diagnosis key")
    return isOfKey ? .keyRefused(nil, fault) : .refused(fault)
  }

  private static func fault(_ status: Int, _ code: FaultCode, _ body: [UInt8]) -> DocumentFault {
    let refusal = PeerJSON.value(Refusal.self, in: body)
    let said = [refusal?.message ?? refusal?.detail ?? refusal?.title].compactMap { $0 }.map { ": \(words($0))" }
    return DocumentFault(code: code, reason: "the gateway answered \(status)\(said.joined())")
  }

  /// What the gateway says, as far as it is short and harmless.
  private static func words(_ text: String) -> String {
    let shown = withoutKeyData(text).unicodeScalars.prefix(300).map {
      (0x20..<0x7F).contains($0.value) ? String($0) : "?"
    }
    return shown.joined()
  }
}
