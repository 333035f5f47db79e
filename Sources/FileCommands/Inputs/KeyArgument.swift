internal import ArgumentParser
package import ExposureKeys
internal import KeyFormats

/// A key on the command line.
package enum KeyArgument {
  package static func read(_ argument: String) throws -> TemporaryExposureKey {
    var text = Array(argument.utf8)
    switch text.withUnsafeMutableBytes({ KeyText.read(UnsafeRawBufferPointer($0)) }) {
    case .key(let key): return key
    case .wrongLength(let count): throw ValidationError("the key has \(count) bytes, allowed are 16")
    case .notKeyData:
      throw ValidationError("the key is neither 32 hexadecimal digits, nor base64 of 16 bytes, nor a UUID")
    }
  }
}
