import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyInspection
import KeyNormalization
import KeyPublishing
import KeyStorage
import Testing

/// What goes out when, and in which files.
@Suite struct PublisherTests {
  @Test func aKeyGoesOutOnce() async throws {
    try await Press.run(.sample()) { press in
      let keys = (1...5).map { key($0) }
      try await press.say(keys)
      let first = try await press.round(at(10, 30))
      #expect(first[0].published == 5 && first[0].believed == 5)
      let window = (at(8).secondsSince1970, at(10).secondsSince1970)
      #expect(try press.index("NL") == ["NL/\(window.0)-\(window.1)-00001.zip"])
      let bundle = try press.increments("NL")[0]
      #expect(bundle.keys == keys.sorted { $0.subject < $1.subject })
      #expect(bundle.header.signatureInfos == [identity.info])
      #expect(try press.listed("NL", .day).map(\.path) == ["NL/day/2020-12-04-\(window.1).zip"])

      let files = try press.files()
      let second = try await press.round(at(11, 59))
      #expect(second[0].window == nil && second[0].bundles == [] && second[0].nextWindow == at(12))
      let third = try await press.round(at(12))
      #expect(third[0].alreadyReleased == 5 && third[0].published == 0 && third[0].bundles == [])
      #expect(try press.files() == files)
    }
  }

  @Test func anEmptySeriesHasAnEmptyIndex() async throws {
    try await Press.run(.sample()) { press in
      try await press.round(at(10))
      #expect(try press.bytes("NL/index.txt") == [])
      #expect(try press.manifest("NL").bundles == [])
    }
  }

  @Test func checksumsAreThoseOfTheFiles() async throws {
    guard let tool = Tool(named: "sha256sum") else {
      print("skipped: sha256sum is not in PATH")
      return
    }
    try await Press.run(.sample { $0.makesSince = true }) { press in
      try await press.say([key(1)])
      try await press.round(at(10))
      let folder = URL(filePath: "\(press.root)/NL")
      let outcome = try tool.run(["--check", "--strict", "SHA256SUMS"], in: folder)
      #expect(outcome.status == 0, "\(outcome.errors)")
      let since = try press.listed("NL", .since).count
      #expect(outcome.text.split(separator: "\n").count == 2 + since)
    }
  }

  @Test func theManifestFitsItsSchema() async throws {
    let schema = try DocumentSchema(named: "manifest.schema.json")
    let rolled = SeriesSettings.sample {
      $0.makesSince = true
      $0.makesKeyDays = true
    }
    try await Press.run([rolled, .sample("travel", include: nil)]) { press in
      try await press.say([key(1, type: .selfReport)])
      try await press.round(at(10))
      try await press.say([key(1, type: .confirmedTest)])
      try await press.round(at(12))
      for name in ["NL", "travel"] {
        #expect(try schema.faults(in: Data(press.bytes("\(name)/manifest.json"))) == [])
      }
      let kinds = schema.values(of: "kind", in: "bundle")
      #expect(kinds == Set(BundleKind.allCases.map(\.rawValue)))
    }
  }

  // MARK: Windows

  /// A key that expires at 10:00 goes out two hours later, and with the window that ends then.
  @Test func heldKeysGoOutTwoHoursAfterTheirExpiry() async throws {
    try await Press.run(.sample()) { press in
      let held = key(1, age: -1, period: 60)
      try await press.say([held])
      for hour in [Int64(10), 11] {
        let receipt = try await press.round(at(hour, 59))[0]
        if hour == 10 { #expect(receipt.held == 1 && receipt.nextRelease == at(12)) }
        #expect(try press.index("NL") == [])
      }
      try await press.round(at(12))
      #expect(try press.increments("NL").map(\.keys) == [[held]])
    }
  }

  /// What comes when a window is over goes into the next one, and files never change.
  @Test func aWindowIsNeverOpenedAgain() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1)])
      try await press.round(at(10))
      let before = try press.bytes(press.index("NL")[0])
      try await press.say([key(2)])
      try await press.round(at(10, 1))
      #expect(try press.index("NL").count == 1)
      // Hours later, without a round in between: what waited goes into the newest window that is over.
      try await press.round(at(17))
      let windows = try press.increments("NL").map { ($0.header.startTimestamp, $0.header.endTimestamp) }
      #expect(windows.map(\.0) == [UInt64(at(8).secondsSince1970), UInt64(at(14).secondsSince1970)])
      #expect(windows.map(\.1) == [UInt64(at(10).secondsSince1970), UInt64(at(16).secondsSince1970)])
      #expect(try press.bytes(press.index("NL")[0]) == before)
      // A clock that goes back a little publishes nothing.
      try await press.say([key(3)])
      try await press.round(at(15, 10))
      #expect(try press.index("NL").count == 2)
      // One that was hours ahead, and is right again, is no reason to be silent until its time comes again.
      let receipt = try await press.round(at(12, 30))[0]
      #expect(receipt.warnings.map(\.code) == [.windowAhead])
      #expect(try press.increments("NL").map(\.keys).last == [key(3)])
      // And when it comes, each bundle ends behind those before, in a window that no app has seen.
      try await press.say([key(4)])
      #expect(try await press.round(at(16))[0].warnings == [])
      try await press.say([key(5)])
      try await press.round(at(18))
      let ends = try press.increments("NL").map(\.header.endTimestamp)
      let hours = [10, 16, 18].map { UInt64(at($0).secondsSince1970) }
      #expect(ends == hours + [hours[2] + 1, hours[2] + 2])
    }
  }

  /// Apps by day have taken the day that a clock passed over as a whole, so when it comes nothing new goes into it.
  @Test func aDayThatWasPassedOverStaysAsItIs() async throws {
    try await Press.run(.sample { $0.makesDays = true }) { press in
      try await press.say([key(1)])
      try await press.round(at(10 + 12 * 24))
      let passed = Day("2020-12-16")
      func days() throws -> [Day] {
        try press.increments("NL").map { Instant(secondsSince1970: Int64($0.header.startTimestamp ?? 0)).day }
      }
      #expect(try days() == [passed].compactMap(\.self))
      try await press.say([key(2)])
      let receipt = try await press.round(at(12))[0]
      #expect(receipt.warnings.map(\.code) == [.windowAhead])
      for hour: Int64 in [11 * 24, 11 * 24 + 12, 12 * 24 + 2, 12 * 24 + 14] {
        try await press.say([key(UInt64(hour))], now: at(hour))
        try await press.round(at(hour + 2))
      }
      let all = try days()
      #expect(all.count == 6)
      #expect(all.count { $0 == passed } == 1, "\(all)")
    }
  }

  @Test func emptyWindowsAreSignedWhereTheyAreWanted() async throws {
    try await Press.run(.sample { $0.publishesEmptyWindows = true }) { press in
      try await press.round(at(10))
      try await press.say([key(1)])
      try await press.round(at(16))
      let bundles = try press.increments("NL")
      #expect(bundles.map(\.keys.count) == [0, 0, 0, 1])
      #expect(bundles.map(\.header.endTimestamp) == [10, 12, 14, 16].map { UInt64(at($0).secondsSince1970) })
    }
  }

  // MARK: Regions

  struct Routing: Sendable, CustomTestStringConvertible {
    var name: String
    var selection: RegionSelection
    var expected: Set<UInt64>
    var testDescription: String { name }
  }

  /// Five regions; keys 1 to 6 stayed at home, the others travelled, and 10 names nothing and nobody.
  @Test(arguments: [
    Routing(name: "one region", selection: RegionSelection(include: ["NL"]), expected: [1, 7, 8, 9]),
    Routing(name: "two regions", selection: RegionSelection(include: ["NL", "de"]), expected: [1, 2, 7, 8, 9]),
    Routing(
      name: "three regions", selection: RegionSelection(include: ["IT", "BE", "FR"]), expected: [3, 4, 5, 7, 8, 9]),
    Routing(name: "all", selection: RegionSelection(), expected: [1, 2, 3, 4, 5, 7, 8, 9, 10]),
    Routing(
      name: "without two regions", selection: RegionSelection(exclude: ["NL", "DE"]), expected: [3, 4, 5, 9, 10]),
    Routing(
      name: "without, but with", selection: RegionSelection(include: ["BE"], exclude: ["NL"]), expected: [4, 8]),
    Routing(name: "travellers", selection: RegionSelection(travellersOnly: true), expected: [7, 8]),
    Routing(
      name: "travellers to three regions",
      selection: RegionSelection(include: ["BE", "FR", "DE"], travellersOnly: true),
      expected: [7, 8]),
    Routing(
      name: "from two origins", selection: RegionSelection(origins: ["DE", "it"]), expected: [2, 3, 8, 9]),
    Routing(
      name: "from an origin, to a region", selection: RegionSelection(include: ["NL"], origins: ["DE", "IT", "BE"]),
      expected: [8]),
  ])
  func regions(routing: Routing) async throws {
    try await Press.run(.sample { $0.selection = routing.selection }) { press in
      let said: [(key: ClaimedKey, origin: String?, visited: [String]?)] = [
        (key(1), "NL", nil), (key(2), "DE", []), (key(3), "IT", ["IT"]), (key(4), "BE", nil), (key(5), "FR", nil),
        (key(7), "NL", ["DE", "FR"]), (key(8), "DE", ["NL", "BE"]), (key(9), "NL", ["NL"]), (key(10), nil, nil),
      ]
      try await press.say(said)
      // Another region knows key 9 too. Each is asked alone: one that stayed at home in two regions has not travelled.
      try await press.say([(key(9), "IT", ["IT"])], source: "other")
      try await press.round(at(10))
      let published = try press.index("NL").isEmpty ? [] : press.increments("NL")[0].keys
      #expect(subjects(published) == subjects(routing.expected.map { key($0) }))
    }
  }

  /// A key that names no region goes everywhere where the policy says so; no exclusion is about it.
  @Test(arguments: [
    RegionSelection(include: ["NL"]), RegionSelection(include: ["DE", "IT"]), RegionSelection(exclude: ["NL"]),
    RegionSelection(travellersOnly: true),
  ])
  func everywhere(selection: RegionSelection) async throws {
    let series = SeriesSettings.sample {
      $0.selection = selection
      $0.publishing.publishing.emptyVisited = .all
    }
    try await Press.run(series) { press in
      try await press.say([key(1)], origin: "FR")
      #expect(try await press.round(at(10))[0].published == 1)
    }
  }

  // MARK: Limits

  @Test func aWindowTakesSoManyAndTheRestWaits() async throws {
    try await Press.run(.sample { $0.mostKeys = 8 }) { press in
      let keys = (1...20).map { key($0) }
      try await press.say(keys)
      let (series, program) = (press.series[0], press.program)
      for (hour, published, waiting) in [(10, 8, 12), (12, 8, 4), (14, 4, 0), (16, 0, 0)] as [(Int64, Int, Int)] {
        let status = try await press.ledger.read {
          try SeriesStatus(of: series, in: $0, now: at(hour), countingFor: program)
        }
        #expect(status.next?.new == published && status.next?.waiting == waiting, "\(hour)")
        let receipt = try await press.round(at(hour))[0]
        #expect(receipt.published == published && receipt.waiting == waiting, "\(hour)")
        #expect(receipt.warnings.contains { $0.code == .windowFull } == (waiting > 0))
      }
      let published = try press.increments("NL").flatMap(\.keys)
      #expect(published.count == 20)
      #expect(subjects(published) == subjects(keys))
    }
  }

  // MARK: Splits

  @Test(arguments: [1, 2, 3, 7]) func splitsByCount(parts: Int) async throws {
    try await Press.run(.sample { $0.maximumKeys = (20 + parts - 1) / parts }) { press in
      let keys = (1...20).map { key($0) }
      try await press.say(keys)
      try await press.round(at(10))
      let bundles = try press.increments("NL")
      #expect(bundles.count == parts)
      #expect(Set(bundles.map(\.header.endTimestamp)).count == parts)
      #expect(bundles[0].header.endTimestamp == UInt64(at(10).secondsSince1970))
      #expect(subjects(bundles.flatMap(\.keys)) == subjects(keys))
      #expect(bundles.allSatisfy { $0.keys.count <= (20 + parts - 1) / parts })
      // Layouts that name a day name one archive.
      #expect(try press.listed("NL", .day).map(\.keys) == [20])
      try await press.say([key(21)])
      try await press.round(at(12))
      #expect(try press.listed("NL", .day).map(\.keys) == [21])
    }
  }

  @Test func splitsBySize() async throws {
    try await Press.run(.sample { $0.maximumBytes = 2000 }) { press in
      try await press.say((1...200).map { key($0) })
      try await press.round(at(10))
      let facts = try press.listed("NL", .increment)
      #expect(facts.count > 1 && facts.allSatisfy { $0.bytes <= 2000 })
      #expect(facts.map(\.keys).reduce(0, +) == 200)
    }
    try await Press.run(.sample { $0.maximumBytes = 100 }) { press in
      try await press.say([key(1)])
      let receipt = try await press.publisher.round(now: at(10))[0]
      #expect(receipt.fault?.code == "bundle-too-large")
      #expect(receipt.isBalanced && receipt.waiting == 1)
      #expect(try press.index("NL") == [])
    }
  }

  /// The same key data under two rolling starts is two keys, and devices want it once in a file.
  @Test("a region's bundles do not double in number because one sender repeats a key")
  func repetitionsMakeNoMoreBundles() async throws {
    try await Press.run(.sample { $0.makesSince = true }) { press in
      let twins = (0..<6).map { age in key(1).with { $0.rollingStart = ($0.rollingStart ?? 0) - 144 * age } }
      try await press.say(Array(twins[..<2]) + [key(2), key(3)])
      let first = try await press.round(at(10))[0]
      #expect(first.omissions == ["repeated-key-data": 1])
      #expect(try press.increments("NL").map(\.keys.count) == [3])
      // The second one goes out with the next window. Somebody repeats it again and again: enough is enough.
      try await press.say(Array(twins[2...]))
      for hour in [12, 14, 16, 18, 20] as [Int64] {
        let receipt = try await press.round(at(hour))[0]
        #expect(receipt.published + receipt.leftOut + receipt.alreadyReleased == receipt.believed)
      }
      #expect(try press.increments("NL").map(\.keys.count) == [3, 1, 1, 1, 1])
      let rolled = try await press.ledger.read { try $0.bundles(of: "NL", in: [.published]) }.map(\.bundle)
      #expect(rolled.filter { $0.kind != .increment }.allSatisfy { $0.end % 7200 == 0 }, "one bundle each")
    }
  }

  /// Repetitions are counted for each origin: what one repeats takes no place from another's key.
  @Test func oneOriginsRepetitionsDropNobodysKey() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1)])
      let earlier = (1...5).map { age in key(1).with { $0.rollingStart = ($0.rollingStart ?? 0) - 144 * Int32(age) } }
      let document = try await press.say(earlier, origin: "DE", visited: ["NL"], source: "other")
      // They wait for the operator, who lets them in.
      _ = try await press.ledger.heldReleased(document, by: Attribution(by: "ada"), at: at(1))
      let receipt = try await press.round(at(10))[0]
      #expect(receipt.published == 2 && receipt.omissions == ["repeated-key-data": 4])
      #expect(try press.increments("NL").flatMap(\.keys).map(\.rollingStart).contains(key(1).rollingStart))
    }
  }

  // MARK: Days

  /// A day holds what its increments hold, each key once; so does everything since a midnight.
  @Test func rollUpsAreTheUnionOfTheirIncrements() async throws {
    let series = SeriesSettings.sample {
      $0.makesSince = true
      $0.minimumKeys = 6
      $0.pads = true
    }
    try await Press.run(series) { press in
      try await press.say([key(1), key(2, type: .selfReport), key(3, type: .selfReport)])
      try await press.round(at(10))
      try await press.say([key(2, type: .confirmedTest), key(3, type: .revoked), key(4)])
      try await press.round(at(14))
      try await press.say([key(5, age: 0)])
      try await press.round(at(6, days: 2))
      try await press.round(at(8, days: 2))

      let increments = try press.increments("NL")
      #expect(increments.count == 3)
      for kind in [BundleKind.day, .since] {
        for facts in try press.listed("NL", kind) {
          let inside = increments.filter { document in
            let start = Int64(document.header.startTimestamp ?? 0)
            return start >= facts.start && (kind == .since || start < facts.start + 86_400)
          }
          var last: [KeySubject: ClaimedKey] = [:]
          for key in inside.flatMap(\.keys) { last[key.subject] = key }
          let released = Set(inside.flatMap(\.newKeys).map(\.subject))
          let expected = last.values.map { key in
            key.with { $0.isRevised = $0.isRevised && !(released.contains($0.subject) && $0.reportType != 5) }
          }
          #expect(Set(try press.bundle(facts.path).keys) == Set(expected), "\(facts.path)")
          #expect(try press.bundle(facts.path).keys.count == expected.count)
        }
      }
      #expect(try press.listed("NL", .day).map(\.start) == [at(0), at(0, days: 2)].map(\.secondsSince1970))
      #expect(try press.listed("NL", .since).count == 3)
      let today = try press.listed("NL", .day)[0]
      let keys = try press.bundle(today.path).keys
      #expect(keys.first { $0.subject == key(2).subject }?.isRevised == false)
      #expect(keys.first { $0.subject == key(3).subject }?.isRevised == true)
    }
  }

  // MARK: Old files

  @Test func oldBundlesLeaveTheIndexFirstAndTheFolderLater() async throws {
    let series = SeriesSettings.sample {
      $0.listedDays = 1
      $0.graceSeconds = 7200
      $0.period = 3600
      $0.editionsPerDay = 0
    }
    try await Press.run(series) { press in
      try await press.say([key(1)])
      try await press.round(at(10))
      let path = try press.index("NL")[0]
      let day = try press.listed("NL", .day)[0].path
      try await press.round(at(9, 59, days: 1))
      #expect(try press.index("NL") == [path])
      #expect(try await press.round(at(10, days: 1))[0].expired == 2)
      #expect(try press.index("NL") == [])
      try await press.round(at(11, 59, days: 1))
      #expect(try press.files().isSuperset(of: [path, day]))
      #expect(try await press.round(at(12, days: 1))[0].removed == 2)
      #expect(try press.files() == ["NL/index.txt", "NL/manifest.json", "NL/SHA256SUMS"])
      // Its place is still counted.
      #expect(try press.manifest("NL").bundles.map(\.path) == [path])
      try await press.say([key(2)])
      try await press.round(at(13, days: 1))
      #expect(try press.manifest("NL").bundles.filter { $0.kind == "increment" }.map(\.ordinal) == [0, 1])
      #expect(try press.increments("NL").map(\.keys) == [[key(2)]])
    }
  }

  /// An older version of today stays for those who read the old manifest, and then goes.
  @Test func onlyTheNewestVersionOfADayIsListed() async throws {
    try await Press.run(.sample { $0.graceSeconds = 3600 }) { press in
      try await press.say([key(1)])
      try await press.round(at(10))
      let first = try press.listed("NL", .day)[0]
      try await press.say([key(2)])
      try await press.round(at(12))
      let second = try press.listed("NL", .day)
      #expect(second.map(\.keys) == [2] && second[0].path != first.path)
      #expect(try press.files().contains(first.path))
      try await press.round(at(13))
      #expect(try !press.files().contains(first.path))
    }
  }

  /// The keys of all listed increments, each as it was said last.
  private func listedKeys(_ press: Press, _ series: String = "NL") throws -> [KeySubject: Bool] {
    var keys: [KeySubject: Bool] = [:]
    for document in try press.increments(series) { for key in document.keys { keys[key.subject] = key.isRevised } }
    return keys
  }

  @Test(arguments: ["gone", "a line less", "a line more"]) func anIndexThatWasChangedIsWrittenAnewAndTold(
    how: String
  ) async throws {
    try await Press.run(SeriesSettings.sample()) { press in
      for number in [UInt64(1), 2] {
        try await press.say([key(number)])
        try await press.round(at(8 + 2 * Int64(number)))
      }
      let before = try press.bytes("NL/index.txt")
      let path = "\(press.root)/NL/index.txt"
      switch how {
      case "gone": try FileManager.default.removeItem(atPath: path)
      case "a line less": try Data(before.split(separator: 10)[0]).write(to: URL(filePath: path))
      default: try Data(before + Array("\nNL/9-9-9.zip".utf8)).write(to: URL(filePath: path))
      }
      let receipt = try await press.publisher.round(now: at(13))[0]
      #expect(receipt.fault == nil && receipt.warnings.map(\.code) == [.indexChanged])
      #expect(try press.bytes("NL/index.txt") == before)
      #expect(try await press.publisher.round(now: at(13))[0].warnings == [])
      let events = try await Ledger(press.store).read { try $0.events(from: EventID(rawValue: 0), limit: 1000) }
      #expect(events.filter { $0.event.kind == .indexRestored }.map(\.event.subject) == ["NL"])
    }
  }

  @Test(arguments: ["gone", "cut", "damaged"]) func aFileThatIsLostIsMadeAgain(how: String) async throws {
    var settings = SeriesSettings.sample()
    (settings.makesDays, settings.makesSince, settings.makesKeyDays) = (true, true, true)
    try await Press.run(settings) { press in
      for number in [UInt64(1), 2, 3] {
        try await press.say([key(number)])
        try await press.round(at(8 + 2 * Int64(number)))
      }
      let (index, before) = (try press.index("NL"), try listedKeys(press))
      let path = "\(press.root)/\(index[1])"
      let old = try press.bytes(index[1])
      switch how {
      case "gone": try FileManager.default.removeItem(atPath: path)
      case "cut": try Data(old.dropLast()).write(to: URL(filePath: path))
      default: try Data(old.dropLast() + [old[old.count - 1] ^ 1]).write(to: URL(filePath: path))
      }
      try await press.say([key(4)])
      let receipt = try await press.publisher.round(now: at(16))[0]
      #expect(receipt.fault == nil)
      #expect(receipt.warnings.map(\.code) == [how == "gone" ? .fileMissing : .fileDamaged])
      #expect(receipt.madeAgain > 0)
      // What lay before the gap moves with it, for apps that count from the newest number down.
      let listed = try press.listed("NL", .increment)
      #expect(listed.map(\.ordinal) == [2, 3, 4, 5])
      #expect(try !press.index("NL").contains(index[1]) && !press.index("NL").contains(index[0]))
      var after = try listedKeys(press)
      #expect(after.removeValue(forKey: key(4).subject) == false)
      #expect(after == before)
      #expect(try await press.publisher.round(now: at(16))[0].warnings == [])
      #expect(try press.listed("NL", .increment) == listed)
      // Who has an old index is given nothing rather than other bytes.
      #expect(!FileManager.default.fileExists(atPath: path))
      #expect(FileManager.default.fileExists(atPath: "\(press.root)/\(index[0])"))
    }
  }

  /// A file that was damaged and has left the index stays for nobody when the store is lost with what it knew of it.
  @Test func aDamagedFileThatNoIndexNamesGoesWhenTheStoreIsLost() async throws {
    var settings = SeriesSettings.sample()
    settings.makesSince = true
    try await Press.run(settings) { press in
      for number in [UInt64(1), 2] {
        try await press.say([key(number)])
        try await press.round(at(8 + 2 * Int64(number)))
      }
      let left = try press.manifest("NL").bundles.filter { !$0.isListed }.map(\.path)
      let path = try #require(left.first)
      let old = try press.bytes(path)
      try Data(old.dropLast() + [old[old.count - 1] ^ 1]).write(to: URL(filePath: "\(press.root)/\(path)"))
      let other = Press(base: MemoryStore(), root: press.root, series: press.series)
      let receipt = try await other.publisher.round(now: at(14))[0]
      #expect(receipt.fault == nil)
      #expect(!FileManager.default.fileExists(atPath: "\(press.root)/\(path)"))
      for path in left.dropFirst() { #expect(FileManager.default.fileExists(atPath: "\(press.root)/\(path)")) }
      #expect(try await other.publisher.round(now: at(14))[0].fault == nil)
    }
  }

  /// A store that was lost may have given them to others, in a log that is still there.
  @Test func namesThatWerePassedOverAreNotGivenLater() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1)])
      let taken = "\(press.root)/NL/1607068800-1607076000-00001.zip"
      try FileManager.default.createDirectory(atPath: "\(press.root)/NL", withIntermediateDirectories: true)
      try Data("not ours".utf8).write(to: URL(filePath: taken))
      try await press.round(at(10))
      let first = try press.listed("NL", .increment).map(\.path)
      try FileManager.default.removeItem(atPath: press.root)
      try await press.round(at(10, 30))
      let second = try press.listed("NL", .increment).map(\.path)
      #expect([first, second] == [["NL/1607068800-1607076000-00002.zip"], ["NL/1607068800-1607076000-00003.zip"]])
    }
  }

  @Test func aFolderThatIsLostIsMadeAgain() async throws {
    var settings = SeriesSettings.sample()
    (settings.makesDays, settings.makesSince, settings.makesKeyDays) = (true, true, true)
    (settings.minimumKeys, settings.pads) = (5, true)
    try await Press.run(settings) { press in
      for number in 1...4 {
        try await press.say([key(UInt64(number)), key(UInt64(10 + number))])
        try await press.say([key(1, risk: 7)])
        try await press.round(at(8 + 2 * Int64(number)))
      }
      let before = try listedKeys(press)
      let kinds = try BundleKind.allCases.map { try press.listed("NL", $0).count }
      let names = try press.files()
      try FileManager.default.removeItem(atPath: press.root)
      let receipt = try await press.publisher.round(now: at(16, 30))[0]
      #expect(receipt.fault == nil && receipt.madeAgain > 0)
      #expect(try listedKeys(press) == before)
      #expect(try BundleKind.allCases.map { try press.listed("NL", $0).count } == kinds)
      // No name ever stands for two contents.
      #expect(try press.files().filter { $0.hasSuffix(".zip") }.isDisjoint(with: names))
      try press.checkConsistency(at: at(16, 30))
    }
  }

  /// Phones that have never seen a key take it from the `keys` of a file alone. One that was revised is known to the store
  /// by its revision.
  @Test(arguments: ["folder", "first", "both", "twice"]) func whatWasRevisedStandsPlainAfterALoss(lost: String)
    async throws
  {
    var settings = SeriesSettings.sample()
    (settings.makesDays, settings.makesSince, settings.makesKeyDays) = (true, true, true)
    (settings.minimumKeys, settings.pads) = (4, true)
    try await Press.run(settings) { press in
      try await press.say([key(1, type: .selfReport), key(2, type: .selfReport), key(3)])
      try await press.round(at(10))
      try await press.say([key(1), key(2, type: .revoked, risk: nil, onset: nil)], source: "later")
      try await press.round(at(12))
      try await press.say([key(4)])
      try await press.round(at(14))
      func plain() throws -> Set<KeySubject> { Set(try press.increments("NL").flatMap(\.newKeys).map(\.subject)) }
      func revised() throws -> Set<KeySubject> { Set(try press.increments("NL").flatMap(\.revisedKeys).map(\.subject)) }
      let (plainBefore, revisedBefore) = (try plain(), try revised())
      #expect(plainBefore.isSuperset(of: [key(1), key(2), key(3), key(4)].map(\.subject)))
      #expect(revisedBefore.isSuperset(of: [key(1).subject, key(2).subject]))
      let losses = lost == "twice" ? ["first", "all"] : [lost]
      for (turn, loss) in losses.enumerated() {
        let index = try press.index("NL")
        switch loss {
        case "folder": try FileManager.default.removeItem(atPath: press.root)
        case "first": try FileManager.default.removeItem(atPath: "\(press.root)/\(index[0])")
        case "both": for name in index[...1] { try FileManager.default.removeItem(atPath: "\(press.root)/\(name)") }
        default: for name in index { try FileManager.default.removeItem(atPath: "\(press.root)/\(name)") }
        }
        let now = at(15, Int64(turn))
        let receipt = try await press.publisher.round(now: now)[0]
        #expect(receipt.fault == nil && receipt.madeAgain > 0)
        // Look-alikes are gone only with what was revoked.
        let kept = try plain()
        #expect(kept.isSuperset(of: [key(1), key(3), key(4)].map(\.subject)), "turn \(turn)")
        #expect(plainBefore.subtracting(kept).isSubset(of: revisedBefore) && kept.isSubset(of: plainBefore))
        // Whoever has it from before still gets the revision.
        #expect(try revised() == revisedBefore)
        try press.checkConsistency(at: now)
      }
      // It is not revised twice.
      let released = try await press.ledger.read {
        try $0.released(by: "NL", from: TemporaryExposureKey(high: 0, low: 0), limit: 9)
      }
      #expect(Dictionary(uniqueKeysWithValues: released.map { ($0.key.key, $0.revisions) })[key(1).key] == 1)
      #expect(try await press.publisher.round(now: at(16))[0].revised == 0)
    }
  }

  /// The store is empty again, or as it was after the second of four windows.
  @Test(arguments: ["lost", "older"]) func aStoreThatIsBehindItsFolder(how: String) async throws {
    var settings = SeriesSettings.sample()
    (settings.makesDays, settings.makesSince, settings.makesKeyDays) = (true, true, true)
    try await Press.run(settings) { press in
      for number in [UInt64(1), 2, 3, 4] {
        for back in 1...number { try await press.say([key(back)]) }
        try await press.round(at(8 + 2 * Int64(number)))
      }
      let (before, listed) = (try listedKeys(press), try press.listed("NL", .increment))
      var contents: [String: [UInt8]] = [:]
      for path in try press.files() where path.hasSuffix(".zip") { contents[path] = try press.bytes(path) }

      var other = Press(base: MemoryStore(), root: press.root, series: press.series)
      if how == "older" {
        // The same beginning in a folder of its own: the backup.
        other = Press(base: MemoryStore(), root: press.root + "-backup", series: press.series)
        for number in [UInt64(1), 2] {
          for back in 1...number { try await other.say([key(back)]) }
          try await other.round(at(8 + 2 * Int64(number)))
        }
        try FileManager.default.removeItem(atPath: other.root)
        other = Press(base: other.base, root: press.root, series: press.series)
      }
      for number in [UInt64(1), 2, 3, 4, 5] { try await other.say([key(number)]) }
      let receipt = try await other.publisher.round(now: at(18))[0]
      #expect(receipt.fault == nil)
      #expect(receipt.warnings.contains { $0.code == .folderAhead })
      for (path, content) in contents where try press.files().contains(path) {
        #expect(try other.bytes(path) == content, "\(path) has other bytes now")
      }
      var after = try listedKeys(other)
      #expect(after.removeValue(forKey: key(5).subject) == false)
      #expect(after == before)
      #expect(try other.listed("NL", .increment).last.map(\.ordinal) ?? 0 > listed.last.map(\.ordinal) ?? 0)
      try other.checkConsistency(at: at(18))
      let again = try await other.publisher.round(now: at(20))[0]
      #expect(again.warnings == [] && again.bundles.isEmpty)
    }
  }

  /// A store that never knew the first name of an archive does not give it again.
  @Test func namesOfArchivesAreNotGivenAgainAfterALoss() async throws {
    func settings(_ version: String) -> SeriesSettings {
      .sample(identities: [ScheduledIdentity(identity: makeIdentity(version))]) {
        $0.makesSince = true
        $0.makesKeyDays = true
      }
    }
    try await Press.run(settings("v1")) { press in
      try await press.say([key(1), key(2)])
      try await press.round(at(10))
      var seen = try press.files().filter { $0.hasSuffix(".zip") }
      press.series = [settings("v2")]
      _ = try await press.publisher.round(now: at(12))
      seen.formUnion(try press.files().filter { $0.hasSuffix(".zip") })
      // The files of the first key are gone when the store is lost.
      _ = try await press.publisher.round(now: at(13, days: 3))
      let other = Press(base: MemoryStore(), root: press.root, series: [settings("v3")])
      let receipt = try await other.publisher.round(now: at(14, days: 3))[0]
      #expect(receipt.warnings.contains { $0.code == .folderAhead } && receipt.signedAgain > 0)
      let new = Set(receipt.bundles.map(\.path))
      #expect(!new.isEmpty && new.isDisjoint(with: seen), "\(new.intersection(seen))")
    }
  }

  @Test func aDamagedManifestIsMadeAgainFromTheStoreAndNotWithoutIt() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1)])
      try await press.round(at(10))
      let path = "\(press.root)/\(SeriesManifest.path(of: "NL"))"
      // One byte of it may make a path that cannot be.
      let good = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
      let bent = good.replacing("\"NL/", with: "\"NLu")
      #expect(bent != good)
      for text in ["", "{}", "[[[[", bent] {
        try Data(text.utf8).write(to: URL(filePath: path))
        let receipt = try await press.publisher.round(now: at(11))[0]
        #expect(receipt.fault == nil && receipt.warnings.map(\.code) == [.fileDamaged])
        #expect(try press.manifest("NL").bundles.contains { $0.isListed })
      }
      for text in ["{}", bent] {
        try Data(text.utf8).write(to: URL(filePath: path))
        let other = Press(base: MemoryStore(), root: press.root, series: press.series)
        let fault = try await other.publisher.round(now: at(12))[0].fault
        #expect(fault?.code == "file-damaged" && fault?.reason.contains("NL/manifest.json") == true)
      }
    }
  }

  @Test func whatWasErasedIsInNoArchiveThatIsMadeLater() async throws {
    try await Press.run(
      .sample {
        $0.makesSince = true; $0.makesKeyDays = true
      }
    ) { press in
      try await press.say([key(1), key(2)])
      try await press.round(at(10))
      let digest = ExportDigests(of: key(1).key.bytes).hexadecimal
      _ = try await press.ledger.erased(key(1).key, digest: digest, by: Attribution(by: "ada"), at: at(11)) { _ in [] }
      try await press.say([key(3)])
      let receipt = try await press.publisher.round(now: at(12))[0]
      #expect(receipt.bundles.count > 2)
      for bundle in receipt.bundles {
        #expect(try !press.bundle(bundle.path).keys.contains { $0.key == key(1).key }, "\(bundle.path)")
      }
    }
  }

  @Test func afterAChangeOfKeysALostFileIsStillKnown() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1), key(2)])
      try await press.round(at(10))
      press.series = [.sample(identities: [ScheduledIdentity(identity: makeIdentity("v2"))])]
      try await press.round(at(12))
      let index = try press.index("NL")
      try FileManager.default.removeItem(atPath: "\(press.root)/\(index[0])")
      let receipt = try await press.publisher.round(now: at(13))[0]
      #expect(receipt.madeAgain > 0)
      #expect(try Set(listedKeys(press).keys) == [key(1).subject, key(2).subject])
    }
  }

  // MARK: Receipts

  @Test func thePreviewSaysWhatTheRoundDoes() async throws {
    let series = SeriesSettings.sample {
      $0.minimumKeys = 7
      $0.pads = true
    }
    try await Press.run(series) { press in
      try await press.say([key(1), key(2, type: .selfReport), key(3, age: -1, period: 100), key(4, age: 20)])
      try await press.say([key(5)], origin: "DE")
      let before = try press.files()
      let preview = try await press.publisher.preview(series: "nl", now: at(10, 5))
      #expect(try press.files() == before)
      #expect(preview.isDue && preview.window.instant == at(10))
      #expect(preview.new == 2 && preview.lookalikes == 6 && preview.held == 1 && preview.leftOut == 2)
      #expect(preview.reportTypes == ["CONFIRMED_TEST": 1, "SELF_REPORT": 1])
      #expect(preview.days == ["2020-12-02": 2])
      let receipt = try await press.round(at(10, 5))[0]
      #expect(receipt.published == preview.new && receipt.lookalikes == preview.lookalikes)
      #expect(receipt.holds == preview.holds && receipt.omissions == preview.omissions)
      let next = try await press.publisher.preview(series: "NL", now: at(10, 6))
      #expect(!next.isDue && next.window.instant == at(12) && next.new == 0 && next.alreadyReleased == 2)
      let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(preview)) as? [String: Any]
      #expect(json?["new"] as? Int == 2 && json?["due"] as? Bool == true)
      await #expect(throws: PublishingFault(.unknownSeries, "there is no series FR; there are NL")) {
        try await press.publisher.preview(series: "FR", now: at(10))
      }
    }
  }

  @Test func aReceiptForPrograms() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1), key(2)])
      try await press.say([key(5)], origin: "DE")
      let receipt = try await press.round(at(10))[0]
      #expect(receipt.believed == 3 && receipt.published == 2 && receipt.omissions == ["other-region": 1])
      #expect(
        receipt.bundles.map(\.path) == ["NL/1607068800-1607076000-00001.zip", "NL/day/2020-12-04-1607076000.zip"])
      let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(receipt)) as? [String: Any]
      #expect(json?["published"] as? Int == 2 && json?["now"] as? String == "2020-12-04T10:00:00Z")
    }
  }
}
