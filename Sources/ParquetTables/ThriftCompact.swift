/// Writes structures in the compact protocol of Apache Thrift, as far as Parquet's headers need it.
///
/// Source: the protocol's description in the Thrift repository, `thrift-compact-protocol.md`.
struct ThriftCompact {
  private(set) var bytes: [UInt8] = []
  private var lastField: Int16 = 0
  private var outerFields: [Int16] = []

  enum FieldType: UInt8 {
    case int32 = 5
    case int64 = 6
    case binary = 8
    case list = 9
    case structure = 12
  }

  mutating func field(_ number: Int16, _ value: Int32) {
    begin(number, .int32)
    zigzag(Int64(value))
  }

  mutating func field(_ number: Int16, _ value: Int64) {
    begin(number, .int64)
    zigzag(value)
  }

  mutating func field(_ number: Int16, _ text: String) {
    begin(number, .binary)
    binary(text)
  }

  mutating func field(_ number: Int16, _ body: (inout ThriftCompact) -> Void) {
    begin(number, .structure)
    structure(body)
  }

  mutating func field(_ number: Int16, _ values: [Int32]) {
    list(number, of: .int32, values) { $0.zigzag(Int64($1)) }
  }

  mutating func field(_ number: Int16, _ texts: [String]) { list(number, of: .binary, texts) { $0.binary($1) } }

  mutating func field<Element>(
    _ number: Int16, structures: [Element], _ body: (inout ThriftCompact, Element) -> Void
  ) {
    list(number, of: .structure, structures) { thrift, element in thrift.structure { body(&$0, element) } }
  }

  /// A structure as a whole: its fields, and the end.
  mutating func structure(_ body: (inout ThriftCompact) -> Void) {
    outerFields.append(lastField)
    lastField = 0
    body(&self)
    bytes.append(0)
    lastField = outerFields.removeLast()
  }

  private mutating func list<Element>(
    _ number: Int16, of type: FieldType, _ elements: [Element], _ write: (inout ThriftCompact, Element) -> Void
  ) {
    begin(number, .list)
    if elements.count < 15 {
      bytes.append(UInt8(elements.count) << 4 | type.rawValue)
    } else {
      bytes.append(0xF0 | type.rawValue)
      varint(UInt64(elements.count))
    }
    for element in elements { write(&self, element) }
  }

  private mutating func begin(_ number: Int16, _ type: FieldType) {
    let step = number - lastField
    if (1...15).contains(step) {
      bytes.append(UInt8(step) << 4 | type.rawValue)
    } else {
      bytes.append(type.rawValue)
      zigzag(Int64(number))
    }
    lastField = number
  }

  private mutating func binary(_ text: String) {
    varint(UInt64(text.utf8.count))
    bytes += text.utf8
  }

  private mutating func zigzag(_ value: Int64) { varint(UInt64(bitPattern: (value << 1) ^ (value >> 63))) }

  private mutating func varint(_ value: UInt64) { bytes.appendVarint(value) }
}

extension [UInt8] {
  /// Seven bits a byte, the lowest first.
  mutating func appendVarint(_ value: UInt64) {
    var value = value
    while value >= 0x80 {
      append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    append(UInt8(value))
  }

  mutating func appendLittleEndian(_ value: some FixedWidthInteger) {
    for byte in 0..<value.bitWidth / 8 { append(UInt8(truncatingIfNeeded: value >> (8 * byte))) }
  }
}
