import ExposureKeys

/// The fast path for key records: most files repeat a handful of layouts, so a record is compared as a whole with the
/// layouts seen before for its length.
///
/// Whatever matches none of them is read by ``KeyMessageReader``, and if it can be a ``KeyRecordTemplate``, becomes one.
struct KeyRecordTemplates {
  /// How far reading a record may look: its tag and length, its message, and a load at the last byte of that.
  private static let reach = 2 + KeyRecordTemplate.longest + 4
  /// When there are more, all are forgotten: such a file has no handful of layouts.
  private static let limit = 64

  private let layout: KeyMessageLayout
  /// The first stands for "none": its number ends every list.
  private var templates = [KeyRecordTemplate()]
  /// By the length byte of the record: the template of that length that was learned last. The others follow by `next`.
  private var latest = [UInt8](repeating: 0, count: 256)

  init(_ layout: KeyMessageLayout) { self.layout = layout }

  /// Reads records from the start of `bytes` on, as long as they match a template.
  ///
  /// - Parameters:
  ///   - bytes: what is in memory. The last few records are left to the general reader.
  ///   - tag: the tag byte of a record; `revisedTag` that of a revised key, 0 where the format has none.
  ///   - unknownBytes: how many bytes of unknown fields there may be before the next record is read.
  /// - Returns: how many bytes were read.
  func read(
    _ bytes: UnsafeRawBufferPointer, tag: UInt8, revisedTag: UInt8, into keys: inout KeyBuffer,
    unknownFields: inout UnknownFieldTable, unknownBytes: Int
  ) -> Int {
    guard let base = bytes.baseAddress, bytes.count >= Self.reach else { return 0 }
    let last = base + (bytes.count - Self.reach)
    let revisedTag = revisedTag == 0 ? tag : revisedTag
    var record = base
    templates.withUnsafeBufferPointer { templates in
      latest.withUnsafeBufferPointer { latest in
        guard let templates = templates.baseAddress, let latest = latest.baseAddress else { return }
        keys.appendDirectly { room in
          guard let place = room.baseAddress else { return 0 }
          var written = 0
          records: while written < room.count, record <= last {
            let head = record.loadUnaligned(as: UInt16.self).littleEndian
            let first = UInt8(truncatingIfNeeded: head)
            let length = Int(head >> 8)
            guard first == tag || first == revisedTag else { break }
            var number = Int(latest[length])
            while number != 0, !templates[number].matches(record + 2) { number = Int(templates[number].next) }
            guard number != 0 else { break }
            // What a run of records of one layout needs stays in registers.
            let front = templates[number].front
            let back = templates[number].back
            let middleCount = templates[number].middleCount
            let unknownCount = templates[number].unknownCount
            let values = templates[number].values.revised(first != tag)
            repeat {
              let message = record + 2
              var unknown: UInt32 = 0
              if unknownCount != 0 {
                guard unknownFields.byteCount <= unknownBytes else { break records }
                unknown = unknownFields.append(templates[number].unknownFields(in: message))
              }
              (place + written).initialize(to: values.read(message, unknownFields: unknown))
              written += 1
              record = message + length
            } while written < room.count && record <= last
              && record.loadUnaligned(as: UInt16.self).littleEndian == head
              && front.matches(record + 2, with: back)
              && (middleCount == 0 || templates[number].middleMatches(record + 2))
          }
          return written
        }
      }
    }
    return record - base
  }

  /// Makes a template of a message that the general reader has accepted as `claim`, if its layout allows one.
  mutating func learn(_ message: UnsafeRawBufferPointer, as claim: ClaimedKey) {
    guard let base = message.baseAddress, message.count <= KeyRecordTemplate.longest else { return }
    // The last records of a window have a template already.
    var known = latest[message.count]
    while known != 0 {
      if templates[Int(known)].matches(base) { return }
      known = templates[Int(known)].next
    }
    guard var template = KeyRecordTemplate(message, layout, claim) else { return }
    if templates.count == Self.limit {
      templates.removeLast(templates.count - 1)
      for length in latest.indices { latest[length] = 0 }
    }
    template.next = latest[message.count]
    latest[message.count] = UInt8(templates.count)
    templates.append(template)
  }
}
