import Glibc
import KeyStorage

/// The pages of a store's file as its last transaction left them, read as bytes: what stands in its log of changes is the newer. Nobody
/// writes meanwhile.
struct StoredPages {
  private let file: StoredFile
  private let log: StoredFile?
  /// By page, where its newest content begins in the log.
  private var places: [UInt32: UInt64] = [:]

  private static let logHeader = 32
  private static let frameHeader = 24

  init(_ path: String) throws {
    file = try Self.open(path)
    guard LogOfChanges.isThere(beside: path) else {
      log = nil
      return
    }
    let log = try Self.open(path + LogOfChanges.ending)
    self.log = log
    let header = try log.bytes(at: 0, count: Self.logHeader)
    guard header.count == Self.logHeader else { return }
    // Frames with other salts are left from before; what no commit has ended never was.
    var open: [UInt32: UInt64] = [:]
    var place = UInt64(Self.logHeader)
    while true {
      let frame = try log.bytes(at: place, count: Self.frameHeader)
      guard frame.count == Self.frameHeader, frame[8..<16].elementsEqual(header[16..<24]) else { return }
      open[frame.word(at: 0)] = place + UInt64(Self.frameHeader)
      if frame.word(at: 4) != 0 {
        places.merge(open) { $1 }
        open = [:]
      }
      place += UInt64(Self.frameHeader + StoreTuning.pageSize)
    }
  }

  /// `nil` where there is no such page.
  func page(_ number: UInt32) throws -> [UInt8]? {
    guard number > 0 else { return nil }
    let size = StoreTuning.pageSize
    let bytes =
      if let place = places[number], let log {
        try log.bytes(at: place, count: size)
      } else {
        try file.bytes(at: UInt64(number - 1) * UInt64(size), count: size)
      }
    return bytes.count == size ? bytes : nil
  }

  /// Whether the content of a page is what was written. What stands in the log was looked at before.
  func holds(_ page: [UInt8], _ number: UInt32) -> Bool {
    places[number] != nil || PageChecksums.holds(page[...], page: number)
  }

  /// The pages on which nothing stands, as the list of them says.
  func freePages() throws -> Set<UInt32> {
    var free: Set<UInt32> = []
    var next = try page(1)?.word(at: 32) ?? 0
    while next > 0, free.insert(next).inserted, let page = try page(next) {
      let count = min(Int(page.word(at: 4)), page.count / 4 - 2)
      for index in 0..<count { free.insert(page.word(at: 8 + 4 * index)) }
      next = page.word(at: 0)
    }
    return free
  }

  private static func open(_ path: String) throws -> StoredFile {
    guard let file = StoredFile(path) else {
      throw StorageFault(.inputOutput, "\(path): \(String(cString: strerror(errno)))")
    }
    return file
  }
}

/// Which leaves a table of SQLite has, as the pages above them say, whatever stands on them. See "B-tree Pages" of SQLite's file format.
struct TableTree {
  /// The rows that stand on one leaf, or below a page that cannot be read.
  struct Part: Hashable {
    /// Their numbers are greater than this one, and not greater than the other one.
    let after: Int64
    let upTo: Int64
    let state: State
  }

  enum State: Hashable {
    case whole
    /// The leaf is not what was written: some of it may be read, and some may be missing.
    case damaged
    /// Nothing leads to the rows any more.
    case lost
  }

  private let pages: StoredPages
  private var seen: Set<UInt32> = []
  private var parts: [Part] = []

  /// - Returns: in the order of rows.
  static func parts(from root: UInt32, in pages: StoredPages) throws -> [Part] {
    var tree = TableTree(pages: pages)
    try tree.read(root, after: .min, upTo: .max)
    return tree.parts
  }

  private init(pages: StoredPages) { self.pages = pages }

  private enum Kind {
    static let leaf: UInt8 = 13
    static let interior: UInt8 = 5
  }

  private mutating func read(_ number: UInt32, after: Int64, upTo: Int64) throws {
    // A page that two lead to makes no circle.
    guard seen.insert(number).inserted, let page = try pages.page(number) else { return lose(after, upTo) }
    switch page[0] {
    case Kind.leaf:
      parts.append(Part(after: after, upTo: upTo, state: pages.holds(page, number) ? .whole : .damaged))
    case Kind.interior:
      guard let children = Self.children(of: page, after: after, upTo: upTo) else { return lose(after, upTo) }
      for child in children { try read(child.page, after: child.after, upTo: child.upTo) }
    default: lose(after, upTo)
    }
  }

  private mutating func lose(_ after: Int64, _ upTo: Int64) {
    parts.append(Part(after: after, upTo: upTo, state: .lost))
  }

  /// `nil` where these are not those of such a page.
  private static func children(
    of page: [UInt8], after: Int64, upTo: Int64
  ) -> [(page: UInt32, after: Int64, upTo: Int64)]? {
    let (header, wordLength) = (12, 4)
    let count = Int(page[3]) << 8 | Int(page[4])
    guard header + 2 * count <= page.count else { return nil }
    var children: [(page: UInt32, after: Int64, upTo: Int64)] = []
    var last = after
    for index in 0..<count {
      let place = Int(page[header + 2 * index]) << 8 | Int(page[header + 2 * index + 1])
      guard place >= header + 2 * count, place + wordLength < page.count,
        let key = number(in: page[(place + wordLength)...]), key > last, key <= upTo
      else { return nil }
      children.append((page.word(at: place), last, key))
      last = key
    }
    children.append((page.word(at: 8), last, upTo))
    return children
  }

  /// A number of SQLite's variable length.
  private static func number(in bytes: ArraySlice<UInt8>) -> Int64? {
    var value: UInt64 = 0
    for (index, byte) in bytes.prefix(9).enumerated() {
      if index == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
      value = value << 7 | UInt64(byte & 0x7f)
      if byte & 0x80 == 0 { return Int64(bitPattern: value) }
    }
    return nil
  }
}

extension [UInt8] {
  /// Four bytes, the greatest first.
  fileprivate func word(at place: Int) -> UInt32 {
    UInt32(self[place]) << 24 | UInt32(self[place + 1]) << 16 | UInt32(self[place + 2]) << 8 | UInt32(self[place + 3])
  }
}
