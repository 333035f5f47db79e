/// Collects a small protobuf message: headers and signatures. Keys are written by their own hot loop.
struct ProtobufWriter {
  private(set) var bytes: [UInt8] = []

  mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  mutating func int32(_ number: UInt32, _ value: Int32?) {
    guard let value else { return }
    varint(UInt64(number << 3))
    varint(UInt64(bitPattern: Int64(value)))
  }

  mutating func fixed64(_ number: UInt32, _ value: UInt64?) {
    guard let value else { return }
    varint(UInt64(number << 3 | 1))
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func string(_ number: UInt32, _ value: String?) {
    guard let value else { return }
    data(number, value.utf8)
  }

  mutating func data(_ number: UInt32, _ value: some Collection<UInt8>) {
    varint(UInt64(number << 3 | 2))
    varint(UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  mutating func raw(_ encoded: some Collection<UInt8>) { bytes.append(contentsOf: encoded) }
}

func varintByteCount(_ value: UInt64) -> Int {
  max(1, (UInt64.bitWidth - value.leadingZeroBitCount + 6) / 7)
}

/// Writes a varint and returns the place behind it. The caller has made room for ten bytes.
@inline(__always)
func storeVarint(_ value: UInt64, _ place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
  var place = place
  var rest = value
  while rest >= 0x80 {
    place.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, as: UInt8.self)
    place += 1
    rest >>= 7
  }
  place.storeBytes(of: UInt8(truncatingIfNeeded: rest), as: UInt8.self)
  return place + 1
}

/// Writes a one-byte tag and a varint.
@inline(__always)
func storeField(_ tag: UInt8, _ value: UInt64, _ place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
  place.storeBytes(of: tag, as: UInt8.self)
  return storeVarint(value, place + 1)
}
