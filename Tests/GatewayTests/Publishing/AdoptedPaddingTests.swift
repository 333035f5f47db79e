import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyPublishing
import KeyStorage
import Testing

/// Look-alikes that a store has taken over from its folder, where nobody says which keys they are.
@Suite struct AdoptedPaddingTests {
  /// Seed 1073 of the simulation: a store that was restored, and a folder that was lost then; each look-alike stood twice in
  /// the bundle that was made again.
  @Test("Taken over from the folder, look-alikes are not made a second time") func onceInAFile() async throws {
    var settings = SeriesSettings.sample()
    (settings.minimumKeys, settings.pads) = (6, true)
    try await Press.run(settings) { press in
      for number in [UInt64(1), 2, 3] {
        try await press.say([key(number)])
        try await press.round(at(8 + 2 * Int64(number)))
      }
      let padded = try press.increments("NL").map(\.keys.count)
      #expect(padded.contains { $0 >= 6 })

      // The same beginning, without what came after the first window.
      let other = Press(base: MemoryStore(), root: press.root, series: press.series)
      for number in [UInt64(1), 2, 3] { try await other.say([key(number)]) }
      let taken = try await other.publisher.round(now: at(16))[0]
      #expect(taken.warnings.contains { $0.code == .folderAhead })
      for path in try press.files() where path.hasSuffix(".zip") {
        try FileManager.default.removeItem(atPath: "\(press.root)/\(path)")
      }
      let again = try await other.publisher.round(now: at(18))[0]
      #expect(again.fault == nil && again.madeAgain > 0)
      for document in try other.increments("NL") {
        #expect(Set(document.keys.map(\.key)).count == document.keys.count)
      }
      let all = try other.increments("NL").flatMap(\.keys)
      #expect(Set(all.map(\.subject)).count == all.count)
      #expect(Set(all.map(\.key)).isSuperset(of: [1, 2, 3].map { key($0).key }))
      #expect(try other.increments("NL").map(\.keys.count).sorted() == padded.sorted())
      try other.checkConsistency(at: at(18))
    }
  }
}
