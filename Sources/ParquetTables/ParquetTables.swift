public import KeyTables

/// Writes each table as an Apache Parquet file of its own.
public final class ParquetTables: TableStore {
  private let creator: String
  private let open: (_ table: String) throws -> ([UInt8]) throws -> Void
  private var writers: [ParquetWriter] = []

  /// - Parameters:
  ///   - creator: what writes the files, with its version.
  ///   - open: makes the file of a table, and returns what takes its bytes.
  public init(creator: String, open: @escaping (_ table: String) throws -> ([UInt8]) throws -> Void) {
    self.creator = creator
    self.open = open
  }

  public func table(_ description: TableDescription) throws -> any TableRows {
    let writer = try ParquetWriter(description, creator: creator, write: try open(description.name))
    writers.append(writer)
    return writer
  }

  public func finish() throws { for writer in writers { try writer.finish() } }
}
