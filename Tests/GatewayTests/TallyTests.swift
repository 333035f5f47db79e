import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyInspection
import Testing

@Suite struct TallyTests {
  /// Few distinct keys and shapes, in random order, so that everything repeats; the counts must be those of a plain
  /// model, whatever fits into the tables.
  @Test(arguments: [1, 7, 1 << 18])
  func countsAgreeWithAPlainModel(distinctShapes: Int) throws {
    var random = SeededGenerator(state: 7)
    var bundle = SampleBundle()
    bundle.keys = (0..<5000).map { _ in
      var key = SampleBundle.key(.random(in: 0..<3000, using: &random))
      key.rollingStart = midnight - 144 * .random(in: 0..<3, using: &random)
      key.transmissionRisk = Bool.random(using: &random) ? nil : .random(in: 0...9, using: &random)
      key.rollingPeriod = .random(in: 143...146, using: &random)
      return key
    }
    let report = try bundle.examine(InspectionOptions(distinctShapes: distinctShapes)).report
    #expect(report.keys.total == 5000)
    if distinctShapes > 1000 {
      let distinct = Set(bundle.keys.map { [$0.key.high, $0.key.low, UInt64($0.rollingStartWord)] })
      #expect(report.keys.distinct == distinct.count)
    }
    func count(_ code: Finding.Code) -> Int { report.findings.filter { $0.code == code }.reduce(0) { $0 + $1.count } }
    #expect(count(.rollingPeriodTooLong) == bundle.keys.count { $0.rollingPeriodWord > 144 })
    #expect(count(.riskLevelOutside) == bundle.keys.count { $0.transmissionRisk == 9 })
    let risks = report.distributions.transmissionRiskLevel.rows
    for row in risks { #expect(row.count == bundle.keys.count { $0.transmissionRisk.map(Int64.init) == row.value }) }
    #expect(risks.reduce(0) { $0 + $1.count } == 5000)
    #expect(risks.last?.label == "not stated")
    let repeated =
      count(.keyRepeated) + count(.keyRepeatedDifferently) + count(.keyRepeatedWithOtherStart)
      + count(.keyRepeatedNotCompared)
    #expect(repeated == 5000 - Set(bundle.keys.map(\.key)).count)
    #expect((count(.keyRepeatedNotCompared) > 0) == (distinctShapes < 30))
    let descents = zip(bundle.keys, bundle.keys.dropFirst()).count { $1.key < $0.key }
    #expect(count(.keysUnsorted) == descents)
  }

  @Test func everyRepetitionIsFoundInAnyOrder() throws {
    // Keys that agree in all but their last byte, which no random file has, and full repetitions of one.
    for spread: UInt64 in [1, 1 << 8, 1 << 40] {
      var bundle = SampleBundle()
      bundle.keys = (0..<UInt64(2000)).map { number in
        SampleBundle.key(1).with(
          TemporaryExposureKey(high: 0x1234_5678_9abc_def1, low: number % 250 * spread &+ 0x8123_4567))
      }
      bundle.keys.shuffle()
      let finding = try #require(try bundle.finding(.keyRepeated))
      #expect(finding.count == 1750)
      let report = try bundle.examine().report
      #expect(report.keys.distinct == 250)
      // The same where few keys fit into memory.
      for memory in [2, 3, 100, 1999] {
        var less = try bundle.examine(InspectionOptions(keysInMemory: memory)).report
        less.name = report.name
        #expect(less == report, "\(memory) keys in memory")
      }
    }
  }

  /// Keys are counted once over all documents; those of a document that could not be read to its end are not.
  @Test(arguments: [2, 5, 64, 1 << 20])
  func aSumOverDocuments(memory: Int) throws {
    var sum = InspectionSum(keysInMemory: memory)
    for number in 0..<9 {
      var bundle = SampleBundle()
      bundle.keys = (0..<40).map { SampleBundle.key(UInt64($0 + number % 3 * 20)) }
      let document = try KeyDocument(MemorySource(try bundle.zip()))
      let report = try Inspector().examine(document, name: "one") { chunk, _ in sum.observe(chunk) }.report
      if number % 3 == 2 { sum.leaveOut() } else { sum.add(report, isVerified: number == 0) }
    }
    let report = sum.report()
    #expect(report.documents == 9 && report.read == 6 && report.unreadable == 3)
    #expect(report.verified == 1 && report.notVerified == 5)
    #expect(report.keys == 240 && report.distinct == 60)
  }

  @Test func limitOfComparedKeysIsReported() throws {
    var bundle = SampleBundle()
    bundle.keys.append(bundle.keys[0])
    let report = try bundle.examine(InspectionOptions(comparedKeys: 3)).report
    #expect(report.keys.distinct == nil)
    let finding = try #require(report.findings.first { $0.code == .keysNotCompared })
    #expect(finding.count == 1)
    #expect(!report.findings.contains { $0.code == .keyRepeated })
  }

  @Test(.enabled(if: LongList.isRun, Comment(rawValue: LongList.advice))) func moreKeysThanRecommendedIsAFinding()
    throws
  {
    var bundle = SampleBundle()
    bundle.keys = (UInt64(0)...750_000).map {
      SampleBundle.key(1).with(
        TemporaryExposureKey(high: 0x1234_5678_0000_0000 + $0, low: 0x8123_4567_89ab_cdef &* (2 &* $0 + 1)))
    }
    let examination = try bundle.examine()
    #expect(examination.report.findings.map(\.code) == [.keysTooMany])
    #expect(examination.report.keys.distinct == 750_001)
    #expect(DeviceProfile.strict.judge(examination, signature: .verified).verdict == .acceptsWithWarnings)
  }

  @Test func fileBeyondSixteenMegabytesIsAFinding() throws {
    let bytes = try SampleBundle().zip()
    for (size, codes) in [(16_000_000, []), (16_000_001, [Finding.Code.fileTooLarge])] {
      let document = try KeyDocument(MemorySource(bytes))
      let examination = try Inspector().examine(document, name: "large.zip", fileSize: size)
      #expect(examination.report.findings.map(\.code) == codes)
      let rule = DeviceProfile.strict.judge(examination, signature: .verified).rules.first { $0.rule == .size }
      #expect(rule?.outcome == (codes.isEmpty ? .ok : .warn))
    }
  }

  @Test func paddingIsGuessedFromTenGroupsOn() throws {
    var bundle = SampleBundle()
    func fill(groups: Int32, size: (Int32) -> Int32) {
      bundle.keys = []
      for group in 0..<groups {
        for number in 0..<size(group) {
          var key = SampleBundle.key(UInt64(group * 1000 + number + 1))
          key.rollingStart = midnight - 144 * (group / 2)
          key.transmissionRisk = group % 2
          bundle.keys.append(key)
        }
      }
    }
    fill(groups: 9) { 5 * ($0 + 1) }
    #expect(try bundle.examine().report.padding == nil)
    fill(groups: 12) { 5 * ($0 + 1) }
    let padding = try bundle.examine().report.padding
    #expect(padding?.multiplier == 5)
    #expect(padding?.groups == 12)
    #expect(try bundle.findings().contains(.paddingSuspected))
    fill(groups: 12) { $0 + 1 }
    #expect(try bundle.examine().report.padding?.multiplier == 1)
    #expect(try !bundle.findings().contains(.paddingSuspected))
  }

  @Test func positionsCountRejectedKeys() throws {
    var bundle = SampleBundle()
    bundle.keys = []
    let good = SampleBundle.key(1).key.bytes
    bundle.rawKeys = [
      [0x0a, 1, 1], [0x0a, 16] + good + [0x20, 0x91, 0x01], [0x0a, 0], [0x0a, 16] + good + [0x20, 0x05],
    ]
    let report = try bundle.examine().report
    #expect(report.keys.total == 2)
    #expect(report.keys.rejected == 2)
    #expect(report.rejections.first.map(\.index) == [0, 2])
    #expect(report.rejections.byReason.map(\.reason) == ["key-data-length"])
    #expect(report.rejections.byReason.map(\.count) == [2])
    #expect(report.findings.first { $0.code == .rollingPeriodTooLong }?.firstPosition == 1)
    #expect(report.findings.first { $0.code == .keyRepeatedDifferently }?.firstPosition == 3)
  }

  @Test func originsAreCounted() throws {
    func key(_ number: UInt64, _ origin: String) -> [UInt8] {
      let message =
        [0x0a, 16] + SampleBundle.key(number).key.bytes + [0x10, 0xf0, 0xb0, 0xa2, 0x01, 0x18, 0x90, 0x01]
        + [0x32, UInt8(origin.utf8.count)] + Array(origin.utf8)
      return [0x0a, UInt8(message.count)] + message
    }
    let report = try examineBytes(key(1, "IT") + key(2, "DE") + key(3, "IT")).report
    #expect(report.distributions.origin?.rows.map(\.label) == ["DE", "IT"])
    #expect(report.distributions.origin?.rows.map(\.count) == [1, 2])
  }
}

/// A small generator with a seed, so that a failing test fails again.
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
    return value ^ value >> 31
  }
}
