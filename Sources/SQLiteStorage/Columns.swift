import ExposureKeys
import Foundation
import GRDB
import GRDBSQLite
import KeyStorage

extension Row {
  func time(_ column: String) -> Instant { Instant(secondsSince1970: self[column]) }

  func optionalTime(_ column: String) -> Instant? {
    let seconds: Int64? = self[column]
    return seconds.map(Instant.init(secondsSince1970:))
  }

  func bytes(_ column: String) -> [UInt8] {
    let data: Data = self[column]
    return Array(data)
  }

  func bytesIfAny(_ column: String) -> [UInt8]? {
    let data: Data? = self[column]
    return data.map(Array.init)
  }

  var fault: DocumentFault? {
    guard let code: String = self["fault_code"], let reason: String = self["fault_reason"] else { return nil }
    return DocumentFault(code: FaultCode(rawValue: code), reason: reason)
  }

  /// Who of the operators did it, and why; `nil` where nobody says so.
  var word: OperatorWord? {
    let who: String? = self["who"]
    return who.map { OperatorWord(by: $0, reason: self["why"]) }
  }

  /// A column whose allowed texts the schema lists.
  func choice<Choice: RawRepresentable>(_ column: String) throws -> Choice where Choice.RawValue == String {
    let text: String = self[column]
    guard let choice = Choice(rawValue: text) else {
      throw StorageFault(.corrupt, "\(column) \(text) is none that a store has")
    }
    return choice
  }
}

extension Database {
  /// The bytes in the first column of the first row.
  func bytes(_ sql: String, _ arguments: StatementArguments) throws -> [UInt8]? {
    try Data.fetchOne(self, sql: sql, arguments: arguments).map(Array.init)
  }
}

/// Bytes as an argument.
struct Bytes: DatabaseValueConvertible {
  private let content: [UInt8]

  init(_ content: [UInt8]) { self.content = content }

  var databaseValue: DatabaseValue { Data(content).databaseValue }

  static func fromDatabaseValue(_ value: DatabaseValue) -> Bytes? {
    Data.fromDatabaseValue(value).map { Bytes(Array($0)) }
  }
}
