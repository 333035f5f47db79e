import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage

/// Runs of claims in memory, so that what is counted is the work on them and not a database's.
final class ScratchSegments: ClaimSegments {
  private var kept: [Int32: ClaimRun] = [:]
  private var blocks: [Int32: (places: [BlockPlace], bytes: [[UInt8]])] = [:]
  private var known: [Int32: [(place: BlockPlace, filter: ClaimFilter)]] = [:]
  private var last: Int32 = 0

  func runs() -> [ClaimRun] { kept.values.sorted { $0.number < $1.number } }

  /// How many blocks of the run begin at or before a place.
  private func count(_ place: BlockPlace) -> Int {
    guard let places = blocks[place.run]?.places else { return 0 }
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle] <= place { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func hand(
    _ run: Int32, _ index: Int, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    guard let run = blocks[run], run.places.indices.contains(index) else { return false }
    try run.bytes[index].withUnsafeBytes { try body(run.places[index], $0) }
    return true
  }

  func withBlock(
    atOrBefore place: BlockPlace, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool { try hand(place.run, count(place) - 1, body) }

  func withBlock(
    behind place: BlockPlace, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool { try hand(place.run, count(place), body) }

  func place(behind place: BlockPlace) -> BlockPlace? {
    guard let places = blocks[place.run]?.places, case let index = count(place), index < places.count else {
      return nil
    }
    return places[index]
  }

  func filters(of run: Int32) -> [(place: BlockPlace, filter: ClaimFilter)] { known[run] ?? [] }

  func newRunNumber() -> Int32 {
    last += 1
    return last
  }

  func save(_ run: ClaimRun) { kept[run.number] = run }

  func remove(_ run: Int32) { (kept[run], blocks[run], known[run]) = (nil, nil, nil) }

  func put(_ block: [UInt8], at place: BlockPlace) {
    let index = count(place)
    if index > 0, blocks[place.run]?.places[index - 1] == place {
      blocks[place.run]?.bytes[index - 1] = block
    } else {
      blocks[place.run, default: ([], [])].places.insert(place, at: index)
      blocks[place.run]?.bytes.insert(block, at: index)
    }
  }

  func removeBlock(at place: BlockPlace) {
    let index = count(place) - 1
    guard index >= 0, blocks[place.run]?.places[index] == place else { return }
    blocks[place.run]?.places.remove(at: index)
    blocks[place.run]?.bytes.remove(at: index)
  }

  func put(_ filter: ClaimFilter, at place: BlockPlace) { known[place.run, default: []].append((place, filter)) }
}

/// Rows of random keys, in batches as a pull of a large country brings them.
func runBatches(_ count: Int) -> [[ClaimRow]] {
  var random = SeededRandom(seed: 3)
  var batches: [[ClaimRow]] = []
  for batch in 0..<20 {
    var rows: [ClaimRow] = []
    for index in 0..<count / 20 {
      let number = Int32(index)
      var row = ClaimRow(
        key: TemporaryExposureKey(high: random.next(), low: random.next()), rollingStart: 2_670_000, said: 144,
        origin: number % 3, source: 0, regions: number % 4, arrival: Int32(batch + 1))
      row.rollingStart -= number % 14 * 144
      row.said |= (number % 9) << 8
      rows.append(row)
    }
    batches.append(ClaimRow.sorted(rows))
  }
  return batches
}

/// Each batch is looked for, added, and drives the merges that are due.
func recordRuns(_ batches: [[ClaimRow]]) throws -> ClaimRuns {
  let runs = try ClaimRuns(ScratchSegments(), filters: [:])
  for batch in batches {
    guard try runs.rows(about: batch).isEmpty else { fatalError("random keys met") }
    try runs.add(batch)
    try runs.merge(after: batch.count)
  }
  return runs
}

func readRuns(_ runs: ClaimRuns) throws -> Int {
  var rows = try runs.rows()
  var count = 0
  while try rows.next() != nil { count += 1 }
  return count
}

/// Batches that are large enough to be merged, and are not yet.
func waitingRuns(_ batches: [[ClaimRow]]) throws -> ClaimRuns {
  let runs = try ClaimRuns(ScratchSegments(), filters: [:])
  for batch in batches { try runs.add(batch) }
  return runs
}

/// All key data of some batches as the agenda has it.
func agendaPieces(of batches: [[ClaimRow]]) -> [[UInt8]] {
  batches.flatMap { batch in
    batch.agenda.sorted { $0.key < $1.key }.flatMap { _, keys in
      stride(from: 0, to: keys.count, by: AgendaPiece.mostKeys).map { start in
        AgendaPiece.encode(keys[start..<min(start + AgendaPiece.mostKeys, keys.count)])
      }
    }
  }
}

/// What a round does before it folds: the agenda is read, then what there is about its keys, as a page.
func lookAgain(_ pieces: [[UInt8]], _ runs: ClaimRuns) throws -> Int {
  var keys: [TemporaryExposureKey] = []
  for piece in pieces {
    guard piece.withUnsafeBytes({ AgendaPiece.decode($0, into: &keys) }) else { return 0 }
  }
  keys.sort()
  var page = ClaimPageRows(.now)
  var names = SomeNames()
  for row in try runs.rows(about: keys) { try page.take(row, names: &names) }
  return page.claims.count
}

private struct SomeNames: KeyStorage.ClaimNames {
  func origin(_ number: Int32) -> String { ["DE", "IT"][Int(number) - 1] }
  func regions(_ number: Int32) -> [String]? { ["R\(number)"] }
  func source(_ number: Int32) -> Source { Source(name: "S\(number)", provenance: .origins) }
}
