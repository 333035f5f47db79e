internal import FoundationEssentials

/// Of what, by what and when a bundle was made: a statement of in-toto (v1) with the provenance of SLSA (v1).
///
/// Values are texts, as SLSA prefers. What is read is what ``bytes`` writes, and more members beside it.
package struct Provenance: Hashable, Sendable {
  /// What was made.
  package struct Subject: Hashable, Sendable {
    package var name: String
    /// SHA-256, 64 lower-case hexadecimal digits.
    package var digest: String

    package init(name: String, digest: String) {
      self.name = name
      self.digest = digest
    }
  }

  /// What it was made of.
  package struct Dependency: Hashable, Sendable {
    package var name: String
    package var uri: String
    /// SHA-256; `nil` where it has none that is public.
    package var digest: String?
    package var annotations: [String: String]

    package init(name: String, uri: String, digest: String? = nil, annotations: [String: String] = [:]) {
      self.name = name
      self.uri = uri
      self.digest = digest
      self.annotations = annotations
    }
  }

  package var subjects: [Subject]
  package var buildType: String
  /// Everything from outside that selects what is made.
  package var externalParameters: [String: String]
  package var internalParameters: [String: String]
  package var dependencies: [Dependency]
  package var builder: String
  /// By the names of programs.
  package var versions: [String: String]
  package var invocation: String
  /// RFC 3339 in UTC.
  package var started: String
  package var finished: String

  package static let statementType = "https://in-toto.io/Statement/v1"
  package static let predicateType = "https://slsa.dev/provenance/v1"
  private static let mostSubjects = 64
  private static let mostMembers = 256

  package init(
    of subjects: [Subject], buildType: String, externalParameters: [String: String],
    internalParameters: [String: String], dependencies: [Dependency], builder: String, versions: [String: String],
    invocation: String, started: String, finished: String
  ) {
    self.subjects = subjects
    self.buildType = buildType
    self.externalParameters = externalParameters
    self.internalParameters = internalParameters
    self.dependencies = dependencies
    self.builder = builder
    self.versions = versions
    self.invocation = invocation
    self.started = started
    self.finished = finished
  }

  /// The one spelling of what it says: members of a map by their names.
  package var bytes: [UInt8] {
    func map(_ texts: [String: String]) -> JSONValue {
      .texts(texts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }
    func digest(_ digest: String) -> JSONValue { .texts([("sha256", digest)]) }
    let subjects = subjects.map { JSONValue.object([("name", .text($0.name)), ("digest", digest($0.digest))]) }
    let dependencies = dependencies.map { dependency -> JSONValue in
      var members: [(name: String, value: JSONValue)] = [
        ("name", .text(dependency.name)), ("uri", .text(dependency.uri)),
      ]
      if let value = dependency.digest { members.append(("digest", digest(value))) }
      if !dependency.annotations.isEmpty { members.append(("annotations", map(dependency.annotations))) }
      return .object(members)
    }
    let definition = JSONValue.object([
      ("buildType", .text(buildType)), ("externalParameters", map(externalParameters)),
      ("internalParameters", map(internalParameters)), ("resolvedDependencies", .list(dependencies)),
    ])
    let run = JSONValue.object([
      ("builder", .object([("id", .text(builder)), ("version", map(versions))])),
      (
        "metadata",
        .texts([("invocationId", invocation), ("startedOn", started), ("finishedOn", finished)])
      ),
    ])
    let statement = JSONValue.object([
      ("_type", .text(Self.statementType)), ("subject", .list(subjects)), ("predicateType", .text(Self.predicateType)),
      ("predicate", .object([("buildDefinition", definition), ("runDetails", run)])),
    ])
    return Array(statement.text.utf8)
  }

  /// - Parameter name: for messages.
  /// - Throws: ``LogFault`` `bad-attestation`.
  package init(_ bytes: [UInt8], name: String) throws {
    func fault(_ reason: String) -> LogFault { LogFault(.badAttestation, "\(name): \(reason)") }
    guard !bytes.contains(0), let statement = try? JSONDecoder().decode(Members.self, from: Data(bytes)) else {
      throw fault("its payload is no statement of in-toto with a provenance of SLSA")
    }
    if let name = RepeatedMember.name(in: bytes) {
      throw fault("its payload has the member \(quoted(name)) twice; an object has each once")
    }
    guard statement._type == Self.statementType else {
      throw fault("its _type is \(quoted(statement._type)), allowed is \(Self.statementType)")
    }
    guard statement.predicateType == Self.predicateType else {
      throw fault("its predicateType is \(quoted(statement.predicateType)), allowed is \(Self.predicateType)")
    }
    let definition = statement.predicate.buildDefinition
    guard (1...Self.mostSubjects).contains(statement.subject.count) else {
      throw fault("it is about \(statement.subject.count) files, allowed are 1...\(Self.mostSubjects)")
    }
    let counts = [
      definition.externalParameters.count, definition.internalParameters?.count ?? 0,
      definition.resolvedDependencies?.count ?? 0,
    ]
    guard counts.allSatisfy({ $0 <= Self.mostMembers }) else {
      throw fault("it has more than \(Self.mostMembers) parameters")
    }
    subjects = try statement.subject.map { subject in
      guard let digest = subject.digest["sha256"], Self.isDigest(digest) else {
        throw fault("the subject \(quoted(subject.name)) has no SHA-256")
      }
      return Subject(name: subject.name, digest: digest)
    }
    guard Set(subjects.map(\.name)).count == subjects.count else { throw fault("two subjects have one name") }
    buildType = definition.buildType
    externalParameters = definition.externalParameters
    internalParameters = definition.internalParameters ?? [:]
    dependencies = try (definition.resolvedDependencies ?? []).map { dependency in
      if let digest = dependency.digest?["sha256"], !Self.isDigest(digest) {
        throw fault("the dependency \(quoted(dependency.name ?? "")) has a SHA-256 that is none")
      }
      return Dependency(
        name: dependency.name ?? "", uri: dependency.uri ?? "", digest: dependency.digest?["sha256"],
        annotations: dependency.annotations ?? [:])
    }
    let run = statement.predicate.runDetails
    builder = run.builder.id
    versions = run.builder.version ?? [:]
    invocation = run.metadata?.invocationId ?? ""
    started = run.metadata?.startedOn ?? ""
    finished = run.metadata?.finishedOn ?? ""
  }

  private static func isDigest(_ text: String) -> Bool {
    text.utf8.count == 64 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }

  private struct Members: Decodable {
    var _type: String
    var subject: [Resource]
    var predicateType: String
    var predicate: Predicate

    struct Resource: Decodable {
      var name: String
      var digest: [String: String]
    }

    struct Predicate: Decodable {
      var buildDefinition: Definition
      var runDetails: Run
    }

    struct Definition: Decodable {
      var buildType: String
      var externalParameters: [String: String]
      var internalParameters: [String: String]?
      var resolvedDependencies: [Input]?
    }

    struct Input: Decodable {
      var name: String?
      var uri: String?
      var digest: [String: String]?
      var annotations: [String: String]?
    }

    struct Run: Decodable {
      var builder: Builder
      var metadata: Metadata?
    }

    struct Builder: Decodable {
      var id: String
      var version: [String: String]?
    }

    struct Metadata: Decodable {
      var invocationId: String?
      var startedOn: String?
      var finishedOn: String?
    }
  }
}
