internal import KeyFormats

/// What holds documents in it, by its first bytes.
enum ContainerKind: Equatable {
  case zip
  case tar
  case compressed(Compression)

  enum Compression: String, CaseIterable {
    case gzip, bzip2, xz, zstd

    /// The endings of names that say it, which fall when it is undone.
    var endings: [String] {
      switch self {
      case .gzip: ["gz"]
      case .bzip2: ["bz2"]
      case .xz: ["xz"]
      case .zstd: ["zst", "zstd"]
      }
    }

    private var magic: [UInt8] {
      switch self {
      case .gzip: [0x1f, 0x8b, 0x08]
      case .bzip2: [0x42, 0x5a, 0x68]
      case .xz: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]
      case .zstd: [0x28, 0xb5, 0x2f, 0xfd]
      }
    }

    func begins(_ front: [UInt8]) -> Bool {
      guard front.starts(with: magic) else { return false }
      guard self == .bzip2 else { return true }
      // A level, and behind it a block or the end; the first three are text that anything could begin with.
      guard front.count >= 10, (0x31...0x39).contains(front[3]) else { return false }
      let mark = Array(front[4..<10])
      return mark == [0x31, 0x41, 0x59, 0x26, 0x53, 0x59] || mark == [0x17, 0x72, 0x45, 0x38, 0x50, 0x90]
    }
  }

  /// So many bytes tell what it is.
  static let reach = 512

  /// - Parameter front: the first ``reach`` bytes, or all where there are fewer.
  init?(_ front: [UInt8]) {
    if ZipArchive.begins(front) {
      self = .zip
    } else if let compression = Compression.allCases.first(where: { $0.begins(front) }) {
      self = .compressed(compression)
    } else if Self.isTar(front) {
      self = .tar
    } else {
      return nil
    }
  }

  /// Whether a header of tar stands here: its check sum is right. The first tars had no other mark.
  private static func isTar(_ front: [UInt8]) -> Bool {
    guard front.count >= 512, front[0] != 0 else { return false }
    var stated = 0
    var digits = 0
    for byte in front[148..<156] {
      if byte == 0x20 || byte == 0 {
        if digits > 0 { break }
        continue
      }
      guard (0x30...0x37).contains(byte) else { return false }
      stated = stated * 8 + Int(byte - 0x30)
      digits += 1
    }
    guard digits > 0 else { return false }
    let sum = front[..<512].enumerated().reduce(0) { $0 + ((148..<156).contains($1.offset) ? 0x20 : Int($1.element)) }
    return sum == stated
  }
}
