import ExposureKeys

@testable import KeyNormalization

/// The merge rules once more, as a person would apply them: names, sets and sorted lists, one key at a time, nothing
/// remembered. What the fold makes of random claims must equal it.
struct PlainFold {
  var policy = PublishingPolicy()
  var now = Cases.now
  var ownOrigins: Set<String> = []
  /// Whether the keys are wanted that one origin's opinion sends there.
  var wants: (KeyDestination) -> Bool = { _ in true }

  enum Outcome: Hashable {
    case publish(Published)
    case hold(until: Instant)
    case leaveOut
  }

  struct Published: Hashable {
    var apps: Fields
    var gateways: Fields
    var regions: RegionClaim
    var outvotesRevocation = false
  }

  struct Fields: Hashable {
    var period: Int32
    var type: Int32?
    var risk: Int32?
    var onset: Int32?
    var isRevised: Bool
  }

  private struct Claimant {
    var said: Fields
    var destination: KeyDestination
    var origin: String?
    var isEcho = false
    var isCopy = false
    /// What apps would be told of it alone; `nil` where the policy leaves it out wherever it goes.
    var told: Fields?
    var isWanted = false
    var isRevocation: Bool { said.type == 5 }
  }

  /// - Parameter further: the rolling periods of claims that count for nothing else.
  func outcome(of all: [StatedClaim], further: [Int32] = []) -> Outcome {
    guard let start = all.first?.subject.rollingStart else { return .leaveOut }
    let periods = all.compactMap(\.key.rollingPeriod) + further
    let longest = policy.expandsShortPeriods ? 144 : periods.max() ?? 0
    let expiry = IntervalNumber(Int64(start) + Int64(longest)).start.secondsSince1970

    let isCopyAlone = all.allSatisfy { $0.source.upload == .copy }
    let said = all.filter { isCopyAlone || $0.source.upload != .copy }
    var copies = all.filter { !said.contains($0) }
    let mine = Set(said.compactMap(\.origin)).intersection(ownOrigins)
    let isRevokedByOwn =
      !mine.isEmpty && mine.allSatisfy { origin in voice(of: said.filter { $0.origin == origin }, origin).isRevocation }
    var deciding = said
    if !isRevokedByOwn, let preceding = preceding(said) { (deciding, copies) = (preceding, []) }
    let own = Set(deciding.compactMap(\.origin))
    var voices = own.map { origin in voice(of: deciding.filter { $0.origin == origin }, origin) }
    let relayed = deciding.filter { $0.origin == nil }
    if !relayed.isEmpty {
      var relays = voice(of: relayed, nil)
      relays.isEcho =
        !own.isEmpty && relayed.contains { $0.source.carries.map { !$0.isDisjoint(with: own) } ?? true }
      voices.append(relays)
    }
    for origin in Set(copies.map(\.origin)) {
      var echo = voice(of: copies.filter { $0.origin == origin }, origin)
      (echo.isEcho, echo.isCopy) = (true, true)
      voices.append(echo)
    }
    for index in voices.indices {
      let isTooOld = now.secondsSince1970 - expiry > Int64(policy.maximumAgeDays) * 86_400
      voices[index].told = isTooOld ? nil : told(voices[index])
      voices[index].isWanted = wants(voices[index].destination)
    }

    if isRevokedByOwn { for index in voices.indices where !voices[index].isRevocation { voices[index].isEcho = true } }
    let isUpheld = voices.contains { !$0.isEcho && !$0.isRevocation }
    let isRevoked = voices.contains { !$0.isEcho && $0.isRevocation }
    let standing = voices.filter { !$0.isRevocation && $0.told != nil && !$0.isCopy && (!$0.isEcho || isUpheld) }
    let copied = voices.filter { !$0.isRevocation && $0.told != nil && $0.isCopy && $0.isWanted }
    var result = standing.filter(\.isWanted)
    if result.isEmpty, !copied.isEmpty { result = standing.filter { !$0.isEcho } }
    if !result.isEmpty { result += copied }
    if standing.isEmpty {
      let revocations = voices.filter { !$0.isEcho && $0.isRevocation && $0.told != nil }
      let echoes = voices.filter { $0.isEcho && !$0.isRevocation && $0.told != nil && $0.isWanted }
      result = revocations.filter(\.isWanted)
      if result.isEmpty, !echoes.isEmpty { result = revocations }
      if !result.isEmpty { result += echoes }
    }
    guard !result.isEmpty else { return .leaveOut }
    var release = Instant(secondsSince1970: expiry + Int64(max(120, policy.holdMinutes)) * 60)
    if let minutes = policy.holdToNextMinutes {
      release = Instant(secondsSince1970: (release.secondsSince1970 / 60 / Int64(minutes) + 1) * Int64(minutes) * 60)
    }
    guard now >= release else { return .hold(until: release) }
    var published = together(result)
    published.outvotesRevocation = isRevoked && !standing.isEmpty
    return .publish(published)
  }

  /// The claims of origins with precedence; `nil` where there are none.
  private func preceding(_ all: [StatedClaim]) -> [StatedClaim]? {
    let chosen = all.filter { claim in
      guard let origin = claim.origin, policy.precedence.contains(origin), !claim.source.isRelay else { return false }
      switch claim.source.provenance {
      case .origins: return true
      case .signed: return claim.source.origin == origin
      default: return false
      }
    }
    return chosen.isEmpty ? nil : chosen
  }

  // MARK: One origin

  private static let weights: [Int32: Int] = [0: 0, 4: 1, 3: 2, 2: 3, 5: 4, 1: 5]
  private func weight(_ type: Int32?) -> Int { Self.weights[type ?? 0] ?? 0 }

  private func voice(of claims: [StatedClaim], _ origin: String?) -> Claimant {
    let keys = claims.map(\.key)
    let heaviest = keys.map { weight($0.reportType) }.max() ?? 0
    func first(_ value: (ClaimedKey) -> Int32?, _ better: (Int32, Int32) -> Bool) -> Int32? {
      for level in stride(from: heaviest, through: 0, by: -1) {
        let stated = keys.filter { weight($0.reportType) == level }.compactMap(value)
        if let best = stated.max(by: { better($1, $0) }) { return best }
      }
      return nil
    }
    let periods = keys.compactMap(\.rollingPeriod)
    let type = keys.compactMap(\.reportType).first { weight($0) == heaviest }
    let said = Fields(
      period: (policy.rollingPeriodPreference == .widest ? periods.max() : periods.min()) ?? 0, type: type,
      risk: first(\.transmissionRisk, policy.riskPreference == .highest ? (>) : (<)),
      onset: first(\.daysSinceOnset) { isPreferred($0, to: $1) },
      isRevised: type == 5 || keys.allSatisfy(\.isRevised))
    return Claimant(said: said, destination: destination(of: claims, origin), origin: origin)
  }

  /// Class, length of a span and day of a federation code.
  private func place(_ code: Int32) -> (kind: Int, length: Int, day: Int) {
    let hundreds = (Int(code) + 50) / 100
    let kind = hundreds == 0 ? 5 : hundreds < 20 ? 4 : hundreds == 20 ? 3 : hundreds == 30 ? 2 : 1
    return (kind, kind == 4 ? hundreds : 0, Int(code) - hundreds * 100)
  }

  private func isPreferred(_ left: Int32, to right: Int32) -> Bool {
    let (l, r) = (place(left), place(right))
    if policy.symptomPreference == .mostPrecise {
      return (-l.kind, l.length, abs(l.day), -l.day) < (-r.kind, r.length, abs(r.day), -r.day)
    }
    return (abs(l.day), -l.kind, l.length, -l.day) < (abs(r.day), -r.kind, r.length, -r.day)
  }

  private func destination(of claims: [StatedClaim], _ origin: String?) -> KeyDestination {
    let origins = origin.map { [$0] } ?? []
    let each = claims.map { claim in
      if policy.ignoresVisited {
        return KeyDestination(goesEverywhere: true, visited: claim.visited)
      }
      let names = claim.visited ?? []
      if names.isEmpty {
        switch policy.emptyVisited {
        case .all: return KeyDestination(goesEverywhere: true, visited: claim.visited)
        case .origin where !origins.isEmpty: return KeyDestination(goesEverywhere: false, visited: origins)
        case .none, .origin: break
        }
      }
      let adds = policy.includesOrigin && !origins.isEmpty
      return KeyDestination(goesEverywhere: false, visited: adds ? names + origins : claim.visited)
    }
    return united(each, origins)
  }

  private func united(_ each: [KeyDestination], _ origins: [String]) -> KeyDestination {
    let isEverywhere = each.contains(where: \.goesEverywhere)
    let isNamed = each.contains { $0.visited != nil }
    let names = isEverywhere ? [] : Set(each.flatMap { $0.visited ?? [] }).sorted()
    return KeyDestination(goesEverywhere: isEverywhere, visited: isNamed ? names : nil, origins: origins)
  }

  // MARK: The policy

  private func told(_ voice: Claimant) -> Fields? {
    var told = voice.said
    let stated = told.type.flatMap(ReportType.init(rawValue:)) ?? .unknown
    let ofOrigin = voice.origin.flatMap { policy.reportTypesByOrigin[$0]?[stated] }
    guard case .publish(let type) = ofOrigin ?? policy.reportTypes[stated] else { return nil }
    if type.rawValue != told.type ?? 0 { told.type = type.rawValue }
    if policy.expandsShortPeriods { told.period = 144 }
    let risk = policy.risk
    switch risk.derivation {
    case .asSent: break
    case .fromReportType(let levels, let replacing):
      let applies =
        switch replacing {
        case .always: true
        case .absent: told.risk == nil
        case .absentOrZero: (told.risk ?? 0) == 0
        }
      if applies, let level = levels[type] { told.risk = level }
    case .fromSymptoms(let table):
      let ofOrigin = told.onset == nil ? voice.origin.flatMap { table.notGivenByOrigin[$0] } : nil
      switch ofOrigin ?? table[told.onset.map(SymptomStatus.init(federationCode:))] {
      case .level(let level): told.risk = level
      case .leaveOut: if !voice.isRevocation { return nil }
      case .asSent: break
      }
    }
    told.risk = (told.risk ?? risk.fallback).map { min($0, risk.cap ?? 8) }
    if !voice.isRevocation {
      if let minimum = risk.minimum, (told.risk ?? 0) < minimum { return nil }
      if policy.riskEncoding == .coronaWarnApp, !(1...8).contains(told.risk ?? 0) { return nil }
    }
    let isExact = told.onset.map { (-14...14).contains($0) } ?? false
    switch policy.daysSinceOnsetByClass[SymptomClass(told.onset.map(SymptomStatus.init(federationCode:)))] {
    case .days(let offset)?: told.onset = Int32(offset.days)
    case PublishingPolicy.OnsetForApps.none?: told.onset = nil
    case .asSent?: break
    case nil: if !isExact { told.onset = policy.defaultDaysSinceOnset.map { Int32($0.days) } }
    }
    if policy.withheldFromApps.contains(.reportType), !voice.isRevocation { told.type = nil }
    if policy.withheldFromApps.contains(.risk) { told.risk = nil }
    if policy.withheldFromApps.contains(.onset) { told.onset = nil }
    return told
  }

  // MARK: Several origins

  private func together(_ voices: [Claimant]) -> Published {
    let speaking = voices.filter { !$0.isEcho }
    func merge(_ fields: [Fields], of all: [Fields]) -> Fields {
      Fields(
        period: all.map(\.period).max() ?? 0,
        type: fields.map(\.type).max { (weight($0), $0 == nil ? 0 : 1) < (weight($1), $1 == nil ? 0 : 1) } ?? nil,
        risk: fields.compactMap(\.risk).max(), onset: fields.compactMap(\.onset).min(by: isMoreInfectious),
        isRevised: (fields.isEmpty ? all : fields).allSatisfy(\.isRevised))
    }
    let gateways = merge(speaking.map(\.said), of: voices.map(\.said))
    var apps = merge(speaking.compactMap(\.told), of: voices.compactMap(\.told))
    if policy.riskEncoding == .coronaWarnApp, apps.type != 5, let risk = apps.risk {
      (apps.type, apps.onset) = (5 - (risk + 1) / 2, risk % 2 == 1 ? 1 : 2)
    }
    let best = speaking.map { weight($0.said.type) * 2 + ($0.said.type == nil ? 0 : 1) }.max()
    let givers = speaking.filter { weight($0.said.type) * 2 + ($0.said.type == nil ? 0 : 1) == best }
    return Published(
      apps: apps, gateways: gateways,
      regions: RegionClaim(
        origin: givers.compactMap(\.origin).min(), visited: united(voices.map(\.destination), []).visited))
  }

  private func isMoreInfectious(_ left: Int32, _ right: Int32) -> Bool {
    let (l, r) = (place(left), place(right))
    return (-l.kind, l.length, abs(l.day), l.day) < (-r.kind, r.length, abs(r.day), r.day)
  }
}

extension PlainFold.Fields {
  init(_ key: ClaimedKey) {
    self.init(
      period: key.rollingPeriodWord, type: key.reportType, risk: key.transmissionRisk, onset: key.daysSinceOnset,
      isRevised: key.isRevised)
  }
}

extension PlainFold.Outcome {
  init(_ outcome: BeliefOutcome, in regions: RegionTable) {
    switch outcome {
    case .publish(let key):
      self = .publish(
        .init(
          apps: .init(key.forApps), gateways: .init(key.forFederation), regions: regions[key.forFederation.regions],
          outvotesRevocation: key.notes.contains(.revocationOutvoted)))
    case .hold(let until, _): self = .hold(until: until)
    case .leaveOut: self = .leaveOut
    }
  }
}
