internal import ArgumentParser
internal import ExposureKeys
internal import KeyConversion
internal import KeyIntake
internal import KeyNormalization
internal import PolicyFiles

/// Finds a policy by the name of one that ships, or by the path of a file.
enum PolicyChoice {
  static func read(_ name: String) throws -> Policy {
    if let policy = try ShippedPolicies.policy(named: name) { return policy }
    return try PolicyFile.parse(try text(name), named: name)
  }

  /// The policy as it is written down.
  static func text(_ name: String) throws -> String {
    if let text = ShippedPolicies.text(of: name) { return text }
    guard name.contains("/") || name.contains(".") || FileIdentity(path: name) != nil else {
      let shipped = ShippedPolicies.names.joined(separator: ", ")
      throw ValidationError("no policy is called \(name); those that ship are \(shipped), and a file's path works too")
    }
    return String(decoding: try FileSource.contents(of: name, limit: PolicyFile.byteLimit), as: UTF8.self)
  }
}

/// The documents of a command that reads them by policies.
struct SourceOptions: ParsableArguments {
  @Option(
    name: .customLong("input"),
    help: ArgumentHelp(
      "An input with a name and settings of its own: a policy, the origin of keys that name none, and relay for a "
        + "source that passes on others' keys, of any origin or of those named: relay=DE+IT. Repeatable.",
      valueName: "name=file[,policy=...][,origin=...][,relay[=...]]"))
  var named: [NamedInput] = []

  @Option(
    help: ArgumentHelp(
      "How inputs without a policy of their own are read; see keyferry policy list.", valueName: "policy"))
  var reading: String?

  @Option(help: ArgumentHelp("The clock, for what is in the future, still valid or too old.", valueName: "time"))
  var now: Instant?

  var instant: Instant { now ?? Clock.now }

  /// The paths of all inputs.
  func paths(_ inputs: [String]) -> [String] { inputs + named.map(\.path) }

  func validate(_ inputs: [String]) throws {
    guard !paths(inputs).isEmpty else { throw ValidationError("missing inputs: give files, or --input NAME=FILE") }
    try InputOptions.checkPaths(paths(inputs))
  }

  /// Opens all inputs.
  ///
  /// - Parameters:
  ///   - reading: reads the inputs without a policy of their own; nothing is what `--reading` says.
  ///   - origin: of keys that name none, in inputs without an origin of their own.
  ///   - vouching: who is to stand behind each input.
  func open(
    _ inputs: [String], _ options: InputOptions, reading: Policy? = nil, origin: String? = nil,
    vouching: Vouching = .operator, progress: Progress
  ) throws -> [IncomingDocument] {
    let common = try reading ?? PolicyChoice.read(self.reading ?? "default")
    func incoming(_ path: String, _ sender: Sender?, _ policy: Policy) throws -> IncomingDocument {
      let document = progress.watching(try options.open(path))
      let sender = sender ?? Sender(name: document.name, origin: origin)
      return IncomingDocument(Arrival(document, from: sender, vouching: vouching, at: instant), policy: policy)
    }
    return try inputs.map { try incoming($0, nil, common) }
      + named.map { input in
        let sender = Sender(
          name: input.name, isRelay: input.isRelay, carries: input.carries, origin: input.origin ?? origin)
        return try incoming(input.path, sender, try input.policy.map(PolicyChoice.read) ?? common)
      }
  }
}

/// `NAME=FILE,policy=POLICY,origin=DE,relay=DE+IT`.
struct NamedInput: ExpressibleByArgument {
  let name: String
  let path: String
  let policy: String?
  let origin: String?
  let isRelay: Bool
  /// The origins whose keys a relay may carry; `nil` is any.
  let carries: Set<String>?

  init?(argument: String) {
    let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
    guard let head = parts.first, let mark = head.firstIndex(of: "=") else { return nil }
    name = String(head[..<mark])
    path = String(head[head.index(after: mark)...])
    var settings: [Substring: String] = [:]
    for part in parts.dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = pair.count == 2 ? String(pair[1]) : ""
      let isAllowed =
        pair[0] == "relay"
        ? pair.count == 1 || Self.codes(value) != nil : ["policy", "origin"].contains(pair[0]) && !value.isEmpty
      guard isAllowed, settings.updateValue(value, forKey: pair[0]) == nil else { return nil }
    }
    guard !name.isEmpty, !path.isEmpty else { return nil }
    policy = settings["policy"]
    origin = settings["origin"]
    isRelay = settings["relay"] != nil
    carries = settings["relay"].flatMap(Self.codes)
  }

  /// `DE+IT`; `nil` where one of them is no code.
  private static func codes(_ text: String) -> Set<String>? {
    let codes = text.split(separator: "+", omittingEmptySubsequences: false)
    let areCodes = codes.allSatisfy { code in
      (2...16).contains(code.utf8.count)
        && code.utf8.allSatisfy { (65...90).contains($0) || (48...57).contains($0) || $0 == 45 }
    }
    return areCodes ? Set(codes.map(String.init)) : nil
  }
}
