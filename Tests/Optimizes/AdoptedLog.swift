import Foundation
import TransparencyLog

/// Restores an older state of a log, and goes on with the log by `adopt`, as `keyferry log adopt` does.
@main struct AdoptedLog {
  static func main() async throws {
    let place = CommandLine.arguments[1]
    let files = FileManager.default
    let state = LogFolder("\(place)/state")
    let folder = LogFolder("\(place)/public")
    let key = try await begin(state, folder)
    try files.copyItem(atPath: state.path, toPath: "\(place)/backup")
    do {
      let writer = try await LogWriter.open(state: state, folder: folder)
      try await writer.append([[4, 5, 6]])
    }
    try files.removeItem(atPath: state.path)
    try files.moveItem(atPath: "\(place)/backup", toPath: state.path)
    do {
      _ = try await LogWriter.look(state: state, folder: folder)
      fail("an older state was not noticed")
    } catch let fault as LogFault where fault.code == .staleState {}

    let adopted = try await LogWriter.adopt(state: state, folder: folder)
    let looked = try await LogWriter.look(state: state, folder: folder)
    let writer = try await LogWriter.open(state: state, folder: folder)
    guard adopted.size == 2, looked == adopted, writer.verifier == key else { fail("another log was adopted") }
    guard try await writer.append([[7, 8, 9]]) == 2 else { fail("the adopted log does not go on") }
    print("optimizes: a log is adopted as it should be")
  }

  private static func begin(_ state: LogFolder, _ folder: LogFolder) async throws -> NoteVerifier {
    let writer = try await LogWriter.create(name: "keys.example.org/log", state: state, folder: folder)
    try await writer.append([[1, 2, 3]])
    return writer.verifier
  }

  private static func fail(_ reason: String) -> Never {
    FileHandle.standardError.write(Data("optimizes: \(reason)\n".utf8))
    exit(1)
  }
}
