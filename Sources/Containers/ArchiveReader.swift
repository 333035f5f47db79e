internal import CArchive
internal import Glibc
internal import KeyFormats

/// libarchive, reading from a source of ours: one layer of compression, or one tar, and no program that it would start.
final class ArchiveReader {
  private let handle: OpaquePointer
  private let feed: Feed

  /// Where the library's bytes come from. It lives as long as the reader, and nothing else knows it.
  private final class Feed {
    let source: any ByteSource
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    /// What the source threw; it must not unwind through C.
    var fault: (any Error)?
    var isAtEnd = false
    /// How many zeros came last.
    var trailingZeros = 0

    init(_ source: any ByteSource) { self.source = source }

    deinit { room.deallocate() }

    func read() -> Int {
      do {
        let count = try source.read(into: room)
        isAtEnd = count == 0
        let zeros = room[..<count].reversed().prefix { $0 == 0 }.count
        trailingZeros = zeros == count ? trailingZeros + zeros : zeros
        return count
      } catch {
        fault = error
        return -1
      }
    }
  }

  private init(_ source: any ByteSource, configure: (OpaquePointer) -> Int32) throws {
    guard let handle = archive_read_new() else { throw FormatError(.unsupported, "libarchive has no memory") }
    self.handle = handle
    feed = Feed(source)
    guard configure(handle) == ARCHIVE_OK else {
      throw FormatError(.unsupported, "the system's libarchive cannot read this: \(Self.reason(handle))")
    }
    let status = archive_read_open(
      handle, Unmanaged.passUnretained(feed).toOpaque(), nil,
      { _, context, place in
        guard let context else { return -1 }
        let feed = Unmanaged<Feed>.fromOpaque(context).takeUnretainedValue()
        let count = feed.read()
        place?.pointee = UnsafeRawPointer(feed.room.baseAddress)
        return count
      }, nil)
    guard status == ARCHIVE_OK else { throw fault() }
  }

  deinit { archive_read_free(handle) }

  /// A stream that is compressed once.
  convenience init(undoing compression: ContainerKind.Compression, of source: any ByteSource) throws {
    try self.init(source) { handle in
      let raw = archive_read_support_format_raw(handle)
      guard raw == ARCHIVE_OK else { return raw }
      // What has no content is raw, too.
      _ = archive_read_support_format_empty(handle)
      switch compression {
      case .gzip: return archive_read_support_filter_gzip(handle)
      case .bzip2: return archive_read_support_filter_bzip2(handle)
      case .xz: return archive_read_support_filter_xz(handle)
      case .zstd: return archive_read_support_filter_zstd(handle)
      }
    }
    guard archive_filter_count(handle) <= 2 else {
      throw FormatError(.unsupported, "it is compressed several times with \(compression.rawValue)")
    }
  }

  /// A tar, and those that stand behind it in the same bytes.
  convenience init(tar source: any ByteSource) throws {
    try self.init(source) { handle in
      let status = archive_read_support_format_tar(handle)
      guard status == ARCHIVE_OK else { return status }
      return archive_read_set_options(handle, "tar:read_concatenated_archives")
    }
  }

  struct Entry {
    /// As it is written there; empty where the library cannot tell.
    let name: [UInt8]
    let kind: Kind

    enum Kind {
      case file, folder, link
      /// Devices and pipes.
      case other
    }
  }

  /// The next entry; `nil` behind the last.
  func next() throws -> Entry? {
    var entry: OpaquePointer?
    switch archive_read_next_header(handle, &entry) {
    case ARCHIVE_EOF:
      if let fault = feed.fault { throw fault }
      return nil
    case ARCHIVE_OK, ARCHIVE_WARN:
      guard let entry else { return nil }
      let text = archive_entry_pathname(entry) ?? archive_entry_pathname_utf8(entry)
      let name = text.map { UnsafeBufferPointer(start: $0, count: Int(strlen($0))).map { UInt8(bitPattern: $0) } }
      let isLink = archive_entry_hardlink(entry) != nil
      let kind: Entry.Kind =
        switch UInt32(archive_entry_filetype(entry)) & 0o170000 {
        case _ where isLink: .link
        case 0o100000: .file
        case 0o120000: .link
        case 0o040000: .folder
        default: .other
        }
      return Entry(name: name ?? [], kind: kind)
    default: throw fault()
    }
  }

  /// Content of the entry; 0 is its end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count = archive_read_data(handle, buffer.baseAddress, buffer.count)
    guard count >= 0 else { throw fault() }
    return count
  }

  /// Whether the tar ended as tars end, with two blocks of zeros. One that does not was cut, or never finished.
  var hasEndMark: Bool { feed.trailingZeros >= 1024 }

  private func fault() -> any Error {
    feed.fault
      ?? FormatError(feed.isAtEnd ? .truncated : .malformed, "the archive is damaged: \(Self.reason(handle))")
  }

  private static func reason(_ handle: OpaquePointer) -> String {
    guard let text = archive_error_string(handle) else { return "libarchive says no more" }
    let words = String(cString: text)
    return words.prefix(1).lowercased() + words.dropFirst()
  }
}

/// A compressed stream, undone.
final class DecompressedSource: ByteSource {
  private let reader: ArchiveReader
  private var hasEntry: Bool?

  init(_ compression: ContainerKind.Compression, _ source: any ByteSource) throws {
    reader = try ArchiveReader(undoing: compression, of: source)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    if hasEntry == nil { hasEntry = try reader.next() != nil }
    guard hasEntry == true, !buffer.isEmpty else { return 0 }
    return try reader.read(into: buffer)
  }
}
