internal import KeyPeers

/// The address that a subscriber wants to be called at: `https`, without a query, a user and a fragment, of at most 256 bytes.
package struct CallbackTarget: Hashable, Sendable, CustomStringConvertible {
  package static let byteLimit = 256

  let address: WebAddress
  /// As it was stated.
  package let text: String
  package var host: String { address.host }

  /// - Throws: ``CallbackFault`` `bad-url`.
  package init(_ text: String) throws(CallbackFault) {
    func fault(_ reason: String) -> CallbackFault {
      CallbackFault(.badURL, "\(WebAddress.displayable(text)): \(reason)")
    }
    guard (1...Self.byteLimit).contains(text.utf8.count) else {
      throw fault("it has \(text.utf8.count) bytes, allowed 1...\(Self.byteLimit)")
    }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw fault("allowed are visible ASCII characters")
    }
    guard !text.contains("?"), !text.contains("#") else { throw fault("a query or a fragment is not allowed") }
    if let end = text.firstRange(of: "://") {
      guard text[..<end.lowerBound].lowercased() == "https" else { throw fault("only https is allowed") }
      guard !text[end.upperBound...].prefix(while: { $0 != "/" }).contains("@") else {
        throw fault("it must not hold a user name")
      }
    }
    do {
      address = try WebAddress(text)
    } catch {
      throw CallbackFault(.badURL, "\((error as? TransportFault)?.reason ?? "\(error)")")
    }
    guard address.scheme == .https else { throw fault("only https is allowed") }
    // What the system's resolver would read as an address in octal, hexadecimal or as one number.
    let last = address.host.split(separator: ".").last ?? ""
    let isNumber = last.utf8.allSatisfy { (0x30...0x39).contains($0) } || last.lowercased().hasPrefix("0x")
    guard !isNumber || AddressReach.bytes(of: address.host) != nil else {
      throw fault("its host looks like an address, and is none: allowed is 192.0.2.1")
    }
    self.text = text
  }

  /// What is resolved: the name, or an address without its brackets.
  var name: String { host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host }

  package var description: String { address.description }
}

/// Why a subscriber could not be called.
package struct CallbackFault: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: String, Hashable, Sendable, CaseIterable {
    case badURL = "bad-url"
    case nameNotFound = "name-not-found"
    /// A host has an address within a network that nobody is called in.
    case addressRefused = "address-refused"
    case unreachable
    case tls
    /// The subscriber's server has a certificate that the whitelist does not have for it.
    case certificateRefused = "certificate-refused"
    case timeOut = "time-out"
    /// Another status than 2xx; redirects are not followed.
    case status
    case connectionClosed = "connection-closed"
    /// The gateway has no certificate of its own for callbacks.
    case notConfigured = "not-configured"
  }

  package let code: Code
  package let reason: String

  package init(_ code: Code, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  package var description: String { reason }
}
