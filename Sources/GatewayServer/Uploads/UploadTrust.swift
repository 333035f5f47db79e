internal import BundleTrust
internal import HTTPTypes
internal import Logging

/// What shows that a sender may upload, made once of the settings: all doors share it.
struct UploadTrust: Sendable {
  let settings: UploadSettings
  let scope: UploadScope
  private let tokens: [BearerToken]
  /// `nil` believes no certificate.
  let certificates: CertificateVerifier?
  /// `nil` believes no code.
  let codes: CodeVerifier?
  /// `nil` issues no revision tokens.
  let revisions: RevisionTokens?
  /// `nil` closes the doors for DP-3T's apps.
  let dp3t: DP3TTokens?

  /// - Parameter caller: needed where keys are fetched, or codes asked about.
  /// - Throws: ``ServerFault``.
  init(
    _ settings: UploadSettings, scope: UploadScope, caller: (any WebCaller)?, logger: Logger
  ) throws(ServerFault) {
    self.settings = settings
    self.scope = scope
    tokens = ([settings.token] + settings.clients.sorted { $0.key < $1.key }.map(\.value))
      .filter { !$0.disclosed.isEmpty }.map { BearerToken($0) }
    certificates =
      settings.certificates.isEmpty
      ? nil : try CertificateVerifier(settings.certificates, caller: caller, logger: logger)
    codes = try settings.codes.map { codes throws(ServerFault) in
      guard let caller else { throw ServerFault(place: "uploads", reason: "nobody asks about codes") }
      return CodeVerifier(codes, caller: caller, logger: logger)
    }
    revisions = settings.revisionKey.map { RevisionTokens($0, scope: scope, of: settings.name) }
    dp3t = try settings.dp3t.map { dp3t throws(ServerFault) in try DP3TTokens(dp3t) }
    guard !tokens.isEmpty || certificates != nil || codes != nil || dp3t != nil else {
      throw ServerFault(
        place: "uploads", reason: "neither a token nor a verification server is given: nobody could upload")
    }
  }

  /// Makes the same, and calls nobody: to see what the settings would make.
  init(trying settings: UploadSettings) throws(ServerFault) {
    try self.init(
      settings, scope: UploadScope(series: [], home: "", regions: []), caller: NoCaller(),
      logger: Logger(label: "keyferry.server"))
  }

  private struct NoCaller: WebCaller {
    func call(_ call: WebCall) async throws -> WebAnswer { throw CancellationError() }
  }

  var hasTokens: Bool { !tokens.isEmpty }

  func holdsToken(_ fields: HTTPFields) -> Bool {
    // Which of them it is must not show in the time.
    tokens.reduce(false) { $1.isIn(fields) || $0 }
  }
}
