import ExposureKeys
import Foundation
import Testing

/// Apple's sample since iOS 13.5: lists of files, each of them two.
@Suite("Seed: Apple's sample, iOS 13.5, and 12.5 with exposure windows") struct AppleSampleSeedTests {
  /// The sample's `CodableDiagnosisKey` since iOS 13.5.
  private struct DiagnosisKey: Codable {
    var keyData: Data
    var rollingPeriod: UInt32
    var rollingStartNumber: UInt32
    var transmissionRiskLevel: UInt8
  }

  private enum Generation {
    /// Fifteen files in 24 hours.
    case fileLimit
    /// Six calls in 24 hours, of any number of files, and a configuration without which keys count for nothing.
    case exposureWindows
  }

  /// The framework's error 13.
  private struct RateLimited: Error {}

  private struct Phone {
    let line: Line
    let generation: Generation
    /// In the local store.
    var nextDiagnosisKeyFileIndex = 0
    var balance = Balance()
    /// What the framework counts: when, and how many files, or 1 a call.
    private var used: [(time: Int64, count: Int)] = []
    private(set) var names: Set<String> = []

    init(_ line: Line, _ generation: Generation, index: Int = 0) {
      (self.line, self.generation, nextDiagnosisKeyFileIndex) = (line, generation, index)
    }

    mutating func detectExposures() async throws {
      let list = try await line.download(
        "\(line.gateway.address)/apple/VA/files?startingAt=\(nextDiagnosisKeyFileIndex)")
      let remoteURLs = try JSONDecoder().decode([URL].self, from: list)
      // All at once; one that fails is the end of the run.
      let line = line
      let pairs = try await withThrowingTaskGroup(of: (String, Data, Data).self) { group in
        for url in remoteURLs {
          group.addTask {
            (
              url.lastPathComponent, try await line.download(url.absoluteString + ".bin"),
              try await line.download(url.absoluteString + ".sig")
            )
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      // Files are called after the last part of their address, and pairs are found by name.
      guard Set(pairs.map(\.0)).count == pairs.count else { throw PhoneFault("two archives of one name") }
      let configuration = try await line.download("\(line.gateway.address)/apple/VA/configuration")
      let counts = try counting(by: configuration)
      try spend(pairs.count)
      for (name, export, signature) in pairs {
        let keys = try Framework.apple.keys(export: export, signature: signature, signer: line.gateway.signer)
        balance.find(keys.filter(counts))
        names.insert(name)
      }
      nextDiagnosisKeyFileIndex += 2 * pairs.count
    }

    /// What the framework takes in 24 hours.
    private mutating func spend(_ files: Int) throws {
      let now = line.gateway.now.secondsSince1970
      let (cost, limit) = generation == .fileLimit ? (files, 15) : (1, 6)
      let spent = used.filter { $0.time > now - 86_400 }.map(\.count).reduce(0, +)
      guard spent + cost <= limit else { throw RateLimited() }
      used.append((now, cost))
    }

    /// Whether a key counts, as the configuration of the generation says; it is decoded strictly.
    private func counting(by json: Data) throws -> (FoundKey) -> Bool {
      struct Levels: Decodable {
        var minimumRiskScore: UInt8
        var attenuationDurationThresholds: [Int]
        var attenuationLevelValues, daysSinceLastExposureLevelValues, durationLevelValues: [UInt8]
        var transmissionRiskLevelValues: [UInt8]
      }
      struct Windows: Decodable {
        var immediateDurationWeight, nearDurationWeight, mediumDurationWeight, otherDurationWeight: Double
        var infectiousnessForDaysSinceOnsetOfSymptoms: [String: UInt32]
        var infectiousnessStandardWeight, infectiousnessHighWeight: Double
        var reportTypeConfirmedTestWeight, reportTypeConfirmedClinicalDiagnosisWeight: Double
        var reportTypeSelfReportedWeight, reportTypeRecursiveWeight: Double
        var reportTypeNoneMap: UInt32
      }
      _ = try JSONDecoder().decode(Levels.self, from: json)
      guard generation == .exposureWindows else { return { _ in true } }
      let windows = try JSONDecoder().decode(Windows.self, from: json)
      return { key in
        let type = key.reportType == 0 ? Int(windows.reportTypeNoneMap) : key.reportType
        let days = key.daysSinceOnset.map(String.init) ?? "unknown"
        return (1...3).contains(type) && windows.infectiousnessForDaysSinceOnsetOfSymptoms[days] ?? 0 > 0
      }
    }
  }

  private func post(_ keys: [FoundKey], over line: Line) async throws {
    let list = keys.map {
      DiagnosisKey(
        keyData: $0.data, rollingPeriod: UInt32($0.period), rollingStartNumber: UInt32($0.start),
        transmissionRiskLevel: UInt8($0.risk))
    }
    try await line.postDiagnosisKeys(list)
  }

  @Test(
    "nineteen days: who comes daily finds every key once; a new phone is within its limits", .timeLimit(.minutes(2)))
  func days() async throws {
    try await SeedGateway.run(
      """
      series: [{name: VA, include: [US-VA], every: 2 hours, sign: KEY}]
      server:
        listen: "127.0.0.1:0"
        uploads: {origin: US-VA, token: {file: token}, rate: none}
      """, from: "2020-12-01T09:00:00Z"
    ) { gateway in
      let line = Line(gateway: gateway)
      var old = Phone(line, .fileLimit)
      var windows = Phone(line, .exposureWindows)
      var posted: [FoundKey] = []
      for day in 0..<19 {
        let person = Person(number: day)
        // Phones with exposure windows give the key of the day, too; its period ends now.
        let now = Int(gateway.today.daysSince1970)
        let keys = person.keys(of: 13, before: gateway.today) + (day % 2 == 0 ? [] : [person.key(of: now, period: 54)])
        try await post(keys, over: line)
        posted += keys
        // A visit in the afternoon, one at night, and one in the morning.
        for hours in [6, 10, 8] as [Int64] {
          try await gateway.goOn(hours: hours, step: hours / 2)
          try await old.detectExposures()
          try await windows.detectExposures()
        }
      }
      // What was posted on the last day is in the archive of the day of its publication.
      try await gateway.goOn(hours: 24)
      try await old.detectExposures()
      try await windows.detectExposures()
      for var phone in [old, windows] {
        phone.balance.post(posted)
        #expect(phone.balance.faults == [], "\(phone.generation)")
        #expect(phone.names.count >= 18)
      }

      // New phones are given all of fourteen days in one call, and go on from there.
      for generation in [Generation.fileLimit, .exposureWindows] {
        var new = Phone(line, generation)
        try await new.detectExposures()
        #expect((13...15).contains(new.names.count), "\(new.names.count) archives")
        #expect(new.balance.repeated == 0)
        let listed = Set(posted.suffix(12 * 13).map(\.data))
        #expect(listed.isSubset(of: new.balance.found.keys))
      }
    }
  }
}
