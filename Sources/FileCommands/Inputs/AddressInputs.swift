internal import ArgumentParser
package import Containers
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization
package import KeyPeers
internal import PeerTransport

/// How what stands at an address is asked for.
struct AddressOptions: ParsableArguments {
  @Option(
    name: .customLong("protocol"),
    help: ArgumentHelp(
      "How servers at addresses are asked: \(Self.names). Without it an address is a file, or an index with the files that it lists.",
      valueName: "name"))
  var name: String?

  @Option(
    help: ArgumentHelp(
      "What the protocol needs to know, as in gateway.yaml: country=DE; of an index base=ADDRESS. Repeatable.",
      valueName: "name=value"))
  var option: [String] = []

  private static let names = PeerCatalog.peers.filter { $0.description.way == .web && $0 != .efgs }
    .map(\.rawValue).joined(separator: ", ")

  func validate() throws {
    for option in option {
      guard let equals = option.firstIndex(of: "="), equals > option.startIndex else {
        throw ValidationError("--option \(option): it is NAME=VALUE, such as country=DE")
      }
    }
    if let name, peer == nil { throw ValidationError("--protocol \(name): allowed are \(Self.names)") }
  }

  private var peer: PeerProtocol? {
    name.flatMap(PeerProtocol.init(rawValue:)).flatMap { $0.description.way == .web && $0 != .efgs ? $0 : nil }
  }

  var asking: AddressAsking { AddressAsking(peer: peer, options: options) }

  private var options: [String: String] {
    var options: [String: String] = [:]
    for option in option {
      let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      options[String(parts[0])] = String(parts[1])
    }
    return options
  }
}

/// How what stands at an address is asked for: by a protocol, or as a file or an index of files.
package struct AddressAsking {
  package var peer: PeerProtocol?
  package var options: [String: String] = [:]
}

extension InputOptions {
  /// All documents that these paths and addresses lead to. What is at addresses is fetched first.
  ///
  /// - Throws: `TransportFault` where an address, or the index there, cannot be fetched.
  package func walk(
    _ paths: [String], _ containers: ContainerOptions? = nil, asking: AddressAsking
  ) async throws -> InputWalk {
    var fetched: [String: [FetchedDocument]] = [:]
    for address in paths where LogPlace.isAddress(address) && fetched[address] == nil {
      fetched[address] = []
      try await fetch(address, asking) { piece in
        if case .documents(let documents) = piece { fetched[address]? += documents }
      }
    }
    return reading.walk(paths, containers?.limits ?? ContainerLimits(), fetched: fetched)
  }

  /// Fetches what stands at an address, and hands it over while it comes.
  ///
  /// - Parameters:
  ///   - spooled: whether the documents go into a file, because they are all wanted together.
  ///   - take: what it throws ends the fetching.
  /// - Throws: `TransportFault` where the address, or the index there, cannot be fetched.
  package func fetch(
    _ address: String, _ asking: AddressAsking, spooled: Bool = true, _ take: @escaping (FetchedPiece) throws -> Void
  ) async throws {
    let byteLimit = maxBytes
    try await LogPlace.withClients { clients in
      var inputs = AddressInputs(clients, asking, byteLimit: byteLimit, isSpooled: spooled, take: take)
      try await inputs.fetch(address)
    }
  }
}

/// What came from an address.
package enum FetchedPiece {
  /// Some of the documents; more may follow.
  case documents([FetchedDocument])
  /// What names the documents, or which of them there are, as it was served.
  case index(address: String, [UInt8])
}

/// What stands at http and https addresses: files, and indexes with all that they list.
private struct AddressInputs {
  private let take: (FetchedPiece) throws -> Void
  private let isSpooled: Bool
  private let clients: PeerClients
  private let asking: AddressAsking
  private let byteLimit: Int
  private let progress = Progress()
  /// One file for all: an index can list more than a process may have open.
  private var spool: SpoolFile?

  /// So many are fetched at once, and wait in memory.
  private static let ahead = 4
  /// Bytes of a file: no bundle is as large, and no server fills the memory.
  private static let memoryLimit = 1 << 28
  /// No protocol asks that often.
  private static let questionLimit = 10_000

  init(
    _ clients: PeerClients, _ asking: AddressAsking, byteLimit: Int, isSpooled: Bool,
    take: @escaping (FetchedPiece) throws -> Void
  ) {
    (self.isSpooled, self.take) = (isSpooled, take)
    (self.clients, self.asking, self.byteLimit) = (clients, asking, min(byteLimit, Self.memoryLimit))
  }

  mutating func fetch(_ address: String) async throws {
    defer { progress.clear() }
    if let peer = asking.peer {
      let settings = SourceSettings(
        name: peer.rawValue, peer: peer, location: address, options: asking.options, trust: .operator,
        reading: Policy(name: ""))
      return try await converse(settings, address, answer: nil)
    }
    let base = asking.options["base"] ?? LogPlace.above(address)
    let transport = try clients.transport(
      for: SourceSettings(
        name: "address", peer: .index, location: LogPlace.above(address), trust: .operator, reading: Policy(name: "")))
    progress.enter("fetching \(address)")
    let (head, body) = try await transport.ask(PeerRequest(url: address, byteLimit: byteLimit))
    guard head.status == 200 else { throw Self.fault(address, head.status) }
    var options = asking.options
    options["index"] = address
    options["base"] = asking.options["base"] ?? Self.base(of: base, listing: body)
    let index = SourceSettings(
      name: "index", peer: .index, location: options["base"] ?? base, options: options, trust: .operator,
      reading: Policy(name: ""))
    var machine = try PeerCatalog.machine(for: index, cursor: nil, now: Clock.now)
    _ = machine.next()
    machine.take(.response(head, body))
    let step = machine.next()
    guard case .collect = step else {
      var documents = [FetchedDocument(name: address, entry: nil, .success(MemorySource(body)))]
      // A list of files in which something is wrong is no list, and its files are not fetched: nobody shall take that for all.
      if Self.isList(address, body) {
        let reason =
          if case .fail(let fault) = step { fault.reason } else { "it lists no file" }
        documents.append(Self.notFetched(address, "the files that it lists were not fetched: \(reason)"))
      }
      return try take(.documents(documents))
    }
    try take(.index(address: address, body))
    try await converse(index, address, answer: .response(head, body))
  }

  /// An index may name its files from where it lies, or from further above: `US/index.txt` lists `US/1.zip`.
  private static func base(of folder: String, listing body: [UInt8]) -> String {
    let line = body.prefix(2048).split { $0 <= 0x20 }.first ?? []
    let parts = String(decoding: line, as: UTF8.self).split(separator: "/").dropLast()
    let path = parts.joined(separator: "/")
    guard !path.isEmpty, folder.hasSuffix("/\(path)") else { return folder }
    return String(folder.dropLast(path.utf8.count + 1))
  }

  /// Whether an answer is meant as a list of files.
  private static func isList(_ address: String, _ body: [UInt8]) -> Bool {
    if address.hasSuffix("/index.txt") { return true }
    let lines = body.prefix(1 << 20).split { $0 == 0x0A || $0 == 0x0D }
    return lines.prefix(1000).contains { $0.suffix(4).elementsEqual(".zip".utf8) }
  }

  private static func notFetched(_ address: String, _ reason: String) -> FetchedDocument {
    FetchedDocument(
      name: address, entry: nil,
      .failure(LeftOutDocument(address, code: "not-fetched", NotFetched(reason: reason))))
  }

  private static func fault(_ address: String, _ status: Int) -> TransportFault {
    TransportFault(
      code: .httpStatus, reason: "\(address): the server answers with status \(status)", isTemporary: false)
  }

  /// - Parameter answer: to the first question, where it was asked already.
  private mutating func converse(
    _ settings: SourceSettings, _ address: String, answer: PeerAnswer?
  ) async throws {
    let transport = try clients.transport(for: settings)
    var machine = try PeerCatalog.machine(for: settings, cursor: nil, now: Clock.now)
    var answer = answer
    var count = 0
    for _ in 0..<Self.questionLimit {
      switch machine.next() {
      case .ask(let request):
        if let known = answer {
          machine.take(known)
          answer = nil
          continue
        }
        do {
          let (head, body) = try await transport.ask(request)
          if head.status == 200 {
            try take(.index(address: Self.url(of: request.url, settings.location), body))
          }
          machine.take(.response(head, body))
        } catch let fault as TransportFault {
          machine.take(.fault(fault.documentFault))
        }
      case .collect(let listed):
        for start in stride(from: 0, to: listed.count, by: Self.ahead) {
          progress.enter("fetching \(count) of \(count + listed.count - start) files")
          let some = Array(listed[start..<min(start + Self.ahead, listed.count)])
          let answers = try await Self.answers(to: some, transport, byteLimit)
          var documents: [FetchedDocument] = []
          for (document, answer) in zip(some, answers) {
            machine.take(Self.outcome(of: answer, document), of: document)
            let name = Self.url(of: document.request.url, settings.location)
            if let one = try fetchedDocument(document, answer, name: name) { documents.append(one) }
          }
          count += documents.count
          try take(.documents(documents))
        }
      case .done:
        // What is not said of all, nobody shall take for all.
        return try take(.documents(machine.notices.map { Self.notFetched(address, $0.reason) }))
      case .fail(let fault):
        throw TransportFault(code: fault.code, reason: "\(address): \(fault.reason)", isTemporary: false)
      }
    }
    throw TransportFault(
      code: .httpStatus, reason: "\(address): more than \(Self.questionLimit) questions lead to no end",
      isTemporary: false)
  }

  private static func url(of url: String, _ location: String) -> String {
    if LogPlace.isAddress(url) { return url }
    return "\(location.hasSuffix("/") ? String(location.dropLast()) : location)/\(url.drop { $0 == "/" })"
  }

  private static func answers(
    to documents: [PeerDocument], _ transport: HTTPPeerTransport, _ byteLimit: Int
  ) async throws -> [PeerAnswer] {
    try await withThrowingTaskGroup(of: (Int, PeerAnswer).self) { group in
      for (number, document) in documents.enumerated() {
        if let response = document.response {
          group.addTask { (number, .response(response.head, response.body)) }
          continue
        }
        group.addTask {
          var request = document.request
          request.byteLimit = byteLimit
          do {
            let (head, body) = try await transport.ask(request)
            return (number, .response(head, body))
          } catch let fault as TransportFault {
            return (number, .fault(fault.documentFault))
          }
        }
      }
      var answers: [Int: PeerAnswer] = [:]
      for try await (number, answer) in group { answers[number] = answer }
      return documents.indices.compactMap { answers[$0] }
    }
  }

  private static func outcome(of answer: PeerAnswer, _ document: PeerDocument) -> CollectionOutcome {
    switch answer {
    case .fault(let fault): .fault(fault)
    case .response(let head, _):
      head.status != 200 && document.otherStatuses.contains(head.status) ? .answered(head) : .recorded(head)
    }
  }

  /// `nil` where the server has said that there is nothing.
  private mutating func fetchedDocument(
    _ document: PeerDocument, _ answer: PeerAnswer, name: String
  ) throws -> FetchedDocument? {
    switch answer {
    case .fault(let fault):
      return FetchedDocument(
        name: name, entry: document.name,
        .failure(LeftOutDocument(name, code: fault.code.rawValue, NotFetched(reason: fault.reason))))
    case .response(let head, let body):
      guard head.status == 200 else {
        if document.otherStatuses.contains(head.status) { return nil }
        return FetchedDocument(
          name: name, entry: document.name,
          .failure(
            LeftOutDocument(
              name, code: "http-status", NotFetched(reason: "the server answers with status \(head.status)"))))
      }
      if document.otherStatuses.contains(204), body.isEmpty { return nil }
      guard isSpooled else {
        return FetchedDocument(name: name, entry: document.name, .success(MemorySource(body)))
      }
      let spool = try self.spool ?? SpoolFile()
      self.spool = spool
      let start = spool.byteCount
      try body.withUnsafeBytes { try spool.write($0) }
      return FetchedDocument(
        name: name, entry: document.name, .success(SpoolPart(spool, start..<spool.byteCount)))
    }
  }
}

private struct NotFetched: Error, CustomStringConvertible {
  let reason: String
  var description: String { reason }
}
