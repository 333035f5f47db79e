import Crypto
import Foundation
import GatewayTesting
import Synchronization
import Testing
import TransparencyLog

/// A log in a folder of its own, which is gone in the end.
struct Workbench {
  let root: URL
  var place: String { root.path() + "public" }
  var statePlace: String { root.path() + "state" }
  static let name = "log.keyferry.example/evidence"

  static func run(_ body: (Workbench) async throws -> Void) async throws {
    let root = FileManager.default.temporaryDirectory.appending(path: "keyferry-log-\(UUID().uuidString)/")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: root) }
    try await body(Workbench(root: root))
  }

  typealias Hook = @Sendable (LogFolder.Step, String) throws -> Void

  func create(key: String? = nil, _ hook: @escaping Hook = { _, _ in }) async throws -> LogWriter {
    try await LogWriter.create(
      name: Self.name, key: key, state: LogFolder(statePlace, willDo: hook), folder: LogFolder(place, willDo: hook))
  }

  func open(_ hook: @escaping Hook = { _, _ in }) async throws -> LogWriter {
    try await LogWriter.open(state: LogFolder(statePlace, willDo: hook), folder: LogFolder(place, willDo: hook))
  }

  func copy(_ name: String) throws {
    try FileManager.default.copyItem(at: root.appending(path: name), to: root.appending(path: name + ".copy"))
  }

  func restore(_ name: String) throws {
    try FileManager.default.removeItem(at: root.appending(path: name))
    try FileManager.default.copyItem(at: root.appending(path: name + ".copy"), to: root.appending(path: name))
  }

  func content(_ path: String) throws -> [UInt8]? { try LogFolder(place).bytes(of: path, limit: 1 << 26) }

  func write(_ content: [UInt8], _ path: String) throws {
    try Data(content).write(to: root.appending(path: "public/\(path)"))
  }

  func files() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: place).filter { path in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(place)/\(path)", isDirectory: &isFolder) && !isFolder.boolValue
    }.sorted()
  }

  func shown(_ verifier: NoteVerifier) throws -> SignedCheckpoint? {
    try content("checkpoint").map { try SignedCheckpoint($0, by: verifier, name: "checkpoint") }
  }
}

/// Entries as the vectors have them: the index in decimal digits.
func numbers(_ range: Range<Int>) -> [[UInt8]] { range.map { Array("\($0)".utf8) } }

/// The definition of RFC 6962, section 2.1, word by word, over the hashes of leaves.
enum PlainTree {
  static func split(_ count: Int) -> Int {
    var k = 1
    while k * 2 < count { k *= 2 }
    return k
  }

  static func hash(_ leaves: ArraySlice<TreeHash>) -> TreeHash {
    guard let first = leaves.first else { return .empty }
    guard leaves.count > 1 else { return first }
    let middle = leaves.startIndex + split(leaves.count)
    return .node(hash(leaves[..<middle]), hash(leaves[middle...]))
  }

  static func path(_ index: Int, _ leaves: ArraySlice<TreeHash>) -> [TreeHash] {
    guard leaves.count > 1 else { return [] }
    let k = split(leaves.count)
    let middle = leaves.startIndex + k
    return index < k
      ? path(index, leaves[..<middle]) + [hash(leaves[middle...])]
      : path(index - k, leaves[middle...]) + [hash(leaves[..<middle])]
  }

  static func proof(_ old: Int, _ leaves: ArraySlice<TreeHash>) -> [TreeHash] { subproof(old, leaves, true) }

  private static func subproof(_ old: Int, _ leaves: ArraySlice<TreeHash>, _ isKnown: Bool) -> [TreeHash] {
    if old == leaves.count { return isKnown ? [] : [hash(leaves)] }
    let k = split(leaves.count)
    let middle = leaves.startIndex + k
    return old <= k
      ? subproof(old, leaves[..<middle], isKnown) + [hash(leaves[middle...])]
      : subproof(old - k, leaves[middle...], false) + [hash(leaves[..<middle])]
  }
}

/// The vectors of C2SP's formats that lie beside the package.
enum SharedVectors {
  static func read() throws -> [String: Any] {
    let bytes = try #require(try RealData.bytes(of: "transparency-vectors.json"))
    return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
  }
}

func code(_ body: () async throws -> Void) async -> LogFault.Code? {
  do {
    try await body()
    return nil
  } catch let fault as LogFault {
    return fault.code
  } catch {
    Issue.record("\(error)")
    return nil
  }
}

enum Digest {
  static func hexadecimal(_ content: [UInt8]) -> String {
    SHA256.hash(data: content).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
