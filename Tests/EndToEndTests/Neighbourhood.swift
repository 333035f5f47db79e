import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyNormalization
import KeyStorage
import SQLiteDriver
import Testing

/// A folder with gateways in it, and the program that runs them.
struct Neighbourhood {
  let folder: URL

  static func visit(_ body: (Neighbourhood) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(Neighbourhood(folder: folder))
  }

  static let program = ProgramUnderTest.path

  /// The day on which everything happens.
  static let noon = "2020-12-01T12:00:00Z"

  func path(_ name: String) -> String { folder.appending(path: name).path() }

  func write(_ text: String, _ name: String) throws {
    let file = folder.appending(path: name)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  /// Runs `keyferry`, and expects it to end like this.
  @discardableResult
  func keyferry(_ arguments: String..., status: Int32 = 0) throws -> Tool.Outcome {
    let program = try #require(Self.program, "the program keyferry was not built")
    let outcome = try Tool(path: program).run(arguments, in: folder)
    #expect(outcome.status == status, "keyferry \(arguments.joined(separator: " "))\n\(outcome.errors)")
    return outcome
  }

  /// Runs `keyferry` and kills it after so many milliseconds, wherever it is then.
  ///
  /// - Returns: whether it was killed; it may have been ready before.
  func killed(_ arguments: [String], after milliseconds: Int) async throws -> Bool {
    let process = try start(arguments)
    try await Task.sleep(for: .milliseconds(milliseconds))
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    return process.terminationReason == .uncaughtSignal
  }

  /// Starts `keyferry` with everything that it says in `log`, and with more in its environment.
  func start(_ arguments: [String], log: String? = nil, environment: [String: String] = [:]) throws -> Process {
    let process = Process()
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.executableURL = URL(filePath: try #require(Self.program, "the program keyferry was not built"))
    process.arguments = arguments
    process.currentDirectoryURL = folder
    process.standardOutput = FileHandle.nullDevice
    if let log {
      // Who wants to know which file it is has made it.
      if !FileManager.default.fileExists(atPath: path(log)) {
        _ = FileManager.default.createFile(atPath: path(log), contents: nil)
      }
      let file = try FileHandle(forWritingTo: folder.appending(path: log))
      try file.truncate(atOffset: 0)
      process.standardOutput = file
      process.standardError = file
    } else {
      process.standardError = FileHandle.nullDevice
    }
    try process.run()
    return process
  }

  /// Plausible keys as CSV in a gateway's drop folder.
  func drop(_ count: Int, seed: UInt64, in gateway: String, as name: String) throws {
    var random = SeededRandom(seed: seed)
    let document = RandomKeys(.plausible).document(count, using: &random)
    let sink = MemorySink()
    try document.encode(with: CSVKeyEncoder(OutputBuffer(sink)))
    let file = folder.appending(path: "\(gateway)/drop/\(name)")
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(sink.bytes).write(to: file)
    // A file that was changed just now may still be written.
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: file.path())
  }

  /// A gateway that reads its drop folder and publishes one series of everything.
  func gateway(_ name: String, origin: String, sources: String = "", series: String = "all", extra: String = "") throws
  {
    try FileManager.default.createDirectory(
      at: folder.appending(path: "\(name)/drop"), withIntermediateDirectories: true)
    try keyferry("keygen", "-o", "\(name)/key.pem", "--public-key", "\(name)/public.pem")
    try write(
      """
      state: state
      sources:
        - {name: drop, protocol: files, location: drop, trust: operator, origin: \(origin), speaks-for: [\(origin)]}
      \(sources)
      series:
        - name: \(series)
          region: "310"
          every: 2 hours
          rollups: [day, since]
          sign: [{key: {file: key.pem}, id: "310", version: v1}]
      publication: {folder: public}
      server: {listen: "127.0.0.1:0"}
      \(extra)
      """, "\(name)/gateway.yaml")
  }

  /// Everything that the store of a gateway says.
  func claims(of gateway: String) async throws -> Set<StatedClaim> {
    let store = try SQLiteStore(
      folder: path("\(gateway)/state"), role: .reader, now: try #require(Instant(Self.noon)))
    return try await Self.claims(of: store)
  }

  /// Everything that a store says.
  static func claims(of store: SQLiteStore) async throws -> Set<StatedClaim> {
    try await store.read { state in
      var all: Set<StatedClaim> = []
      var start: TemporaryExposureKey? = TemporaryExposureKey(high: 0, low: 0)
      while let from = start {
        let page = try state.claims(from: from, limit: 10_000)
        all.formUnion(page.claims.statedClaims)
        start = page.next
      }
      return all
    }
  }

  /// What the index of a series names.
  func index(of gateway: String, series: String = "all") throws -> [String] {
    guard
      let text = try? String(
        contentsOf: folder.appending(path: "\(gateway)/public/\(series)/index.txt"), encoding: .utf8)
    else { return [] }
    return text.split(separator: "\n").map(String.init)
  }
}
