import Crypto
import ExposureKeys
import Foundation
import FoundationNetworking
import KeyFormats
import Testing

/// What a phone's framework makes of a key.
struct FoundKey: Hashable {
  var data: Data
  /// In intervals of ten minutes, both.
  var start: Int
  var period: Int
  var risk: Int = 0
  /// 0 where the file states none.
  var reportType: Int = 0
  /// `nil` where the file states none.
  var daysSinceOnset: Int?

  var day: Int { start / 144 }
}

/// What is wrong with an answer, in the eyes of a phone.
struct PhoneFault: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

/// Requests of an app.
struct Line {
  let gateway: SeedGateway

  func get(_ address: String, fields: [String: String] = [:]) async throws -> (body: Data, answer: HTTPURLResponse) {
    var request = URLRequest(url: try #require(URL(string: address), "\(address)"))
    request.cachePolicy = .reloadIgnoringLocalCacheData
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    return try await exchange(request)
  }

  /// As an app downloads: everything but 200 is a fault.
  func download(_ address: String, fields: [String: String] = [:]) async throws -> Data {
    let (body, answer) = try await get(address, fields: fields)
    guard answer.statusCode == 200 else { throw PhoneFault("\(address): \(answer.statusCode)") }
    return body
  }

  func post(
    _ body: Data, to path: String, fields: [String: String] = [:]
  ) async throws -> (body: Data, answer: HTTPURLResponse) {
    var request = URLRequest(url: try #require(URL(string: gateway.address + path)))
    request.httpMethod = "POST"
    request.httpBody = body
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    return try await exchange(request)
  }

  /// `postDiagnosisKeys` of Apple's sample, whatever its keys are in this generation.
  func postDiagnosisKeys(_ keys: some Encodable) async throws {
    let (body, answer) = try await post(
      try JSONEncoder().encode(keys), to: "/apple/VA/keys", fields: ["Authorization": "Bearer a-token-of-the-operator"])
    guard answer.statusCode == 200 else { throw PhoneFault(String(decoding: body, as: UTF8.self)) }
  }

  private func exchange(_ request: URLRequest) async throws -> (body: Data, answer: HTTPURLResponse) {
    let (body, answer) = try await URLSession.shared.data(for: request)
    return (body, try #require(answer as? HTTPURLResponse))
  }
}

// MARK: Frameworks

/// Reads the two files of an archive as a phone's framework does, with its limits and nothing of Keyferry.
///
/// Source: Apple's published framework of July 2020, Google's published matching library.
enum Framework {
  case apple, google

  /// - Parameters:
  ///   - signer: the key that is registered for the app, with id `310` and version `v1`.
  /// - Throws: ``PhoneFault`` where the whole call fails.
  func keys(export: Data, signature: Data, signer: P256.Signing.PublicKey) throws -> [FoundKey] {
    let header = Data("EK Export v1    ".utf8)
    guard export.prefix(16) == header else { throw PhoneFault("the header is another one") }
    let infos = try verify(export, signature, signer: signer)
    var keys: [FoundKey] = []
    var count = 0
    for field in try Wire.fields(of: export.dropFirst(16)) {
      switch (field.number, field.value) {
      case (4, .number(let number)), (5, .number(let number)):
        guard number == 1 else { throw PhoneFault("a batch of several files") }
      case (6, .bytes(let info)):
        count += 1
        if self == .google, !infos.contains(info) { throw PhoneFault("the signature speaks of another key") }
      case (7, .bytes(let bytes)): if let key = try key(bytes) { keys.append(key) }
      default: break
      }
    }
    if self == .google, count != infos.count { throw PhoneFault("\(infos.count) signatures of \(count)") }
    return keys
  }

  /// - Returns: whom the signatures are of, as their files spell it.
  private func verify(_ export: Data, _ signature: Data, signer: P256.Signing.PublicKey) throws -> [Data] {
    guard signature.count <= 65_536 else { throw PhoneFault("the signature's file is too large") }
    var infos: [Data] = []
    var verified = 0
    for field in try Wire.fields(of: signature) {
      guard case .bytes(let entry) = field.value, field.number == 1 else { continue }
      var id = "", version = "", algorithm = ""
      var der: Data?
      for field in try Wire.fields(of: entry) {
        switch (field.number, field.value) {
        case (1, .bytes(let info)):
          infos.append(info)
          for field in try Wire.fields(of: info) {
            guard case .bytes(let text) = field.value else { continue }
            switch field.number {
            case 3: version = String(decoding: text, as: UTF8.self)
            case 4: id = String(decoding: text, as: UTF8.self)
            case 5: algorithm = String(decoding: text, as: UTF8.self)
            default: break
            }
          }
        case (4, .bytes(let bytes)): der = bytes
        default: break
        }
      }
      // iOS looks at the first signature alone, and Google's framework at the one of a known name.
      if self == .apple, infos.count > 1 { break }
      guard let der, !version.isEmpty else { throw PhoneFault("a signature without bytes or version") }
      if self == .google {
        guard algorithm == "1.2.840.10045.4.3.2" else { throw PhoneFault("the algorithm \(algorithm)") }
        guard id == "310", version == "v1" else { continue }
      }
      guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: der),
        signer.isValidSignature(signature, for: export)
      else { throw PhoneFault("the signature does not verify") }
      verified += 1
    }
    guard verified > 0 else { throw PhoneFault("no signature of a registered key") }
    return infos
  }

  /// `nil` is passed over.
  private func key(_ bytes: Data) throws -> FoundKey? {
    var data: Data?
    var start: UInt64?
    var period: UInt64?
    var key = FoundKey(data: Data(), start: 0, period: 144)
    for field in try Wire.fields(of: bytes) {
      switch (field.number, field.value) {
      case (1, .bytes(let bytes)): data = Data(bytes)
      case (2, .number(let number)): key.risk = Int(min(number, 8))
      case (3, .number(let number)): start = number
      case (4, .number(let number)): period = number
      case (5, .number(let number)): key.reportType = Int(number)
      case (6, .number(let number)): key.daysSinceOnset = Int(number >> 1) ^ -Int(number & 1)
      default: break
      }
      if case .number(let number) = field.value, number > UInt64(UInt32.max) {
        throw PhoneFault("a number of more than 32 bits")
      }
    }
    guard let data, data.count == 16, let start else { throw PhoneFault("a key without 16 bytes or a start") }
    key.data = data
    key.start = Int(start)
    key.period = Int(period ?? 144)
    switch self {
    case .apple:
      if key.period == 0 { key.period = 144 }
      return key.period > 144 ? nil : key
    case .google:
      guard period != 0, key.period <= 144, (0...8).contains(key.risk),
        key.daysSinceOnset.map((-14...14).contains) ?? true
      else { throw PhoneFault("a key that throws once it matches") }
      return key
    }
  }
}

/// Fields of a message of Protocol Buffers.
private enum Wire {
  enum Value {
    case number(UInt64)
    case bytes(Data)
    case other
  }

  static func fields(of message: Data) throws -> [(number: Int, value: Value)] {
    let bytes = [UInt8](message)
    var at = 0
    func number() throws -> UInt64 {
      var value: UInt64 = 0
      for shift in stride(from: UInt64(0), to: 64, by: 7) {
        guard at < bytes.count else { break }
        let byte = bytes[at]
        at += 1
        value |= UInt64(byte & 0x7F) << shift
        if byte < 0x80 { return value }
      }
      throw PhoneFault("a number that does not end")
    }
    func skip(_ count: Int) throws -> Range<Int> {
      guard count >= 0, bytes.count - at >= count else { throw PhoneFault("a field that does not end") }
      defer { at += count }
      return at..<at + count
    }
    var fields: [(number: Int, value: Value)] = []
    while at < bytes.count {
      let tag = try number()
      switch tag & 7 {
      case 0: fields.append((Int(tag >> 3), .number(try number())))
      case 1:
        _ = try skip(8)
        fields.append((Int(tag >> 3), .other))
      case 2: fields.append((Int(tag >> 3), .bytes(Data(bytes[try skip(Int(try number()))]))))
      case 5:
        _ = try skip(4)
        fields.append((Int(tag >> 3), .other))
      default: throw PhoneFault("a kind of field that is not known")
      }
    }
    return fields
  }
}

/// An archive in the hands of an app: exactly the two files.
func unpacked(_ archive: Data) throws -> (export: Data, signature: Data) {
  let zip = try ZipArchive(MemorySource(Array(archive)))
  guard zip.entries.map(\.name).sorted() == ["export.bin", "export.sig"] else {
    throw PhoneFault("other files than two: \(zip.entries.map(\.name))")
  }
  func file(_ name: String) throws -> Data {
    Data(try zip.open(try #require(zip[name])).readAll(limit: 1 << 24))
  }
  return (try file("export.bin"), try file("export.sig"))
}

// MARK: Persons

/// Somebody who is ill, and the keys of his phone.
struct Person {
  let number: Int

  /// A key for each of the days before, the newest first, each of a whole day.
  func keys(of count: Int = 14, before day: Day) -> [FoundKey] {
    (1...count).map { key(of: Int(day.daysSince1970) - $0) }
  }

  /// - Parameter day: since 1970.
  func key(of day: Int, period: Int = 144) -> FoundKey {
    let digest = SHA256.hash(data: Data("person \(number), day \(day), \(period) intervals".utf8))
    return FoundKey(data: Data(digest.prefix(16)), start: day * 144, period: period, risk: 1 + number % 7)
  }
}

/// What was found against what was posted: each key once, under its right day.
struct Balance {
  private(set) var posted: [Data: FoundKey] = [:]
  private(set) var found: [Data: FoundKey] = [:]
  private(set) var repeated = 0

  mutating func post(_ keys: [FoundKey]) { for key in keys { posted[key.data] = key } }

  mutating func find(_ keys: [FoundKey]) {
    for key in keys where found.updateValue(key, forKey: key.data) != nil { repeated += 1 }
  }

  /// Forgets what was found: a phone that finds all of it again each time.
  mutating func beginAgain() { (found, repeated) = ([:], 0) }

  /// What is wrong, for a key's data, start and period.
  var faults: [String] {
    let missing = posted.keys.count { found[$0] == nil }
    let strange = found.keys.count { posted[$0] == nil }
    let wrong = posted.values.count { key in
      found[key.data].map { $0.start != key.start || $0.period != key.period } ?? false
    }
    return [(missing, "missing"), (strange, "nobody's"), (wrong, "under another time"), (repeated, "twice")]
      .filter { $0.0 > 0 }.map { "\($0.0) of \(posted.count) keys \($0.1)" }
  }
}

// MARK: What vouches for uploads

/// JSON Web Tokens (RFC 7519) with ES256, made by hand.
enum WebToken {
  static func make(_ claims: [String: Any], signedBy key: P256.Signing.PrivateKey, keyID: String? = nil) throws
    -> String
  {
    var header: [String: Any] = ["alg": "ES256", "typ": "JWT"]
    header["kid"] = keyID
    let parts = try [header, claims].map { spelled(try JSONSerialization.data(withJSONObject: $0)) }
    let text = parts.joined(separator: ".")
    return text + "." + spelled(try key.signature(for: Data(text.utf8)).rawRepresentation)
  }

  /// - Throws: ``PhoneFault`` where the signature is not of this key.
  static func claims(of text: String, signedBy key: P256.Signing.PublicKey) throws -> [String: Any] {
    let parts = text.split(separator: ".").map(String.init)
    guard parts.count == 3, let signature = bytes(parts[2]), let payload = bytes(parts[1]),
      let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
      key.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8))
    else { throw PhoneFault("a token that does not verify") }
    return try #require(try JSONSerialization.jsonObject(with: payload) as? [String: Any])
  }

  private static func spelled(_ bytes: Data) -> String {
    bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  private static func bytes(_ text: String) -> Data? {
    let text = text.replacing("-", with: "+").replacing("_", with: "/")
    return Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4))
  }
}
