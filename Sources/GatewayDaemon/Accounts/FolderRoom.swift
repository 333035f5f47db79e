package import GatewayServer
internal import Glibc

/// Whether the gateway can write where it must.
package enum FolderRoom {
  /// Less than a document needs, and what goes with it.
  private static let bytesNeeded: UInt64 = 1 << 20

  /// - Parameter folders: what they are for people, and their paths. One that is not there is nobody's fault here.
  /// - Returns: one for each that is on a file system which is full or can only be read.
  package static func faults(of folders: [(name: String, path: String)]) -> [StandingFault] {
    folders.compactMap { name, path in
      var status = statvfs()
      guard statvfs(path, &status) == 0 else { return nil }
      if UInt(status.f_flag) & UInt(ST_RDONLY) != 0 {
        return StandingFault(.noRoom, of: name, because: "the \(name) folder \(path) can only be read")
      }
      let (free, isHuge) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
      guard !isHuge, free < bytesNeeded else { return nil }
      return StandingFault(
        .noRoom, of: name, because: "the \(name) folder \(path) has no room to write: \(free) bytes are free")
    }
  }
}
