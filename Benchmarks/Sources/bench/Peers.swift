import Foundation

/// A yardstick that `Benchmarks/peers` makes.
enum Peer: String {
  case protobuf = "with_protobuf"
  case simdjson = "with_simdjson"
  case unorderedSet = "with_unordered_set"
  case orjson = "with_orjson"
  case pyarrow = "with_pyarrow"
  case duckDB = "with_duckdb"
  case upb = "with_upb"

  /// `nil` where there is none.
  var program: String? { isExecutable(path) ? path : nil }

  /// Why there is none.
  var lack: String {
    (try? String(contentsOfFile: path + ".missing", encoding: .utf8).trimmingCharacters(in: .newlines))
      ?? "not made; run Benchmarks/peers"
  }

  private var path: String { "build/peers/\(rawValue)" }
}

/// Programs that are measured as a whole.
enum Program {
  static var keyferry: String {
    ProcessInfo.processInfo.environment["KEYFERRY"] ?? ".build/release/keyferry"
  }
  static let unzip = "/usr/bin/unzip"
  static let nginx = "/usr/sbin/nginx"
  static let wrk = "/usr/bin/wrk"
  static let taskset = "/usr/bin/taskset"
}

func isExecutable(_ path: String) -> Bool { FileManager.default.isExecutableFile(atPath: path) }

extension Contender {
  /// A peer that takes turns with us.
  ///
  /// - Parameter input: what stands in the file that is the last of its arguments.
  static func peer(
    _ name: String, _ peer: Peer, _ arguments: [String] = [], reach: Double? = nil, input: @autoclosure () -> [UInt8]
  ) throws -> Contender {
    let role = Role.yardstick(reach: reach)
    guard let program = peer.program else { return .missing(name, role, because: peer.lack) }
    let folder = try ScratchFolder()
    let file = try folder.add("input", input())
    let taker = TurnTaker(program, arguments + [file], keeping: folder)
    return Contender(name: name, role: role, takeTurn: taker.takeTurn)
  }

  /// A program from its start to its end, as the system sees it.
  static func process(
    _ name: String, _ role: Role, _ program: String, _ arguments: [String], handling count: Int,
    in folder: ScratchFolder
  ) -> Contender {
    guard isExecutable(program) else { return .missing(name, role, because: "there is no \(program)") }
    let taker = TurnTaker(
      "/proc/self/exe", ["--take-turns", "\(count)", program] + arguments, keeping: folder)
    return Contender(name: name, role: role, takeTurn: taker.takeTurn).handling(count)
  }
}

/// A folder that is gone with the last reference to it.
final class ScratchFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "keyferry-bench-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  /// - Returns: the path of the new file.
  func add(_ name: String, _ content: [UInt8]) throws -> String {
    try Data(content).write(to: URL(filePath: self / name))
    return self / name
  }

  static func / (folder: ScratchFolder, name: String) -> String { "\(folder.path)/\(name)" }

  /// The files and their sizes.
  func byteCounts() throws -> String {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted().map { name in
      let attributes = try FileManager.default.attributesOfItem(atPath: self / name)
      return "\(name) \(attributes[.size] as? Int ?? 0) bytes"
    }.joined(separator: ", ")
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
