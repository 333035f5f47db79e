internal import ArgumentParser
internal import Containers
internal import ExposureKeys
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
package import PeerTransport
package import TransparencyLog

/// Where a log, or the bundles that it lists, can be read: a folder, or an address.
package enum LogPlace {
  package static func isAddress(_ place: String) -> Bool { place.hasPrefix("http://") || place.hasPrefix("https://") }

  package static func source(_ place: String, _ clients: PeerClients) throws -> any LogSource {
    guard isAddress(place) else {
      guard InputWalk.isFolder(place) else {
        let shown = FileIdentity(path: place) == nil ? PathText.shownAsMissing(place) : place
        throw LogFault(.inputOutput, "\(shown): there is no such folder, and it is no http or https address")
      }
      return LogFolder(place)
    }
    let settings = SourceSettings(
      name: "log", peer: .index, location: place, trust: .operator, reading: Policy(name: ""))
    return WebLog(name: place, transport: try clients.transport(for: settings))
  }

  /// Where a place lies: the folder or the address above it.
  package static func above(_ place: String) -> String {
    let parts = place.split(separator: "/", omittingEmptySubsequences: false)
    let kept = parts.last == "" ? parts.dropLast(2) : parts.dropLast()
    if isAddress(place) { return kept.count > 2 ? kept.joined(separator: "/") : place }
    return kept.isEmpty ? "." : kept == [""] ? "/" : kept.joined(separator: "/")
  }

  package static func withClients<Result>(_ body: (PeerClients) async throws -> Result) async throws -> Result {
    let clients = PeerClients(version: Program.version)
    do {
      let result = try await body(clients)
      await clients.shutdown()
      return result
    } catch {
      await clients.shutdown()
      throw error
    }
  }

  /// A checkpoint in a file, in a folder or at an address, verified.
  package static func checkpoint(_ place: String, by log: NoteVerifier, _ clients: PeerClients) async throws
    -> SignedCheckpoint
  {
    guard !isAddress(place), !InputWalk.isFolder(place) else {
      return try await LogWatch.checkpoint(of: source(place, clients), by: log)
    }
    return try SignedCheckpoint(
      try FileSource.contents(of: place, limit: SignedNote.byteLimit), by: log, name: place)
  }
}

/// The files of a server.
private struct WebLog: LogSource {
  let name: String
  let transport: HTTPPeerTransport

  func content(of path: String, limit: Int) async throws -> [UInt8]? {
    do {
      // A path can come out of an entry; it is not to become a query or another address.
      let url = PercentEncoding.encode(path, keeping: "/")
      let (head, body) = try await transport.ask(PeerRequest(url: url, byteLimit: limit))
      switch head.status {
      case 200: return body
      case 404, 410: return nil
      default:
        throw TransportFault(
          code: .httpStatus, reason: "\(name): \(path): the server answers with status \(head.status)",
          isTemporary: false)
      }
    } catch let fault as TransportFault where fault.code == .tooLarge {
      throw LogFault(.tooLarge, fault.reason)
    }
  }
}

/// The key of a log: its text, or a file that has it.
package struct LogKey: ExpressibleByArgument {
  package let argument: String

  package init?(argument: String) { self.argument = argument }

  package func verifier() throws -> NoteVerifier {
    let verifier = try found()
    let place = argument.contains("+") ? "" : " \(argument)"
    Console.detail("key of the log\(place): \(verifier.name)")
    return verifier
  }

  private func found() throws -> NoteVerifier {
    guard !argument.contains("+") else { return try NoteVerifier(argument) }
    let bytes = try FileSource.contents(of: argument, limit: 4096)
    let text = String(decoding: bytes, as: UTF8.self)
    return try NoteVerifier(text.hasSuffix("\n") ? String(text.dropLast()) : text)
  }
}
