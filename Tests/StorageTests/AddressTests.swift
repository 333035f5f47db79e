import ExposureKeys
import Foundation
import GatewayTesting
import KeyStorage
import SQLiteDriver
import Synchronization
import Testing

@Suite("Stores: opened by address and role")
struct AddressTests {
  @Test("the scheme finds the store")
  func schemes() async throws {
    let opened = Openings()
    let other = StoreDefinition(scheme: "elsewhere") { address, role, command, _, _ in
      opened.append("\(address) \(role.rawValue) \(command ?? "")")
      return MemoryStore()
    }
    let catalog = StoreCatalog([.sqlite, other])
    _ = try catalog.open(
      StoreAddress(scheme: "elsewhere", location: "db/keys"), as: .operator, command: "pause", now: Times.now)
    #expect(opened.all == ["elsewhere://db/keys operator pause"])
    let fault = #expect(throws: StorageFault.self) {
      try catalog.open(StoreAddress(scheme: "tape", location: "7"), as: .owner, now: Times.now)
    }
    #expect(fault?.code == .unsupported)
    #expect(fault?.reason == "tape://7: no store answers to tape, allowed are folder, elsewhere")

    try await withFolder { folder in
      for role in StoreRole.allCases {
        let none = #expect(throws: StorageFault.self) {
          try catalog.open(.folder(folder + "/new"), as: role, makes: false, now: Times.now)
        }
        #expect(none?.code == .notFound, "\(role)")
        #expect(throws: StorageFault.self) { try catalog.open(.folder(folder), as: role, makes: false, now: Times.now) }
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
      let owner = try catalog.open(.folder(folder), as: .owner, command: "keyferry run", now: Times.now)
      #expect(owner.role == .owner)
      let refusal = #expect(throws: StorageFault.self) { try catalog.open(.folder(folder), as: .owner, now: Times.now) }
      #expect(refusal?.code == .held && refusal?.reason.contains("keyferry run") == true)

      // An operator says a word beside the owner, and both and a reader see it.
      let aside = try catalog.open(.folder(folder), as: .operator, now: Times.now)
      let reader = try catalog.open(.folder(folder), as: .reader, now: Times.now)
      try await Ledger(owner).attempted(SourceAttempt(time: Times.now), source: "DE")
      try await Ledger(aside).paused(.source("DE"), by: Attribution(by: "ada", reason: "r"), at: Times.after(1))
      try await Ledger(owner).attempted(SourceAttempt(time: Times.after(2)), source: "DE")
      for store in [owner, aside, reader] {
        let state = try await store.snapshot()
        #expect(state.pauses == [Pause(.source("DE"), since: Times.after(1), reason: "r", by: "ada")])
        #expect(state.events.map(\.id.rawValue) == [1, 2, 3])
        #expect(state.events.map(\.event.kind) == [.attempted, .paused, .attempted])
      }
      let gateways = await #expect(throws: StorageFault.self) {
        try await Ledger(aside).attempted(SourceAttempt(time: Times.now), source: "DE")
      }
      #expect(gateways?.code == .held)
    }
  }
}

extension AddressTests {
  @Test("one place names a store")
  func compositionRoot() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources").standardized
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    // The simulation and the testing library are no part of the program.
    let others = ["/SQLiteDriver/", "/GatewaySimulation/", "/GatewayTesting/"]
    let naming = try files.compactMap { $0 as? URL }.filter { file in
      guard file.pathExtension == "swift", !others.contains(where: file.path.contains) else { return false }
      return try String(contentsOf: file, encoding: .utf8).contains("import SQLiteDriver")
    }
    #expect(naming.map(\.lastPathComponent) == ["Stores.swift"])
  }
}

private final class Openings: Sendable {
  private let openings = Mutex<[String]>([])
  var all: [String] { openings.withLock { $0 } }
  func append(_ opening: String) { openings.withLock { $0.append(opening) } }
}
