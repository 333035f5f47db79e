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
    guard stated.isBucket else {
      stated.folder = section.need("folder", "a folder, or s3: a bucket").flatMap(resolvedPath)
      return stated
    }
    stated.folder = section.take("folder").map(resolvedPath) ?? state.map { "\($0)/published" }
    section.section("s3") { stated.bucket = bucket($0) }
    return stated
  }

  private func bucket(_ section: Section) -> BucketSettings? {
    let endpoint = section.take("endpoint").map(endpoint)
    let name = section.need("bucket", "the name of a bucket").flatMap(bucketName)
    let prefix = section.take("prefix").map(prefix) ?? ""
    let region =
      section.states("endpoint")
      ? section.take("region").map(regionName) ?? "us-east-1"
      : section.need("region", "the region of the bucket: eu-central-1; or endpoint, for a store that is not AWS")
        .flatMap(regionName)
    let style = section.take("addressing").map { $0.option(BucketAddress.Style.self) }
    var credentials: S3CredentialSource? = .usual(profile: nil)
    section.section("credentials") { credentials = self.credentials($0) }
    let roots = section.take("roots").map { pem($0, holding: "CERTIFICATE") }
    let checksums = section.take("checksums").map { $0.choice("sha256", "none") } ?? true
    let conditions = section.take("conditional-writes").map { $0.flag() } ?? true
    let timeout = section.take("time-out").map { $0.duration(Allowed.storeSeconds) } ?? Bucket.usualSeconds
    if style == .some(.virtualHost), let name, name.contains(".") {
      document.add(
        section.place(of: "addressing"),
        "virtual-host, and the bucket's name has a dot: no certificate is for such a host; allowed path")
    }
    guard let name, let prefix, let region, let credentials, let checksums, let conditions, let timeout,
      endpoint.map({ $0 != nil }) ?? true, style.map({ $0 != nil }) ?? true, roots.map({ $0 != nil }) ?? true
    else { return nil }
    return BucketSettings(
      BucketAddress(
        endpoint: endpoint ?? nil, bucket: name, prefix: prefix, region: region, style: style ?? nil),
      credentials: credentials, rootsPEM: roots ?? nil, sendsChecksums: checksums, hasConditions: conditions,
      timeoutSeconds: timeout)
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

  private func regionName(_ setting: Setting) -> String? { name(setting, marks: "-") }

  private func credentials(_ section: Section) -> S3CredentialSource? {
    let profile = section.take("profile").map { name($0, marks: "-_.") }
    let id = section.take("access-key-id").map(word)
    let key = section.take("secret-access-key").map { secret($0) }
    let token = section.take("session-token").map { secret($0) }
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
