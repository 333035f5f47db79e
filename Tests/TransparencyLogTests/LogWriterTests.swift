import Foundation
import GatewayTesting
import Synchronization
import Testing
import TransparencyLog

@Suite struct LogWriterTests {
  /// Where the private keys are secrets of a configuration, the state has none of them.
  @Test func keysMayBeGiven() async throws {
    try await Workbench.run { bench in
      let (log, attester) = (try NoteSigner.generate(name: Workbench.name), AttestationSigner.generate())
      let keys = LogKeys(log: .given(log), attestations: .given(attester))
      let (state, folder) = (LogFolder(bench.statePlace, keys: keys), LogFolder(bench.place))
      var writer: LogWriter? = try await LogWriter.create(name: Workbench.name, state: state, folder: folder)
      #expect(try await writer?.append(numbers(0..<3), cursor: "a") == 0)
      writer = nil
      let next = try await LogWriter.open(state: state, folder: folder)
      #expect(next.verifier == log.verifier && next.checkpoint.size == 3)
      let signer = try await AttestationSigner.kept(in: state, shownIn: folder)
      #expect(signer.publicKey == attester.publicKey)
      for file in ["log.key", "attest.key"] {
        #expect(!FileManager.default.fileExists(atPath: "\(bench.statePlace)/\(file)"))
      }
      // What was shown by another key is told by where this one is.
      try folder.show(Array(AttestationSigner.generate().publicKey.pem.utf8), at: AttestationSigner.publicFile)
      let other = await #expect(throws: LogFault.self) { try await AttestationSigner.check(state, shownIn: folder) }
      #expect(other?.reason.contains("log.attestation-key names is not the key that others were shown") == true)
      // Who only looks has read no secret, and takes nothing from a file in its place.
      let unread = LogFolder(bench.statePlace, keys: LogKeys(log: .unread, attestations: .unread))
      #expect(await code { _ = try await LogWriter.look(state: unread, folder: folder) } == .inputOutput)
      #expect(await code { try await AttestationSigner.check(unread, shownIn: folder) } == .inputOutput)
    }
  }

  @Test func aLogGrows() async throws {
    try await Workbench.run { bench in
      var random = SeededRandom(seed: 3)
      var life: LogWriter? = try await bench.create()
      let verifier = try #require(life).verifier
      #expect(try bench.shown(verifier)?.size == 0 && life?.cursor == "")
      let key = try FileManager.default.attributesOfItem(atPath: bench.statePlace + "/log.key")
      #expect(key[.posixPermissions] as? Int == 0o600)
      var edge = RightEdge()
      var old: [SignedCheckpoint] = [try #require(life).checkpoint]
      for round in 0..<40 {
        if round % 5 == 4 {
          #expect(await code { _ = try await bench.open() } == .inUse)
          // The lock goes with the writer.
          life = nil
          life = try await bench.open()
          #expect(life?.cursor == "round \(round - 1)")
        }
        let writer = try #require(life)
        let entries = numbers(edge.size..<edge.size + Int.random(in: 1...40, using: &random))
        #expect(try await writer.append(entries, cursor: "round \(round)") == edge.size)
        for entry in entries { edge.append(.leaf(entry)) }
        let shown = try #require(try bench.shown(verifier))
        #expect(shown == writer.checkpoint && shown.size == edge.size && shown.root == edge.root)
        let reader = TreeReader(writer.folder, size: shown.size)
        for checkpoint in old { try await shown.verifyExtends(checkpoint, by: reader) }
        old.append(shown)
        try await LogVerification(reader, root: shown.root).run { first, bundle in
          #expect(bundle.entries == numbers(first..<min(first + 256, shown.size)))
        }
      }
      let writer = try #require(life)
      #expect(writer.cursor == "round 39" && edge.size > 600)
      // Partial tiles go when the full one has come.
      #expect(try bench.files().filter { $0.hasPrefix("tile/0/000") } == ["tile/0/000"])
      #expect(try await writer.append([]) == edge.size)
      let proof = try await writer.proof(of: 300, entry: Array("300".utf8))
      #expect(try proof.verify(Array("300".utf8), by: verifier, name: "x").size == edge.size)
      #expect(await code { _ = try await writer.proof(of: 300, entry: [0]) } == .notIncluded)
    }
  }

  @Test func whatCannotBeAddedIsRefusedAndLosesNothing() async throws {
    try await Workbench.run { bench in
      let writer = try await bench.create()
      try await writer.append([[1]])
      for entries: [[UInt8]] in [[[]], [Array(repeating: 0, count: 65_536)], Array(repeating: [1], count: 65_537)] {
        #expect(await code { try await writer.append(entries) } == .badEntry)
      }
      #expect(await code { try await writer.append([[1]], cursor: "a\nb") } == .badEntry)
      #expect(try await writer.append([Array(repeating: 7, count: 65_535)]) == 1)
      #expect(await code { _ = try await bench.create() } == .wouldOverwrite)
      #expect(
        await code { _ = try await LogWriter.open(state: LogFolder("/nowhere"), folder: writer.folder) } == .badState)
    }
  }

  // MARK: Restored, forked and damaged logs

  /// A log of 300 entries, with a copy of its state and its folder of when it had 200.
  private func withHistory(_ body: (Workbench, NoteVerifier) async throws -> Void) async throws {
    try await Workbench.run { bench in
      let verifier = try await grow(bench)
      try await body(bench, verifier)
    }
  }

  private func grow(_ bench: Workbench) async throws -> NoteVerifier {
    let writer = try await bench.create()
    try await writer.append(numbers(0..<200))
    try bench.copy("state")
    try bench.copy("public")
    try await writer.append(numbers(200..<300))
    return writer.verifier
  }

  @Test func aRestoredStateSignsNothingAndCanBeBroughtForward() async throws {
    try await withHistory { bench, verifier in
      let newest = try #require(try bench.shown(verifier))
      try bench.restore("state")
      #expect(await code { _ = try await bench.open() } == .staleState)
      #expect(try bench.shown(verifier) == newest)
      do {
        _ = try await bench.open()
      } catch let fault as LogFault {
        #expect(fault.reason.contains("300") && fault.reason.contains("200") && fault.hint?.contains("adopt") == true)
      }
      let adopted = try await LogWriter.adopt(state: LogFolder(bench.statePlace), folder: LogFolder(bench.place))
      #expect(adopted == newest)
      let writer = try await bench.open()
      #expect(try await writer.append([[1]]) == 300)
    }
  }

  @Test func aLostStateIsRefusedAndCanBeBroughtForward() async throws {
    try await withHistory { bench, _ in
      try FileManager.default.removeItem(atPath: bench.statePlace + "/signed")
      #expect(await code { _ = try await bench.open() } == .staleState)
      #expect(await code { _ = try await bench.create() } == .wouldOverwrite)
      _ = try await LogWriter.adopt(state: LogFolder(bench.statePlace), folder: LogFolder(bench.place))
      #expect(try await bench.open().checkpoint.size == 300)
    }
  }

  @Test func aRestoredFolderIsRefused() async throws {
    try await withHistory { bench, _ in
      try bench.restore("public")
      #expect(await code { _ = try await bench.open() } == .missingTile)
      // Nothing is signed, and the reason is that the folder is behind.
      let fault = await #expect(throws: LogFault.self) {
        try await LogWriter.adopt(state: LogFolder(bench.statePlace), folder: LogFolder(bench.place))
      }
      #expect(fault?.code == .wentBack, "\(String(describing: fault))")
    }
  }

  /// State and folder were both restored, and another history was signed: whoever has the newest checkpoint proves it.
  @Test func twoHistoriesAreAFork() async throws {
    try await withHistory { bench, verifier in
      let newest = try #require(try bench.shown(verifier))
      let state = bench.root.appending(path: "state")
      let kept = bench.root.appending(path: "kept")
      try FileManager.default.copyItem(at: state, to: kept)
      try bench.restore("state")
      try bench.restore("public")
      try await appendOther(bench, 100)
      let forked = try #require(try bench.shown(verifier))
      #expect(forked.size == newest.size && forked.root != newest.root)
      let same = TreeReader(LogFolder(bench.place), size: 300)
      #expect(await code { try await forked.verifyExtends(newest, by: same) } == .fork)
      // With the state that knows the other history, the folder is refused; so is a longer one.
      try FileManager.default.removeItem(at: state)
      try FileManager.default.copyItem(at: kept, to: state)
      #expect(await code { _ = try await bench.open() } == .fork)
      try bench.restore("state")
      let adopted = try await LogWriter.adopt(state: LogFolder(bench.statePlace), folder: LogFolder(bench.place))
      #expect(adopted == forked)
      try await appendOther(bench, 50)
      let longer = try #require(try bench.shown(verifier))
      #expect(longer.size == 350)
      let reader = TreeReader(LogFolder(bench.place), size: 350)
      #expect(await code { try await longer.verifyExtends(newest, by: reader) } == .fork)
      #expect(await code { try await newest.verifyExtends(longer, by: reader) } == .wentBack)
      try FileManager.default.removeItem(at: state)
      try FileManager.default.copyItem(at: kept, to: state)
      #expect(await code { _ = try await bench.open() } == .staleState)
      let refused = await code {
        _ = try await LogWriter.adopt(state: LogFolder(bench.statePlace), folder: LogFolder(bench.place))
      }
      #expect(refused == .fork)
    }
  }

  private func appendOther(_ bench: Workbench, _ count: Int) async throws {
    let writer = try await bench.open()
    try await writer.append(Array(repeating: Array("other".utf8), count: count))
  }

  @Test func eachDamageIsNamed() async throws {
    try await withHistory { bench, verifier in
      let signed = try #require(try bench.shown(verifier))
      func verified() async throws {
        let reader = TreeReader(LogFolder(bench.place), size: signed.size)
        try await LogVerification(reader, root: signed.root).run { _, _ in }
      }
      try await verified()
      func damaged(_ path: String, _ change: (inout [UInt8]) -> Void) async throws -> LogFault? {
        let content = try #require(try bench.content(path))
        var other = content
        change(&other)
        try bench.write(other, path)
        defer { try? bench.write(content, path) }
        do {
          try await verified()
        } catch let fault as LogFault {
          #expect(fault.code == .badTile)
          return fault
        }
        return nil
      }
      let edited = try await damaged("tile/entries/000") { $0[2] ^= 1 }
      #expect(edited?.reason.contains("entry 0 ") == true)
      let late = try await damaged("tile/entries/001.p/44") { $0[$0.count - 1] ^= 1 }
      #expect(late?.reason.contains("entry 299 ") == true)
      #expect(try await damaged("tile/0/000") { $0[255 * 32] ^= 1 }?.reason.contains("entry 255 ") == true)
      #expect(try await damaged("tile/1/000.p/1") { $0[0] ^= 1 }?.reason.contains("tile/1/000.p/1") == true)
      for path in ["tile/entries/000", "tile/0/000", "tile/entries/001.p/44", "tile/1/000.p/1"] {
        #expect(try await damaged(path) { $0.removeLast() } != nil)
        #expect(try await damaged(path) { $0.append(0) } != nil)
        #expect(try await damaged(path) { $0 = [] } != nil)
      }
      // Two entries have changed their places, in the bundle and in the tile.
      let (bundle, tile) = (try #require(try bench.content("tile/entries/001.p/44")), "tile/0/001.p/44")
      var swapped = bundle
      swapped.swapAt(4, 9)
      try bench.write(swapped, "tile/entries/001.p/44")
      var hashes = try #require(try bench.content(tile))
      let first = Array(hashes[..<32])
      hashes.replaceSubrange(..<32, with: hashes[32..<64])
      hashes.replaceSubrange(32..<64, with: first)
      try bench.write(hashes, tile)
      #expect(await code { try await verified() } == .badTile)
      // A log of another root is not appended to.
      #expect(await code { _ = try await bench.open() } == .badTile)
      try FileManager.default.removeItem(atPath: "\(bench.place)/\(tile)")
      #expect(await code { try await verified() } == .missingTile)
    }
  }

  @Test func whatStandsInTheWayIsNotOverwritten() async throws {
    try await withHistory { bench, verifier in
      try FileManager.default.createDirectory(atPath: bench.place + "/tile/0/001.p", withIntermediateDirectories: true)
      try bench.write([1, 2, 3], "tile/0/001.p/45")
      let newest = try #require(try bench.shown(verifier))
      try await expectRefusal(bench)
      #expect(try bench.content("tile/0/001.p/45") == [1, 2, 3] && bench.shown(verifier) == newest)
      // The next start finds the entry queued, and goes on when the way is free.
      #expect(await code { _ = try await bench.open() } == .wouldOverwrite)
      try FileManager.default.removeItem(atPath: bench.place + "/tile/0/001.p/45")
      #expect(try await bench.open().checkpoint.size == 301)
    }
  }

  private func expectRefusal(_ bench: Workbench) async throws {
    let writer = try await bench.open()
    let first = await code { try await writer.append([[9]]) }
    let second = await code { try await writer.append([[9]]) }
    #expect(first == .wouldOverwrite && second == .badState)
  }

  // MARK: Crashes

  struct Killed: Error {}

  /// Stops the work at one of its steps; what is dead does nothing more.
  final class Fuse: Sendable {
    private let left: Mutex<Int?>
    private let error: any Error & Sendable
    let steps = Mutex(0)

    init(at step: Int?, error: any Error & Sendable = Killed()) {
      left = Mutex(step)
      self.error = error
    }

    func burn() throws {
      steps.withLock { $0 += 1 }
      let isOver = left.withLock { left in
        guard let count = left else { return false }
        left = count - 1
        return count <= 0
      }
      if isOver { throw error }
    }
  }

  /// Everything that a log does, in three lives: it begins, grows over the end of a tile, and grows again.
  private func live(_ bench: Workbench, _ fuse: Fuse) async throws {
    let hook: Workbench.Hook = { _, _ in try fuse.burn() }
    let exists = FileManager.default.fileExists(atPath: bench.statePlace + "/signed")
    let writer = exists ? try await bench.open(hook) : try await bench.create(hook)
    for (size, next) in [(0, 250), (250, 260), (260, 530)] where writer.checkpoint.size == size {
      try await writer.append(numbers(size..<next), cursor: "\(next)")
    }
  }

  /// Killed, or without room, at every step: what others see is always whole and always extends what they saw, and the end
  /// is that of an undisturbed log, byte by byte.
  @Test(arguments: [true, false]) func aDeathAtEveryStep(isKilled: Bool) async throws {
    let key = NoteTests.signer.disclosed
    let steps = Mutex(0)
    var end: [String: [UInt8]] = [:]
    try await Workbench.run { bench in
      try await prepare(bench, key)
      let fuse = Fuse(at: nil)
      try await live(bench, fuse)
      steps.withLock { $0 = fuse.steps.withLock { $0 } }
      for path in try bench.files() { end[path] = try bench.content(path) }
    }
    let count = steps.withLock { $0 }
    #expect(count > 40)
    for step in LongList.cases(isKilled ? 0..<count : 1..<count, 20) {
      try await Workbench.run { bench in
        try await prepare(bench, key)
        let error: any Error & Sendable =
          isKilled ? Killed() : LogFault(.inputOutput, "cannot write: No space left on device")
        do {
          try await live(bench, Fuse(at: step, error: error))
          Issue.record("step \(step) did not happen")
        } catch {}
        let verifier = NoteTests.signer.verifier
        let before = try bench.shown(verifier)
        if let before {
          let reader = TreeReader(LogFolder(bench.place), size: before.size)
          try await LogVerification(reader, root: before.root).run { _, _ in }
        }
        try await live(bench, Fuse(at: nil))
        let after = try #require(try bench.shown(verifier))
        if let before {
          try await after.verifyExtends(before, by: TreeReader(LogFolder(bench.place), size: after.size))
        }
        // A death while needless tiles are removed leaves some of them.
        for (path, content) in end { #expect(try bench.content(path) == content, "\(step): \(path)") }
        let more = try bench.files().filter { end[$0] == nil && !$0.contains(".p/") && !$0.hasSuffix(".partial") }
        #expect(more == [], "\(step)")
        #expect(after.size == 530)
      }
    }
  }

  /// The same key in all lives, so that their bytes can be compared.
  private func prepare(_ bench: Workbench, _ key: String) async throws {
    try FileManager.default.createDirectory(atPath: bench.statePlace, withIntermediateDirectories: true)
    try Data(Array((key + "\n").utf8)).write(to: bench.root.appending(path: "state/log.key"))
  }
}
