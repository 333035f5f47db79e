internal import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import Glibc
internal import KeyIntake

/// Reads a ring of public keys: one PEM file, one JSON file, or a folder of `ID-VERSION.pem` files.
enum TrustRingFile {
  private static let fileLimit = 4 << 20

  static func read(_ path: String) throws -> TrustRing {
    let ring = try found(path)
    Console.detail("ring \(path): \(counted(ring.keys.count, "key"))")
    return ring
  }

  private static func found(_ path: String) throws -> TrustRing {
    var status = stat()
    guard stat(path, &status) == 0 else { throw FileFault("open", path, number: errno) }
    do {
      guard status.st_mode & S_IFMT == S_IFDIR else {
        return try TrustRing(document: try FileSource.contents(of: path, limit: fileLimit))
      }
      return try TrustRing(files: try pemFiles(in: path))
    } catch let error as TrustRingError {
      throw TrustRingFileFault(path: path, error: error)
    }
  }

  private static func pemFiles(in folder: String) throws -> [(fileName: String, text: String)] {
    guard let directory = opendir(folder) else { throw FileFault("open", folder, number: errno) }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasSuffix(".pem") { names.append(name) }
    }
    guard !names.isEmpty else {
      throw FileFault("read", folder, reason: "it holds no file named ID-VERSION.pem")
    }
    return try names.sorted().map { name in
      let bytes = try FileSource.contents(of: "\(folder)/\(name)", limit: fileLimit)
      return (name, String(decoding: bytes, as: UTF8.self))
    }
  }
}

/// The faults of a ring, each with the ring's path.
struct TrustRingFileFault: ProgramFault {
  let path: String
  let error: TrustRingError
  var description: String { error.faults.map { "\(path): \($0)" }.joined(separator: "\n") }
}
