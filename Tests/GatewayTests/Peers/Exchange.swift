import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyPeers
import KeyPublishing
import KeyStorage

/// A recorded exchange with a peer: what `interop/exchanges/README.md` describes. The peer's lines are played back, and
/// the machine's lines are written anew, so that the whole can be compared with the file.
struct Exchange {
  let place: URL
  let text: String
  private var headers: [(name: String, value: String)] = []
  private var answers: [Answer] = []

  private struct Answer {
    var lines: [String]
    /// Whether the next line of the peer begins another answer.
    var isClosed = false

    var words: String { String(lines[0].dropFirst(2)) }

    var head: ResponseHead {
      let status = Int(words.split(separator: " ").last ?? "") ?? 200
      let pairs = lines.dropFirst().filter { $0.hasPrefix("< ") }.map { line in
        let pair = line.dropFirst(2).split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
        return PeerRequest.Header(String(pair[0]), pair.count > 1 ? String(pair[1]) : "")
      }
      return ResponseHead(status: status, headers: pairs)
    }

    var body: [UInt8] {
      Array(lines.filter { $0.hasPrefix("|") }.map { unescaped($0.dropFirst(2)) }.joined(separator: [0x0A]))
    }

    private func unescaped(_ text: Substring) -> [UInt8] {
      var bytes: [UInt8] = []
      var rest = Array(text.utf8)[...]
      while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "\\") else {
          bytes.append(byte)
          continue
        }
        switch rest.popFirst() {
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "x"):
          bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
          rest = rest.dropFirst(2)
        default: bytes.append(UInt8(ascii: "\\"))
        }
      }
      return bytes
    }
  }

  init(_ place: URL) throws {
    self.place = place
    text = try String(contentsOf: place, encoding: .utf8)
    var isHeader = true
    for line in text.components(separatedBy: "\n") {
      if line.isEmpty {
        isHeader = false
      } else if isHeader {
        let pair = line.components(separatedBy: ": ")
        headers.append((pair[0], pair.dropFirst().joined(separator: ": ")))
      } else if line.hasPrefix("<"), answers.last?.isClosed ?? true {
        answers.append(Answer(lines: [line]))
      } else if line.hasPrefix("<") || line.hasPrefix("|") {
        answers[answers.count - 1].lines.append(line)
      }
      if !line.hasPrefix("<"), !line.hasPrefix("|") { answers.indices.last.map { answers[$0].isClosed = true } }
    }
  }

  /// Every exchange, by path.
  static func all() -> [String] {
    let folder = PackageFolder.root.appending(path: "interop/exchanges")
    let paths = FileManager.default.enumerator(atPath: folder.path())?.compactMap { $0 as? String } ?? []
    return paths.filter { $0.hasSuffix(".txt") }.sorted()
  }

  private subscript(name: String) -> String? { headers.first { $0.name == name }?.value }

  func machine() throws -> any PeerSync {
    guard let peer = PeerProtocol(rawValue: place.deletingLastPathComponent().lastPathComponent),
      let now = self["now"].flatMap({ Instant($0) })
    else { throw ExchangeFault("the folder is no protocol, or there is no line now:") }
    var options: [String: String] = [:]
    for (name, value) in headers where name == "option" {
      let pair = value.split(separator: "=", maxSplits: 1)
      let isFile = pair[0] == "ca"
      options[String(pair[0])] =
        isFile
        ? try String(contentsOf: PackageFolder.root.appending(path: String(pair[1])), encoding: .utf8) : String(pair[1])
    }
    var settings = source(peer, location: self["location"] ?? "https://keys.example.org", options)
    for (name, value) in headers where name == "secret" {
      settings.secrets[value] = Secret(String(repeating: "0a", count: 32))
    }
    settings.ownOrigins = Set(headers.filter { $0.name == "own-origin" }.map(\.value))
    if self["trust"] == "origins" {
      settings.trust = .origins(
        FederationTrust(anchor: try FederationCertificate(pem: TestCertificate.anchor.pem)), [])
    }
    var machine = try PeerCatalog.machine(for: settings, cursor: self["cursor"], now: now)
    machine.askAgain(for: headers.filter { $0.name == "again" }.map(\.value))
    return machine
  }

  /// The file as it must be for this machine.
  func replayed() throws -> String {
    var machine = try machine()
    var lines = text.components(separatedBy: "\n").prefix { !$0.isEmpty }.map { $0 }
    var rest = answers[...]
    func answer() throws -> Answer {
      guard let next = rest.popFirst() else {
        throw ExchangeFault("the machine asks on:\n\(lines.joined(separator: "\n"))")
      }
      return next
    }
    func write(_ request: PeerRequest) {
      lines.append("> \(request.body == nil ? "GET" : "POST") \(request.url)")
      lines += request.headers.map { "> \($0.name): \($0.value)" }
    }
    while true {
      lines.append("")
      switch machine.next() {
      case .ask(let request):
        write(request)
        let answer = try answer()
        lines += answer.lines
        if answer.words.hasPrefix("no answer ") {
          machine.take(
            .fault(DocumentFault(code: FaultCode(rawValue: String(answer.words.dropFirst(10))), reason: "as recorded")))
        } else {
          machine.take(.response(answer.head, answer.body))
        }
      case .collect(let documents):
        lines.append("+ \(documents.count) to collect")
        for document in documents {
          lines += ["", "+ \(document.name)"]
          write(document.request)
          if !document.otherStatuses.isEmpty {
            lines.append("+ also answers \(document.otherStatuses.sorted().map(String.init).joined(separator: ", "))")
          }
          if document.mayChange { lines.append("+ may change") }
          if let complete = document.completeFrom { lines.append("+ complete from \(complete)") }
          if let seal = document.request.seal { lines.append("+ sealed with \(seal.secret): \(seal.message)") }
          if document.check != nil { lines.append("+ checked") }
          if let response = document.response { lines.append("+ \(response.body.count) bytes, had already") }
          let answer = try answer()
          lines += answer.lines
          let outcome = try outcome(answer, document)
          if case .recorded(let head?) = outcome, let cursor = machine.cursor(after: document, head: head) {
            lines.append("= \(cursor)")
          }
          machine.take(outcome, of: document)
        }
      case .done(let cursor): return try ended(lines, machine, "done" + (cursor.map { ": \($0)" } ?? ""), rest.count)
      case .fail(let fault): return try ended(lines, machine, "fail: \(fault.code)", rest.count)
      }
    }
  }

  private func outcome(_ answer: Answer, _ document: PeerDocument) throws -> CollectionOutcome {
    let words = answer.words.split(separator: " ", maxSplits: 1).map(String.init)
    switch words[0] {
    case "recorded" where words.count == 1: return .recorded(document.response?.head ?? answer.head)
    case "recorded": return .recorded(nil)
    case "answered":
      guard document.otherStatuses.contains(answer.head.status) else {
        throw ExchangeFault("\(document.name) does not answer \(answer.head.status)")
      }
      return .answered(answer.head)
    case "quarantined": return .quarantined(DocumentFault(code: FaultCode(rawValue: words[1]), reason: "as recorded"))
    case "no": return .fault(DocumentFault(code: FaultCode(rawValue: words[1]), reason: "as recorded"))
    default: throw ExchangeFault("unknown outcome \(answer.words)")
    }
  }

  private func ended(_ lines: [String], _ machine: any PeerSync, _ end: String, _ unused: Int) throws -> String {
    guard unused == 0 else { throw ExchangeFault("\(unused) answers were not asked for; ended with \(end)") }
    return (lines + machine.notices.map { "notice: \($0.code)" } + [end, ""]).joined(separator: "\n")
  }
}

struct ExchangeFault: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
