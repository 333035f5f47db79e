import Foundation
import Testing

/// The libraries are meant to compile where Apple's systems are. A Linux machine has neither their SDKs nor their module of
/// Foundation; what can be looked at here is which modules are imported, and what only Linux's C library has.
@Suite struct PlatformTests {
  private static let libraries = [
    "ExposureKeys", "WorkThreads", "KeyFormats", "BundleTrust", "KeyFiles", "KeyferryClient",
  ]
  /// On all systems.
  private static let everywhere: Set<String> = [
    "Foundation", "Dispatch", "Crypto", "CZlib", "ExposureKeys", "WorkThreads", "KeyFormats", "BundleTrust",
  ]
  /// What the C library of Linux has, and Apple's has not.
  private static let linuxAlone = [
    "MADV_HUGEPAGE", "O_PATH", "O_TMPFILE", "SOCK_CLOEXEC", "accept4", "pipe2", "epoll_",
  ]

  private static func files(of library: String) throws -> [(path: String, text: String)] {
    let folder = PageTests.root.appending(path: "Sources/\(library)")
    let found = FileManager.default.enumerator(atPath: folder.path())?.compactMap { $0 as? String } ?? []
    return try found.filter { $0.hasSuffix(".swift") }
      .map { ("\(library)/\($0)", try String(contentsOf: folder.appending(path: $0), encoding: .utf8)) }
  }

  /// What stands behind a question, such as `#if canImport(Glibc)`, is asked for by nobody else.
  private static func unguarded(_ text: String) -> [(line: String, conditions: [String])] {
    var conditions: [String] = []
    var lines: [(String, [String])] = []
    for line in text.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
      if line.hasPrefix("#if ") {
        conditions.append(String(line.dropFirst("#if ".count)))
      } else if line.hasPrefix("#elseif ") {
        conditions.removeLast()
        conditions.append(String(line.dropFirst("#elseif ".count)))
      } else if line == "#else" {
        conditions.removeLast()
        conditions.append("else")
      } else if line == "#endif" {
        conditions.removeLast()
      } else {
        lines.append((line, conditions))
      }
    }
    return lines
  }

  @Test("Nothing is imported unasked that Apple's systems lack", arguments: libraries)
  func imports(_ library: String) throws {
    let files = try Self.files(of: library)
    #expect(!files.isEmpty)
    for (path, text) in files {
      for (line, conditions) in Self.unguarded(text) {
        let words = line.split(separator: " ").map(String.init)
        guard let place = words.firstIndex(of: "import"), place + 1 < words.count,
          words[..<place].allSatisfy({ ["public", "package", "internal", "private", "fileprivate"].contains($0) })
        else { continue }
        // `import struct Foundation.URL`
        let module = words[words.count - 1].split(separator: ".").first.map(String.init) ?? ""
        #expect(
          Self.everywhere.contains(module) || conditions.contains { $0.contains("canImport(\(module))") },
          "\(path): \(line)")
      }
    }
  }

  @Test("Where Linux's Foundation is asked for by parts, Apple's is there instead", arguments: libraries)
  func foundation(_ library: String) throws {
    for (path, text) in try Self.files(of: library) where text.contains("import FoundationEssentials") {
      let other = Self.unguarded(text).contains {
        $0.line.hasSuffix("import Foundation") && $0.conditions.last == "else"
      }
      #expect(other, "\(path)")
    }
  }

  @Test("What Linux's C library alone has is asked for on Linux alone", arguments: libraries)
  func names(_ library: String) throws {
    for (path, text) in try Self.files(of: library) {
      for (line, conditions) in Self.unguarded(text) where !line.hasPrefix("//") {
        for name in Self.linuxAlone where line.contains(name) {
          #expect(
            conditions.contains { $0.contains("os(Linux)") || $0.contains("canImport(Glibc)") }, "\(path): \(line)")
        }
      }
    }
  }

  @Test func platformsAreStated() throws {
    let manifest = try PageTests.text("Package.swift")
    #expect(manifest.contains("platforms: [.macOS(") && manifest.contains(".iOS("))
  }
}
