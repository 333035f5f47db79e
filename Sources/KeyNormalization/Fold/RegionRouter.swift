import ExposureKeys

/// Where a key goes: by one origin's opinion, or once the regions of all published opinions are united.
package struct KeyDestination: Hashable, Sendable {
  /// Nobody named a region, and the policy reads that as all of them.
  package internal(set) var goesEverywhere: Bool
  /// The regions that were named, sorted, with the origin where the policy adds it; `nil` when nobody named any.
  package internal(set) var visited: [String]?
  /// The origins, sorted; empty unless they were asked for, and where all of them are lost.
  package internal(set) var origins: [String] = []
}

/// Finds where keys go and unites the regions of several origins. Each distinct combination is worked out once.
struct RegionRouter {
  /// Where a key goes: a position in `destinations`.
  struct Route: Hashable {
    fileprivate var number: UInt32
  }

  /// Which destinations are wanted. Each is asked about once.
  struct Target {
    var needsOrigins = false
    var isWanted: (KeyDestination) -> Bool

    /// - Parameter region: `nil` wants all.
    init(region: String?) {
      guard let region = region?.uppercased() else {
        isWanted = { _ in true }
        return
      }
      isWanted = { $0.goesEverywhere || $0.visited?.contains(region) == true }
    }

    init(needsOrigins: Bool, isWanted: @escaping (KeyDestination) -> Bool) {
      self.needsOrigins = needsOrigins
      self.isWanted = isWanted
    }
  }

  private let policy: PublishingPolicy
  private let target: Target
  private let visited: [[String]?]
  /// Empty where there is no name to publish.
  private let origins: [String]

  private var destinations: [KeyDestination] = []
  private var numbers: [KeyDestination: UInt32] = [:]
  private var isForTarget: [Bool] = []
  private var routes: [UInt64: UInt32] = [:]
  private var unions: [UInt64: UInt32] = [:]
  private var written: [UInt64: RegionClaim.ID] = [:]
  private var lastRoute: (key: UInt64, number: UInt32)?
  private var lastWritten: (key: UInt64, id: RegionClaim.ID)?

  /// What believed keys name, by their `regions`. It has room for every set that claims name: whoever names many takes
  /// nobody's place.
  private(set) var table = RegionTable(isLimited: false)

  init(policy: PublishingPolicy, claims: ClaimSet, target: Target) {
    self.policy = policy
    self.target = target
    visited = claims.names.visited
    origins = claims.names.origins.map { RegionName.isFile($0) ? "" : $0 }
  }

  /// Where one claim's key goes.
  mutating func route(of claim: AdmittedClaim) -> Route {
    let key = UInt64(claim.origin.rawValue) << 32 | UInt64(claim.regions.rawValue)
    if let lastRoute, lastRoute.key == key { return Route(number: lastRoute.number) }
    let number = routes[key] ?? newRoute(of: claim, key: key)
    lastRoute = (key, number)
    return Route(number: number)
  }

  /// Where one origin's claims send their key.
  mutating func route(of claims: ArraySlice<AdmittedClaim>) -> Route {
    let first = route(of: claims[claims.startIndex])
    var further: [Route] = []
    for claim in claims.dropFirst() {
      let route = route(of: claim)
      if route != first { further.append(route) }
    }
    return further.isEmpty ? first : union(of: [first] + further) ?? first
  }

  mutating func union(_ left: Route, _ right: Route) -> Route {
    if left == right { return left }
    let key = UInt64(min(left.number, right.number)) << 32 | UInt64(max(left.number, right.number))
    if let number = unions[key] { return Route(number: number) }
    let (first, second) = (destinations[Int(left.number)], destinations[Int(right.number)])
    let everywhere = first.goesEverywhere || second.goesEverywhere
    let named = first.visited == nil && second.visited == nil ? nil : (first.visited ?? []) + (second.visited ?? [])
    let number = self.number(
      of: KeyDestination(
        goesEverywhere: everywhere, visited: everywhere ? named.map { _ in [] } : named.map(sorted),
        origins: first.origins == second.origins ? first.origins : sorted(first.origins + second.origins)))
    unions[key] = number
    return Route(number: number)
  }

  /// Unites any number at once: for keys that many origins know, without a step for each of them.
  mutating func union(of routes: [Route]) -> Route? {
    guard routes.count > 8 else {
      return routes.dropFirst().reduce(routes.first) { sum, route in sum.map { union($0, route) } }
    }
    let united = Set(routes).map { destinations[Int($0.number)] }
    let everywhere = united.contains { $0.goesEverywhere }
    let isNamed = united.contains { $0.visited != nil }
    let names = isNamed ? (everywhere ? [] : sorted(united.flatMap { $0.visited ?? [] })) : nil
    return Route(
      number: self.number(
        of: KeyDestination(
          goesEverywhere: everywhere, visited: names, origins: sorted(united.flatMap { $0.origins }))))
  }

  func reachesTarget(_ route: Route) -> Bool { isForTarget[Int(route.number)] }

  /// Names and all: what the published key says about regions.
  mutating func id(of route: Route, origin: OriginID) -> RegionClaim.ID {
    let key = UInt64(origin.rawValue) << 32 | UInt64(route.number)
    if let lastWritten, lastWritten.key == key { return lastWritten.id }
    let name = origins[Int(origin.rawValue)]
    let claim = RegionClaim(origin: name.isEmpty ? nil : name, visited: destinations[Int(route.number)].visited)
    // There are fewer claims than the table has places.
    let id = written[key] ?? table.intern(claim) ?? .none
    written[key] = id
    lastWritten = (key, id)
    return id
  }

  private mutating func newRoute(of claim: AdmittedClaim, key: UInt64) -> UInt32 {
    let origin = [origins[Int(claim.origin.rawValue)]].filter { !$0.isEmpty }
    var named = visited[Int(claim.regions.rawValue)]
    let isEmpty = named?.isEmpty ?? true
    let everywhere = policy.ignoresVisited || isEmpty && policy.emptyVisited == .all
    if everywhere { named = named.map { _ in [] } }
    if !everywhere, !origin.isEmpty, policy.includesOrigin || isEmpty && policy.emptyVisited == .origin {
      named = sorted((named ?? []) + origin)
    }
    let number = self.number(
      of: KeyDestination(goesEverywhere: everywhere, visited: named, origins: target.needsOrigins ? origin : []))
    routes[key] = number
    return number
  }

  private mutating func number(of destination: KeyDestination) -> UInt32 {
    if let number = numbers[destination] { return number }
    let number = UInt32(destinations.count)
    destinations.append(destination)
    numbers[destination] = number
    isForTarget.append(target.isWanted(destination))
    return number
  }
}

private func sorted(_ names: [String]) -> [String] { Set(names).sorted() }
