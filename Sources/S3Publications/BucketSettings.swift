package import S3Objects

/// A bucket that is published into, as the operator says it.
package struct BucketSettings: Hashable, Sendable {
  package var address: BucketAddress
  package var credentials: S3CredentialSource
  /// The certificates to trust; `nil` is the system's.
  package var rootsPEM: String?
  /// Whether SHA-256 checksums go with every object. Signatures are of the whole body in any case.
  package var sendsChecksums: Bool
  /// Whether the store keeps what `If-None-Match` and `If-Match` say. Where it does not, this gateway must be the only one
  /// that publishes into the bucket.
  package var hasConditions: Bool
  /// What one request may take, with all its repetitions.
  package var timeoutSeconds: Int64

  package init(
    _ address: BucketAddress, credentials: S3CredentialSource = .usual(profile: nil), rootsPEM: String? = nil,
    sendsChecksums: Bool = true, hasConditions: Bool = true, timeoutSeconds: Int64 = Bucket.usualSeconds
  ) {
    self.address = address
    self.credentials = credentials
    self.rootsPEM = rootsPEM
    self.sendsChecksums = sendsChecksums
    self.hasConditions = hasConditions
    self.timeoutSeconds = timeoutSeconds
  }

  /// For people: `s3://BUCKET/PREFIX`.
  package var shown: String { address.shown() }

  /// Tries it, as before the first write.
  package func probe(environment: [String: String]) async throws -> BucketProbe {
    try await BucketProbe(bucket(environment: environment), hasConditions: hasConditions)
  }

  /// - Parameter environment: where credentials are looked for; it is kept for as long as the bucket.
  package func bucket(environment: [String: String]) -> Bucket {
    let transport = HTTPS3Transport(rootsPEM: rootsPEM)
    return Bucket(
      address,
      credentials: CredentialChain(
        credentials, environment: environment, region: address.region, transport: HTTPS3Transport()),
      transport: transport, sendsChecksums: sendsChecksums, timeLimit: .seconds(timeoutSeconds))
  }
}
