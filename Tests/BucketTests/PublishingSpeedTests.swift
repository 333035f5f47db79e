import BundleTrust
import Foundation
import GatewayTesting
import KeyPublishing
import S3Objects
import S3Publications
import Testing

/// A thousand bundles of 100 KB into moto's server, and the same by boto3, in turns. `KEYFERRY_BUCKET_SPEED=1` runs it.
@Suite(
  "How fast bundles go into a bucket",
  .enabled(if: ProcessInfo.processInfo.environment["KEYFERRY_BUCKET_SPEED"] != nil, "KEYFERRY_BUCKET_SPEED=1 runs it"))
struct PublishingSpeedTests {
  private static let script = """
    import concurrent.futures, sys, time, os, boto3, hashlib, botocore.config
    endpoint, prefix, width = sys.argv[1], sys.argv[2], int(sys.argv[3])
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="A",
        aws_secret_access_key="B", config=botocore.config.Config(max_pool_connections=16))
    bodies = [hashlib.shake_128(str(n).encode()).digest(100_000) for n in range(1000)]
    def put(n):
        client.put_object(Bucket="keys", Key=f"{prefix}/{n}.zip", Body=bodies[n], IfNoneMatch="*",
            ContentType="application/zip", CacheControl="public, max-age=31536000, immutable", ChecksumAlgorithm="SHA256")
    start = time.monotonic()
    if width == 1:
        for n in range(1000): put(n)
    else:
        with concurrent.futures.ThreadPoolExecutor(width) as pool: list(pool.map(put, range(1000)))
    print(time.monotonic() - start)
    """

  @Test func thousandBundles() async throws {
    var random = SeededRandom(seed: 5)
    let bodies = (0..<1000).map { _ in (0..<100_000).map { _ in UInt8.random(in: 0...255, using: &random) } }
    var lines: [String] = []
    for turn in 0..<3 {
      try await Moto.run { moto in
        try await moto.makeBucket("keys")
        let address = BucketAddress(endpoint: moto.endpoint, bucket: "keys", region: "us-east-1")
        let credentials = S3Credentials(accessKeyID: "AKIDTEST", secretAccessKey: Secret("hush"))
        let folder = BucketFolder(BucketSettings(address, credentials: .stated(credentials)), environment: [:])
        try await folder.create([1], at: "warm/0.zip")
        func theirs(_ width: Int) throws -> Double {
          let outcome = try #require(Moto.python).run(
            ["-c", Self.script, moto.endpoint, "boto-\(turn)-\(width)", "\(width)"])
          return try #require(
            Double(outcome.text.trimmingPrefix(" ").split(separator: "\n").first ?? ""), "\(outcome.errors)")
        }
        func ours(_ width: Int) async throws -> Double {
          let clock = ContinuousClock()
          let duration = try await clock.measure {
            if width == 1 {
              for (number, body) in bodies.enumerated() {
                try await folder.create(body, at: "one-\(turn)/\(number).zip")
              }
            } else {
              _ = try await folder.each(Array(bodies.enumerated())) { number, body in
                try await folder.create(body, at: "many-\(turn)/\(number).zip")
              }
            }
          }
          return Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
        }
        for width in [1, 8] {
          var (their, our) = (0.0, 0.0)
          if turn % 2 == 0 { their = try theirs(width) }
          our = try await ours(width)
          if turn % 2 == 1 { their = try theirs(width) }
          lines.append("\(width) at once: boto3 \(their) s, ours \(our) s, \(their / our) of boto3's speed")
        }
      }
    }
    print(lines.joined(separator: "\n"))
    #expect(lines.count == 6)
  }
}
