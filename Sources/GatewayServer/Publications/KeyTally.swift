internal import Crypto
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake
internal import KeyPublishing

/// What the keys of bundles say, counted: on which days they were used, their risks and their report types. Padding counts
/// like every other key, since nobody can tell it.
package struct KeyTally: Hashable, Sendable {
  /// By the UTC day of the rolling start.
  private(set) var days: [Day: Int] = [:]
  /// By transmission risk level; `nil` is not stated.
  private(set) var risks: [Int32?: Int] = [:]
  /// By report type; `nil` is not stated, or a number without meaning.
  private(set) var reportTypes: [ReportType?: Int] = [:]

  /// Archives of a series that are larger together are not counted.
  static let byteLimit = 32 << 20

  var keys: Int { risks.values.reduce(0, +) }

  mutating func add(_ key: ClaimedKey) {
    if let day = key.day { days[day, default: 0] += 1 }
    risks[key.transmissionRisk, default: 0] += 1
    reportTypes[key.reportTypeClaim.stated, default: 0] += 1
  }

  mutating func add(_ other: KeyTally) {
    days.merge(other.days, uniquingKeysWith: +)
    risks.merge(other.risks, uniquingKeysWith: +)
    reportTypes.merge(other.reportTypes, uniquingKeysWith: +)
  }

  /// New keys of an archive; those that are revised are in another one.
  ///
  /// - Throws: what is wrong with it.
  init(archive: [UInt8]) throws {
    let limits = ReadLimits(documentBytes: 256 << 20)
    let document = try DecodedDocument(
      decoding: KeyDocument(MemorySource(archive), format: nil, limits: limits).decoder)
    for key in document.keys where !key.isRevised { add(key) }
  }

  init() {}
}

/// The tallies of a series' bundles, each counted once.
struct BundleTallies: Sendable {
  /// By SHA-256 of the archive.
  private(set) var counted: [String: KeyTally] = [:]

  /// All keys of the bundles; `nil` where they are too many, or one cannot be read: a part would say something wrong.
  ///
  /// - Parameter read: the bytes of an archive.
  mutating func sum(of bundles: [PublishedBundle], read: (PublishedBundle) throws -> [UInt8]) -> KeyTally? {
    guard bundles.reduce(0, { $0 + $1.facts.bytes }) <= KeyTally.byteLimit else { return nil }
    var known: [String: KeyTally] = [:]
    var sum = KeyTally()
    for bundle in bundles {
      let digest = bundle.facts.sha256
      guard let tally = counted[digest] ?? Self.tally(of: bundle, read) else { return nil }
      known[digest] = tally
      sum.add(tally)
    }
    // Those that are listed no more are forgotten.
    counted = known
    return sum
  }

  private static func tally(of bundle: PublishedBundle, _ read: (PublishedBundle) throws -> [UInt8]) -> KeyTally? {
    guard let archive = try? read(bundle), Hexadecimal.encode(SHA256.hash(data: archive)) == bundle.facts.sha256 else {
      return nil
    }
    return try? KeyTally(archive: archive)
  }
}

extension Claim {
  fileprivate var stated: Value? { if case .stated(let value) = self { value } else { nil } }
}
