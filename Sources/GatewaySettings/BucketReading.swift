internal import BundleTrust
internal import PolicyFiles
internal import S3Objects
internal import S3Publications

/// Where bundles are published, as it stands.
struct StatedPublication {
  /// The folder that is published into, or the copy of the bucket on this machine.
  var folder: String?
  /// `nil` where it is a folder, or what is stated is at fault.
  var bucket: BucketSettings?
  /// Whether a bucket is meant, whatever is wrong with it.
  var isBucket = false
}

extension GatewayReader {
  /// - Parameter state: in which the copy of a bucket lies, unless its folder is said.
  func publication(_ section: Section, state: String?) -> StatedPublication {
    var stated = StatedPublication()
    stated.isBucket = section.states("s3")
    let folder = section.needed(
      "folder", Section.path, missing: "a folder, or s3: a bucket",
      default: "with `s3`, `published` in `state`; otherwise *must be stated*", when: !stated.isBucket,
      "The folder of the bundles, apart from `state`. With `publication.s3` it is the copy of the bucket that this machine serves, and can be removed."
    )
    stated.folder =
      folder.map(resolvedPath) ?? (stated.isBucket ? state.map { "\($0)/published" } : nil)
    section.section(
      "s3", default: "the folder is published into", "A bucket that bundles are published into, in place of a folder."
    ) { stated.bucket = bucket($0) }
    return stated
  }

  /// `nil` adds a fault.
  private func bucket(_ section: Section) -> BucketSettings? {
    let errorsBefore = errorCount
    let endpoint = section.optional(
      "endpoint", "`https://…`, only scheme, host and port", default: "that of AWS for the region",
      "Where the store is.", endpoint)
    let name = section.needed(
      "bucket", "3...63 letters, digits, `-`, `.`, `_`", missing: "the name of a bucket", as: .word,
      "The bucket. Keyferry does not create it.", bucketName)
    let prefix = section.optional(
      "prefix", "names with slashes between them: `keys/eu`", default: "nothing", as: .word,
      "The beginning of every name in the bucket.", prefix)
    let region = section.needed(
      "region", "letters, digits, `-`",
      missing: "the region of the bucket: eu-central-1; or endpoint, for a store that is not AWS",
      default: "with `endpoint`, `us-east-1`; otherwise *must be stated*", when: !section.states("endpoint"),
      "The region for which requests are signed."
    ) { self.name($0, marks: "-") }
    let style: BucketAddress.Style? = section.option(
      "addressing", default: "`path` with `endpoint`, otherwise `virtual-host`",
      "Where the bucket's name is in addresses: first in the path, or before the host.")
    var settings = BucketSettings(
      BucketAddress(
        endpoint: endpoint, bucket: name ?? "", prefix: prefix ?? "", region: region ?? "us-east-1", style: style))
    section.section(
      "credentials",
      default: "looked for in the environment, a web identity, the shared files, the container and the instance",
      "The credentials for publishing."
    ) { set(&settings.credentials, credentials($0)) }
    settings.rootsPEM = section.roots { pem($0, holding: "CERTIFICATE") }
    section.choice(
      "checksums", &settings.sendsChecksums, "sha256", "none",
      "Whether SHA-256 checksums go with every object. Some stores do not support them.")
    section.flag(
      "conditional-writes", &settings.hasConditions,
      "Whether the store honours `If-None-Match` and `If-Match`. With `false` this gateway must be the only one that publishes into the bucket."
    )
    section.duration(
      "time-out", &settings.timeoutSeconds, in: 1...3600,
      "For one request to the store, with all its repetitions. A store that accepts and does not answer delays a round no longer than this."
    )
    let isFaulty = errorCount != errorsBefore
    if style == .virtualHost, let name, name.contains(".") {
      document.add(
        section.place(of: "addressing"),
        "virtual-host, and the bucket's name has a dot: no certificate is for such a host; allowed path")
    }
    return isFaulty ? nil : settings
  }

  private func endpoint(_ setting: Setting) -> String? {
    guard let text = address(setting) else { return nil }
    let path = text.drop { $0 != "/" }.dropFirst(2).drop { $0 != "/" }
    guard path.isEmpty || path == "/" else {
      return setting.fault("\(setting.shown), allowed scheme, host and port alone: https://s3.example.org")
    }
    return text
  }

  private func bucketName(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    guard (3...63).contains(text.utf8.count),
      text.unicodeScalars.allSatisfy({ $0.isLetterOrDigit || "-._".unicodeScalars.contains($0) }),
      text.unicodeScalars.first?.isLetterOrDigit == true
    else { return setting.fault("\(setting.shown), allowed 3...63 letters, digits, \"-\", \".\", \"_\"") }
    return text
  }

  private func prefix(_ setting: Setting) -> String? {
    guard var text = setting.text() else { return nil }
    if text.hasSuffix("/") { text.removeLast() }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard text.utf8.count <= 512,
      text.isEmpty
        || parts.allSatisfy({ part in
          !part.isEmpty && part.first != "."
            && part.unicodeScalars.allSatisfy { $0.isLetterOrDigit || "-._".unicodeScalars.contains($0) }
        })
    else {
      return setting.fault(
        "\(setting.shown), allowed names of letters, digits, \"-\", \".\", \"_\" with slashes between them: keys/eu")
    }
    return text
  }

  private func credentials(_ section: Section) -> S3CredentialSource? {
    let profile = section.optional(
      "profile", "letters, digits, `-`, `_`, `.`", as: .word, "A profile of the shared files."
    ).map { name($0, marks: "-_.") }
    let id = section.optional(
      "access-key-id", "3...128 letters, digits, `-`, `_`", as: .word, "The ID of an access key."
    ).map(word)
    let key = section.secret("secret-access-key", "Its secret.").map { secret($0) }
    let token = section.secret("session-token", "The session token of a temporary key.").map { secret($0) }
    if let profile {
      if id != nil || key != nil || token != nil {
        document.add(
          section.place(of: "profile"), "a profile of the shared files has its own keys; allowed one of both")
      }
      return profile.map { .usual(profile: $0) }
    }
    for (name, isStated) in [("access-key-id", id != nil), ("secret-access-key", key != nil)] where !isStated {
      document.add(section.place(of: name), "missing: the ID of a key and its secret go together; or profile")
    }
    guard case let id?? = id, case let key?? = key, token.map({ $0 != nil }) ?? true else { return nil }
    for (name, secret) in [("secret-access-key", key), ("session-token", token ?? nil)] {
      guard let secret, !secret.disclosed.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else { continue }
      document.add(section.place(of: name), "the secret holds characters that no header may hold")
    }
    return .stated(S3Credentials(accessKeyID: id, secretAccessKey: key, sessionToken: token ?? nil))
  }

  private func word(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    guard (3...128).contains(text.utf8.count),
      text.unicodeScalars.allSatisfy({ $0.isLetterOrDigit || $0 == "_" || $0 == "-" })
    else { return setting.fault("allowed 3...128 letters and digits: the ID of a key, not its secret") }
    return text
  }
}
