internal import KeyTables

/// Writes a table as an Apache Parquet file, group by group, in the memory of one group.
///
/// Pages are not compressed; dictionaries and runs make them small. Every reader of Parquet 1.0 takes them.
///
/// Source: the format's description and `parquet.thrift` in the Parquet format repository.
final class ParquetWriter: TableRows {
  /// Rows of a group: readers skip and share the work by groups.
  static let rowsPerGroup = 122_880

  private let parts: [ParquetColumn]
  var columns: [any TableColumn] { parts }

  private let write: ([UInt8]) throws -> Void
  private let creator: String
  private var offset: Int64 = 0
  private var rows: Int64 = 0
  private var groups: [Group] = []

  private struct Group {
    var rows: Int64
    var chunks: [ChunkPlace] = []
  }

  /// Where the pages of a column lie in the file.
  fileprivate struct ChunkPlace {
    var begin: Int64
    var dictionaryOffset: Int64?
    var dataOffset: Int64
    var bytes: Int64 = 0
  }

  /// - Parameters:
  ///   - description: the table.
  ///   - creator: what wrote the file, with its version.
  ///   - write: takes the next bytes of the file.
  /// - Throws: what `write` throws.
  init(_ description: TableDescription, creator: String, write: @escaping ([UInt8]) throws -> Void) throws {
    parts = description.columns.map(ParquetColumn.init)
    precondition(!parts.isEmpty && Set(parts.map(\.name)).count == parts.count, "columns have names of their own")
    self.creator = creator
    self.write = write
    try put(Self.magic)
  }

  private static let magic = Array("PAR1".utf8)

  /// Ends a row: every column has been given its value. A full group is written.
  func endRow() throws {
    if parts[0].count >= Self.rowsPerGroup { try endGroup() }
  }

  /// Writes what is left, and the description of the file.
  func finish() throws {
    if parts[0].count > 0 { try endGroup() }
    var thrift = ThriftCompact()
    thrift.structure { file in
      file.field(1, Int32(1))
      file.field(2, structures: [nil] + parts.map(Optional.some)) { $0.describe($1, of: parts.count) }
      file.field(3, rows)
      file.field(4, structures: groups) { thrift, group in
        thrift.field(1, structures: Array(zip(parts, group.chunks))) { $0.describe($1.0, $1.1, rows: group.rows) }
        thrift.field(2, group.chunks.reduce(0) { $0 + $1.bytes })
        thrift.field(3, group.rows)
      }
      file.field(6, creator)
    }
    var end = thrift.bytes
    end.appendLittleEndian(UInt32(thrift.bytes.count))
    try put(end + Self.magic)
  }

  private func endGroup() throws {
    var group = Group(rows: Int64(parts[0].count))
    for column in parts {
      precondition(column.count == Int(group.rows), "\(column.name) has \(column.count) rows of \(group.rows)")
      let begin = offset
      let count = column.count
      let pages = column.takePages()
      var chunk = ChunkPlace(begin: begin, dataOffset: begin)
      if let dictionary = pages.dictionary {
        chunk.dictionaryOffset = begin
        try putPage(dictionary, of: PageType.dictionary) { header in
          header.field(7) { thrift in
            thrift.field(1, Int32(pages.dictionaryCount))
            thrift.field(2, Encoding.plain)
          }
        }
      }
      chunk.dataOffset = offset
      try putPage(pages.data, of: PageType.data) { header in
        header.field(5) { thrift in
          thrift.field(1, Int32(count))
          thrift.field(2, pages.dictionary == nil ? Encoding.plain : Encoding.dictionary)
          thrift.field(3, Encoding.runs)
          thrift.field(4, Encoding.runs)
        }
      }
      chunk.bytes = offset - begin
      group.chunks.append(chunk)
    }
    rows += group.rows
    groups.append(group)
  }

  private func putPage(_ page: [UInt8], of type: Int32, _ details: (inout ThriftCompact) -> Void) throws {
    var thrift = ThriftCompact()
    thrift.structure { header in
      header.field(1, type)
      header.field(2, Int32(page.count))
      header.field(3, Int32(page.count))
      details(&header)
    }
    try put(thrift.bytes)
    try put(page)
  }

  private func put(_ bytes: [UInt8]) throws {
    try write(bytes)
    offset += Int64(bytes.count)
  }

  private enum PageType {
    static let data: Int32 = 0
    static let dictionary: Int32 = 2
  }

  fileprivate enum Encoding {
    static let plain: Int32 = 0
    static let runs: Int32 = 3
    static let dictionary: Int32 = 8
  }
}

extension ThriftCompact {
  /// An element of the schema; `nil` is its root.
  fileprivate mutating func describe(_ column: ParquetColumn?, of count: Int) {
    guard let column else {
      field(4, "schema")
      return field(5, Int32(count))
    }
    field(1, column.kind.physicalType)
    if case .bytes(let length) = column.kind { field(2, Int32(length)) }
    field(3, Int32(column.isOptional ? 1 : 0))
    field(4, column.name)
    if let converted = column.kind.convertedType { field(6, converted) }
  }

  fileprivate mutating func describe(_ column: ParquetColumn, _ chunk: ParquetWriter.ChunkPlace, rows: Int64) {
    field(2, chunk.begin)
    field(3) { thrift in
      thrift.field(1, column.kind.physicalType)
      thrift.field(
        2,
        chunk.dictionaryOffset == nil
          ? [ParquetWriter.Encoding.plain, ParquetWriter.Encoding.runs]
          : [ParquetWriter.Encoding.plain, ParquetWriter.Encoding.runs, ParquetWriter.Encoding.dictionary])
      thrift.field(3, [column.name])
      thrift.field(4, Int32(0))
      thrift.field(5, rows)
      thrift.field(6, chunk.bytes)
      thrift.field(7, chunk.bytes)
      thrift.field(9, chunk.dataOffset)
      if let offset = chunk.dictionaryOffset { thrift.field(11, offset) }
    }
  }
}

extension ColumnKind {
  fileprivate var physicalType: Int32 {
    switch self {
    case .boolean: 0
    case .int32: 1
    case .int64, .timestamp: 2
    case .text: 6
    case .bytes: 7
    }
  }

  /// What the value means.
  fileprivate var convertedType: Int32? {
    switch self {
    case .text: 0
    case .timestamp: 9
    case .boolean, .int32, .int64, .bytes: nil
    }
  }
}
