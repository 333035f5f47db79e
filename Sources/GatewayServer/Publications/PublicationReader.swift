internal import Glibc

/// Reads the folder of published files, opened so that no name leads out of it: every part of a path is opened from its
/// parent, and none may be a link, a dot, or hidden.
struct PublicationReader: Sendable {
  let path: String

  /// What tells one state of a file from the next.
  struct Stamp: Hashable, Sendable {
    var number: UInt64
    var byteCount: Int
    var seconds: Int64
    var nanoseconds: Int64

    init(_ status: stat) {
      number = UInt64(status.st_ino)
      byteCount = Int(status.st_size)
      seconds = Int64(status.st_mtim.tv_sec)
      nanoseconds = Int64(status.st_mtim.tv_nsec)
    }
  }

  enum Fault: Error, Hashable, CustomStringConvertible {
    case missing(String)
    case unreadable(String, String)
    case unsafeName(String)

    var description: String {
      switch self {
      case .missing(let path): "\(path) is not there"
      case .unreadable(let path, let reason): "\(path): \(reason)"
      case .unsafeName(let path): "\(path) is no name of a published file"
      }
    }
  }

  /// Whether a part of a path is an ordinary name: letters, digits, `.`, `-`, `_`, `+`, no dot at its front.
  static func isSafe(_ name: some StringProtocol) -> Bool {
    guard !name.isEmpty, name.utf8.count <= 255, name.utf8.first != UInt8(ascii: ".") else { return false }
    return name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "+")].contains(byte)
      }
    }
  }

  /// The folders of all series, by name. None where the folder itself is not there.
  func seriesNames() -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if Self.isSafe(name), status("\(name)/manifest.json") != nil { names.append(name) }
    }
    return names.sorted()
  }

  /// The state of a regular file; `nil` where there is none.
  func status(_ name: String) -> Stamp? {
    guard let descriptor = try? open(name, O_RDONLY) else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Stamp(status)
  }

  /// The whole file and the state in which it was read.
  func read(_ name: String, limit: Int) throws(Fault) -> (bytes: [UInt8], stamp: Stamp) {
    let descriptor = try open(name, O_RDONLY)
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.fault(name) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .unreadable(name, "it is not a regular file") }
    let count = Int(status.st_size)
    guard count <= limit else { throw .unreadable(name, "it has \(count) bytes, at most \(limit) are read") }
    var failure: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let step = Glibc.read(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled)
        if step < 0, errno == EINTR { continue }
        if step < 0 { failure = errno }
        if step <= 0 { break }
        filled += step
      }
    }
    guard failure == 0 else { throw .unreadable(name, Self.words(failure)) }
    guard bytes.count == count else { throw .unreadable(name, "it became shorter while it was read") }
    return (bytes, Stamp(status))
  }

  private func open(_ name: String, _ flags: Int32) throws(Fault) -> Int32 {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard !parts.isEmpty, parts.count <= 8, parts.allSatisfy(Self.isSafe) else { throw .unsafeName(name) }
    var descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.fault(name) }
    for (index, part) in parts.enumerated() {
      let isLast = index == parts.count - 1
      let next = openat(
        descriptor, String(part), (isLast ? flags | O_NONBLOCK : O_RDONLY | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC)
      let number = errno
      close(descriptor)
      guard next >= 0 else { throw number == ENOENT ? .missing(name) : .unreadable(name, Self.words(number)) }
      descriptor = next
    }
    return descriptor
  }

  private static func fault(_ name: String) -> Fault {
    errno == ENOENT ? .missing(name) : .unreadable(name, words(errno))
  }

  private static func words(_ number: Int32) -> String { String(cString: strerror(number)).lowercased() }
}
