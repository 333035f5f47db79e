import Foundation
import GatewayTesting
import KeyFormats
import KeyIntake
import Testing

/// What does not fit into memory lies in files without names.
@Suite struct SpoolFileTests {
  @Test("the operator's folder first, then the gateway's, and no other beside a chosen one")
  func places() {
    #expect(SpoolPlace.folders(chosen: "/a", state: "/b") == ["/a"])
    #expect(SpoolPlace.folders(chosen: nil, state: "/b") == ["/b", "/tmp"])
    #expect(SpoolPlace.folders(chosen: "", state: nil) == ["/tmp"])
  }

  @Test("a file is in its folder, without a name, and what is written is read")
  func nameless() throws {
    try withTemporaryFolder { url in
      let folder = url.path
      let spool = try SpoolFile(in: ["\(folder)/absent", folder])
      try spool.write(Array("abcdef".utf8))
      try spool.overwrite(at: 2, with: Array("XY".utf8))
      var bytes = [UInt8](repeating: 0, count: 16)
      let count = try bytes.withUnsafeMutableBytes { try spool.read(at: 1, into: $0) }
      #expect(bytes.prefix(count) == Array("bXYef".utf8)[...])
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
      let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
      }
      #expect(open.contains { $0.hasPrefix(folder) && $0.hasSuffix("(deleted)") })
    }
  }

  @Test("a folder that takes no file is named")
  func refused() {
    #expect { try SpoolFile(in: ["/proc/keyferry"]) } throws: { "\($0)".contains("/proc/keyferry") }
  }
}
