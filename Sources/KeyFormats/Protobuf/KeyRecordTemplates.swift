import ExposureKeys

/// The fast path for key records: most files repeat a handful of layouts, so a record is compared as a whole with
/// the last layout seen for its length.
///
/// A template covers records that begin with sixteen bytes of key data and then hold at most sixteen bytes of number
/// fields, each of at most four varint bytes. Two masked 64-bit comparisons prove that every tag and every
/// continuation bit stands where the template says; the values are then gathered without a branch. Whatever does not
/// match is read by ``KeyMessageReader``, and if it could have been a template, becomes one.
struct KeyRecordTemplates {
  /// Bytes of the record in front of the number fields: tag, length, key data's tag and length, key data.
  static let prefix = 20
  /// How far a template may look: sixteen bytes of number fields, and four bytes from the last of them.
  static let reach = prefix + 20

  /// One layout.
  struct Template {
    var mask: (UInt64, UInt64) = (0, 0)
    /// No bytes can match a pattern outside its mask, so a fresh template matches nothing.
    var pattern: (UInt64, UInt64) = (1, 0)
    var fields: KeyFields = []
    // Where each value stands behind the prefix, and which of its 28 bits belong to it.
    var transmissionRisk = Place()
    var rollingStart = Place()
    var rollingPeriod = Place()
    var reportType = Place()
    var daysSinceOnset = Place()
  }

  struct Place {
    var offset: UInt8 = 0
    var mask: UInt32 = 0
  }

  private let layout: KeyMessageLayout
  /// Indexed by the length byte of the record: 18...34.
  private var templates = [Template](repeating: Template(), count: 64)

  init(_ layout: KeyMessageLayout) { self.layout = layout }

  /// Reads records from `start` on into `keys`, as long as they match a template.
  ///
  /// - Parameters:
  ///   - bytes: what is in memory. Records are only read while ``reach`` bytes remain.
  ///   - tag: the tag byte of a record; `revisedTag` that of a revised key, 0 where the format has none.
  /// - Returns: how many bytes were read.
  @inline(__always)
  func read(
    _ bytes: UnsafeRawBufferPointer, tag: UInt8, revisedTag: UInt8, into keys: inout KeyBuffer
  ) -> Int {
    guard let base = bytes.baseAddress, bytes.count >= Self.reach else { return 0 }
    var consumed = 0
    let last = bytes.count - Self.reach
    templates.withUnsafeBufferPointer { templates in
      guard let layouts = templates.baseAddress else { return }
      keys.appendDirectly { room in
        var written = 0
        while written < room.count, consumed <= last {
          let record = base + consumed
          let head = UInt32(littleEndian: record.loadUnaligned(as: UInt32.self))
          let first = UInt8(truncatingIfNeeded: head)
          let length = Int(head >> 8 & 0xff)
          // Key data first, sixteen bytes of it, in a record short enough for a template.
          guard head >> 16 == 0x100a, length < 64, first == tag || (first == revisedTag && revisedTag != 0) else {
            break
          }
          let template = layouts + length
          let low = UInt64(littleEndian: record.loadUnaligned(fromByteOffset: Self.prefix, as: UInt64.self))
          let high = UInt64(littleEndian: record.loadUnaligned(fromByteOffset: Self.prefix + 8, as: UInt64.self))
          guard low & template.pointee.mask.0 == template.pointee.pattern.0,
            high & template.pointee.mask.1 == template.pointee.pattern.1
          else { break }
          let values = record + Self.prefix
          room.initializeElement(
            at: written,
            to: ClaimedKey(
              key: TemporaryExposureKey(loadingFrom: record + 4),
              rollingStartWord: Int32(bitPattern: gather(values, template.pointee.rollingStart)),
              rollingPeriodWord: Int32(bitPattern: gather(values, template.pointee.rollingPeriod)),
              transmissionRiskWord: Int32(bitPattern: gather(values, template.pointee.transmissionRisk)),
              reportTypeWord: Int32(bitPattern: gather(values, template.pointee.reportType)),
              daysSinceOnsetWord: zigZagDecoded(gather(values, template.pointee.daysSinceOnset)),
              fields: first == tag ? template.pointee.fields : template.pointee.fields.union(.revised)))
          written += 1
          consumed += 2 + length
        }
        return written
      }
    }
    return consumed
  }

  /// A varint of up to four bytes, whose seven-bit groups are moved together. The mask drops what is not its own.
  @inline(__always)
  private func gather(_ values: UnsafeRawPointer, _ place: Place) -> UInt32 {
    // Offsets are below 16, so the load stays inside the reach.
    let word = UInt32(littleEndian: values.loadUnaligned(fromByteOffset: Int(place.offset), as: UInt32.self))
    let value = word & 0x7f | word >> 1 & 0x3f80 | word >> 2 & 0x1f_c000 | word >> 3 & 0xfe0_0000
    return value & place.mask
  }

  /// Makes a template of a record that the general reader has accepted, if its layout allows one.
  /// `message` is the record without its tag and length.
  mutating func learn(_ message: UnsafeRawBufferPointer) {
    guard message.count >= 18, message.count <= 34, message[0] == 0x0a, message[1] == 0x10 else { return }
    var template = Template()
    template.pattern = (0, 0)
    var mask = [UInt8](repeating: 0, count: 16)
    var pattern = [UInt8](repeating: 0, count: 16)
    var offset = 0
    let tail = UnsafeRawBufferPointer(rebasing: message[18...])
    while offset < tail.count {
      let tag = tail[offset]
      mask[offset] = 0xff
      pattern[offset] = tag
      guard tag & 0x87 == 0 else { return }
      offset += 1
      let start = offset
      repeat {
        guard offset < tail.count, offset - start < 4 else { return }
        mask[offset] = 0x80
        pattern[offset] = tail[offset] & 0x80
        offset += 1
      } while tail[offset - 1] & 0x80 != 0
      let place = Place(offset: UInt8(start), mask: UInt32(1) << UInt32(7 * (offset - start)) &- 1)
      switch layout.meaning(of: UInt32(tag >> 3)) {
      case .transmissionRisk where !template.fields.contains(.transmissionRisk):
        template.transmissionRisk = place
        template.fields.insert(.transmissionRisk)
      case .rollingStart where !template.fields.contains(.rollingStart):
        template.rollingStart = place
        template.fields.insert(.rollingStart)
      case .rollingPeriod where !template.fields.contains(.rollingPeriod):
        template.rollingPeriod = place
        template.fields.insert(.rollingPeriod)
      case .reportType where !template.fields.contains(.reportType):
        template.reportType = place
        template.fields.insert(.reportType)
      case .daysSinceOnset where !template.fields.contains(.daysSinceOnset):
        template.daysSinceOnset = place
        template.fields.insert(.daysSinceOnset)
      default: return
      }
    }
    template.fields.formUnion(layout.implied)
    template.mask = words(mask)
    template.pattern = words(pattern)
    templates[message.count] = template
  }

  private func words(_ bytes: [UInt8]) -> (UInt64, UInt64) {
    bytes.withUnsafeBytes {
      (
        UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)),
        UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
  }
}
