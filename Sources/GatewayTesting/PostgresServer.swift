internal import Foundation
internal import Synchronization

/// A PostgreSQL server of the system's packages, in a temporary folder, for the tests of one process. It ends with the process,
/// however that ends, and its folder with it.
package final class PostgresServer: Sendable {
  /// The folder of its socket.
  package let folder: String
  /// What starts and stops it; the folder goes when its input ends.
  private let guardian: Int32
  private let input: FileHandle

  /// Where the programs are; `nil` where the system has none.
  package static let programs: String? = {
    let root = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root))?.compactMap(Int.init).sorted() ?? []
    let found = versions.last.map { "\(root)/\($0)/bin" }
    return found.flatMap { FileManager.default.isExecutableFile(atPath: $0 + "/initdb") ? $0 : nil }
  }()

  /// What a skipped test says.
  package static let advice = "install Debian's postgresql-15, or run .ci/packages with CI=true"

  /// One for all tests of the process, started when the first one asks.
  package static var shared: PostgresServer {
    get throws { try known.get() }
  }

  private static let known: Result<PostgresServer, any Error> = Result { try PostgresServer() }

  package struct Fault: Error, CustomStringConvertible {
    package let description: String
  }

  /// - Parameter isDurable: whether commits reach the disk, for measuring.
  package init(isDurable: Bool = false) throws {
    guard let programs = Self.programs else { throw Fault(description: Self.advice) }
    folder = FileManager.default.temporaryDirectory.appending(path: "kf-pg-\(UUID().uuidString.prefix(8))").path
    let process = Process()
    process.executableURL = URL(filePath: "/bin/bash")
    process.arguments = ["-c", Self.script, "postgres", programs, folder, isDurable ? "on" : "off"]
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    guardian = process.processIdentifier
    self.input = input.fileHandleForWriting
    let said = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard said.hasPrefix("ready") else { throw Fault(description: "the server did not start: \(folder)/log") }
  }

  deinit { try? input.close() }

  /// Words for a connection to it, as its superuser.
  package var words: String { "host=\(folder) user=keyferry dbname=postgres" }

  /// A name for a schema that nobody has.
  package static func newSchema() -> String {
    "s\(UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: ""))"
  }

  /// Runs statements with the system's psql.
  @discardableResult
  package func query(_ sql: String) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "\(Self.programs ?? "")/psql")
    process.arguments = ["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql, words]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let said = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Fault(description: "psql failed: \(sql)") }
    return String(decoding: said, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// initdb refuses root, so root hands the folder to another user. The last line waits until this process is gone.
  private static let script = """
    set -eu
    programs=$1 folder=$2 durable=$3
    mkdir -m 755 "$folder"
    as=()
    if [ "$(id -u)" = 0 ]; then
      user=postgres; id -u postgres >/dev/null 2>&1 || user=nobody
      chown "$user" "$folder"
      as=(setpriv "--reuid=$user" "--regid=$(id -gn "$user")" --clear-groups --reset-env)
    fi
    cd "$folder"
    server=
    trap '[ -z "$server" ] || { kill -QUIT "$server"; wait "$server" || true; }; rm -rf "$folder"' EXIT
    "${as[@]}" "$programs/initdb" -D "$folder/data" -U keyferry -A trust --no-locale -E UTF8 --no-sync </dev/null >"$folder/log" 2>&1
    "${as[@]}" "$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c "fsync=$durable" \
      -c max_connections=300 </dev/null >>"$folder/log" 2>&1 &
    server=$!
    for _ in $(seq 200); do
      "$programs/pg_isready" -q -h "$folder" && break
      sleep 0.05
    done
    "$programs/pg_isready" -q -h "$folder"
    echo ready
    read -r _ || true
    """
}
