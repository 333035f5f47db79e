import ExposureKeys
import Foundation
import GatewayTesting
import KeyPublishing
import KeyReceiving
import KeyStorage
import ProgramMetrics
import Testing

@testable import GatewayDaemon
@testable import GatewayServer

/// `/ready`, `/ready/publishing`, `keyferry status`, the page and the metrics report the same faults.
@Suite("What is wrong with a gateway") struct StandingFaultTests {
  private static func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.path())
  }

  @Test("what a part of the process holds is told by its kind and place, and once")
  func holds() {
    let readiness = Readiness()
    readiness.hold(.series, of: "NL", because: "series NL: the bucket is away")
    readiness.hold(.series, of: "BE", because: "series BE: no key signs")
    readiness.hold(.series, of: "NL", because: "series NL: the bucket is away since noon")
    readiness.ask { [StandingFault(.silence, because: "no source has been pulled")] }
    #expect(
      readiness.reasons == [
        "series BE: no key signs", "series NL: the bucket is away since noon", "no source has been pulled",
      ])
    readiness.release(.series, of: "NL")
    #expect(readiness.faults.map(\.subject) == ["BE", nil])
  }

  @Test("the running gateway knows why, and its word stands in place of what the store says of the same")
  func reasons() {
    let live = [StandingFault(.series, of: "NL", because: "series NL: the bucket is away")]
    let stored = [
      StandingFault(.series, of: "NL", because: "series NL: 1 bundle is staged"),
      StandingFault(.series, of: "BE", because: "series BE: 2 bundles are staged"),
      StandingFault(.held, because: "keys of 2 documents are held until an operator decides"),
    ]
    #expect(
      StandingFault.all(live, beside: stored).map(\.sentence) == [
        "series NL: the bucket is away", "series BE: 2 bundles are staged",
        "keys of 2 documents are held until an operator decides; keyferry quarantine list",
      ])
    #expect(StandingFault.all([], beside: stored) == stored)
  }

  /// The cases in which `status` said "fine" while `/ready` was exact.
  @Test(
    "status and the metrics hear of what a running process holds, until it ends",
    arguments: [
      StandingFault(.storeUnwritable, because: "uploads cannot be recorded: no room to write"),
      StandingFault(.series, of: "NL", because: "series NL: the bucket keys does not answer"),
      StandingFault(.log, because: "the public log: its folder has another checkpoint"),
    ])
  func told(fault: StandingFault) async throws {
    try await Self.withFolder { folder in
      let (serving, publishing, metrics) = (Readiness(), Readiness(), GatewayMetrics())
      let held = StandingFault(.held, because: "keys of 1 document are held until an operator decides")
      let watch = FaultWatch([serving, publishing], writtenTo: folder, by: .run, metrics: metrics) { [held] }
      #expect(FaultFile.faults(in: folder) == [])
      (fault.kind == .storeUnwritable ? serving : publishing).hold(fault.kind, of: fault.subject, because: fault.reason)
      let work = Task { try await watch.run() }
      for _ in 0..<200 where FaultFile.faults(in: folder) != [fault] { try await Task.sleep(for: .milliseconds(20)) }
      #expect(FaultFile.faults(in: folder) == [fault])
      for _ in 0..<200 where !metrics.text.contains("keyferry_faults{fault=\"held\"} 1\n") {
        try await Task.sleep(for: .milliseconds(20))
      }
      #expect(metrics.text.contains("keyferry_faults{fault=\"held\"} 1\n"))
      #expect(metrics.text.contains("keyferry_faults{fault=\"\(fault.kind.rawValue)\"} 1\n"))
      #expect(metrics.text.contains("keyferry_faults{fault=\"drained\"} 0\n"))
      work.cancel()
      _ = await work.result
      #expect(FaultFile.faults(in: folder) == [])
    }
  }

  @Test("a process that was killed is named, its faults are forgotten, and what it left half written is nothing")
  func killed() async throws {
    try await Self.withFolder { folder in
      let fault = StandingFault(.log, because: "the public log cannot go on")
      try FaultFile.write([fault], by: .run, in: folder)
      try FaultFile.write([fault, StandingFault(.shutdown, because: "it ends")], by: .serve, in: folder)
      #expect(FaultFile.faults(in: folder).map(\.kind) == [.log, .shutdown])
      for name in ["faults-run.json", "faults-serve.json"] {
        try FileManager.default.setAttributes(
          [.modificationDate: Date(timeIntervalSinceNow: -120)], ofItemAtPath: "\(folder)/\(name)")
      }
      let gone = FaultFile.faults(in: folder)
      #expect(gone.map(\.kind) == [.gone, .gone] && gone.map(\.subject) == ["run", "serve"])
      #expect(gone.allSatisfy { $0.sentence.contains("ended without shutting down") }, "\(gone)")
      try FileManager.default.removeItem(atPath: "\(folder)/faults-serve.json")
      try Data("[{\"code\":\"log\"".utf8).write(to: URL(filePath: "\(folder)/faults-run.json"))
      #expect(FaultFile.faults(in: folder) == [])
    }
  }
}
