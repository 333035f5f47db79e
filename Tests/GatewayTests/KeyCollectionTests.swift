import ExposureKeys
import GatewayTesting
import Testing

@testable import KeyConversion
@testable import KeyPublishing

/// Few keys are sorted where they are, many by a partition: both are the sort by comparison, without repetitions.
@Suite struct KeyCollectionTests {
  @Test(arguments: KeyOrderTests.Data.allCases, [0, 1, 2000, 16_384, 16_385, 20_000])
  func agreesWithComparison(data: KeyOrderTests.Data, count: Int) throws {
    var random = SeededRandom(for: "KeyCollectionTests.agreesWithComparison")
    var keys = (0..<count).map { index in
      var claim = ClaimedKey(key: data.key(index, &random))
      claim.rollingStart = Int32(random.next() & 3)
      if random.once(in: 3) { claim.isRevised = true }
      return claim
    }
    for _ in 0..<count / 10 { keys[random.pick(keys.indices)] = keys[random.pick(keys.indices)] }

    var collection = KeyCollection()
    var rest = keys[...]
    while !rest.isEmpty {
      var chunk = KeyChunk()
      for key in rest.prefix(3000) { chunk.keys.append(key) }
      collection.append(chunk)
      rest = rest.dropFirst(3000)
    }
    var collected: [ClaimedKey] = []
    let repeated = try collection.forEachRun { run, _ in collected += run }

    let order = KeyOrder(unknownFields: UnknownFieldTable())
    let distinct = Set(keys).sorted(by: order.precedes)
    // The first of each key data in each list; the others are for further bundles.
    let firsts = distinct.indices.filter { index in
      index == 0 || distinct[index].key != distinct[index - 1].key
        || distinct[index].isRevised != distinct[index - 1].isRevised
    }
    #expect(collected == firsts.map { distinct[$0] })
    var second: [ClaimedKey] = []
    _ = try collection.forEachRun(part: 1) { run, _ in second += run }
    let isFirst = Set(firsts)
    #expect(
      second == firsts.map { $0 + 1 }.filter { $0 < distinct.count && !isFirst.contains($0) }.map { distinct[$0] })
    #expect(repeated.dropped == count - distinct.count)
    #expect(
      repeated.conflicting
        == zip(distinct, distinct.dropFirst()).count { $0.key == $1.key && $0.isRevised == $1.isRevised })
  }

  /// Unknown fields keep to their keys when chunks are put together.
  @Test(arguments: [500, 20_000])
  func unknownFieldsStay(count: Int) throws {
    var random = SeededRandom(for: "KeyCollectionTests.unknownFieldsStay")
    var collection = KeyCollection()
    for start in stride(from: 0, to: count, by: 500) {
      var chunk = KeyChunk()
      for index in start..<start + 500 {
        var claim = ClaimedKey(key: TemporaryExposureKey(high: random.next(), low: UInt64(index)))
        if index.isMultiple(of: 3) { claim.unknownFields = chunk.unknownFields.append([0x78, UInt8(index % 100)]) }
        chunk.keys.append(claim)
      }
      collection.append(chunk)
    }
    var seen = 0
    _ = try collection.forEachRun { run, unknownFields in
      for claim in run {
        let index = Int(claim.key.low)
        let bytes = claim.unknownFields == 0 ? [] : Array(unknownFields[claim.unknownFields])
        #expect(bytes == (index.isMultiple(of: 3) ? [0x78, UInt8(index % 100)] : []))
        seen += 1
      }
    }
    #expect(seen == count)
  }
}
