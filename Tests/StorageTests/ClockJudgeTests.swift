import ExposureKeys
import GatewayTesting
import KeyStorage
import Testing

@Suite("The clock is an input that can be wrong")
struct ClockJudgeTests {
  private static let hour: Int64 = 3600
  private static let day: Int64 = 86_400

  /// A machine whose clock can be set wrong, and whose steady clock cannot.
  private final class Machine {
    var judge = ClockJudge()
    var uptime: Int64 = 1000
    var boot = "a"
    /// How far the system's clock is wrong.
    var error: Int64 = 0
    let start = Times.now.secondsSince1970

    func look(after seconds: Int64 = 0, error: Int64? = nil) -> ClockLook {
      uptime += seconds
      if let error { self.error = error }
      return judge.look(reading)
    }

    func hear(_ differences: [Int64]) -> Bool { judge.hear(hostsDiffer: differences, at: reading) }

    func heed(_ word: ClockWord) -> Bool { judge.heed(word, at: reading) }

    var truth: Instant { Instant(secondsSince1970: start + uptime - 1000) }
    var reading: ClockReading {
      ClockReading(wall: Instant(secondsSince1970: truth.secondsSince1970 + error), uptime: uptime, boot: boot)
    }
  }

  @Test("Twenty days ahead for a second: time goes on as it was, and nothing is removed")
  func farAhead() {
    let machine = Machine()
    for _ in 0..<30 { _ = machine.look(after: Self.hour) }
    let wrong = machine.look(after: 1, error: 20 * Self.day)
    #expect(wrong.now == machine.truth)
    #expect(wrong.sound == nil && wrong.settled == nil)
    #expect(wrong.doubt?.step == 20 * Self.day)
    let right = machine.look(after: 1, error: 0)
    #expect(right.now == machine.truth && right.sound != nil)
    #expect(right.settled.map { $0.instant.secondsSince1970 <= machine.truth.secondsSince1970 - Self.day } == true)
  }

  @Test("Ten hours ahead for a while, within the bound: when it is right again, that is no riddle")
  func tenHours() {
    let machine = Machine()
    _ = machine.look(after: Self.hour)
    let ahead = machine.look(after: 60, error: 10 * Self.hour)
    #expect(ahead.doubt == nil && ahead.now == machine.reading.wall)
    let back = machine.look(after: 60, error: 0)
    #expect(back.doubt == nil)
    #expect(back.now == machine.truth)
  }

  @Test("Steps within the bound add up: twenty of them do not take twenty days")
  func manySteps() {
    let machine = Machine()
    _ = machine.look(after: 60)
    var doubts = 0
    for day in 1...20 where machine.look(after: 60, error: Int64(day) * 23 * Self.hour).doubt != nil { doubts += 1 }
    #expect(doubts >= 18)
    #expect(machine.look().now.secondsSince1970 - machine.truth.secondsSince1970 <= Self.day)
    for minute in 1...2000 { _ = machine.look(after: 1, error: Int64(minute) * 299) }
    #expect(machine.look().now.secondsSince1970 - machine.truth.secondsSince1970 <= Self.day)
    // It is right again.
    let right = machine.look(after: 60, error: 0)
    #expect(right.doubt == nil && right.now == machine.truth)
  }

  @Test("Back by more than an hour: time goes on as it was; small steps back add up")
  func back() {
    let machine = Machine()
    _ = machine.look(after: 60)
    #expect(machine.look(after: 60, error: -3600).doubt == nil)
    #expect(machine.look(after: 60, error: -7000).doubt != nil)
    #expect(machine.judge.record?.greatest ?? machine.truth <= machine.truth)
    let before = machine.look().now
    #expect(machine.look(after: 60).now.secondsSince1970 == before.secondsSince1970 + 60)
  }

  @Test("A clock that was wrong at the start of the machine is doubted by what the last process has seen")
  func restart() {
    let machine = Machine()
    _ = machine.look(after: 60)
    machine.judge = ClockJudge(machine.judge.record)
    machine.boot = "b"
    machine.uptime += 300
    let wrong = machine.look(error: 40 * Self.day)
    #expect(wrong.doubt != nil)
    #expect(wrong.now <= machine.truth)
    machine.error = 0
    #expect(machine.look(after: 5).doubt == nil)
  }

  @Test("A store that was lost or restored goes on from what the folder shows")
  func shownByFolder() {
    let machine = Machine()
    for _ in 0..<30 { _ = machine.look(after: Self.hour) }
    let old = machine.judge.record
    for _ in 0..<30 { _ = machine.look(after: Self.hour) }
    let shown = machine.truth
    for record in [nil, old] {
      machine.judge = ClockJudge(record)
      machine.uptime += 120
      machine.error = -10 * Self.hour
      // Without the folder nobody could tell.
      var alone = machine.judge
      let unaided = alone.look(machine.reading).doubt
      #expect(unaided == nil || record != nil)
      machine.judge.take(shownByFolder: shown)
      let first = machine.look()
      #expect(first.now == shown && first.sound == nil && first.settled == nil)
      #expect(first.doubt.map { -$0.step / Self.hour } == 9)
      let later = machine.look(after: 600)
      #expect(later.now.secondsSince1970 == shown.secondsSince1970 + 600 && later.doubt != nil)
      let right = machine.look(after: 1, error: 0)
      #expect(right.doubt == nil && right.now == machine.truth)
    }
    // So is one that is far ahead of it, and none that is near.
    for record in [nil, old] {
      for (error, isBelieved) in [(0, true), (-3000, true), (10 * Self.hour, true), (20 * Self.day, false)] {
        machine.judge = ClockJudge(record)
        machine.error = error
        machine.judge.take(shownByFolder: shown)
        #expect((machine.look().doubt == nil) == isBelieved)
      }
    }
    // What this record has believed later than that is no news.
    machine.error = 0
    machine.judge = ClockJudge()
    _ = machine.look(after: Self.hour)
    let known = machine.judge
    machine.judge.take(shownByFolder: shown)
    #expect(machine.judge == known)
  }

  @Test("A restart of the machine under a system that does not tell it is no step")
  func restartWithoutAName() {
    var judge = ClockJudge()
    func look(_ hours: Int64, uptime: Int64) -> ClockLook {
      judge.look(ClockReading(wall: Times.after(hours * Self.hour), uptime: uptime, boot: "unknown"))
    }
    for hour in 0..<240 { #expect(look(Int64(hour), uptime: Int64(hour) * Self.hour).doubt == nil) }
    #expect(look(240, uptime: 40).doubt == nil)
    #expect(look(241, uptime: 40 + Self.hour).doubt == nil)
    // A step is still one.
    #expect(look(241 + 24 * 20, uptime: 60 + Self.hour).doubt != nil)
  }

  @Test("A step is accepted after a day when two operators' hosts agree, not before and not by one")
  func hosts() {
    let machine = Machine()
    _ = machine.look(after: 60)
    _ = machine.look(after: 60, error: 3 * Self.day)
    #expect(!machine.hear([0, 1, 2]))
    for _ in 0..<25 { _ = machine.look(after: Self.hour) }
    #expect(!machine.hear([0, 301, -4000]))
    #expect(machine.hear([0, 300, -4000]))
    let look = machine.look(after: 1)
    #expect(look.doubt == nil && look.now == machine.reading.wall)
    // It was looked at once alone.
    #expect(look.settled == nil)
  }

  @Test("The operator's word is heeded once, and only about the clock that it was said of")
  func word() {
    let machine = Machine()
    _ = machine.look(after: 60)
    _ = machine.look(after: 60, error: 3 * Self.day)
    let word = ClockWord(machine.reading)
    machine.uptime += 30
    machine.error = 9 * Self.day
    #expect(!machine.heed(word))
    machine.error = 3 * Self.day
    let again = ClockWord(machine.reading)
    #expect(machine.heed(again))
    #expect(machine.look(after: 1).doubt == nil)
    _ = machine.look(after: 1, error: 30 * Self.day)
    #expect(!machine.heed(again))
  }

  @Test("Random clocks: time never runs ahead by more than the bound in one step, nor is anything settled in doubt")
  func law() {
    var random = SeededRandom(for: "clocks")
    for _ in 0..<300 {
      let machine = Machine()
      var last = machine.look()
      for _ in 0..<100 {
        let passed = Int64.random(in: 0...7200, using: &random)
        let error: Int64? =
          Bool.random(using: &random)
          ? nil : [0, 1, -1, 10, -10, 24, -24, 480].randomElement(using: &random).map { $0 * 3600 }
        let look = machine.look(after: passed, error: error)
        #expect(look.now.secondsSince1970 - last.now.secondsSince1970 <= passed + Self.day)
        if look.doubt != nil { #expect(look.settled == nil && look.sound == nil) }
        if let settled = look.settled {
          #expect(settled.instant.secondsSince1970 <= look.now.secondsSince1970 - Self.day)
        }
        last = look
      }
    }
  }
}
