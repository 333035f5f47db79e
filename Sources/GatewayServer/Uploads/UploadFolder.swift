internal import Crypto
internal import Glibc
internal import KeyFormats
internal import KeyIntake
internal import Synchronization

/// The folder of uploads: one file for each, named by its digest, so that the same upload is kept once.
final class UploadFolder: Sendable {
  private let path: String
  /// Held while a file is written: two writers of one upload would meet at its name.
  private let writing = Mutex(())

  /// Makes the folder where there is none, for its owner alone: keys are not public before they are published.
  init(path: String) throws(ServerFault) {
    self.path = path
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw ServerFault(
        place: "uploads", reason: "\(path) cannot be made: \(String(cString: strerror(errno)).lowercased())")
    }
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, access(path, W_OK | X_OK) == 0 else {
      throw ServerFault(place: "uploads", reason: "\(path) is no folder that can be written to")
    }
  }

  func keep(_ upload: KeyUpload) throws {
    guard !upload.keys.isEmpty else { return }
    let bytes = try upload.document()
    let name = "\(path)/upload-\(hexadecimal(SHA256.hash(data: bytes))).json"
    try writing.withLock { _ in
      guard access(name, F_OK) != 0 else { return }
      let file = try OutputFile(path: name, permissions: 0o600)
      try file.write(bytes)
      try file.commit()
    }
  }
}
