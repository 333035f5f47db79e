import ExposureKeys
import KeyStorage
import SQLite

extension Row {
  func time(_ column: String) throws -> Instant { Instant(secondsSince1970: try self[column]) }

  func optionalTime(_ column: String) throws -> Instant? {
    let seconds: Int64? = try self[column]
    return seconds.map(Instant.init(secondsSince1970:))
  }

  var fault: DocumentFault? {
    get throws {
      let (code, reason): (String?, String?) = (try self["fault_code"], try self["fault_reason"])
      guard let code, let reason else { return nil }
      return DocumentFault(code: FaultCode(rawValue: code), reason: reason)
    }
  }

  /// Who of the operators did it, and why; `nil` where nobody says so.
  var word: OperatorWord? {
    get throws {
      let who: String? = try self["who"]
      return try who.map { OperatorWord(by: $0, reason: try self["why"]) }
    }
  }

  /// A column whose allowed texts the schema lists.
  func choice<Choice: RawRepresentable>(_ column: String) throws -> Choice where Choice.RawValue == String {
    let text: String = try self[column]
    guard let choice = Choice(rawValue: text) else {
      throw StorageFault(
        .corrupt, "\(column) \(text.isEmpty ? "of no letter" : String(text.prefix(40))) is none that a store has")
    }
    return choice
  }
}
