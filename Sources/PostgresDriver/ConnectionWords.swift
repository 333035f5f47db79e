import CPostgres
import FoundationEssentials
import Glibc
import KeyStorage

/// How a database is reached: the operator's words, checked, with ours beside them. It never says the password.
package struct ConnectionWords: Sendable, CustomStringConvertible, CustomReflectable {
  private var words: [String: String]
  /// Who connects, as far as it is said.
  let role: String
  /// Where it is, for people: host, port and database, as libpq reads them.
  package let place: String
  /// Whether the database is on another machine, so that the connection has to be encrypted and verified.
  package let isElsewhere: Bool

  package var description: String { place }
  package var customMirror: Mirror { Mirror(self, children: ["place": place]) }

  /// - Parameter text: as libpq reads it: `postgresql://user@host/database?…`, or `host=… dbname=… user=…`.
  /// - Throws: ``StorageFault`` `unsupported`, without anything that stands in the text.
  package init(_ text: String) throws {
    var fault: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(text, &fault) else {
      PQfreemem(fault)
      throw Self.refused(
        "it cannot be read, allowed is postgresql://USER@HOST/DATABASE or host=HOST user=USER dbname=DATABASE")
    }
    defer { PQconninfoFree(options) }
    var words: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { words[String(cString: keyword)] = String(cString: value) }
      option += 1
    }
    for word in ["service", "options", "replication", "client_encoding"] where words[word] != nil {
      throw Self.refused("\(word) is not allowed: the gateway says what it needs itself")
    }
    func known(_ word: String, _ variable: String) -> String? {
      words[word] ?? ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    }
    if ProcessInfo.processInfo.environment["PGSERVICE"].map({ !$0.isEmpty }) ?? false {
      throw Self.refused("the environment has PGSERVICE, which is not allowed")
    }
    if ProcessInfo.processInfo.environment["PGOPTIONS"].map({ !$0.isEmpty }) ?? false {
      throw Self.refused("the environment has PGOPTIONS, which is not allowed")
    }
    // What stands in messages is no part of a password that was not encoded.
    let isPlain =
      Self.isPlain(words["host"], without: "@=") && Self.isPlain(words["hostaddr"], without: "@=")
      && Self.isPlain(words["dbname"], without: "@=/:") && words.values.allSatisfy { Self.isPlain($0, without: "") }
    let isPort = words["port"]?.utf8.allSatisfy { (48...57).contains($0) || $0 == UInt8(ascii: ",") } ?? true
    guard isPlain, isPort else {
      throw Self.refused(
        "its host, port or database is none; it has one line, and in a URI each of @ / : # % in a password is written as % and two digits"
      )
    }
    let hosts = (known("host", "PGHOST") ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    let addresses = (known("hostaddr", "PGHOSTADDR") ?? "").split(separator: ",").map(String.init)
    isElsewhere = !(hosts + addresses).allSatisfy(Self.isHere)
    if isElsewhere {
      let mode = known("sslmode", "PGSSLMODE") ?? "verify-full"
      guard mode == "verify-full" else {
        throw Self.refused("sslmode \(mode) for a database on another machine, allowed is verify-full")
      }
      words["sslmode"] = mode
    }
    // Without a word of ours, libpq looks for certificates in the home of the user alone.
    if let mode = known("sslmode", "PGSSLMODE"), ["verify-ca", "verify-full"].contains(mode) {
      switch known("sslrootcert", "PGSSLROOTCERT") {
      case nil, "system": words["sslrootcert"] = try Self.systemTrust()
      default: break
      }
    }
    let database = known("dbname", "PGDATABASE") ?? known("user", "PGUSER") ?? ""
    place = Self.place(of: hosts.allSatisfy(\.isEmpty) ? addresses : hosts, known("port", "PGPORT") ?? "", database)
    role = known("user", "PGUSER") ?? ""
    self.words = words
  }

  /// A socket has no place in the address itself.
  private static func place(of hosts: [String], _ ports: String, _ database: String) -> String {
    let ports = ports.split(separator: ",").map(String.init)
    func port(_ index: Int) -> String { ports.count > 1 ? ports[min(index, ports.count - 1)] : ports.first ?? "5432" }
    let isSocket = hosts.allSatisfy { $0.isEmpty || $0.hasPrefix("/") || $0.hasPrefix("@") }
    guard !isSocket else {
      let folder = hosts.first { !$0.isEmpty }.map { "host=\($0)&" } ?? ""
      return "postgresql:///\(database)?\(folder)port=\(port(0))"
    }
    let places = hosts.enumerated().map { index, host in
      "\(host.contains(":") ? "[\(host)]" : host):\(port(index))"
    }
    return "postgresql://\(places.joined(separator: ","))/\(database)"
  }

  /// Whether it has none of these characters, and none that controls a terminal.
  private static func isPlain(_ word: String?, without characters: String) -> Bool {
    word?.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 && !characters.unicodeScalars.contains($0) }
      ?? true
  }

  /// Whether a host is this machine: a socket's folder, or an address that never leaves it.
  private static func isHere(_ host: String) -> Bool {
    host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1"
      || host.hasPrefix("127.") && host.utf8.allSatisfy { (48...57).contains($0) || $0 == UInt8(ascii: ".") }
  }

  /// The certificates that this machine trusts: of Debian and its kin, Alpine, and Red Hat.
  static let systemRoots = [
    "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem", "/etc/pki/tls/certs/ca-bundle.crt",
  ]

  /// - Parameters:
  ///   - files: where they may be.
  ///   - version: of libpq, which finds them by itself from 16 on.
  /// - Throws: ``StorageFault`` where there are none.
  static func systemTrust(in files: [String] = systemRoots, version: Int32 = PQlibVersion()) throws -> String {
    if let file = files.first(where: { access($0, R_OK) == 0 }) { return file }
    guard version >= 160_000 else {
      throw refused(
        "there are no certificates of this machine to verify the database's by (\(files.joined(separator: ", "))): install "
          + "ca-certificates, or name a file with sslrootcert")
    }
    return "system"
  }

  private static func refused(_ why: String) -> StorageFault {
    StorageFault(.unsupported, "the connection string of the store: \(why)")
  }

  /// Ours where the operator said nothing: nothing is waited for without end.
  func all(application: String) -> [(String, String)] {
    var all = [
      "connect_timeout": "10", "keepalives_idle": "15", "keepalives_interval": "5", "keepalives_count": "3",
      "tcp_user_timeout": "15000", "gssencmode": "disable", "target_session_attrs": "read-write",
    ]
    all.merge(words) { $1 }
    all["application_name"] = application
    return all.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
