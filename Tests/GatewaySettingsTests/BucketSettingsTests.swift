import BundleTrust
import GatewaySettings
import KeyPublishing
import S3Objects
import S3Publications
import Testing

@Suite("A bucket in the configuration") struct BucketSettingsTests {
  /// Each setting stands in one of them.
  static let texts = [
    """
    state: /var/k
    publication:
      folder: /srv/copy
      s3:
        endpoint: https://s3.example.org
        bucket: keys
        prefix: eu/one/
        region: eu-1
        addressing: virtual-host
        credentials: {access-key-id: AKIDX, secret-access-key: {file: token}, session-token: {env: TOKEN}}
        roots: roots.pem
        checksums: none
        conditional-writes: false
        time-out: 20 s
    """,
    """
    state: /var/k
    publication: {s3: {bucket: keys, region: eu-central-1, credentials: {profile: keys}}}
    """,
    """
    state: /var/k
    publication: {s3: {bucket: keys, region: eu-central-1, credentials: {access-key-id: AKIDX, secret-access-key: {env: TOKEN}, session-token: {file: token}}}}
    """,
  ]

  private func bucket(_ text: String) throws -> (plan: GatewayPlan, bucket: BucketSettings) {
    let plan = try Fixture.parse(text).plan
    return (plan, try #require(plan.publicationBucket))
  }

  @Test("everything that can be said") func everything() throws {
    let (plan, bucket) = try bucket(Self.texts[0])
    #expect(plan.publicationFolder == "/srv/copy")
    #expect(bucket.address.origin == "https://keys.s3.example.org")
    #expect(bucket.address.path("NL/index.txt") == "/eu/one/NL/index.txt" && bucket.address.region == "eu-1")
    #expect(
      bucket.credentials
        == .stated(
          S3Credentials(
            accessKeyID: "AKIDX", secretAccessKey: Secret(Fixture.secret), sessionToken: Secret(Fixture.secret))))
    #expect(bucket.rootsPEM?.contains("CERTIFICATE") == true)
    #expect(!bucket.sendsChecksums && !bucket.hasConditions && bucket.timeoutSeconds == 20)
    var dumped = "\(plan)"
    dump(plan, to: &dumped)
    #expect(!dumped.contains("hunter2"))
  }

  @Test("what is not said") func defaults() throws {
    let (plan, aws) = try bucket(Self.texts[1])
    #expect(plan.publicationFolder == "/var/k/published")
    #expect(aws.address.origin == "https://keys.s3.eu-central-1.amazonaws.com")
    #expect(aws.credentials == .usual(profile: "keys"))
    #expect(aws.sendsChecksums && aws.hasConditions && aws.rootsPEM == nil)
    let own = try bucket(
      """
      state: /var/k
      publication: {s3: {bucket: keys, endpoint: "http://127.0.0.1:9000"}}
      """
    ).bucket
    #expect(own.address.origin + own.address.path("a") == "http://127.0.0.1:9000/keys/a")
    #expect(own.address.region == "us-east-1" && own.credentials == .usual(profile: nil))
  }

  @Test(
    "what cannot be",
    arguments: [
      ("{}", "publication.folder: missing, allowed a folder, or s3: a bucket"),
      ("{s3: {bucket: keys}}", "publication.s3.region: missing"),
      ("{s3: {region: eu-1}}", "publication.s3.bucket: missing"),
      ("{s3: {bucket: k, region: eu-1}}", "publication.s3.bucket: \"k\", allowed 3...63"),
      ("{s3: {bucket: \"a b c\", region: eu-1}}", "allowed 3...63"),
      ("{s3: {bucket: keys, endpoint: \"https://s3.example/path\"}}", "allowed scheme, host and port alone"),
      ("{s3: {bucket: keys, endpoint: \"https://user:hunter2@s3.example\"}}", "a user and a password do not belong"),
      ("{s3: {bucket: keys, region: eu-1, prefix: \"a//b\"}}", "publication.s3.prefix: \"a//b\", allowed names"),
      ("{s3: {bucket: keys, region: eu-1, prefix: \"../b\"}}", "publication.s3.prefix"),
      ("{s3: {bucket: keys, region: eu-1, prefix: /b}}", "publication.s3.prefix"),
      ("{s3: {bucket: keys, region: \"eu 1\"}}", "publication.s3.region"),
      ("{s3: {bucket: keys, region: eu-1, addressing: host}}", "allowed path, virtual-host"),
      ("{s3: {bucket: my.keys, region: eu-1, addressing: virtual-host}}", "the bucket's name has a dot"),
      ("{s3: {bucket: keys, region: eu-1, checksums: md5}}", "allowed sha256, none"),
      ("{s3: {bucket: keys, region: eu-1, conditional-writes: never}}", "allowed true, false"),
      ("{s3: {bucket: keys, region: eu-1, credentials: {access-key-id: AKIDX}}}", "secret-access-key: missing: the ID"),
      (
        "{s3: {bucket: keys, region: eu-1, credentials: {access-key-id: \"hunter2!\", secret-access-key: {env: TOKEN}}}}",
        "the ID of a key, not its secret"
      ),
      (
        "{s3: {bucket: keys, region: eu-1, credentials: {access-key-id: AKIDX, secret-access-key: hunter2}}}",
        "a secret is never written here"
      ),
      ("{s3: {bucket: keys, region: eu-1, credentials: {profile: a, access-key-id: AKIDX}}}", "allowed one of both"),
      ("{s3: {bucket: keys, region: eu-1, roots: token}}", "publication.s3.roots"),
      ("{s3: {bucket: keys, region: eu-1, buckt: x}}", "publication.s3.buckt"),
    ])
  func faults(_ publication: String, _ expected: String) {
    let faults = Fixture.faults("state: /var/k\npublication: \(publication)\n")
    #expect(faults.contains { $0.contains(expected) }, "\(faults)")
    #expect(!faults.contains { $0.contains("hunter2") })
  }

  @Test("where the log's state is follows from store and publication") func log() throws {
    let log = "\nlog: {name: keys.example/log}\n"
    #expect(try Fixture.parse("\(Self.texts[1])\(log)").plan.log?.place == .bucket)
    let shared = try Fixture.parse("\(StoreSettingsTests.texts[1])\(Self.texts[1].dropFirst(13))\(log)").plan
    #expect(shared.log?.place == .replicas && shared.log?.state == "/var/k/log")
    for store in ["state: /var/k\n", StoreSettingsTests.texts[1]] {
      #expect(try Fixture.parse("\(store)publication: {folder: /srv/k}\(log)").plan.log?.place == .folder)
    }
  }

  @Test("the copy lies in no state but its own folder of it") func copy() {
    let text = "state: /var/k\npublication: {folder: /var/k, s3: {bucket: keys, region: eu-1}}\n"
    #expect(Fixture.faults(text).contains { $0.contains("publication.folder") })
  }
}
