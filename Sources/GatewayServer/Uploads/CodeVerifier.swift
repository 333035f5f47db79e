internal import BundleTrust
internal import Logging

/// Asks a service whether a code is good. A code is good once the service says so; what it answers about the diagnosis is
/// believed as a certificate's word would be.
///
/// Request: `{"code": "…", "healthAuthorityID": "…"}`. Answer: 200 and `{"valid": true}`, with `reportType` and
/// `symptomOnsetInterval` as certificates spell them, where the service knows them. 200 and `{"valid": false}`, 400, 401, 403
/// and 404 say that the code is not good. Everything else says nothing about it.
struct CodeVerifier: Sendable {
  /// Why a code was not found good.
  enum Fault: Error, Hashable {
    case notGood
    /// The service could not be asked: it does not answer, or was asked too often.
    case notAnswered
  }

  static let codeLength = 1...256
  private static let byteLimit = 16_384

  let member: String
  private let settings: CodeServiceSettings
  private let caller: any WebCaller
  private let logger: Logger
  private let limit = LogLimit()
  /// All clients together: a service that fails must not be asked ever more.
  private let budget: RateLimiter

  init(_ settings: CodeServiceSettings, caller: any WebCaller, logger: Logger) {
    self.settings = settings
    self.caller = caller
    self.logger = logger
    member = settings.member.lowercased()
    budget = RateLimiter(requestsPerMinute: settings.callsPerMinute, maximumClients: 1)
  }

  func verify(_ code: String, of healthAuthority: String) async throws(Fault) -> VerificationCertificate {
    guard Self.codeLength.contains(code.utf8.count) else { throw .notGood }
    guard budget.take(for: .local, at: monotonicSeconds()) == nil else {
      logger.log(
        .warning, "the service for codes is not asked any more: its budget is spent", within: limit, reason: "budget")
      throw .notAnswered
    }
    let answer: WebAnswer
    do {
      answer = try await caller.call(
        WebCall(
          address: settings.address,
          body: JSONDocument.bytes(Question(code: code, healthAuthorityID: healthAuthority)), token: settings.token,
          rootsPEM: settings.rootsPEM, timeoutSeconds: settings.timeoutSeconds, byteLimit: Self.byteLimit))
    } catch {
      logger.log(
        .warning, "the service for codes does not answer", within: limit, reason: "silent",
        metadata: ["reason": .string("\(error)")])
      throw .notAnswered
    }
    switch answer.status {
    case 200:
      guard let members = JSONValue.parse(answer.body)?.object, let isGood = members["valid"]?.bool else { break }
      guard isGood else { throw .notGood }
      let onset = members["symptomOnsetInterval"]?.integer
      return VerificationCertificate(
        reportType: members["reportType"]?.string.flatMap(VerificationCertificate.Report.init),
        symptomOnsetInterval: onset == 0 ? nil : onset)
    case 400, 401, 403, 404: throw .notGood
    default: break
    }
    logger.log(
      .warning, "the service for codes answers oddly", within: limit, reason: "\(answer.status)",
      metadata: ["status": .stringConvertible(answer.status)])
    throw .notAnswered
  }

  private struct Question: Encodable {
    var code: String
    var healthAuthorityID: String
  }
}
