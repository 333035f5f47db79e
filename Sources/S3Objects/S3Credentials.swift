package import BundleTrust
package import ExposureKeys

/// Who asks: an access key, and its secret. Neither is for a message.
package struct S3Credentials: Hashable, Sendable {
  package let accessKeyID: String
  package let secretAccessKey: Secret
  /// Of credentials that end.
  package let sessionToken: Secret?
  /// `nil` where they do not end.
  package let expires: Instant?

  package init(accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret? = nil, expires: Instant? = nil) {
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
    self.sessionToken = sessionToken
    self.expires = expires
  }

  /// A text of others without what it may repeat of these.
  func masked(_ text: String) -> String {
    var text = text
    for (secret, mask) in [
      (sessionToken?.disclosed ?? "", "{session-token}"), (secretAccessKey.disclosed, "{secret-access-key}"),
      (accessKeyID, "{access-key-id}"),
    ] where !secret.isEmpty { text = text.replacing(secret, with: mask) }
    return text
  }
}

extension S3Credentials: CustomStringConvertible, CustomReflectable {
  package var description: String { "(hidden)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Where credentials are looked for.
package enum S3CredentialSource: Hashable, Sendable {
  /// The operator has said them.
  case stated(S3Credentials)
  /// The usual places, in the usual order: environment, web identity, shared files, container, instance.
  ///
  /// - Parameter profile: of the shared files; `nil` is the environment's, or `default`.
  case usual(profile: String?)
}

/// Why there are no credentials, or why a store did not do what it was asked.
package struct S3Fault: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: String, Hashable, Sendable, CaseIterable {
    /// No place has credentials, or one that should have them cannot be used.
    case noCredentials = "no-credentials"
    /// 403, or 401: the credentials are wrong, or may not do this.
    case denied
    /// There is no such bucket.
    case noBucket = "no-bucket"
    /// The bucket is somewhere else.
    case otherRegion = "other-region"
    /// 5xx, 429, no connection, no answer in time; tried several times.
    case unavailable
    /// The clock of this machine, or of the store, is wrong.
    case clock
    /// More bytes than are read.
    case tooLarge = "too-large"
    /// The store does not know what it was asked: 501.
    case notSupported = "not-supported"
    /// Bytes came or went that are not those that were meant.
    case damaged
    /// Anything else that nobody expects of such a store.
    case badAnswer = "bad-answer"
  }

  package let code: Code
  package let reason: String

  package init(_ code: Code, _ reason: String) { (self.code, self.reason) = (code, reason) }

  package var description: String { reason }
}
