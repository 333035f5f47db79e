import BundleTrust
import ExposureKeys
import Foundation
import KeyNormalization
import KeyPublishing
import KeyStorage
import SQLiteDriver

/// What a store of many claims is asked beside recording: rounds of publishing, one key, and to be opened. Five series have released
/// what there is; the program `rounds` does the same with as many claims as one says.
let roundWorks = [
  Preparation("a round of five series, nothing new", of: "round") { count in
    let rounds = try Rounds(count)
    let contender = Contender.ours {
      _ = try rounds.next()
      return 1
    }
    return [contender.handling(1)]
  },
  Preparation("a round of five series, 100,000 new") { count in
    let rounds = try Rounds(count)
    let new = 100_000
    let contender = Contender.ours {
      try rounds.record(new)
      return try rounds.next() > 0 ? new : 0
    }
    return [contender.handling(new)]
  },
  Preparation("all claims looked at and folded, one series") { count in
    let rounds = try Rounds(count)
    return [
      .ours {
        try waiting {
          try await rounds.store.read { state in
            var handled = 0
            var start: TemporaryExposureKey? = TemporaryExposureKey(high: 0, low: 0)
            while let from = start {
              let page = try state.claims(from: from, limit: 50_000)
              let believed = fold(page.claims, policy: PublishingPolicy(), now: StoredBatches.now)
              handled += believed.receipt.isBalanced ? page.claims.count : 0
              start = page.next
            }
            return handled
          }
        }
      }
    ]
  },
  Preparation("everything about one key", of: "key") { count in
    let rounds = try Rounds(count)
    let keys = rounds.someKeys
    let contender = Contender.ours {
      try waiting {
        try await rounds.store.read { state in try keys.count { try !state.record(of: $0).isEmpty } }
      }
    }
    return [contender.handling(keys.count)]
  },
  Preparation("a store opened", of: "opening") { count in
    let rounds = try Rounds(count)
    let contender = Contender.ours {
      let store = try SQLiteStore(folder: rounds.path, role: .reader, now: StoredBatches.now)
      return try waiting { try await store.read { try $0.claimCount() } } >= count ? 1 : 0
    }
    return [contender.handling(1)]
  },
]

/// A store, and five series that have published all its claims.
private final class Rounds: @unchecked Sendable {
  static let seriesCount = 5

  let store: SQLiteStore
  let someKeys: [TemporaryExposureKey]
  private let folder: ScratchFolder
  private let publisher: Publisher
  private var batches: StoredBatches
  private var number = 0

  var path: String { folder.path }

  init(_ count: Int) throws {
    folder = try ScratchFolder()
    store = try SQLiteStore(folder: folder.path, now: StoredBatches.now)
    batches = StoredBatches(.max, size: StoredBatches.size, seed: 23)
    let identity = try SigningIdentity(key: SigningKey.generate(), keyID: "262", keyVersion: "v1")
    let series = (0..<Self.seriesCount).map { number in
      SeriesSettings(
        name: "S\(number)", selection: RegionSelection(), publishing: Policy(name: "bench"),
        identities: [ScheduledIdentity(identity: identity)], makesDays: false, editionsPerDay: 0)
    }
    publisher = Publisher(ledger: Ledger(store), series: series, folder: folder.path + "/public")
    var keys: [TemporaryExposureKey] = []
    var left = count
    while left > 0 {
      let batch = batches.next(min(left, StoredBatches.size))
      keys += batch.claims.prefix(20).map(\.subject.key)
      left -= batch.claims.count
      number += 1
      _ = try bench.record(batch, in: store, as: "first \(number)")
    }
    someKeys = Array(keys.prefix(100))
    _ = try next()
    _ = try next()
  }

  func record(_ count: Int) throws {
    number += 1
    _ = try bench.record(batches.next(count), in: store, as: "more \(number)")
  }

  /// The next window.
  ///
  /// - Returns: how many keys all series have published.
  func next() throws -> Int {
    number += 1
    let now = Instant(secondsSince1970: StoredBatches.now.secondsSince1970 + Int64(number) * 7200)
    let publisher = publisher
    let receipts = try waiting { try await publisher.round(at: ClockLook(toldByOperator: now)) }
    if let fault = receipts.compactMap(\.fault).first { throw fault }
    return receipts.reduce(0) { $0 + $1.published }
  }
}
