package import ExposureKeys
package import KeyNormalization
package import KeyPeers

/// What the operator says about a federation gateway that own keys are handed to: one entry under `destinations` in
/// `gateway.yaml`.
package struct DestinationSettings: Sendable {
  /// How batches are written.
  package enum Format: String, Hashable, Sendable, CaseIterable { case protobuf, json }

  /// What is said of symptoms where nobody said anything: the batch has no way to leave it out, and 0 would say that the
  /// person fell ill on the key's day.
  package enum MissingOnset: String, Hashable, Sendable, CaseIterable {
    /// Unknown whether there were symptoms; the day counts from the day of sending: 4000 - age in days.
    case statusUnknown = "status-unknown"
    /// 2147483647. Germany's server refused such keys.
    case notProvided = "not-provided"
  }

  /// What the operator calls it; letters, digits, hyphens and dots.
  package var name: String
  /// The gateway's address.
  package var location: String
  /// Whose keys are handed over; the country of the signing certificate.
  package var origin: String
  /// The sources and doors whose claims may go there. Nobody else's consent is known, so nothing else goes.
  package var sources: Set<String>
  /// Those of them that are doors for uploads, where each person says whether keys may leave the country.
  package var doors: Set<String> = []
  /// When a key may go out, and which report types do. What the policy makes of a key for apps does not go on.
  package var publishing: Policy
  /// Keys that began more days ago than this are too old, counted from midnight (UTC). A gateway takes fifteen; a day is left
  /// for batches that wait.
  package var maximumAgeDays: Int
  package var batchKeys: Int
  package var format: Format
  package var missingOnset: MissingOnset
  /// The countries that every key is for; `nil` is what the claims name.
  package var regions: [String]?
  /// Everything is selected, signed and told, and nothing is sent.
  package var isRehearsal: Bool
  package var signer: PushSigner
  package var transport: TransportSettings
  /// Seconds between pushes.
  package var interval: Int64

  package init(
    name: String, location: String, origin: String, sources: Set<String>, publishing: Policy, maximumAgeDays: Int = 14,
    batchKeys: Int = 4000, format: Format = .protobuf, missingOnset: MissingOnset = .statusUnknown,
    regions: [String]? = nil, isRehearsal: Bool = false, signer: PushSigner,
    transport: TransportSettings = TransportSettings(), interval: Int64 = 3600
  ) {
    self.name = name
    self.location = location
    self.origin = origin.uppercased()
    self.sources = sources
    self.publishing = publishing
    self.maximumAgeDays = maximumAgeDays
    self.batchKeys = batchKeys
    self.format = format
    self.missingOnset = missingOnset
    self.regions = regions
    self.isRehearsal = isRehearsal
    self.signer = signer
    self.transport = transport
    self.interval = interval
  }

  /// What a gateway of this kind takes.
  package static let maximumAgeAllowed = 1...15

  /// Whether a claim may be handed over: the own origin's word, by a source whose keys may go there. What a relay brings has
  /// lost its origin, so it never is.
  package func takes(_ claim: StatedClaim) -> Bool { concerns(claim) && !isForOriginAlone(claim) }

  /// Whether it is the own origin's word, by a source whose keys may go there, for whomever.
  func concerns(_ claim: StatedClaim) -> Bool {
    claim.origin?.uppercased() == origin && !claim.source.isRelay && sources.contains(claim.source.name)
  }

  /// Whether it came by a door and is for the own origin alone: its person has said that it goes to no other country, or the
  /// door has no other, and then nobody was asked.
  func isForOriginAlone(_ claim: StatedClaim) -> Bool {
    doors.contains(claim.source.name) && claim.visited?.allSatisfy { $0.uppercased() == origin } ?? false
  }

  /// A source for the way to the gateway: with its address, its certificate, its limits.
  package var way: SourceSettings {
    SourceSettings(
      name: name, peer: .efgs, location: location, trust: .host, reading: publishing, transport: transport,
      interval: interval)
  }
}

/// Who signs batches: a certificate and its key, wherever that is kept.
package struct PushSigner: Sendable {
  /// The certificate's, for people: `C=DE,O=…`.
  package let subject: String
  /// SHA-256 of the certificate in DER, lower-case hexadecimal.
  package let thumbprint: String
  /// Signs canonical bytes: a detached CMS in DER.
  private let signing: @Sendable ([UInt8], Instant) throws -> [UInt8]

  package init(
    subject: String, thumbprint: String, signing: @escaping @Sendable ([UInt8], Instant) throws -> [UInt8]
  ) {
    self.subject = subject
    self.thumbprint = thumbprint
    self.signing = signing
  }

  func sign(_ canonical: [UInt8], at now: Instant) throws -> [UInt8] { try signing(canonical, now) }
}
