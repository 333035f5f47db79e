package import ArgumentParser
package import Containers
package import ExposureKeys
package import KeyConversion
internal import KeyFormats
package import KeyIntake
package import KeyNormalization
internal import PolicyFiles

/// Finds a policy by the name of one that ships, or by the path of a file.
package enum PolicyChoice {
  package static func read(_ name: String) throws -> Policy {
    if let policy = try ShippedPolicies.policy(named: name) {
      Console.detail("policy \(name), which ships with the program")
      return policy
    }
    Console.detail("policy \(name), a file")
    return try PolicyFile.parse(try text(name), named: name) { Console.note("\(name): warning: \($0)") }
  }

  /// The policy as it is written down.
  package static func text(_ name: String) throws -> String {
    if let text = ShippedPolicies.text(of: name) { return text }
    guard name.contains("/") || name.contains(".") || FileIdentity(path: name) != nil else {
      let shipped = ShippedPolicies.names.joined(separator: ", ")
      throw ValidationError("no policy is called \(name); those that ship are \(shipped), and a file's path works too")
    }
    return String(decoding: try FileSource.contents(of: name, limit: PolicyFile.byteLimit), as: UTF8.self)
  }
}

/// The documents of a command that reads them by policies.
package struct SourceOptions: ParsableArguments {
  @Option(
    name: .customLong("input"),
    help: ArgumentHelp(
      "An input with a name and settings of its own: a policy, the origin of keys that name none, the origins that it "
        + "may speak for (its own alone; or speaks-for=DE+IT, speaks-for=any), the regions that it may name, and relay "
        + "for a source that passes on others' keys, of any origin or of those named: relay=DE+IT. Repeatable.",
      valueName: "name=file[,policy=...][,origin=...][,speaks-for=...][,regions=...][,relay[=...]]"),
    completion: .file(),
    transform: NamedInput.init(argument:))
  package var named: [NamedInput] = []

  @Option(
    help: ArgumentHelp(
      "How inputs without a policy of their own are read; see keyferry policy list.", valueName: "policy"),
    completion: .policy)
  package var reading: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The clock, for what is in the future, still valid or too old; where the newest window of the inputs ends if "
        + "absent, or else the system's.",
      valueName: "time"))
  package var now: Instant?

  /// Files are judged as at the time when the newest of them was published: what is old is no fault of theirs. Where none
  /// states a window, or one that is not over, it is now.
  package func instant(_ walk: InputWalk) throws -> Instant {
    if let now { return now }
    let clock = Clock.now
    var newest: Instant?
    // What cannot be read is told when it is.
    try walk.visit(
      { found in
        guard let end = try? found.document.windowEnd() else { return }
        newest = max(newest ?? end, end)
      }, leaveOut: { _ in })
    guard let newest, newest < clock else { return clock }
    // Between two windows nothing gets too old.
    if clock.secondsSince1970 - newest.secondsSince1970 > 86_400 {
      Console.note("taken for now: \(newest), where the newest window of the inputs ends; --now says otherwise")
    }
    return newest
  }

  /// All documents that the inputs lead to.
  package func walk(_ inputs: [String], _ options: InputOptions, _ containers: ContainerOptions? = nil) -> InputWalk {
    options.walk(paths(inputs), containers)
  }

  /// The paths of all inputs.
  package func paths(_ inputs: [String]) -> [String] { inputs + named.map(\.path) }

  package func validate(_ inputs: [String]) throws {
    guard !paths(inputs).isEmpty else { throw ValidationError("missing inputs: give files, or --input NAME=FILE") }
    try InputOptions.checkPaths(paths(inputs))
  }

  /// All documents, each with who sends it and the policy that reads it.
  ///
  /// - Parameters:
  ///   - inputs: those without settings of their own.
  ///   - walk: over all inputs; see ``walk(_:_:_:)``.
  ///   - reading: reads the inputs without a policy of their own; nothing is what `--reading` says.
  ///   - origin: of keys that name none, in inputs without an origin of their own.
  ///   - vouching: who is to stand behind each input.
  ///   - instant: what is now; see ``instant(_:)``.
  package func feed(
    _ inputs: [String], _ walk: InputWalk, at instant: Instant, reading: Policy? = nil, origin: String? = nil,
    vouching: Vouching = .operator, progress: Progress
  ) throws -> DocumentFeed<IncomingDocument> {
    let common = try reading ?? PolicyChoice.read(self.reading ?? "default")
    let policies = try named.map { try $0.policy.map(PolicyChoice.read) ?? common }
    return walk.feed { found in
      let number = found.place.argument - inputs.count
      let input = number < 0 ? nil : named[number]
      Console.reading(found.document)
      let document = progress.watching(found.document)
      var sender = Sender(
        name: input?.name ?? document.name, isRelay: input?.isRelay ?? false, carries: input?.carries,
        origin: input?.origin ?? origin)
      var policy = (number < 0 ? common : policies[number]).at(instant)
      if let input { input.restrict(&policy.reading) }
      // Each is an origin by itself, unless its keys or somebody name another one.
      if sender.origin == nil, !sender.isRelay { sender.origin = RegionName.ofFile(sender.name) }
      if input?.origin == nil { policy.reading.speaksFor = policy.reading.speaksFor ?? .any }
      return IncomingDocument(Arrival(document, from: sender, vouching: vouching, at: instant), policy: policy)
    }
  }

  package init() {}
}

/// `NAME=FILE,policy=POLICY,origin=DE,speaks-for=DE+IT,regions=DE+IT,relay=DE+IT`.
package struct NamedInput {
  package let name: String
  package let path: String
  package let policy: String?
  package let origin: String?
  package let isRelay: Bool
  /// The origins whose keys a relay may carry; `nil` is any.
  package let carries: Set<String>?
  private let speaksFor: ReadingPolicy.SpokenOrigins?
  private let regions: Set<String>?

  /// Holds a policy to what the input may say.
  package func restrict(_ policy: inout ReadingPolicy) {
    if let speaksFor { policy.speaksFor = policy.speaksFor?.intersection(speaksFor) ?? speaksFor }
    if let regions { policy.regions = policy.regions?.intersection(regions) ?? regions }
    if case .only(let origins) = speaksFor { policy.declaredRegions.formUnion(origins) }
    policy.declaredRegions.formUnion(regions ?? [])
  }

  /// - Throws: `ValidationError`, which says which part is wrong and what is allowed there.
  package init(argument: String) throws {
    let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
    let head = parts.first ?? ""
    guard let mark = head.firstIndex(of: "="), mark != head.startIndex, head.index(after: mark) != head.endIndex else {
      throw ValidationError("\"\(printableText(String(head)))\" is no NAME=FILE, such as DE=de.zip")
    }
    name = String(head[..<mark])
    path = String(head[head.index(after: mark)...])
    var settings: [Substring: String] = [:]
    for part in parts.dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let (setting, value) = (pair[0], pair.count == 2 ? String(pair[1]) : nil)
      guard let allowed = Self.allowed[setting] else {
        let names = Self.allowed.keys.sorted().joined(separator: ", ")
        throw ValidationError("there is no setting \"\(printableText(String(setting)))\", allowed are \(names)")
      }
      let isAllowed =
        switch setting {
        case "relay": value.map { Self.codes($0) != nil } ?? true
        case "regions": value.flatMap(Self.codes) != nil
        case "speaks-for": value == "any" || value.flatMap(Self.codes) != nil
        default: value?.isEmpty == false
        }
      guard isAllowed else {
        throw ValidationError("\"\(printableText(String(part)))\", allowed \(allowed)")
      }
      guard settings.updateValue(value ?? "", forKey: setting) == nil else {
        throw ValidationError("\(setting) is stated twice")
      }
    }
    guard settings["relay"] == nil || settings["origin"] == nil else {
      throw ValidationError("a relay's keys have no origin; leave out origin, or relay")
    }
    policy = settings["policy"]
    origin = settings["origin"]
    isRelay = settings["relay"] != nil
    carries = settings["relay"].flatMap(Self.codes)
    speaksFor = settings["speaks-for"].flatMap { $0 == "any" ? .any : Self.codes($0).map { .only($0) } }
    regions = settings["regions"].flatMap(Self.codes)
  }

  /// The settings, and what each may be.
  private static let allowed: [Substring: String] = [
    "policy": "the name of a policy that ships, or the path of a file: policy=efgs",
    "origin": "a code: origin=DE",
    "speaks-for": "any, or codes in capitals with + between them: speaks-for=DE+IT",
    "regions": "codes in capitals with + between them: regions=DE+US-VA",
    "relay": "nothing, or codes in capitals with + between them: relay, relay=DE+IT",
  ]

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

extension SourceDocument {
  /// Where the window of an export ends; `nil` where the document states none.
  fileprivate func windowEnd() throws -> Instant? {
    let reader = try open()
    var chunk = KeyChunk()
    _ = try located { try reader.decoder.decode(into: &chunk) }
    return reader.decoder.header.endTimestamp.flatMap { Int64(exactly: $0) }.map(Instant.init(secondsSince1970:))
  }
}
