internal import ExposureKeys
internal import HTTPTypes
internal import Hummingbird
internal import KeyIntake
internal import NIOCore
internal import ProgramMetrics

/// One kind of upload: who may send it, how it is read, and what its client is told. It stands in a file of its own with its
/// ``UploadEndpointDescription``; ``UploadEndpoints`` does the rest around it: limits, chaff, recording, metrics and log.
protocol UploadEndpoint: Sendable {
  /// Looks at the fields alone. Who is refused here is not listened to: the body stays unread.
  func admit(_ fields: HTTPFields) throws(UploadRefusal)

  /// Reads a body, and refuses it where what it holds, or a field over it, does not show that its sender may upload.
  func read(_ body: [UInt8], _ fields: HTTPFields, now: Instant) async throws(UploadRefusal) -> UploadContent

  func answer(to outcome: UploadOutcome, now: Instant) -> UploadAnswer
}

extension UploadEndpoint {
  func admit(_ fields: HTTPFields) throws(UploadRefusal) {}
}

/// A door in words, and how it is made.
struct UploadEndpointDescription: Sendable {
  /// As metrics name it.
  let name: String
  /// For people.
  let summary: String
  /// Where it is posted to. A segment in braces is any one that can be a series: `/apple/{series}/keys`.
  let address: String
  /// Other addresses for the same, where something can be read.
  let otherAddresses: [String]
  /// Whether something can be read under its address, too.
  let isReadable: Bool
  /// Whether its clients send chaff: requests with ``HTTPTypes/HTTPField/Name/chaff``, which look like uploads to who
  /// watches the line, and are none.
  let takesChaff: Bool
  /// `nil` where the settings do not open it.
  let make: @Sendable (UploadTrust) -> (any UploadEndpoint)?

  init(
    _ name: String, summary: String, address: String, alsoAt otherAddresses: [String] = [], isReadable: Bool = false,
    takesChaff: Bool = false, make: @escaping @Sendable (UploadTrust) -> (any UploadEndpoint)?
  ) {
    self.name = name
    self.summary = summary
    self.address = address
    self.otherAddresses = otherAddresses
    self.isReadable = isReadable
    self.takesChaff = takesChaff
    self.make = make
  }

  var addresses: [String] { [address] + otherAddresses }

  func stands(at path: [String]) -> Bool {
    addresses.contains { Self.segments(of: $0, path) != nil }
  }

  /// The series that a path names; `nil` where its address has none.
  func series(in path: [String]) -> String? {
    addresses.lazy.compactMap { Self.segments(of: $0, path) }.first?.first
  }

  /// What stands for the segments in braces; `nil` where the path is another one.
  private static func segments(of address: String, _ path: [String]) -> [String]? {
    let segments = address.split(separator: "/")
    guard segments.count == path.count else { return nil }
    var values: [String] = []
    for (segment, part) in zip(segments, path) {
      if segment.hasPrefix("{") {
        guard PublicationReader.isSafe(part) else { return nil }
        values.append(part)
      } else if segment != part {
        return nil
      }
    }
    return values
  }

  /// Whether something can be read there, too. Under the other addresses something can.
  func isReadable(at path: [String]) -> Bool { isReadable || Self.segments(of: address, path) == nil }
}

/// What a door has read.
enum UploadContent: Sendable {
  /// - Parameter certificate: lower-case hexadecimal SHA-256 of the certificate that let it in; `nil` where none did.
  case keys(KeyUpload, certificate: String?)
  /// A good request, of which nothing is to be recorded.
  case nothing
  /// A good request without keys, by what lets in once.
  ///
  /// - Parameter reply: what its sender is given for a later request.
  case token(OneTimeToken, reply: String?)
  /// It only looks like an upload.
  ///
  /// - Parameter reply: what its sender is given for a later request.
  case chaff(reply: String?)
}

/// What became of a request.
enum UploadOutcome: Sendable {
  case recorded(RecordedUpload, of: KeyUpload)
  /// There was nothing to be recorded.
  case nothing
  case chaff(reply: String?)
  case refused(UploadRefusal)
}

/// Why a request is refused, before a door says it in the words of its clients.
enum UploadRefusal: Error, Hashable {
  /// Nothing shows that its sender may upload.
  case unauthorized(code: String, reason: String)
  /// The fields say that it is not for this door, or the body is too large; it was not read.
  case unread(Problem)
  case malformed(reason: String)
  /// It is as it should be, and none of its keys can be taken.
  case noKeys(reason: String)
  /// It says something about known keys, and may not.
  case revision(RevisionFault)
  /// Another time it may be taken.
  case busy(reason: String)
  /// Nothing can be kept now, and later it may be; the log has why.
  case away
  /// The fault is ours; the log has it.
  case notKept

  /// When it is worth trying again, in seconds; `nil` where it is not by itself.
  var retryAfter: String? {
    switch self {
    case .busy: "1"
    case .away: "10"
    case .unauthorized, .unread, .malformed, .noKeys, .revision, .notKept: nil
    }
  }

  /// What a client is told that may try again later.
  static let awayReason = "uploads cannot be kept now; try again later"

  /// As metrics name it, where the door has no name for it.
  var outcome: String {
    switch self {
    case .unauthorized(let code, _): code
    case .unread(let problem): problem.code
    case .malformed, .noKeys: "bad-request"
    case .revision(let fault): fault.rawValue
    case .busy: "busy"
    case .away: "store-away"
    case .notKept: "internal-error"
    }
  }
}

/// What a client is told.
struct UploadAnswer: Sendable {
  var final: FinalResponse
  /// The door's own name of a refusal, for metrics.
  var outcome: String?

  init(_ final: FinalResponse, outcome: String? = nil) {
    self.final = final
    self.outcome = outcome
  }

  init(_ status: HTTPResponse.Status, json: some Encodable) { self.init(status, bytes: JSONDocument.bytes(json)) }

  init(
    _ status: HTTPResponse.Status, bytes: [UInt8], mediaType: String = "application/json",
    fields: [HTTPField] = [], closesConnection: Bool = false, outcome: String? = nil
  ) {
    var response = Response(
      status: status, headers: [.contentType: mediaType, .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    for field in fields { response.headers[field.name] = field.value }
    self.init(FinalResponse(response: response, closesConnection: closesConnection), outcome: outcome)
  }
}
