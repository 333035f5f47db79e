import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

/// A folder of its own for each test, and the program as it was built.
struct Workshop {
  let folder: URL

  static func run(_ body: (Workshop) throws -> Void) throws {
    try withTemporaryFolder { try body(Workshop(folder: $0)) }
  }

  static let program = ProgramUnderTest.path

  /// Runs `keyferry` in the folder.
  @discardableResult
  func keyferry(_ arguments: String..., input: [UInt8] = []) throws -> Tool.Outcome {
    try keyferry(arguments, input: input)
  }

  @discardableResult
  func keyferry(_ arguments: [String], input: [UInt8] = []) throws -> Tool.Outcome {
    let program = try #require(Self.program, "the program keyferry was not built")
    let outcome = try Tool(path: program).run(arguments, input: input, in: folder)
    checkManners(outcome, arguments)
    return outcome
  }

  /// Runs `keyferry` on a terminal of its own, where standard output and standard error are one.
  func onTerminal(_ arguments: String...) throws -> Tool.Outcome {
    let program = try #require(Self.program, "the program keyferry was not built")
    let script = try #require(Tool(named: "script"))
    let command = ([program] + arguments).map { "'\($0)'" }.joined(separator: " ")
    return try script.run(["--quiet", "--return", "--command", command, "/dev/null"], in: folder)
  }

  /// What holds for every message of the program.
  private func checkManners(_ outcome: Tool.Outcome, _ arguments: [String]) {
    let command = Comment(rawValue: "keyferry \(arguments.joined(separator: " "))\n\(outcome.errors)")
    #expect([0, 1, 2, 64].contains(outcome.status), command)
    // A service says it in its log, with time and level before.
    let isService = ["run", "serve"].contains(arguments.first)
    let lines = outcome.errors.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { line in
      isService ? line.trimmingPrefix(#/\d{4}-[-0-9:.TZ]+ [a-z]+ /#) : line
    }
    if let first = lines.first { #expect(first.hasPrefix("keyferry: "), command) }
    for line in outcome.status == 64 ? lines.prefix(1) : lines[...] {
      #expect(line.hasPrefix("keyferry: "), command)
      let message = line.dropFirst("keyferry: ".count)
      #expect(!message.isEmpty && !message.hasSuffix("."), command)
      let first = message.prefix { $0.isLetter }
      // A name may be all capitals.
      #expect(first.isEmpty || first.first?.isLowercase == true || first == first.uppercased(), command)
    }
    let errors = outcome.errors.lowercased()
    for secret in Sample.secrets { #expect(!errors.contains(secret.lowercased()), command) }
    #expect(!outcome.errors.contains("PRIVATE KEY-----"), command)
  }

  // MARK: Files

  func path(_ name: String) -> String { folder.appending(path: name).path() }

  func write(_ content: [UInt8], _ name: String) throws { try Data(content).write(to: folder.appending(path: name)) }
  func write(_ content: String, _ name: String) throws { try write(Array(content.utf8), name) }
  func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: folder.appending(path: name))) }
  func text(_ name: String) throws -> String { String(decoding: try bytes(name), as: UTF8.self) }
  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

  /// Everything in the folder, also what should not have been left behind.
  var files: [String] {
    get throws { try FileManager.default.subpathsOfDirectory(atPath: folder.path()).sorted() }
  }

  // MARK: Keys and bundles

  /// Writes `ID-VERSION.key.pem` and, in the folder `ring`, `ID-VERSION.pem`.
  @discardableResult
  func makeSigner(_ id: String = "310", _ version: String = "v1") throws -> SigningIdentity {
    let signer = try SigningIdentity(key: .generate(), keyID: id, keyVersion: version)
    try FileManager.default.createDirectory(at: folder.appending(path: "ring"), withIntermediateDirectories: true)
    try write(signer.key.pemRepresentation, "\(id)-\(version).key.pem")
    try write(signer.key.publicKey.pem, "ring/\(id)-\(version).pem")
    return signer
  }

  func keys(_ name: String, format: KeyFormat? = nil) throws -> DecodedDocument {
    let document = try KeyDocument(MemorySource(try bytes(name)), format: format)
    return try DecodedDocument(decoding: document.decoder)
  }

  func entry(_ name: String, of archive: String) throws -> [UInt8]? {
    let archive = try ZipArchive(MemorySource(try bytes(archive)))
    return try archive[name].map { try archive.open($0).readAll(limit: 1 << 24) }
  }
}

/// A few keys of one fixed seed.
enum Sample {
  static let document: DecodedDocument = {
    var random = SeededRandom(seed: 42)
    var document = RandomKeys(.plausible, statesRegions: true).document(30, using: &random)
    document.header.signatureInfos = []
    return document
  }()

  static let csv: [UInt8] = encoded { CSVKeyEncoder($0) }
  static let json: [UInt8] = encoded { ExportJSONEncoder($0) }
  static let batch: [UInt8] = encoded { BatchEncoder($0) }

  /// Key data in the spellings in which it could slip into a message.
  static let secrets: [String] = document.keys.flatMap { claim in
    [claim.key.hex, String(Data(claim.key.bytes).base64EncodedString().prefix(21))]
  }

  private static func encoded(by encoder: (OutputBuffer) -> any KeyEncoder) -> [UInt8] {
    let sink = MemorySink()
    do {
      try document.encode(with: encoder(OutputBuffer(sink)))
    } catch {
      preconditionFailure("\(error)")
    }
    return sink.bytes
  }
}
