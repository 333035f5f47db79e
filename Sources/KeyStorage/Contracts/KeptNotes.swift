package import ExposureKeys
internal import FoundationEssentials

extension PublishingState {
  /// What the gateway's clock has seen; `nil` in a new store.
  package func clockRecord() throws -> ClockJudge.Record? { try decoded(.clock) }

  /// The operator's last word about the clock.
  package func clockWord() throws -> ClockWord? { try decoded(.clockWord) }

  /// Which keys were erased, and when.
  package func erasures() throws -> Erasures { try decoded(.erasures) ?? Erasures() }

  private func decoded<Value: Decodable>(_ note: StoredNote) throws -> Value? {
    guard let bytes = try self.note(note) else { return nil }
    do {
      return try JSONDecoder().decode(Value.self, from: Data(bytes))
    } catch {
      throw StorageFault(.corrupt, "the note \(note.name) cannot be read")
    }
  }
}

/// Keys that were erased: the SHA-256 of each in lower-case hexadecimal, and when.
package struct Erasures: Hashable, Sendable, Codable {
  package var moments: [String: Instant] = [:]

  package init() {}
}

func encoded(_ value: some Encodable) throws -> [UInt8] {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys]
  return Array(try encoder.encode(value))
}
