import KeyStorage

/// A parameter of a statement, with its type: also NULL has one. All go in binary, and none is ever a part of the text.
enum PostgresValue: Sendable {
  case int(Int64?)
  case text(String?)
  case bytes([UInt8]?)
  case ints([Int64?])
  case texts([String?])
  case blobs([[UInt8]?])

  /// The number of its type: int8, text, bytea, and their arrays.
  var type: UInt32 {
    switch self {
    case .int: 20
    case .text: 25
    case .bytes: 17
    case .ints: 1016
    case .texts: 1009
    case .blobs: 1001
    }
  }

  /// Adds its bytes as PostgreSQL takes them.
  ///
  /// - Returns: how many there are; `nil` is NULL.
  func encode(into room: inout [UInt8]) -> Int? {
    let before = room.count
    switch self {
    case .int(nil), .text(nil), .bytes(nil): return nil
    case .int(let number?): room.append(bigEndian: number)
    case .text(let text?): room.append(contentsOf: text.utf8)
    case .bytes(let bytes?): room.append(contentsOf: bytes)
    case .ints(let numbers): Self.encode(numbers, of: 20, into: &room) { $0.append(bigEndian: $1) }
    case .texts(let texts): Self.encode(texts, of: 25, into: &room) { $0.append(contentsOf: $1.utf8) }
    case .blobs(let blobs): Self.encode(blobs, of: 17, into: &room) { $0.append(contentsOf: $1) }
    }
    return room.count - before
  }

  /// One dimension that begins with 1; an empty array has none.
  private static func encode<Element>(
    _ elements: [Element?], of type: UInt32, into room: inout [UInt8], _ append: (inout [UInt8], Element) -> Void
  ) {
    room.append(bigEndian: Int32(elements.isEmpty ? 0 : 1))
    room.append(bigEndian: Int32(elements.contains { $0 == nil } ? 1 : 0))
    room.append(bigEndian: Int32(bitPattern: type))
    if elements.isEmpty { return }
    room.append(bigEndian: Int32(truncatingIfNeeded: elements.count))
    room.append(bigEndian: Int32(1))
    for element in elements {
      guard let element else {
        room.append(bigEndian: Int32(-1))
        continue
      }
      let place = room.count
      room.append(bigEndian: Int32(0))
      append(&room, element)
      let length = Int32(truncatingIfNeeded: room.count - place - 4)
      withUnsafeBytes(of: length.bigEndian) { for index in 0..<4 { room[place + index] = $0[index] } }
    }
  }
}

extension [UInt8] {
  fileprivate mutating func append(bigEndian number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
  }
}

/// What can stand for a parameter.
protocol PostgresArgument {
  var postgresValue: PostgresValue { get }
  static var null: PostgresValue { get }
}

extension PostgresValue: PostgresArgument {
  var postgresValue: PostgresValue { self }
  static var null: PostgresValue { .text(nil) }
}

extension Int64: PostgresArgument {
  var postgresValue: PostgresValue { .int(self) }
  static var null: PostgresValue { .int(nil) }
}

extension Int: PostgresArgument {
  var postgresValue: PostgresValue { .int(Int64(self)) }
  static var null: PostgresValue { .int(nil) }
}

extension Int32: PostgresArgument {
  var postgresValue: PostgresValue { .int(Int64(self)) }
  static var null: PostgresValue { .int(nil) }
}

/// As the embedded store has it: 0 or 1.
extension Bool: PostgresArgument {
  var postgresValue: PostgresValue { .int(self ? 1 : 0) }
  static var null: PostgresValue { .int(nil) }
}

extension String: PostgresArgument {
  var postgresValue: PostgresValue { .text(self) }
  static var null: PostgresValue { .text(nil) }
}

extension [UInt8]: PostgresArgument {
  var postgresValue: PostgresValue { .bytes(self) }
  static var null: PostgresValue { .bytes(nil) }
}

extension Optional: PostgresArgument where Wrapped: PostgresArgument {
  var postgresValue: PostgresValue { self?.postgresValue ?? Wrapped.null }
  static var null: PostgresValue { Wrapped.null }
}
