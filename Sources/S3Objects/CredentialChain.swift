internal import BundleTrust
package import ExposureKeys
internal import FoundationEssentials
internal import KeyIntake
internal import NetworkFaults

/// Finds credentials where tools of such stores look for them, and gets new ones before they end.
///
/// In this order: the environment, a web identity, the shared files, the container, the instance. The first place that says
/// anything counts, and a place that is named and cannot be used is a fault: nobody is to publish as somebody else.
package actor CredentialChain {
  private let source: S3CredentialSource
  private let environment: [String: String]
  private let region: String
  private let transport: any S3Transport
  private var known: S3Credentials?
  /// One asks, the others wait for it.
  private var running: Task<S3Credentials, any Error>?

  /// New ones are got when so many seconds are left.
  private static let early: Int64 = 900
  private static let fileLimit = 1 << 20

  package init(
    _ source: S3CredentialSource, environment: [String: String], region: String, transport: any S3Transport
  ) {
    self.source = source
    self.environment = environment
    self.region = region
    self.transport = transport
  }

  /// - Parameter isRefused: the store says that the known ones have ended.
  /// - Throws: ``S3Fault`` `no-credentials`.
  package func current(at now: Instant, isRefused: Bool = false) async throws -> S3Credentials {
    if let known, !isRefused {
      guard let expires = known.expires, expires.secondsSince1970 - now.secondsSince1970 < Self.early else {
        return known
      }
      do {
        return try await fresh(at: now)
      } catch {
        // Old ones are good until they end.
        guard expires > now else { throw error }
        return known
      }
    }
    return try await fresh(at: now)
  }

  private func fresh(at now: Instant) async throws -> S3Credentials {
    if let running { return try await running.value }
    let task = Task { try await find(at: now) }
    running = task
    defer { running = nil }
    let credentials = try await task.value
    known = credentials
    return credentials
  }

  private func find(at now: Instant) async throws -> S3Credentials {
    switch source {
    case .stated(let credentials): return credentials
    case .usual(let profile):
      // A profile that the operator names counts before everything else.
      if profile == nil {
        if let found = try fromEnvironment() { return found }
        if let found = try await fromWebIdentity(at: now) { return found }
      }
      if let found = try fromFiles(profile) { return found }
      if let found = try await fromContainer() { return found }
      if let found = try await fromInstance() { return found }
      throw S3Fault(
        .noCredentials,
        "no credentials for the bucket: state publication.s3.credentials, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; looked "
          + "for in the environment, a web identity, the shared files, the container and the instance")
    }
  }

  private func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

  private func fault(_ reason: String) -> S3Fault { S3Fault(.noCredentials, reason) }

  // MARK: Environment

  private func fromEnvironment() throws -> S3Credentials? {
    switch (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
    case (let id?, let secret?):
      return try Self.credentials(id, secret, variable("AWS_SESSION_TOKEN"), in: "the environment")
    case (nil, nil): return nil
    case (_?, nil): throw fault("AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not")
    case (nil, _?): throw fault("AWS_SECRET_ACCESS_KEY is set, and AWS_ACCESS_KEY_ID is not")
    }
  }

  /// What goes into a header must be one.
  private static func credentials(
    _ id: String, _ secret: String, _ token: String?, expires: Instant? = nil, in place: String
  ) throws -> S3Credentials {
    for text in [id, secret, token ?? ""] where !text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) {
      throw S3Fault(.noCredentials, "\(place): credentials with characters that no header may hold")
    }
    return S3Credentials(
      accessKeyID: id, secretAccessKey: Secret(secret), sessionToken: token.map(Secret.init), expires: expires)
  }

  // MARK: Web identity

  private func fromWebIdentity(at now: Instant) async throws -> S3Credentials? {
    guard let file = variable("AWS_WEB_IDENTITY_TOKEN_FILE") else { return nil }
    guard let role = variable("AWS_ROLE_ARN") else {
      throw fault("AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not")
    }
    // It is written anew while this process runs.
    let token = try contents(file).trimmedOfSpace
    let origin = variable("AWS_ENDPOINT_URL_STS") ?? "https://sts.\(region).amazonaws.com"
    let form = [
      ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", role),
      ("RoleSessionName", variable("AWS_ROLE_SESSION_NAME") ?? "keyferry-\(now.secondsSince1970)"),
      ("WebIdentityToken", token),
    ].map { "\($0)=\(S3Encoding.word($1))" }.joined(separator: "&")
    let place = "web identity: the token service"
    let answer = try await ask(
      place, "POST", origin, "/", headers: [.init("Content-Type", "application/x-www-form-urlencoded")],
      body: Array(form.utf8), seconds: 20)
    guard answer.status == 200 else {
      let code = (try? XMLElement(document: answer.body)).flatMap { ($0.all("Error").first ?? $0)["Code"] } ?? ""
      throw fault("\(place) answers \(answer.status) \(printableText(code, limit: 64))")
    }
    let found = (try? XMLElement(document: answer.body))?.all("AssumeRoleWithWebIdentityResult").first?
      .all("Credentials").first
    guard let found, let id = found["AccessKeyId"], let secret = found["SecretAccessKey"],
      let session = found["SessionToken"], let expires = found["Expiration"].flatMap({ Instant($0) })
    else { throw fault("\(place) gives no credentials") }
    return try Self.credentials(id, secret, session, expires: expires, in: place)
  }

  // MARK: Files

  private func fromFiles(_ stated: String?) throws -> S3Credentials? {
    let name = stated ?? variable("AWS_PROFILE") ?? "default"
    let isAsked = stated != nil || variable("AWS_PROFILE") != nil || variable("AWS_SHARED_CREDENTIALS_FILE") != nil
    let home = variable("HOME")
    let path = variable("AWS_SHARED_CREDENTIALS_FILE") ?? home.map { "\($0)/.aws/credentials" }
    guard let path, isAsked || FileManager.default.fileExists(atPath: path) else { return nil }
    let text = try contents(path)
    let profile = Self.sections(text)[name]
    guard let profile else {
      guard isAsked else { return nil }
      throw fault("\(path) has no profile [\(printableText(name))]")
    }
    guard let id = profile["aws_access_key_id"], let secret = profile["aws_secret_access_key"] else {
      throw fault("\(path): profile [\(printableText(name))] has no aws_access_key_id and aws_secret_access_key")
    }
    return try Self.credentials(id, secret, profile["aws_session_token"], in: "\(path)")
  }

  /// By section; later words of a name win.
  static func sections(_ text: String) -> [String: [String: String]] {
    var sections: [String: [String: String]] = [:]
    var name: String?
    for line in text.split(whereSeparator: \.isNewline) {
      let line = String(line).trimmedOfSpace
      if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
      if line.hasPrefix("["), let end = line.firstIndex(of: "]") {
        let section = String(line[line.index(after: line.startIndex)..<end]).trimmedOfSpace
        name = section
        if sections[section] == nil { sections[section] = [:] }
      } else if let name, let equals = line.firstIndex(of: "=") {
        let key = String(line[..<equals]).trimmedOfSpace.lowercased()
        sections[name]?[key] = String(line[line.index(after: equals)...]).trimmedOfSpace
      }
    }
    return sections
  }

  private func contents(_ path: String) throws -> String {
    do {
      let bytes = try FileSource.contents(of: path, limit: Self.fileLimit)
      guard let text = String(validating: bytes, as: UTF8.self) else { throw fault("\(path) is not UTF-8") }
      return text
    } catch let error as FileFault {
      throw fault("\(error)")
    }
  }

  // MARK: Container and instance

  private func fromContainer() async throws -> S3Credentials? {
    let address: String
    if let full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") {
      address = full
    } else if let relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
      address = "http://169.254.170.2\(relative)"
    } else {
      return nil
    }
    let place = "the container's endpoint for credentials"
    let (origin, path) = try Self.parts(of: address, place)
    let host = origin.split(separator: "/").last.map(String.init) ?? ""
    let name = host.hasPrefix("[") ? String(host.prefix { $0 != "]" }) + "]" : String(host.prefix { $0 != ":" })
    // Elsewhere the token would go over the open network.
    guard
      origin.hasPrefix("https://")
        || ["127.0.0.1", "localhost", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"].contains(name)
    else { throw fault("\(place), \(printableText(origin)): allowed https, this machine, 169.254.170.2 and .23") }
    var token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN")
    if let file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") { token = try contents(file).trimmedOfSpace }
    if let token, !token.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) {
      throw fault("\(place): the token has characters that no header may hold")
    }
    let answer = try await ask(
      place, "GET", origin, path, headers: token.map { [.init("Authorization", $0)] } ?? [], seconds: 5)
    guard answer.status == 200 else { throw fault("\(place) answers \(answer.status)") }
    return try Self.read(answer.body, place)
  }

  private func fromInstance() async throws -> S3Credentials? {
    guard variable("AWS_EC2_METADATA_DISABLED")?.lowercased() != "true" else { return nil }
    let place = "the instance's metadata"
    let stated = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT")
    let origin = stated.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 } ?? "http://169.254.169.254"
    let token: S3Answer
    do {
      token = try await ask(
        place, "PUT", origin, "/latest/api/token", headers: [.init("x-aws-ec2-metadata-token-ttl-seconds", "21600")],
        seconds: 2)
    } catch {
      // Most machines are no such instance.
      guard stated == nil else { throw error }
      return nil
    }
    guard token.status == 200 else {
      guard stated == nil else { throw fault("\(place) answers \(token.status)") }
      return nil
    }
    let word = String(decoding: token.body, as: UTF8.self).trimmedOfSpace
    guard word.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else { throw fault("\(place) gives no token") }
    let headers = [S3Request.Header("x-aws-ec2-metadata-token", word)]
    let folder = "/latest/meta-data/iam/security-credentials/"
    let roles = try await ask(place, "GET", origin, folder, headers: headers, seconds: 2)
    // An instance without a role has no credentials.
    if roles.status == 404 { return nil }
    let role = String(decoding: roles.body, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init)
    guard roles.status == 200, let role, !role.isEmpty else { throw fault("\(place) answers \(roles.status)") }
    let answer = try await ask(place, "GET", origin, folder + role, headers: headers, seconds: 2)
    guard answer.status == 200 else { throw fault("\(place) answers \(answer.status)") }
    return try Self.read(answer.body, place)
  }

  private struct Document: Decodable {
    let code: String?
    let accessKeyID: String?
    let secretAccessKey: String?
    let token: String?
    let expiration: String?

    enum CodingKeys: String, CodingKey {
      case code = "Code"
      case accessKeyID = "AccessKeyId"
      case secretAccessKey = "SecretAccessKey"
      case token = "Token"
      case expiration = "Expiration"
    }
  }

  private static func read(_ body: [UInt8], _ place: String) throws -> S3Credentials {
    // A decoder's words may repeat what is in the document.
    guard let document = try? JSONDecoder().decode(Document.self, from: Data(body)),
      document.code ?? "Success" == "Success", let id = document.accessKeyID, let secret = document.secretAccessKey
    else { throw S3Fault(.noCredentials, "\(place) gives no credentials") }
    let expires = document.expiration.flatMap { Instant($0) }
    return try credentials(id, secret, document.token, expires: expires, in: place)
  }

  private func ask(
    _ place: String, _ method: String, _ origin: String, _ path: String, headers: [S3Request.Header] = [],
    body: [UInt8] = [], seconds: Double
  ) async throws -> S3Answer {
    let (origin, first) = try Self.parts(of: origin, place)
    let host = origin.split(separator: "/").last.map(String.init) ?? ""
    var request = S3Request(method, host: host, path: "/", headers: headers, body: body)
    // As it was given: it is nothing of the bucket, and is not signed.
    request.path = first == "/" ? path : first + path
    do {
      let answer = try await transport.send(request, to: origin, limit: 64 << 10, seconds: seconds)
      guard !answer.isTooLarge else { throw fault("\(place) answers more than 65536 bytes") }
      return answer
    } catch let error as S3Fault {
      throw error
    } catch {
      try Task.checkCancellation()
      throw fault("\(place) does not answer: \(NetworkFault(error))")
    }
  }

  /// Scheme with authority, and what stands behind it.
  private static func parts(of address: String, _ place: String) throws -> (origin: String, path: String) {
    guard address.hasPrefix("http://") || address.hasPrefix("https://"),
      address.utf8.allSatisfy({ (0x21..<0x7F).contains($0) })
    else { throw S3Fault(.noCredentials, "\(place): its address is none of http or https") }
    let start = address.index(address.startIndex, offsetBy: address.hasPrefix("https://") ? 8 : 7)
    let end = address[start...].firstIndex(of: "/") ?? address.endIndex
    guard end > start else { throw S3Fault(.noCredentials, "\(place): its address has no host") }
    return (String(address[..<end]), end == address.endIndex ? "/" : String(address[end...]))
  }
}

extension String {
  fileprivate var trimmedOfSpace: String {
    var text = self[...]
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}
