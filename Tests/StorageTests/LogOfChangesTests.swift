import ExposureKeys
import Foundation
import GatewayTesting
import KeyStorage
import SQLiteStorage
import Testing

/// The log of changes of a store whose process was killed, seen before SQLite reads it.
@Suite("Log of changes") struct LogOfChangesTests {
  private static let frame = 24 + 4096
  private static let header = 32

  /// The files of a store while a process has it, as they lie there when that is killed.
  private struct Remains {
    var main: Data
    var log: Data
    var index: Data?

    init(of folder: String) throws {
      let path = folder + "/" + SQLiteStore.fileName
      main = try Data(contentsOf: URL(filePath: path))
      log = try Data(contentsOf: URL(filePath: path + "-wal"))
      index = try Data(contentsOf: URL(filePath: path + "-shm"))
    }

    func write(into folder: String) throws {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/" + SQLiteStore.fileName
      for ending in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + ending) }
      try main.write(to: URL(filePath: path))
      try log.write(to: URL(filePath: path + "-wal"))
      try index?.write(to: URL(filePath: path + "-shm"))
    }

    var frameCount: Int { (log.count - LogOfChangesTests.header) / LogOfChangesTests.frame }

    /// Whether a frame ends a transaction.
    func ends(_ frame: Int) -> Bool {
      let start = LogOfChangesTests.header + frame * LogOfChangesTests.frame
      return log[start + 4..<start + 8].contains { $0 != 0 }
    }
  }

  /// A store of some transactions that was never checkpointed; `first` is what it knew before the last one.
  private func withRemains(_ body: (String, Remains) async throws -> Void) async throws {
    try await withFolder { folder in
      let store = try SQLiteStore(folder: folder, now: Times.now)
      try await SQLiteTests.fill(store, seed: 20)
      _ = try await store.write {
        try $0.record(SQLiteTests.manyClaims(500), of: try $0.document("a"), at: Times.now)
      }
      _ = try await store.write { try $0.setNote([1], named: "the last word") }
      let remains = try Remains(of: folder)
      #expect(remains.frameCount > 20 && remains.ends(remains.frameCount - 1))
      try await body(folder + "/again", remains)
      withExtendedLifetime(store) {}
    }
  }

  /// What opening says; `nil` where it opens.
  private func fault(_ folder: String, _ role: StoreRole = .owner) -> StorageFault? {
    do {
      _ = try SQLiteStore(folder: folder, role: role, now: Times.now)
      return nil
    } catch {
      return error as? StorageFault
    }
  }

  @Test("whole, it opens for everybody, and says all that was committed") func whole() async throws {
    try await withRemains { folder, remains in
      var remains = remains
      for index in [remains.index, nil] {
        remains.index = index
        for role in StoreRole.allCases {
          try remains.write(into: folder)
          #expect(fault(folder, role) == nil, "\(role)")
        }
        try remains.write(into: folder)
        let store = try SQLiteStore(folder: folder, now: Times.now)
        #expect(try await store.read { try $0.note(named: "the last word") } == [1])
        #expect(try await store.damage(limit: 5) == [])
      }
    }
  }

  @Test("a bit that another one has taken the place of is found, also in the last transaction") func flippedBits()
    async throws
  {
    try await withRemains { folder, remains in
      var random = SeededRandom(seed: 8)
      for number in LongList.cases(0..<remains.frameCount, 15) {
        // Of a page, of its number, of the salts, of the sum.
        for place in [[24 + Int.random(in: 0..<4096, using: &random), 1], [9, 18]][number % 2] {
          var damaged = remains
          damaged.log[Self.header + number * Self.frame + place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
          try damaged.write(into: folder)
          let role = StoreRole.allCases.randomElement(using: &random) ?? .owner
          let found = try #require(fault(folder, role), "frame \(number), byte \(place)")
          #expect(found.code == .corrupt && found.reason.contains("keyferry.sqlite-wal: the store is damaged: change"))
          #expect(try Data(contentsOf: URL(filePath: "\(folder)/\(SQLiteStore.fileName)-wal")) == damaged.log)
        }
      }
      // Its header, too.
      for place in stride(from: 0, to: Self.header, by: 5) {
        var damaged = remains
        damaged.log[place] ^= 4
        try damaged.write(into: folder)
        #expect(fault(folder)?.code == .corrupt, "byte \(place) of the header")
      }
    }
  }

  @Test("without the memory that processes shared it is found where a transaction ends behind it")
  func flippedBitsAlone() async throws {
    try await withRemains { folder, remains in
      var remains = remains
      remains.index = nil
      for number in LongList.cases(0..<remains.frameCount, 15) {
        var damaged = remains
        damaged.log[Self.header + number * Self.frame + 24 + 2000] ^= 0x10
        try damaged.write(into: folder)
        let isLast = !(number + 1..<remains.frameCount).contains { remains.ends($0) }
        #expect((fault(folder)?.code == .corrupt) == !isLast, "frame \(number)")
      }
    }
  }

  @Test("what a crash cut off is no damage") func tornTails() async throws {
    try await withRemains { folder, remains in
      let ends = (0..<remains.frameCount).filter(remains.ends)
      let last = try #require(ends.dropLast().last)
      var remains = remains
      remains.index = nil
      var random = SeededRandom(seed: 9)
      let committed = Self.header + (last + 1) * Self.frame
      for kind in 0..<12 {
        var torn = remains
        let cut = Int.random(in: committed..<torn.log.count, using: &random)
        switch kind % 3 {
        case 0: torn.log = torn.log.prefix(cut)
        // A file system has made it longer, and not written.
        case 1: torn.log.replaceSubrange(cut..<torn.log.count, with: Data(count: torn.log.count - cut))
        // What stands behind is of an earlier log, with other salts.
        default:
          for frame in last + 1..<torn.frameCount {
            let start = Self.header + frame * Self.frame
            torn.log[start + 11] &-= 1
            for place in start + 12..<start + 16 { torn.log[place] ^= 0x5a }
          }
        }
        try torn.write(into: folder)
        #expect(fault(folder) == nil, "kind \(kind), cut at \(cut)")
      }
    }
  }

  /// A power failure may leave out any block that was not synchronized, though later ones were written.
  @Test("older bytes in blocks that a power failure left out are no damage") func powerFailures() async throws {
    try await withRemains { folder, remains in
      var remains = remains
      remains.index = nil
      let blocks = remains.log.count / 4096
      // Behind the first one, which has the header. A block that is nearly one page alone touches no salts, and looks like damage.
      for block in LongList.cases(1..<blocks, 20) where (block * 4096 - Self.header) % Self.frame > 40 {
        var torn = remains
        torn.log.replaceSubrange(block * 4096..<block * 4096 + 4096, with: Data(count: 4096))
        try torn.write(into: folder)
        #expect(fault(folder) == nil, "block \(block)")
      }
    }
  }

  @Test("a log that was emptied, cut off or taken away is missed") func missing() async throws {
    try await withRemains { folder, remains in
      for count in [0, 10, Self.header, Self.header + Self.frame * 3, remains.log.count - 1] {
        var damaged = remains
        damaged.log = damaged.log.prefix(count)
        try damaged.write(into: folder)
        #expect(fault(folder)?.code == .corrupt, "\(count) bytes")
      }
      try remains.write(into: folder)
      try FileManager.default.removeItem(atPath: "\(folder)/\(SQLiteStore.fileName)-wal")
      #expect(fault(folder)?.code == .corrupt)
    }
  }

  /// SQLite takes the log of an empty file away.
  @Test("a log beside a file that was emptied or taken away is told, and stays", arguments: StoreRole.allCases)
  func emptied(_ role: StoreRole) async throws {
    try await withRemains { folder, remains in
      let path = "\(folder)/\(SQLiteStore.fileName)"
      for index in [remains.index, nil] {
        for isThere in [true, false] {
          var damaged = remains
          (damaged.main, damaged.index) = (Data(), index)
          try damaged.write(into: folder)
          if !isThere { try FileManager.default.removeItem(atPath: path) }
          let found = try #require(fault(folder, role))
          #expect(found.code == .corrupt, "\(found)")
          #expect(found.reason.contains("-wal: the store is damaged: the file that it belongs to is "), "\(found)")
          #expect(throws: StorageFault.self) { try SQLiteStore.damagedTables(in: folder, now: Times.now) }
          #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == remains.log)
          #expect((try? Data(contentsOf: URL(filePath: path))) == (isThere ? Data() : nil))
          // Nor is it taken for a copy.
          let target = folder + "/target"
          try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
          await #expect(throws: StorageFault.self) {
            try await SQLiteStore.restore(from: path, into: target, now: Times.now)
          }
          #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == remains.log)
        }
      }
      guard role == .owner else { return }
      // A copy takes their place, and both are kept.
      let copy = folder + "/copy.sqlite"
      try await withFolder { other in
        try await SQLiteTests.fill(try SQLiteStore(folder: other, now: Times.now), seed: 3)
        try FileManager.default.copyItem(atPath: "\(other)/\(SQLiteStore.fileName)", toPath: copy)
      }
      try await SQLiteStore.restore(from: copy, into: folder, now: Times.now)
      #expect(fault(folder) == nil)
      let kept = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains("-replaced-") }
      #expect(try kept.contains { try Data(contentsOf: URL(filePath: "\(folder)/\($0)")) == remains.log })
    }
  }

  @Test("whoever looks at a file that was cut off or written over takes nothing from its log")
  func writtenOver() async throws {
    try await withRemains { folder, remains in
      let path = "\(folder)/\(SQLiteStore.fileName)"
      for main in [
        Data(count: 1), Data(count: 100), Data(count: 4096), Data(count: remains.main.count), remains.main.prefix(50),
      ] {
        var damaged = remains
        damaged.main = main
        try damaged.write(into: folder)
        _ = fault(folder, .reader)
        #expect(try Data(contentsOf: URL(filePath: path)) == main)
        #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == remains.log, "\(main.count) bytes")
      }
    }
  }

  @Test("whoever has written and ends leaves nothing in the log", arguments: [StoreRole.owner, .operator])
  func settled(_ role: StoreRole) async throws {
    try await withFolder { folder in
      _ = try SQLiteStore(folder: folder, now: Times.now)
      do {
        let store = try SQLiteStore(folder: folder, role: role, now: Times.now)
        let reader = try SQLiteStore(folder: folder, role: .reader, now: Times.now)
        _ = try await store.write { try $0.setNote([7], named: "word") }
        #expect(try await reader.read { try $0.note(named: "word") } == [7])
        let path = folder + "/" + SQLiteStore.fileName + "-wal"
        #expect(try Data(contentsOf: URL(filePath: path)).count > Self.frame)
        await store.settle()
        #expect(try Data(contentsOf: URL(filePath: path)).isEmpty)
        _ = try await store.write { try $0.setNote([8], named: "word") }
      }
      let path = folder + "/" + SQLiteStore.fileName + "-wal"
      #expect((try? Data(contentsOf: URL(filePath: path)))?.isEmpty ?? true)
      #expect(try await SQLiteStore(folder: folder, now: Times.now).read { try $0.note(named: "word") } == [8])
    }
  }

  // MARK: Restoring

  @Test("a store that was put aside is restored with its log") func putAside() async throws {
    try await withRemains { folder, remains in
      try remains.write(into: folder)
      let before = try await { try await SQLiteStore(folder: folder, now: Times.now).snapshot() }()
      try remains.write(into: folder)
      let copy = folder + "/other.sqlite"
      try await withFolder { other in
        try await SQLiteTests.fill(try SQLiteStore(folder: other, now: Times.now), seed: 3)
        try FileManager.default.copyItem(atPath: "\(other)/\(SQLiteStore.fileName)", toPath: copy)
      }
      // Twice in one second, and each time what was there stays.
      try await SQLiteStore.restore(from: copy, into: folder, now: Times.now)
      try await SQLiteStore.restore(from: copy, into: folder, now: Times.now)
      let aside = "\(folder)/\(SQLiteStore.fileName)-replaced-\(Times.now.secondsSince1970)"
      #expect(FileManager.default.fileExists(atPath: aside + "-wal"))
      #expect(FileManager.default.fileExists(atPath: aside + ".2"))
      try await SQLiteStore.restore(from: aside, into: folder, now: Times.now)
      #expect(try await SQLiteStore(folder: folder, now: Times.now).snapshot() == before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).allSatisfy { !$0.contains(".partial") })
    }
  }

  @Test("a restore that was interrupted is ended by the next owner, and nobody else reads before") func interrupted()
    async throws
  {
    try await withRemains { folder, remains in
      try remains.write(into: folder)
      let path = "\(folder)/\(SQLiteStore.fileName)"
      var expected: Snapshot?
      try await withFolder { other in
        let store = try SQLiteStore(folder: other, now: Times.now)
        try await SQLiteTests.fill(store, seed: 3)
        expected = try await store.snapshot()
        try store.letGo()
        try FileManager.default.copyItem(atPath: "\(other)/\(SQLiteStore.fileName)", toPath: path + ".replacing")
      }
      for role in [StoreRole.reader, .operator] {
        let fault = #expect(throws: StorageFault.self) { try SQLiteStore(folder: folder, role: role, now: Times.now) }
        #expect(fault?.code == .held)
      }
      #expect(try await SQLiteStore(folder: folder, now: Times.now).snapshot() == expected)
      let left = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(left.allSatisfy { !$0.contains(".partial") && !$0.contains(".replacing") })
    }
  }

  @Test("a copy whose log is damaged changes nothing, and neither does the store itself") func damagedCopies()
    async throws
  {
    try await withRemains { folder, remains in
      var damaged = remains
      damaged.log[Self.header + 3 * Self.frame + 100] ^= 1
      try damaged.write(into: folder + "/copy")
      let target = folder + "/target"
      try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
      do { try await SQLiteTests.fill(try SQLiteStore(folder: target, now: Times.now), seed: 3) }
      let before = try Data(contentsOf: URL(filePath: "\(target)/\(SQLiteStore.fileName)"))
      let copy = "\(folder)/copy/\(SQLiteStore.fileName)"
      let fault = await #expect(throws: StorageFault.self) {
        try await SQLiteStore.restore(from: copy, into: target, now: Times.now)
      }
      #expect(fault?.code == .corrupt)
      #expect(fault?.reason.hasPrefix("\(copy): the copy is damaged itself: ") == true, "\(String(describing: fault))")
      let itself = await #expect(throws: StorageFault.self) {
        try await SQLiteStore.restore(from: "\(target)/\(SQLiteStore.fileName)", into: target, now: Times.now)
      }
      #expect(itself?.code == .conflict && itself?.reason.contains("it is the store itself") == true)
      #expect(try Data(contentsOf: URL(filePath: "\(target)/\(SQLiteStore.fileName)")) == before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: target).allSatisfy { !$0.contains("replaced") })
    }
  }

  @Test("what cannot be restored is named as it was given") func namesOfCopies() async throws {
    try await withFolder { folder in
      let target = folder + "/target"
      try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
      do { try await SQLiteTests.fill(try SQLiteStore(folder: target, now: Times.now), seed: 3) }
      let whole = try Data(contentsOf: URL(filePath: "\(target)/\(SQLiteStore.fileName)"))
      var flipped = whole
      flipped[whole.count / 4096 / 2 * 4096 + 77] ^= 1
      var later = whole
      later[60] ^= 1
      for (bytes, words) in [
        (Data("PK no store at all".utf8), "not an SQLite file"), (Data(), "there is no store"),
        (flipped, "the copy is damaged itself: page "), (later, "the copy is damaged itself: page 1, at byte 0,"),
        (whole.prefix(whole.count / 2), "the copy is damaged itself: "),
      ] {
        let copy = folder + "/copy.sqlite"
        try bytes.write(to: URL(filePath: copy))
        for name in [nil, "sealed.age"] as [String?] {
          let fault = await #expect(throws: StorageFault.self) {
            try await SQLiteStore.restore(from: copy, named: name, into: target, now: Times.now)
          }
          let reason = fault?.reason ?? ""
          #expect(reason.hasPrefix("\(name ?? copy): \(words)"), "\(reason)")
          #expect(!reason.contains("\(target)/keyferry.sqlite: "), "\(reason)")
        }
      }
      #expect(try Data(contentsOf: URL(filePath: "\(target)/\(SQLiteStore.fileName)")) == whole)
    }
  }

  @Test("a damaged store cannot be copied, and is named") func copyOfDamage() async throws {
    try await withFolder { folder in
      do { try await SQLiteTests.fill(try SQLiteStore(folder: folder, now: Times.now), seed: 3) }
      let path = "\(folder)/\(SQLiteStore.fileName)"
      let whole = try Data(contentsOf: URL(filePath: path))
      // The last page that opening does not read.
      var (page, opened): (Int, SQLiteStore?) = (whole.count / 4096 + 1, nil)
      while opened == nil, page > 1 {
        page -= 1
        var bytes = whole
        bytes[(page - 1) * 4096 + 77] ^= 1
        try bytes.write(to: URL(filePath: path))
        opened = try? SQLiteStore(folder: folder, role: .reader, now: Times.now)
      }
      let store = try #require(opened)
      let fault = await #expect(throws: StorageFault.self) { try await store.copy(to: folder + "/copy.sqlite") }
      #expect(fault?.reason.hasPrefix("\(path): the store is damaged: page \(page), at byte ") == true, "\(fault!)")
    }
  }
}
