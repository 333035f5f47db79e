import FoundationEssentials
import KeyStorage
import SQLite

/// Lists and counts that are columns of text.
enum JSONColumn {
  static func encode(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  static func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    do {
      let value = try JSONDecoder().decode(type, from: Data(text.utf8))
      // As a column that is a count.
      if let counts = value as? [String: Int], counts.values.contains(where: { Int(.int64(Int64($0))) == nil }) {
        throw StorageFault(.corrupt, "a count in the store is beyond what can be counted")
      }
      return value
    } catch let fault as StorageFault {
      throw fault
    } catch {
      throw StorageFault(
        .corrupt,
        "a list or counts in the store cannot be read: \(text.count) characters that are not the JSON that was written")
    }
  }
}
