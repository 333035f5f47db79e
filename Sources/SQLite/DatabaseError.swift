internal import CSQLite

/// What SQLite says when it does not do what it was asked for.
package struct DatabaseError: Error, Hashable, CustomStringConvertible {
  /// The whole code, of which the lowest byte is the kind.
  package let extendedResultCode: ResultCode
  /// SQLite's own words, in English; `nil` where it has none.
  package let message: String?

  /// The kind of the error.
  package var resultCode: ResultCode { extendedResultCode.primary }

  package init(resultCode: ResultCode, message: String? = nil) {
    extendedResultCode = resultCode
    self.message = message
  }

  package var description: String { message ?? resultCode.description }
}

/// A result code of SQLite, as its documentation numbers them.
package struct ResultCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  package let rawValue: Int32

  package init(rawValue: Int32) { self.rawValue = rawValue }

  /// The same without what it says more exactly.
  package var primary: ResultCode { ResultCode(rawValue: rawValue & 0xff) }

  package var description: String { String(cString: sqlite3_errstr(rawValue)) }

  package static let error = ResultCode(rawValue: SQLITE_ERROR)
  package static let busy = ResultCode(rawValue: SQLITE_BUSY)
  package static let locked = ResultCode(rawValue: SQLITE_LOCKED)
  package static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
  package static let interrupted = ResultCode(rawValue: SQLITE_INTERRUPT)
  package static let inputOutput = ResultCode(rawValue: SQLITE_IOERR)
  package static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
  package static let full = ResultCode(rawValue: SQLITE_FULL)
  package static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
  package static let constraint = ResultCode(rawValue: SQLITE_CONSTRAINT)
  /// A value of another kind than is read.
  package static let mismatch = ResultCode(rawValue: SQLITE_MISMATCH)
  package static let misuse = ResultCode(rawValue: SQLITE_MISUSE)
  package static let range = ResultCode(rawValue: SQLITE_RANGE)
  package static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)
}
