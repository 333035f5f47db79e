internal import Foundation
internal import Synchronization

/// A PostgreSQL server of the system's packages, in a temporary folder, for the tests of one process. It ends with the process,
/// however that ends, and its folder with it.
package final class PostgresServer: Sendable {
  /// The folder of its socket.
  package let folder: String
  /// Of 127.0.0.1; `nil` where it has its socket alone.
  package let port: Int?
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

    package init(description: String) { self.description = description }
  }

  /// How it listens at 127.0.0.1, where passwords are asked for.
  package enum Listening {
    case plain
    /// - Parameters: files in PEM.
    case tls(certificate: String, key: String)
  }

  /// - Parameters:
  ///   - isDurable: whether commits reach the disk, for measuring.
  ///   - listening: `nil` is nowhere but at its socket.
  package init(isDurable: Bool = false, listening: Listening? = nil) throws {
    guard let programs = Self.programs else { throw Fault(description: Self.advice) }
    folder = FileManager.default.temporaryDirectory.appending(path: "kf-pg-\(UUID().uuidString.prefix(8))").path
    let process = Process()
    process.executableURL = URL(filePath: "/bin/bash")
    port = try listening.map { _ in try Self.freePort() }
    var arguments = ["-c", Self.script, "postgres", programs, folder, isDurable ? "on" : "off"]
    switch listening {
    case nil: break
    case .plain: arguments += ["\(port ?? 0)"]
    case .tls(let certificate, let key): arguments += ["\(port ?? 0)", certificate, key]
    }
    process.arguments = arguments
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

  /// One that nobody has now.
  package static func freePort() throws -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else { throw Fault(description: "no port is free") }
    return Int(UInt16(bigEndian: address.sin_port))
  }

  /// Words for a connection to it, as its superuser.
  package var words: String { "host=\(folder) \(port.map { "port=\($0) " } ?? "")user=keyferry dbname=postgres" }

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
    programs=$1 folder=$2 durable=$3 port=${4:-} certificate=${5:-} key=${6:-}
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
    listening=(-c listen_addresses=)
    if [ -n "$port" ]; then
      listening=(-c listen_addresses=127.0.0.1)
      printf '%s\\n' 'local all all trust' 'host all all 127.0.0.1/32 scram-sha-256' >"$folder/data/pg_hba.conf"
    fi
    if [ -n "$key" ]; then
      cp "$certificate" "$folder/data/server.crt"
      cp "$key" "$folder/data/server.key"
      chmod 600 "$folder/data/server.key"
      [ "${#as[@]}" = 0 ] || chown "$user" "$folder/data/server.crt" "$folder/data/server.key"
      listening+=(-c ssl=on)
    fi
    "${as[@]}" "$programs/postgres" -D "$folder/data" -k "$folder" "${listening[@]}" ${port:+-p "$port"} -c "fsync=$durable" \
      -c max_connections=300 </dev/null >>"$folder/log" 2>&1 &
    server=$!
    for _ in $(seq 200); do
      "$programs/pg_isready" -q -h "$folder" ${port:+-p "$port"} && break
      sleep 0.05
    done
    "$programs/pg_isready" -q -h "$folder" ${port:+-p "$port"}
    echo ready
    read -r _ || true
    """
}
