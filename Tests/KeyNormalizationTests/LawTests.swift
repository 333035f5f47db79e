import ExposureKeys
import Testing

@testable import KeyNormalization

@Suite struct RecordingLaws {
  @Test func commutativeAssociativeIdempotent() throws {
    try forRandomCases { random in
      let (a, b, c) = (
        claimSet(Cases.batches(&random)), claimSet(Cases.batches(&random)), claimSet(Cases.batches(&random))
      )
      #expect(Set(a.union(b).statedClaims) == Set(b.union(a).statedClaims))
      #expect(Set(a.union(b).union(c).statedClaims) == Set(a.union(b.union(c)).statedClaims))
      #expect(a.union(a).count == a.count)
      #expect(a.count == Set(a.statedClaims).count)
    }
  }

  @Test func receiptsAddUp() throws {
    try forRandomCases { random in
      var claims = ClaimSet()
      let batches = Cases.batches(&random)
      var receipt = ImportReceipt()
      for batch in batches { receipt += claims.record(batch) }
      #expect(receipt.isBalanced)
      #expect(receipt.new == claims.count)
      for batch in batches {
        let again = claims.record(batch)
        #expect(again.isBalanced && again.new == 0 && again.known == batch.claims.count)
      }
      let beliefs = fold(claims, policy: Cases.publishingPolicy(&random), now: Cases.now)
      #expect(beliefs.receipt.isBalanced)
      #expect(beliefs.receipt.published == beliefs.keys.count)
      let subjects = claims.statedClaims.map { KeySubject(key: $0.key.key, rollingStart: $0.key.rollingStartWord) }
      #expect(beliefs.receipt.believed == Set(subjects).count)
    }
  }
}

@Suite struct LargeSets {
  private static func said(_ count: Int, _ random: inout SeededGenerator) -> [Said] {
    (0..<count).map { number in
      var key = AdmissionRuleTests.good
      key.key = TemporaryExposureKey(high: random.next(), low: random.next())
      key.transmissionRisk = Int32(number % 9)
      return Said(key: key, origin: number % 3 == 0 ? "DE" : "IT", visited: nil)
    }
  }

  /// More claims than a bucket, a segment of rows or a block of slots has room for.
  @Test func keysComeInOrderAndOnce() {
    var random = SeededGenerator(seed: 4)
    let said = Self.said(90_000, &random)
    let repeated = said.prefix(40_000).map { claim in
      var claim = claim
      claim.key.daysSinceOnset = 1
      return claim
    }
    let claims = claimSet([
      admit(said, from: Cases.senders[0]), admit(repeated.shuffled(using: &random), from: Cases.senders[1]),
    ])
    #expect(claims.count == 130_000)
    let beliefs = fold(claims, policy: PublishingPolicy(), now: Cases.now)
    #expect(beliefs.keys.map(\.subject.key) == said.map(\.key.key).sorted())
    let keys = Dictionary(uniqueKeysWithValues: beliefs.keys.map { ($0.subject.key, $0.forFederation) })
    for (number, claim) in said.enumerated() {
      #expect(keys[claim.key.key]?.transmissionRisk == Int32(number % 9))
      #expect(keys[claim.key.key]?.daysSinceOnset == (number < 40_000 ? 1 : claim.key.daysSinceOnset))
    }
    var counted = Beliefs(of: claims, policy: PublishingPolicy(), now: Cases.now)
    #expect(counted.countKeys() == 90_000)
  }

  @Test func copiesGoTheirOwnWays() {
    var random = SeededGenerator(seed: 5)
    for size in [3, 40, 70_000] {
      let (first, second, third) = (Self.said(size, &random), Self.said(size, &random), Self.said(5, &random))
      let common = claimSet([admit(first, from: Cases.senders[0])])
      let before = Set(common.statedClaims)
      var (left, right) = (common, common)
      left.record(admit(second, from: Cases.senders[0]))
      right.record(admit(third, from: Cases.senders[1]))
      #expect(Set(common.statedClaims) == before)
      #expect(left.count == size * 2 && right.count == size + 5)
      #expect(left.union(right).count == size * 2 + 5)
      #expect(Set(left.statedClaims).isSuperset(of: before) && Set(right.statedClaims).isSuperset(of: before))
    }
  }
}

@Suite struct HostileKeys {
  /// A sender chooses key data; neither one crowded bucket nor many claims about one key change results.
  @Test func crowdedKeyData() {
    let said = (0..<20_000).map { number in
      var key = AdmissionRuleTests.good
      key.key = TemporaryExposureKey(high: 7, low: UInt64(20_000 - number))
      return Said(key: key, origin: "DE", visited: nil)
    }
    let beliefs = fold(claimSet([admit(said, from: Cases.senders[0])]), policy: PublishingPolicy(), now: Cases.now)
    #expect(beliefs.keys.map(\.subject.key.low) == Array(1...20_000))
  }

  @Test func manyClaimsAboutOneKey() {
    let said = (0..<20_000).map { number in
      var key = AdmissionRuleTests.good
      (key.rollingPeriod, key.transmissionRisk) = (Int32(number % 144 + 1), Int32(number / 144 % 9))
      return Said(key: key, origin: "\(number % 1000)", visited: ["\(number % 10)"])
    }
    var policy = ReadingPolicy()
    policy.declaredRegions = Set((0..<1000).map(String.init))
    let claims = claimSet([admit(said, from: Cases.senders[0], policy: policy)])
    let beliefs = fold(claims, policy: PublishingPolicy(), now: Cases.now)
    #expect(beliefs.receipt.believed == 1 && beliefs.keys.first?.forApps.rollingPeriod == 144)
    #expect(beliefs.keys.first.map { beliefs.regions[$0.forApps.regions].visited?.count } == 1000)
    #expect(
      explain(said[0].key.key, claims, policy: PublishingPolicy(), now: Cases.now).first?.lines.count == claims.count)
  }
}

@Suite struct FoldLaws {
  @Test func orderOfArrivalHasNoPart() throws {
    try forRandomCases { random in
      let batches = Cases.batches(&random)
      let policy = Cases.publishingPolicy(&random)
      let expected = outcomes(claimSet(batches), policy, region: "DE")
      for _ in 0..<3 {
        // Whole batches in another order, repeated, and their claims shuffled.
        let shuffled = (batches + batches.prefix(1)).shuffled(using: &random).map { batch in
          var batch = batch
          batch.claims.shuffle(using: &random)
          return batch
        }
        #expect(outcomes(claimSet(shuffled), policy, region: "DE") == expected)
      }
    }
  }

  /// What is passed on to gateways is published and passed on again as it is. Where one origin has spoken, apps are told
  /// the same; what several say is derived for each of them alone, which nobody can do again for the result.
  @Test func normalizingAgainChangesNothing() throws {
    try forRandomCases { random in
      let policy = Cases.publishingPolicy(&random)
      let region = random.chance(1, in: 2) ? "DE" : nil
      let isOneOrigin = random.chance(1, in: 2)
      let batches =
        isOneOrigin
        ? [admit((0..<12).map { _ in Cases.said(&random, origins: ["DE"]) }, from: Cases.senders[0])]
        : Cases.batches(&random)
      let once = fold(claimSet(batches), policy: policy, region: region, now: Cases.now)
      let said = once.keys.map { key in
        let regions = once.regions[key.forFederation.regions]
        return Said(key: key.forFederation, origin: regions.origin, visited: regions.visited)
      }
      let batch = admit(said, from: Sender(name: "again"))
      #expect(batch.rejected.isEmpty)
      let twice = fold(claimSet([batch]), policy: policy, region: region, now: Cases.now)
      if isOneOrigin { #expect(published(twice) == published(once)) }
      let again = Dictionary(uniqueKeysWithValues: zip(twice.keys.map(\.subject), published(twice)))
      for (key, first) in zip(once.keys, published(once)) {
        guard let second = again[key.subject] else {
          // An echo that nothing else publishes says nothing about the person. And where one origin states risk 0, from
          // which its report type makes another level, and a second one a weightier type, both may be below the minimum
          // together.
          let isBelow = !isOneOrigin && policy.risk.minimum != nil && first.federation.transmissionRisk == 0
          #expect(
            isBelow || first.federation.reportType == nil && first.federation.transmissionRisk == nil,
            "\(first), of one origin: \(isOneOrigin), of \(claimSet(batches).statedClaims.filter { $0.key.key == key.subject.key })"
          )
          continue
        }
        #expect(second.federation == first.federation && second.regions == first.regions)
      }
    }
  }

  @Test func nothingOutsideTheDevicesRangesIsPublished() throws {
    try forRandomCases { random in
      let beliefs = fold(
        claimSet(Cases.batches(&random)), policy: Cases.publishingPolicy(&random), now: Cases.now)
      for key in beliefs.keys {
        #expect(key.forApps.daysSinceOnset.map { (-14...14).contains($0) } ?? true)
        #expect(key.forApps.transmissionRisk.map { (0...8).contains($0) } ?? true)
        #expect((1...144).contains(key.forApps.rollingPeriod ?? 0))
        #expect(key.forApps.reportType.map { ReportType(rawValue: $0) != nil } ?? true)
      }
    }
  }

  @Test func oneOriginCannotSuppressOrRevokeAnothersKey() throws {
    try forRandomCases { random in
      var policy = Cases.publishingPolicy(&random)
      // The other's longer period may hold a key for some hours more, but not here.
      policy.holdMinutes = 120
      let now = Instant(secondsSince1970: Cases.now.secondsSince1970 + 2 * 86_400)
      let mine = claimSet([admit((0..<6).map { _ in Cases.said(&random, origins: ["DE"]) }, from: Cases.senders[0])])
      let before = fold(mine, policy: policy, now: now)
      let others = admit(
        (0..<12).map { _ in Cases.said(&random, origins: ["IT", "CH", nil]) }, from: Cases.senders[1])
      var both = mine
      both.record(others)
      let after = fold(both, policy: policy, now: now)
      let kept = Dictionary(uniqueKeysWithValues: after.keys.map { ($0.subject, $0) })
      for key in before.keys {
        let new = try #require(kept[key.subject])
        #expect(key.isRevocation || !new.isRevocation)
      }
    }
  }

  @Test func recallLeavesWhatTheOthersSaid() throws {
    try forRandomCases { random in
      let claims = claimSet(Cases.batches(&random))
      let policy = Cases.publishingPolicy(&random)
      let recalled = claims.recalling(origin: "it")
      var others = ClaimSet()
      for batch in Cases.regrouped(claims.statedClaims.filter { $0.origin != "IT" }) { others.record(batch) }
      #expect(Set(recalled.statedClaims) == Set(others.statedClaims))
      #expect(outcomes(recalled, policy) == outcomes(others, policy))
      #expect(recalled.recalling(source: "peer").statedClaims.allSatisfy { $0.source.name != "peer" })
    }
  }
}

@Suite struct GatewayLaws {
  /// Two gateways hear different things and exchange claims in any order, with losses and repeats, until each has heard
  /// from the other once without loss.
  @Test func exchangingGatewaysAgree() throws {
    try forRandomCases { random in
      var left = claimSet(Cases.batches(&random))
      var right = claimSet(Cases.batches(&random))
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        if random.chance(1, in: 2) {
          left.formUnion(right.removing { _ in random.chance(1, in: 3) })
        } else {
          right.formUnion(left.removing { _ in random.chance(1, in: 3) })
        }
      }
      left.formUnion(right)
      right.formUnion(left)
      #expect(Set(left.statedClaims) == Set(right.statedClaims))
      let policy = Cases.publishingPolicy(&random)
      #expect(outcomes(left, policy) == outcomes(right, policy))
    }
  }

  /// Gateways in a ring (and some chords) read each other's bundles, where origins are lost. One region tells one
  /// gateway about a key and revokes it later.
  @Test func revocationsGetAroundLoopsAndEchoesKeepNothingAlive() throws {
    try forRandomCases { random in
      let count = Int.random(in: 2...5, using: &random)
      var gateways = [ClaimSet](repeating: ClaimSet(), count: count)
      var links = (0..<count).map { (from: $0, to: ($0 + 1) % count) }
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        links.append((Int.random(in: 0..<count, using: &random), Int.random(in: 0..<count, using: &random)))
      }
      links.removeAll { $0.from == $0.to }
      let home = Int.random(in: 0..<count, using: &random)
      let policy = PublishingPolicy()

      func relay(_ link: (from: Int, to: Int)) {
        let bundle = fold(gateways[link.from], policy: policy, now: Cases.now)
        let said = bundle.keys.map { Said(key: $0.forApps, origin: nil, visited: nil) }
        gateways[link.to].record(admit(said, from: Sender(name: "gateway \(link.from)", isRelay: true)))
      }
      func run(_ random: inout SeededGenerator) {
        for _ in 0..<Int.random(in: 0...12, using: &random) {
          if let link = links.randomElement(using: &random) { relay(link) }
        }
      }
      func settle() { for _ in 0..<count { for link in links { relay(link) } } }

      var key = Cases.key(&random)
      key.rollingStart = Int32(Cases.firstDay.firstInterval.rawValue)
      key.reportType = Int32.random(in: 2...3, using: &random)
      key.isRevised = false
      gateways[home].record(admit([Said(key: key, origin: "DE", visited: nil)], from: Cases.senders[0]))
      run(&random)
      if random.chance(1, in: 2) { settle() }
      key.reportType = ReportType.revoked.rawValue
      key.isRevised = true
      gateways[home].record(admit([Said(key: key, origin: "DE", visited: nil)], from: Cases.senders[0]))
      run(&random)
      settle()

      for (number, gateway) in gateways.enumerated() {
        let beliefs = fold(gateway, policy: policy, now: Cases.now)
        #expect(beliefs.keys.map(\.isRevocation) == [true], "gateway \(number) of \(count)")
      }
      // Settled: relaying on changes no belief.
      let settled = gateways.map { outcomes($0, policy) }
      settle()
      #expect(gateways.map { outcomes($0, policy) } == settled)
    }
  }

  /// What one's own region never raised, no echo raises: it publishes a key, widens its validity and its regions, and
  /// revokes nothing.
  @Test func echoesSayNothingAboutThePerson() throws {
    try forRandomCases { random in
      var own = Cases.said(&random, origins: ["DE"])
      own.key.rollingStart = Int32(Cases.firstDay.firstInterval.rawValue + 720)
      var gateway = claimSet([admit([own], from: Cases.senders[0])])
      let before = published(fold(gateway, policy: PublishingPolicy(), now: Cases.now)).first
      var echoes: [Said] = []
      for _ in 0..<5 {
        var echo = Cases.key(&random)
        echo.key = own.key.key
        echo.rollingStart = own.key.rollingStart
        echoes.append(Said(key: echo, origin: "DE", visited: nil))
      }
      let carries: Set<String>? = random.chance(1, in: 2) ? ["DE", "FR"] : nil
      gateway.record(admit(echoes, from: Sender(name: "relay", isRelay: true, carries: carries)))
      guard let before else { return }
      let after = published(
        fold(gateway, policy: PublishingPolicy(), now: Instant(secondsSince1970: Cases.now.secondsSince1970 + 86_400)))
      guard let after = after.first(where: { $0.apps.rollingStart == own.key.rollingStart }) else {
        Issue.record("left out for an echo")
        return
      }
      #expect(after.apps.rollingPeriodWord >= before.apps.rollingPeriodWord)
      var same = after
      (same.apps.rollingPeriod, same.federation.rollingPeriod) = (
        before.apps.rollingPeriod, before.federation.rollingPeriod
      )
      (same.regions.visited, same.apps.isRevised) = (before.regions.visited, before.apps.isRevised)
      same.federation.isRevised = before.federation.isRevised
      #expect(same == before)
    }
  }

  /// Gateways that pass on what was said, with its origin, agree about every report type, whatever their policies map for
  /// apps; a revocation takes back all that weighs less, at the last of them too.
  @Test func federationsAgreeAboutEveryReportType() throws {
    try forRandomCases { random in
      let count = Int.random(in: 2...4, using: &random)
      var gateways = [ClaimSet](repeating: ClaimSet(), count: count)
      var policies = (0..<count).map { _ in PublishingPolicy() }
      for index in policies.indices {
        policies[index].reportTypes[.recursive] = .publish(as: .recursive)
        if random.chance(1, in: 2) { policies[index].reportTypes[.unknown] = .publish(as: .confirmedTest) }
        if random.chance(1, in: 2) { policies[index].reportTypes[.selfReport] = .publish(as: .confirmedTest) }
      }
      func exchange() {
        for _ in 0..<count {
          for from in 0..<count {
            let batch = fold(gateways[from], policy: policies[from], now: Cases.now)
            let said = batch.keys.map { key in
              let regions = batch.regions[key.forFederation.regions]
              return Said(key: key.forFederation, origin: regions.origin, visited: regions.visited)
            }
            gateways[(from + 1) % count].record(admit(said, from: Sender(name: "gateway \(from)")))
          }
        }
      }
      var key = Cases.key(&random)
      key.rollingStart = Int32(Cases.firstDay.firstInterval.rawValue)
      key.reportType = [nil, 0, 1, 2, 3, 4].randomElement(using: &random) ?? nil
      key.isRevised = false
      let home = Int.random(in: 0..<count, using: &random)
      gateways[home].record(admit([Said(key: key, origin: "DE", visited: nil)], from: Cases.senders[0]))
      exchange()
      let isConfirmed = key.reportType == ReportType.confirmedTest.rawValue
      key.reportType = ReportType.revoked.rawValue
      gateways[home].record(admit([Said(key: key, origin: "DE", visited: nil)], from: Cases.senders[0]))
      exchange()
      for (gateway, policy) in zip(gateways, policies) {
        let keys = fold(gateway, policy: policy, now: Cases.now).keys
        // Nobody takes back a confirmed test.
        #expect(keys.map(\.isRevocation) == [!isConfirmed])
      }
    }
  }

  /// Bundles tell what apps are told: a relay reads a mapped report type as its own, and only what apps can let go of is
  /// taken back there. The manual names the limit.
  @Test func bundlesCarryWhatAppsAreTold() throws {
    var policy = PublishingPolicy()
    policy.reportTypes[.unknown] = .publish(as: .confirmedTest)
    for (type, isRevoked) in [(0, false), (2, true), (3, true), (1, false)] as [(Int32, Bool)] {
      var key = AdmissionRuleTests.good
      key.reportType = type
      var home = ClaimSet()
      var other = ClaimSet()
      for said in [type, ReportType.revoked.rawValue] {
        key.reportType = said
        home.record(admit([Said(key: key, origin: "DE", visited: nil)], from: Cases.senders[0]))
        let bundle = fold(home, policy: policy, now: Cases.now).keys
        let relayed = bundle.map { Said(key: $0.forApps, origin: nil, visited: nil) }
        other.record(admit(relayed, from: Sender(name: "bundle", isRelay: true)))
      }
      let believed = fold(other, policy: policy, now: Cases.now).keys
      #expect(believed.map { $0.forApps.reportType == ReportType.revoked.rawValue } == [isRevoked], "type \(type)")
    }
  }
}

extension BelievedKey {
  var isRevocation: Bool { forFederation.reportType == ReportType.revoked.rawValue }
}

extension Cases {
  /// Batches that say exactly these claims.
  static func regrouped(_ claims: [StatedClaim]) -> [AdmittedBatch] {
    claims.map { claim in
      var batch = AdmittedBatch(source: claim.source, received: 1)
      if let visited = claim.visited { batch.visited.append(visited) }
      if let origin = claim.origin { batch.origins.append(origin) }
      batch.claims = [
        AdmittedClaim(
          subject: claim.subject, statement: claim.statement,
          regions: claim.visited == nil ? .none : RegionClaim.ID(rawValue: 1),
          origin: OriginID(rawValue: claim.origin == nil ? 0 : 1), source: SourceID(rawValue: 0))
      ]
      return batch
    }
  }
}
