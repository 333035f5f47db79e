import CPostgres
import Foundation
import KeyStorage

/// One connection of libpq, used by one thread. Every call blocks until the server has answered.
final class PostgresConnection {
  private let connection: OpaquePointer

  /// - Throws: ``PostgresError``.
  init(_ words: ConnectionWords, application: String) throws {
    let pairs = words.all(application: application)
    // Registered before anything of libpq is opened, and so run before that is taken down.
    _ = Self.waitsAtEnd
    // libpq takes two lists of texts that end with NULL, and copies them.
    let opened: OpaquePointer? = Self.withTexts(pairs.map(\.0)) { names in
      Self.withTexts(pairs.map(\.1)) { values in PQconnectdbParams(names, values, 0) }
    }
    guard let opened else { throw PostgresError(state: nil, message: "no memory for a connection", isLost: true) }
    connection = opened
    guard PQstatus(connection) == CONNECTION_OK else {
      throw PostgresError(state: nil, message: Self.firstLine(PQerrorMessage(connection)), isLost: true)
    }
    PQsetClientEncoding(connection, "UTF8")
    PQsetNoticeProcessor(connection, { _, _ in }, nil)
    if words.isElsewhere, PQsslInUse(connection) == 0 {
      throw PostgresError(
        state: nil, message: "the connection to another machine is not encrypted, allowed is sslmode=verify-full",
        isLost: true)
    }
  }

  deinit {
    Self.closing.lock()
    PQfinish(connection)
    Self.closing.unlock()
  }

  /// Held while a connection is closed. The end of the process waits for it and keeps it: what libpq uses is taken down then, and no
  /// thread may be in it.
  private static let closing = NSLock()
  private static let waitsAtEnd: Bool = atexit { PostgresConnection.closing.lock() } == 0

  /// Whether it can be used for another transaction.
  var isIdle: Bool { PQstatus(connection) == CONNECTION_OK && PQtransactionStatus(connection) == PQTRANS_IDLE }

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
      return try check(
        PQexecParams(connection, sql, Int32(values.count), types, pointers, lengths, formats, 1))
    }
  }

  /// Runs statements without parameters, in one round trip. The text is ours alone.
  ///
  /// - Returns: what the last one gave, as texts.
  @discardableResult
  func script(_ sql: String) throws -> PostgresResult { try check(PQexec(connection, sql)) }

  private func check(_ result: OpaquePointer?) throws -> PostgresResult {
    guard let result else {
      throw PostgresError(
        state: nil, message: Self.firstLine(PQerrorMessage(connection)), isLost: PQstatus(connection) == CONNECTION_BAD)
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
    let lines = text.map { String(cString: $0) } ?? ""
    let words = lines.split(separator: "\n").map { $0.trimmingPrefix { $0.isWhitespace } }.joined(separator: "; ")
    return words.isEmpty ? "the connection failed" : words
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

  func rows(_ sql: String, with arguments: [any PostgresArgument]) throws -> [PostgresRow] {
    try execute(sql, arguments.map(\.postgresValue)).rows
  }

  func row(_ sql: String, _ arguments: any PostgresArgument...) throws -> PostgresRow? {
    try execute(sql, arguments.map(\.postgresValue)).rows.first
  }

  func row(_ sql: String, with arguments: [any PostgresArgument]) throws -> PostgresRow? {
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

  @discardableResult
  func run(_ sql: String, with arguments: [any PostgresArgument]) throws -> Int {
    try execute(sql, arguments.map(\.postgresValue)).changes
  }
}
