public import Foundation

/// Why a call of ``Server`` failed. Nothing was kept of what it had begun.
public enum ServerError: Error, Hashable, Sendable {
  /// ``Server/configuration`` is not set.
  case notConfigured
  /// Neither ``ServerConfiguration/uploadURL`` nor ``ServerConfiguration/series`` is set.
  case noUploadAddress
  /// An address that this client does not ask: not of HTTP, not encrypted though the server is, or without a file name.
  case refusedAddress(URL)
  /// The server could not be reached, or the connection broke.
  case unreachable(URL, URLError.Code)
  /// An answer other than 2xx, with the beginning of what it said.
  case status(Int, URL, message: String)
  /// An answer is larger than is allowed; in bytes.
  case tooLarge(URL, limit: Int)
  /// An answer is not what this address answers by its contract.
  case malformed(URL, reason: String)
  /// Of the posted keys these were not taken; so many others were.
  case keysRefused([RefusedKey], accepted: Int)
  /// ``Server/testVerifier`` is not set.
  case noTestVerifier
  /// Keys could not be written as JSON, or a file not into the folder.
  case local(String)
}

/// A key that the server has not taken.
public struct RefusedKey: Hashable, Sendable, CustomStringConvertible {
  /// Its place among the posted keys, counted from 0; `nil` where the server has not said.
  public let position: Int?
  public let reason: String

  /// - Parameter line: `key 3: what is wrong`.
  init(_ line: String) {
    let words = line.split(separator: " ", maxSplits: 2).map(String.init)
    if words.count == 3, words[0] == "key", words[1].hasSuffix(":"), let number = Int(words[1].dropLast()) {
      (position, reason) = (number, words[2])
    } else {
      (position, reason) = (nil, line)
    }
  }

  public var description: String { position.map { "key \($0): \(reason)" } ?? reason }
}

extension ServerError: CustomStringConvertible, LocalizedError {
  public var description: String {
    switch self {
    case .notConfigured: "the server has no configuration yet"
    case .noUploadAddress: "the configuration names neither an address for uploads nor a series"
    case .refusedAddress(let url):
      "\(url.absoluteString): refused; allowed are addresses of files over HTTP, and only over HTTPS where the server has it"
    case .unreachable(let url, let code): "\(url.absoluteString): not reached (URL error \(code.rawValue))"
    case .status(let status, let url, let message):
      "\(url.absoluteString): status \(status)" + (message.isEmpty ? "" : ": \(message)")
    case .tooLarge(let url, let limit): "\(url.absoluteString): more than \(limit) bytes, allowed are at most \(limit)"
    case .malformed(let url, let reason): "\(url.absoluteString): \(reason)"
    case .keysRefused(let keys, let accepted):
      "\(keys.count) of the posted keys were not taken, \(accepted) were: "
        + keys.prefix(3).map(\.description).joined(separator: "; ") + (keys.count > 3 ? "; …" : "")
    case .noTestVerifier: "nobody can say whether the identifier of a test is right: the verifier is not set"
    case .local(let reason): reason
    }
  }

  public var errorDescription: String? { description }
}
