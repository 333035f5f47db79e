import ExposureKeys
import Foundation
import KeyNormalization
import KeyPeers
import PeerTransport
import Synchronization
import Testing

/// What a test needs to ask peers: clients that are shut down, a folder that is removed, a clock that never waits.
struct Bench: Sendable {
  let clients: PeerClients
  let folder: URL
  let clock = TestClock()
  let events = EventLog()

  static func run<Result>(_ body: (Bench) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    let clients = PeerClients(version: "0.0.0-test")
    do {
      let result = try await body(Bench(clients: clients, folder: folder))
      await clients.shutdown()
      return result
    } catch {
      await clients.shutdown()
      throw error
    }
  }

  /// Runs a stub server and asks it.
  static func run<Result>(
    _ respond: @escaping StubServer.Respond, _ body: (Bench, StubServer) async throws -> Result
  ) async throws -> Result {
    try await StubServer.run(respond) { server in
      try await run { try await body($0, server) }
    }
  }

  static let calm = TimeLimits(connect: .seconds(10), idle: .seconds(10), total: .seconds(20))

  func transport(
    _ location: String, limits: TimeLimits = calm, _ change: (inout TransportSettings) -> Void = { _ in }
  ) throws -> HTTPPeerTransport {
    var settings = TransportSettings()
    settings.retries = 0
    change(&settings)
    var source = SourceSettings(
      name: "test", peer: .index, location: location, trust: .operator, reading: Policy(name: "as-sent"),
      transport: settings)
    source.transport = settings
    return try clients.transport(
      for: source, limits: limits, clock: clock.transportClock, onEvent: { [events] in events.append($0) })
  }

  func transport(
    _ server: StubServer, limits: TimeLimits = calm, _ change: (inout TransportSettings) -> Void = { _ in }
  ) throws -> HTTPPeerTransport {
    try transport("http://127.0.0.1:\(server.port)", limits: limits, change)
  }

  var target: String { folder.appending(path: "document").path }

  /// What is in the folder, in order.
  var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
  }

  var document: [UInt8] {
    get throws { Array(try Data(contentsOf: folder.appending(path: "document"))) }
  }
}

/// Time that passes at once; chance is always a half.
final class TestClock: Sendable {
  private let naps = Mutex<[Duration]>([])

  /// How long was slept, in order.
  var slept: [Duration] { naps.withLock { $0 } }

  var transportClock: TransportClock {
    TransportClock(
      sleep: { duration in self.naps.withLock { $0.append(duration) } }, random: { 0.5 },
      now: { Instant(secondsSince1970: 784_111_777) })
  }
}

final class EventLog: Sendable {
  private let events = Mutex<[TransportEvent]>([])

  var all: [TransportEvent] { events.withLock { $0 } }

  func append(_ event: TransportEvent) { events.withLock { $0.append(event) } }
}

/// The fault that `operation` ends with.
func fault(
  _ sourceLocation: SourceLocation = #_sourceLocation, of operation: () async throws -> Void
) async throws -> TransportFault {
  let error = await #expect(throws: (any Error).self, sourceLocation: sourceLocation) { try await operation() }
  return try #require(error as? TransportFault, "\(String(describing: error))", sourceLocation: sourceLocation)
}
