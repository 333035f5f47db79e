public import BundleTrust

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension TrustRing {
  /// Reads what `--trust` takes: one PEM file, one JSON file, or a folder of `ID-VERSION.pem` files.
  ///
  /// - Throws: `TrustRingError` with everything that is wrong, each with the file that it stands in.
  public init(contentsOf url: URL) throws {
    do {
      if FileBytes.isFolder(url) {
        try self.init(files: try Self.pemFiles(in: url))
      } else {
        try self.init(document: try FileBytes.read(url, limit: Self.fileLimit))
      }
    } catch let fault as FileBytes.Fault {
      throw TrustRingError(faults: [KeyFault(.cannotRead, place: fault.name, fault.words)])
    } catch let error as TrustRingError {
      throw error.within(FileBytes.name(of: url))
    }
  }

  private static var fileLimit: Int { 4 << 20 }

  private static func pemFiles(in folder: URL) throws -> [(fileName: String, text: String)] {
    let name = FileBytes.name(of: folder)
    let found: [String]
    do {
      found = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    } catch {
      throw FileBytes.Fault(name: name, words: "cannot open: the folder cannot be listed")
    }
    let names = found.filter { $0.hasSuffix(".pem") }.sorted()
    guard !names.isEmpty else {
      throw FileBytes.Fault(name: name, words: "cannot read: it holds no file named ID-VERSION.pem")
    }
    return try names.map { name in
      let bytes = try FileBytes.read(folder.appendingPathComponent(name), limit: fileLimit)
      return (name, String(decoding: bytes, as: UTF8.self))
    }
  }
}
