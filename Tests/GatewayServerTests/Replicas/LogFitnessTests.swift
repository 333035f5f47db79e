import KeyStorage
import Testing

@testable import GatewayDaemon

@Suite("Replicas: who can keep the log")
struct LogFitnessTests {
  private static let duties: Set<Duty> = [.log, .publish("NL"), .pull("efgs"), .retention]
  private static let rest: Set<Duty> = [.pull("efgs"), .retention]
  private let start = ContinuousClock.now

  private func after(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

  @Test("before the keys were looked at, and without them, it is others' work")
  func keys() {
    let fitness = LogFitness()
    #expect(fitness.narrowed(Self.duties) == Self.rest)
    fitness.note(hasKeys: true)
    #expect(fitness.narrowed(Self.duties) == Self.duties)
    fitness.note(hasKeys: false)
    #expect(fitness.narrowed(Self.duties) == Self.rest)
  }

  @Test("who has tried in vain pauses longer each time, whatever the keys are, and not for ever")
  func pauses() {
    let fitness = LogFitness()
    var now = start
    var pauses: [Duration] = []
    for _ in 0..<8 {
      fitness.giveUp(at: now, share: 1)
      let begun = now
      while fitness.isPausing(at: now) {
        // A look at the keys that finds them does not end it.
        fitness.note(hasKeys: true)
        #expect(fitness.narrowed(Self.duties, at: now) == Self.rest)
        now += .seconds(1)
      }
      #expect(fitness.narrowed(Self.duties, at: now) == Self.duties)
      pauses.append(now - begun)
    }
    #expect(pauses == [20, 40, 60, 60, 60, 60, 60, 60].map { .seconds($0) })
    fitness.succeeded()
    fitness.giveUp(at: now, share: 0)
    #expect(fitness.isPausing(at: now + .seconds(9)) && !fitness.isPausing(at: now + .seconds(10)))
  }

  @Test("a fault is told when it begins, when it changes, and once a minute")
  func telling() {
    var fault = LastingFault()
    var told: [Int] = []
    for second in 0..<150 {
      if fault.note(second < 100 ? "denied" : "away", at: after(Double(second))) { told.append(second) }
    }
    #expect(told == [0, 60, 100])
    let ends = [fault.end(), fault.end()]
    let isTold = fault.note("away", at: after(151))
    #expect(ends == [true, false] && isTold)
  }
}
