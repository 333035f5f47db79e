import ExposureKeys
import GatewayServer
import GatewayTesting
import KeyStorage
import PeerTransport
import ProgramMetrics
import Synchronization
import Testing

@testable import GatewayDaemon

@Suite("The clock of a gateway that runs")
struct ClockServiceTests {
  /// A machine whose clock somebody sets. The lock owns the reading.
  private final class Machine: Sendable {
    private static let start = Instant(secondsSince1970: 1_606_780_800)
    private let held = Mutex(ClockReading(wall: Machine.start, uptime: 1000, boot: "one"))
    var reading: ClockReading { held.withLock { $0 } }

    func set(daysAhead days: Int64) {
      held.withLock { $0.wall = Instant(secondsSince1970: Machine.start.secondsSince1970 + days * 86_400) }
    }
  }

  @Test("/ready/publishing reports by how much the clock is wrong now, not by how much it was at first")
  func setAgain() async throws {
    let machine = Machine()
    let clock = GatewayClock(continuing: nil) { machine.reading }
    _ = clock.look()
    let publishing = Readiness()
    let service = ClockService(
      clock: clock, ledger: Ledger(MemoryStore()), hosts: HostTimes { machine.reading }, readiness: publishing,
      metrics: GatewayMetrics())
    let work = Task { try await service.run() }
    defer { work.cancel() }
    var seen: Set<String> = []
    for days: Int64 in [3, -5, 40] {
      machine.set(daysAhead: days)
      let reason = try #require(clock.look().doubt?.reason)
      seen.insert(reason)
      for _ in 0..<200 where publishing.reasons != [reason] { try await Task.sleep(for: .milliseconds(50)) }
      #expect(publishing.reasons == [reason])
    }
    #expect(seen.count == 3)
    machine.set(daysAhead: 0)
    for _ in 0..<200 where !publishing.reasons.isEmpty { try await Task.sleep(for: .milliseconds(50)) }
    #expect(publishing.reasons.isEmpty)
  }
}
