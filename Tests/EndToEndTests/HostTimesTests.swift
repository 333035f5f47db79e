import BundleTrust
import ExposureKeys
import GatewayDaemon
import KeyPeers
import KeyStorage
import PeerTransport
import Synchronization
import Testing

@Suite("What hosts say about the time")
struct HostTimesTests {
  @Test("A clock that is set after a host was heard differs from it")
  func setLater() {
    func at(_ seconds: Int64) -> Instant { Instant(secondsSince1970: 1_606_780_800 + seconds) }
    let machine = Mutex(ClockReading(wall: at(0), uptime: 100, boot: "a"))
    let hosts = HostTimes { machine.withLock { $0 } }
    hosts.hear(
      ResponseHead(
        status: 200, headers: [PeerRequest.Header("Date", "Tue, 01 Dec 2020 00:00:02 GMT")],
        provenHost: ProvenHost(provenByTLS: "keys.example.org")))
    #expect(hosts.differences == [-2])
    // A quarter of an hour later.
    machine.withLock { $0 = ClockReading(wall: at(900), uptime: 1000, boot: "a") }
    #expect(hosts.differences == [-2])
    // Somebody sets the clock twenty days ahead: what was heard before does not agree with it.
    machine.withLock { $0 = ClockReading(wall: at(1_728_900), uptime: 1000, boot: "a") }
    #expect(hosts.differences == [1_727_998])
    machine.withLock { $0 = ClockReading(wall: at(8000), uptime: 8100, boot: "a") }
    #expect(hosts.differences.isEmpty)
  }
}
