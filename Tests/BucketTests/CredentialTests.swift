import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import S3Objects
import Synchronization
import Testing

/// Answers by address, and remembers what was asked.
private final class Endpoints: S3Transport {
  private let answers: [String: S3Answer]
  private let seen = Mutex<[(origin: String, request: S3Request)]>([])

  init(_ answers: [String: S3Answer]) { self.answers = answers }

  var requests: [(origin: String, request: S3Request)] { seen.withLock { $0 } }

  func send(_ request: S3Request, to origin: String, limit: Int, seconds: Double) async throws -> S3Answer {
    seen.withLock { $0.append((origin, request)) }
    guard let answer = answers["\(request.method) \(origin)\(request.target)"] else {
      throw CocoaError(.fileNoSuchFile)
    }
    return answer
  }
}

@Suite("Where credentials come from") struct CredentialTests {
  private static let now = Instant(secondsSince1970: 1_600_000_000)
  private static let later = "2020-09-13T18:26:40Z"

  private func find(
    _ environment: [String: String], profile: String? = nil, _ endpoints: [String: S3Answer] = [:]
  ) async throws -> (S3Credentials, [(origin: String, request: S3Request)]) {
    let transport = Endpoints(endpoints)
    let chain = CredentialChain(
      .usual(profile: profile), environment: environment, region: "eu-test-1", transport: transport)
    return (try await chain.current(at: Self.now), transport.requests)
  }

  private func fault(
    _ environment: [String: String], profile: String? = nil, _ endpoints: [String: S3Answer] = [:]
  ) async -> String {
    do {
      _ = try await find(environment, profile: profile, endpoints)
      return "none"
    } catch let fault as S3Fault {
      #expect(fault.code == .noCredentials)
      return fault.reason
    } catch {
      return "other"
    }
  }

  private func folder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-credentials-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder.path)
  }

  private static func json(_ id: String, expires: String? = later) -> S3Answer {
    let end = expires.map { ", \"Expiration\": \"\($0)\"" } ?? ""
    return S3Answer(
      status: 200,
      body: Array(
        "{\"Code\": \"Success\", \"AccessKeyId\": \"\(id)\", \"SecretAccessKey\": \"hush-\(id)\", \"Token\": \"token-\(id)\"\(end)}"
          .utf8))
  }

  @Test("the environment") func environment() async throws {
    let (found, asked) = try await find([
      "AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S", "AWS_SESSION_TOKEN": "T",
      "AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere",
    ])
    #expect(found == S3Credentials(accessKeyID: "A", secretAccessKey: Secret("S"), sessionToken: Secret("T")))
    #expect(asked.isEmpty)
    #expect(await fault(["AWS_ACCESS_KEY_ID": "A"]) == "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not")
    let hidden = await fault(["AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "hush\n"])
    #expect(hidden.contains("no header") && !hidden.contains("hush"))
  }

  @Test("the shared files, and a profile of them") func files() async throws {
    try await folder { folder in
      let text = """
        # ours
        [default]
        aws_access_key_id = D
        aws_secret_access_key=hush-d

        [keys]
        aws_access_key_id = K
        aws_secret_access_key = hush-k
        aws_session_token = T
        [empty]
        """
      try Data(text.utf8).write(to: URL(filePath: folder).appending(path: "c"))
      let place = ["AWS_SHARED_CREDENTIALS_FILE": "\(folder)/c", "AWS_EC2_METADATA_DISABLED": "true"]
      #expect(try await find(place).0.accessKeyID == "D")
      #expect(try await find(place.merging(["AWS_PROFILE": "keys"]) { $1 }).0.sessionToken == Secret("T"))
      // A profile that is named counts before the environment.
      let named = place.merging(["AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S"]) { $1 }
      #expect(try await find(named, profile: "keys").0.accessKeyID == "K")
      #expect(await fault(place, profile: "other").hasSuffix("has no profile [other]"))
      #expect(await fault(place, profile: "empty").contains("has no aws_access_key_id"))
      #expect(await fault(["AWS_SHARED_CREDENTIALS_FILE": "\(folder)/none"]).contains("\(folder)/none"))
      // Nobody has asked for the usual file.
      #expect(
        await fault(["HOME": folder, "AWS_EC2_METADATA_DISABLED": "true"]).hasPrefix("no credentials for the bucket"))
    }
  }

  @Test("a web identity, whose token is read anew") func webIdentity() async throws {
    try await folder { folder in
      let token = URL(filePath: folder).appending(path: "token")
      try Data("first/token\n".utf8).write(to: token)
      let answer = S3Answer(
        status: 200,
        body: Array(
          """
          <AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>W</AccessKeyId>\
          <SecretAccessKey>hush-w</SecretAccessKey><SessionToken>T</SessionToken><Expiration>\(Self.later)</Expiration>\
          </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>
          """.utf8))
      let address = "POST https://sts.eu-test-1.amazonaws.com/"
      let environment = ["AWS_WEB_IDENTITY_TOKEN_FILE": token.path, "AWS_ROLE_ARN": "arn:aws:iam::1:role/keys"]
      let transport = Endpoints([address: answer])
      let chain = CredentialChain(
        .usual(profile: nil), environment: environment, region: "eu-test-1", transport: transport)
      #expect(try await chain.current(at: Self.now).accessKeyID == "W")
      #expect(try await chain.current(at: Self.now).expires == Instant(Self.later))
      #expect(transport.requests.count == 1, "they are good for hours")
      try Data("second".utf8).write(to: token)
      // Fourteen minutes before they end.
      _ = try await chain.current(
        at: Instant(secondsSince1970: try #require(Instant(Self.later)).secondsSince1970 - 840))
      let bodies = transport.requests.map { String(decoding: $0.request.body, as: UTF8.self) }
      #expect(bodies.count == 2)
      #expect(bodies.first?.contains("WebIdentityToken=first%2Ftoken") == true)
      #expect(bodies.first?.contains("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fkeys") == true)
      #expect(bodies.last?.contains("WebIdentityToken=second") == true)
      // The request is signed by nothing but the token.
      #expect(transport.requests.allSatisfy { !$0.request.headers.contains { $0.name == "Authorization" } })

      let refused = S3Answer(
        status: 400,
        body: Array("<ErrorResponse><Error><Code>ExpiredTokenException</Code></Error></ErrorResponse>".utf8))
      #expect(await fault(environment, [address: refused]).hasSuffix("answers 400 ExpiredTokenException"))
      let without = await fault(["AWS_WEB_IDENTITY_TOKEN_FILE": token.path])
      #expect(without == "AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not")
    }
  }

  @Test("a container") func container() async throws {
    let relative = [
      "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/keys?id=1", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Bearer t",
    ]
    let (found, asked) = try await find(relative, ["GET http://169.254.170.2/v2/keys?id=1": Self.json("C")])
    #expect(found.sessionToken == Secret("token-C"))
    #expect(asked.map(\.request.headers) == [[.init("Authorization", "Bearer t")]])
    let full = ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:81/x"]
    #expect(try await find(full, ["GET http://127.0.0.1:81/x": Self.json("C")]).0.accessKeyID == "C")
    // The token would go over the open network.
    for address in ["http://keys.example/x", "http://127.0.0.1.example/x", "ftp://127.0.0.1/x", "http:///x"] {
      #expect(await fault(["AWS_CONTAINER_CREDENTIALS_FULL_URI": address]).hasPrefix("the container's endpoint"))
    }
    let strange = S3Answer(status: 200, body: Array("{\"SecretAccessKey\": \"hush\"}".utf8))
    let reason = await fault(relative, ["GET http://169.254.170.2/v2/keys?id=1": strange])
    #expect(reason == "the container's endpoint for credentials gives no credentials")
  }

  @Test("an instance") func instance() async throws {
    let folder = "http://169.254.169.254/latest/meta-data/iam/security-credentials/"
    let endpoints = [
      "PUT http://169.254.169.254/latest/api/token": S3Answer(status: 200, body: Array("session\n".utf8)),
      "GET \(folder)": S3Answer(status: 200, body: Array("keys-role".utf8)),
      "GET \(folder)keys-role": Self.json("I"),
    ]
    let (found, asked) = try await find([:], endpoints)
    #expect(found.accessKeyID == "I")
    #expect(asked.first?.request.headers == [.init("x-aws-ec2-metadata-token-ttl-seconds", "21600")])
    #expect(asked.dropFirst().allSatisfy { $0.request.headers == [.init("x-aws-ec2-metadata-token", "session")] })
    // Elsewhere nobody answers, and that is said in the end.
    #expect(await fault([:]).hasPrefix("no credentials for the bucket"))
    #expect(await fault(["AWS_EC2_METADATA_DISABLED": "true"], endpoints).hasPrefix("no credentials for the bucket"))
  }

  @Test("old ones are good until they end, when there are no new ones") func old() async throws {
    let end = try #require(Instant(Self.later)).secondsSince1970
    let transport = Flaky()
    let chain = CredentialChain(
      .usual(profile: nil),
      environment: ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1/x"], region: "r", transport: transport)
    #expect(try await chain.current(at: Self.now).accessKeyID == "F")
    #expect(try await chain.current(at: Instant(secondsSince1970: end - 60)).accessKeyID == "F")
    await #expect(throws: S3Fault.self) { try await chain.current(at: Instant(secondsSince1970: end)) }
  }

  private final class Flaky: S3Transport {
    private let count = Mutex(0)

    func send(_ request: S3Request, to origin: String, limit: Int, seconds: Double) async throws -> S3Answer {
      let number = count.withLock { count in
        count += 1
        return count
      }
      return number == 1 ? CredentialTests.json("F") : S3Answer(status: 500)
    }
  }
}
