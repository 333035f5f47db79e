import CPostgres
import Dispatch
import Glibc
import KeyStorage
import Synchronization

/// Until when a process waits for what its database has begun, once it ends. The lock owns it.
final class Haste: Sendable {
  private let moment = Mutex<ContinuousClock.Instant?>(nil)
  /// What was met since it is over.
  private let met = Mutex((isSilent: false, isLost: false))

  /// What each answer may take all the same: little, once one did not come.
  var least: Duration { .seconds(met.withLock(\.isSilent) ? 1 : 5) }
  /// Whether nobody could connect since: then nobody tries again.
  var isHopeless: Bool { met.withLock(\.isLost) }

  func noteSilence() { if isOver { met.withLock { $0.isSilent = true } } }
  func noteNoConnection() { if isOver { met.withLock { $0.isLost = true } } }

  /// `nil` while it does not end.
  var end: ContinuousClock.Instant? { moment.withLock { $0 } }
  var isOver: Bool { end.map { $0 <= .now } ?? false }

  func begin(within time: Duration) {
    moment.withLock { $0 = min($0 ?? .now + time, .now + time) }
  }
}

/// One connection of libpq, used by one thread. Every call blocks until the server has answered, or the time for that is over.
final class PostgresConnection {
  private let connection: OpaquePointer
  /// Seconds that an answer is waited for; `nil` is without end. The server has limits of its own, and cannot keep them while it
  /// is stopped: then its machine still says that all has arrived.
  var patience: Int? = 30
  /// Beside it, the end of the process.
  private let haste: Haste
  /// Nobody waits any more for what was asked last, so that nothing else can be asked.
  private var isGivenUp = false

  /// - Throws: ``PostgresError``.
  init(_ words: ConnectionWords, application: String, haste: Haste = Haste()) throws {
    self.haste = haste
    guard !haste.isHopeless else { throw Self.silence }
    var pairs = words.all(application: application)
    if let end = haste.end {
      // Who ends has little time for a server that does not answer; one that does answers at once.
      let left = max(2, Int((ContinuousClock.now.duration(to: end) / .seconds(1)).rounded(.up)))
      let usual = pairs.first { $0.0 == "connect_timeout" }.flatMap { Int($0.1) } ?? left
      pairs.removeAll { $0.0 == "connect_timeout" }
      pairs.append(("connect_timeout", "\(min(left, usual))"))
    }
    // Registered before anything of libpq is opened, and so run before that is taken down.
    _ = Self.waitsAtEnd
    // libpq takes two lists of texts that end with NULL, and copies them.
    let opened: OpaquePointer? = Self.withTexts(pairs.map(\.0)) { names in
      Self.withTexts(pairs.map(\.1)) { values in PQconnectdbParams(names, values, 0) }
    }
    guard let opened else { throw PostgresError(state: nil, message: "no memory for a connection", isLost: true) }
    connection = opened
    guard PQstatus(connection) == CONNECTION_OK else {
      haste.noteNoConnection()
      var message = Self.firstLine(PQerrorMessage(connection))
      if message.contains("session is read-only") || message.contains("server is in hot standby mode") {
        message += "; \(Self.readOnly(words.role))"
      }
      if message.contains("root certificate file") {
        // Its own advice is not to verify.
        message = message.replacing(
          "; Either provide the file or change sslmode to disable server certificate verification.",
          with: "; name another file with sslrootcert, or leave it out for the certificates of this machine")
      }
      if message.contains("certificate verify failed") {
        message += "; the server's certificate is not signed by sslrootcert, has ended, or is not valid yet"
      }
      throw PostgresError(state: nil, message: message, isLost: true)
    }
    PQsetClientEncoding(connection, "UTF8")
    PQsetNoticeProcessor(connection, { _, _ in }, nil)
    // Sending waits for nobody either.
    PQsetnonblocking(connection, 1)
    if words.isElsewhere, PQsslInUse(connection) == 0 {
      throw PostgresError(
        state: nil, message: "the connection to another machine is not encrypted, allowed is sslmode=verify-full",
        isLost: true)
    }
  }

  /// Why nothing can be written by a connection, and what to do.
  static func readOnly(_ role: String) -> String {
    "it takes no writes: it is a standby, or its role is read only, and then: "
      + "ALTER ROLE \(role.isEmpty ? "NAME" : quoted(role)) SET default_transaction_read_only = off"
  }

  deinit {
    Self.closing.wait()
    PQfinish(connection)
    Self.closing.signal()
  }

  /// Held while a connection is closed. The end of the process waits for it and keeps it: what libpq uses is taken down then, and no
  /// thread may be in it.
  private static let closing = DispatchSemaphore(value: 1)
  private static let waitsAtEnd: Bool = atexit { PostgresConnection.closing.wait() } == 0

  /// Whether it can be used for another transaction.
  var isIdle: Bool {
    !isGivenUp && PQstatus(connection) == CONNECTION_OK && PQtransactionStatus(connection) == PQTRANS_IDLE
  }

  /// The number of the server's process, as whoever we are connected to said it.
  var statedNumber: Int { Int(PQbackendPID(connection)) }

  var serverVersion: Int { Int(PQserverVersion(connection)) }

  /// Runs one statement with its parameters.
  func execute(_ sql: String, _ values: [PostgresValue]) throws -> PostgresResult {
    var room: [UInt8] = []
    var types: [UInt32] = []
    var places: [(start: Int, count: Int)?] = []
    for value in values {
      types.append(value.type)
      let start = room.count
      places.append(value.encode(into: &room).map { (start, $0) })
    }
    // An empty value has an address, too.
    room.append(0)
    return try room.withUnsafeBytes { bytes in
      let pointers = places.map { place in
        place.flatMap { bytes.baseAddress?.advanced(by: $0.start).assumingMemoryBound(to: CChar.self) }
      }
      let lengths = places.map { Int32(truncatingIfNeeded: $0?.count ?? 0) }
      let formats = [Int32](repeating: 1, count: values.count)
      return try answer {
        PQsendQueryParams(connection, sql, Int32(values.count), types, pointers, lengths, formats, 1)
      }
    }
  }

  /// Runs statements without parameters, in one round trip. The text is ours alone.
  ///
  /// - Returns: what the last one gave, as texts.
  @discardableResult
  func script(_ sql: String) throws -> PostgresResult { try answer { PQsendQuery(connection, sql) } }

  private func answer(to send: () -> Int32) throws -> PostgresResult {
    guard !isGivenUp else { throw Self.silence }
    return try check(send() == 1 ? try wait(until: patience.map { ContinuousClock.now + .seconds($0) }) : nil)
  }

  /// Waits for all that the server answers.
  ///
  /// - Returns: the last of it; `nil` where the connection is lost.
  private func wait(until end: ContinuousClock.Instant?) throws -> OpaquePointer? {
    var last: OpaquePointer?
    while true {
      // What is not sent yet goes when there is room for it; the server may say something before.
      let unsent = PQflush(connection)
      while unsent == 0, PQisBusy(connection) == 0 {
        guard let next = PQgetResult(connection) else { return last }
        if let last { PQclear(last) }
        last = next
      }
      guard isReady(toSend: unsent > 0, until: end) else {
        if let last { PQclear(last) }
        isGivenUp = true
        haste.noteSilence()
        throw Self.silence
      }
      // What the server said before it went says more than that it has gone.
      guard unsent >= 0, PQconsumeInput(connection) == 1 else {
        guard let said = last, [PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(said)) else { return last }
        // That an earlier statement was done says nothing of the last one.
        PQclear(said)
        return nil
      }
    }
  }

  /// Whether something came, or can be sent, before the end.
  private func isReady(toSend isSending: Bool, until end: ContinuousClock.Instant?) -> Bool {
    var entry = pollfd(
      fd: PQsocket(connection), events: Int16(POLLIN) | (isSending ? Int16(POLLOUT) : 0), revents: 0)
    let begun = ContinuousClock.now
    while true {
      // What comes after that is quick, or is not answered at all.
      let ends = [end, haste.end.map { max($0, begun + haste.least) }].compactMap(\.self)
      let left = ends.min().map { (ContinuousClock.now.duration(to: $0) / .milliseconds(1)).rounded(.up) } ?? 1e9
      // That the process ends, nobody says to who waits.
      let count = poll(&entry, 1, Int32(min(max(0, left), 500)))
      // What is wrong with the socket, libpq says.
      if count > 0 || count < 0 && errno != EINTR { return true }
      if left <= 0 { return false }
    }
  }

  private static let silence = PostgresError(
    state: nil, message: "the server does not answer: it is stopped, or its machine is", isLost: true)

  private func check(_ result: OpaquePointer?) throws -> PostgresResult {
    guard let result else {
      throw PostgresError(state: nil, message: Self.firstLine(PQerrorMessage(connection)), isLost: true)
    }
    switch PQresultStatus(result) {
    case PGRES_TUPLES_OK, PGRES_COMMAND_OK: return PostgresResult(result)
    default:
      defer { PQclear(result) }
      let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
      let message = PQresultErrorField(result, Int32(UInt8(ascii: "M")))
      let isGone =
        state.map { $0.hasPrefix("08") || ["57P01", "57P02", "57P03", "25P03", "57P05"].contains($0) } ?? true
      throw PostgresError(
        state: state, message: Self.firstLine(message ?? PQresultErrorMessage(result)),
        isLost: isGone || PQstatus(connection) == CONNECTION_BAD)
    }
  }

  private static func firstLine(_ text: UnsafePointer<CChar>?) -> String {
    oneLine(text.map { String(cString: $0) } ?? "")
  }

  /// All lines in one, each once: where a connection is tried with TLS and without, both are refused for the same reason.
  static func oneLine(_ text: String) -> String {
    var lines: [Substring] = []
    for line in text.split(separator: "\n").map({ $0.trimmingPrefix { $0.isWhitespace } }) where !lines.contains(line) {
      lines.append(line)
    }
    return lines.isEmpty ? "the connection failed" : lines.joined(separator: "; ")
  }

  private static func withTexts<Result>(
    _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
  ) -> Result {
    let copies = texts.map { Array($0.utf8CString) }
    func open(_ index: Int, _ pointers: [UnsafePointer<CChar>?]) -> Result {
      guard index < copies.count else {
        return (pointers + [nil]).withUnsafeBufferPointer { buffer in
          // It has one element at least.
          guard let start = buffer.baseAddress else { preconditionFailure("a list with an end has an address") }
          return body(start)
        }
      }
      return copies[index].withUnsafeBufferPointer { open(index + 1, pointers + [$0.baseAddress]) }
    }
    return open(0, [])
  }
}

extension PostgresConnection {
  func rows(_ sql: String, _ arguments: any PostgresArgument...) throws -> [PostgresRow] {
    try execute(sql, arguments.map(\.postgresValue)).rows
  }

  func row(_ sql: String, _ arguments: any PostgresArgument...) throws -> PostgresRow? {
    try execute(sql, arguments.map(\.postgresValue)).rows.first
  }

  /// The first column of the first row.
  func value<Value: PostgresReadable>(_ sql: String, _ arguments: any PostgresArgument...) throws -> Value? {
    let value: Value?? = try execute(sql, arguments.map(\.postgresValue)).rows.first.map { row in try row[0] as Value? }
    return value ?? nil
  }

  /// - Returns: how many rows it wrote.
  @discardableResult
  func run(_ sql: String, _ arguments: any PostgresArgument...) throws -> Int {
    try execute(sql, arguments.map(\.postgresValue)).changes
  }
}
