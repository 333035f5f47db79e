import ExposureKeys
import Foundation
import KeyFormats
import KeyPublishing
import KeyStorage
import Testing

/// What publishing does while the system's clock is not believed.
@Suite struct DoubtedClockTests {
  /// A look at a clock that stepped twenty days ahead an hour before.
  private static func doubt(at now: Instant) throws -> ClockLook {
    var judge = ClockJudge()
    let before = ClockReading(wall: Instant(secondsSince1970: now.secondsSince1970 - 3600), uptime: 1000, boot: "a")
    _ = judge.look(before)
    let wrong = Instant(secondsSince1970: now.secondsSince1970 + 20 * 86_400)
    let look = judge.look(ClockReading(wall: wrong, uptime: 4600, boot: "a"))
    try #require(look.doubt != nil && look.now == now)
    return look
  }

  /// Seed 1 of the simulation: each round made the lost file again and listed all that were made before.
  @Test("a lost file is made again once, and each key stands once in the index")
  func aLostFileIsMadeAgainOnce() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1)])
      try await press.round(at(10))
      try FileManager.default.removeItem(atPath: "\(press.root)/\(press.index("NL")[0])")
      for (minute, made) in [(Int64(30), true), (31, false), (32, false)] {
        let receipt = try await press.publisher.round(at: Self.doubt(at: at(10, minute)))[0]
        #expect(receipt.fault == nil)
        #expect((receipt.madeAgain > 0) == made, "minute \(minute)")
        try press.checkConsistency(at: at(10, minute))
        #expect(try press.increments("NL").map(\.keys) == [[key(1)]])
      }
    }
  }
}
