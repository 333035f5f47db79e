internal import ExposureKeys

/// The names in a set's claims, each stored once: claims hold numbers.
struct ClaimNames: Sendable {
  /// The first one is the lost origin.
  private(set) var origins: [String] = [""]
  private var originNumbers: [String: UInt32] = [:]
  private(set) var sources: [Source] = []
  private var sourceNumbers: [Source: UInt32] = [:]
  /// Sets of visited regions, sorted; the first stands for none named.
  private(set) var visited: [[String]?] = [nil]
  private var visitedNumbers: [[String]: UInt32] = [:]
  private(set) var voices: [Claimant] = []
  private var voiceNumbers: [Claimant: UInt32] = [:]
  /// Claims come in runs of one voice.
  private var lastVoice: (voice: Claimant, number: UInt32)?

  func id(ofKnownOrigin name: String) -> OriginID? { originNumbers[name].map(OriginID.init(rawValue:)) }

  /// The number of an origin; `nil` is the lost one.
  mutating func id(ofOrigin name: String?) -> OriginID {
    guard let name else { return .lost }
    if let number = originNumbers[name] { return OriginID(rawValue: number) }
    let number = UInt32(origins.count)
    origins.append(name)
    originNumbers[name] = number
    return OriginID(rawValue: number)
  }

  mutating func id(of source: Source) -> SourceID {
    if let number = sourceNumbers[source] { return SourceID(rawValue: number) }
    let number = UInt32(sources.count)
    sources.append(source)
    sourceNumbers[source] = number
    return SourceID(rawValue: number)
  }

  /// The number of a set of visited regions, sorted; `nil` where none were named.
  mutating func id(ofVisited regions: [String]?) -> RegionClaim.ID {
    guard let regions else { return .none }
    if let number = visitedNumbers[regions] { return RegionClaim.ID(rawValue: number) }
    let number = UInt32(visited.count)
    visited.append(regions)
    visitedNumbers[regions] = number
    return RegionClaim.ID(rawValue: number)
  }

  mutating func number(of voice: Claimant) -> UInt32 {
    if let lastVoice, lastVoice.voice == voice { return lastVoice.number }
    let number = voiceNumbers[voice] ?? UInt32(voices.count)
    if Int(number) == voices.count {
      voices.append(voice)
      voiceNumbers[voice] = number
    }
    lastVoice = (voice, number)
    return number
  }

  /// The numbers of another set's voices, by theirs.
  mutating func numbers(ofVoicesIn other: ClaimNames) -> [UInt32] {
    let origins = other.origins.enumerated().map { id(ofOrigin: $0 == 0 ? nil : $1) }
    let visited = other.visited.map { id(ofVisited: $0) }
    let sources = other.sources.map { id(of: $0) }
    return other.voices.map {
      number(
        of: Claimant(
          origin: origins[Int($0.origin.rawValue)], regions: visited[Int($0.regions.rawValue)],
          source: sources[Int($0.source.rawValue)]))
    }
  }
}

/// The voices of a batch: from the batch's numbers to the set's.
struct BatchClaimants {
  private let origins: [OriginID]
  private let visited: [RegionClaim.ID]
  private let source: SourceID
  /// The voices met so far, by origin and regions, as far as there is room; `unknown` are the others.
  private var numbers: [UInt32]

  private static let room = 4096
  private static let unknown = UInt32.max

  init(_ batch: AdmittedBatch, in names: inout ClaimNames) {
    origins = batch.origins.enumerated().map { names.id(ofOrigin: $0 == 0 ? nil : $1) }
    visited = batch.visited.map { names.id(ofVisited: $0) }
    source = names.id(of: batch.source)
    numbers = Array(repeating: Self.unknown, count: min(origins.count * visited.count, Self.room))
  }

  @inline(__always)
  mutating func number(of claim: AdmittedClaim, in names: inout ClaimNames) -> UInt32 {
    let place = Int(claim.origin.rawValue) * visited.count + Int(claim.regions.rawValue)
    if place < numbers.count, numbers[place] != Self.unknown { return numbers[place] }
    let number = names.number(
      of: Claimant(
        origin: origins[Int(claim.origin.rawValue)], regions: visited[Int(claim.regions.rawValue)],
        source: source))
    if place < numbers.count { numbers[place] = number }
    return number
  }
}
