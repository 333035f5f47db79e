import GatewayTesting
import KeyFormats

/// Our CSV. pyarrow leaves key data as text.
let csvWorks = [
  Preparation("CSV, read") { count in
    let rows = try csvDocument(count)
    return [
      .ours { try decode(CSVKeyDecoder(InputWindow(MemorySource(rows)))) },
      try .peer("pyarrow, one thread", .pyarrow, reach: 8, input: rows),
    ]
  },
  Preparation("CSV, write") { count in
    let document = try DecodedDocument(decoding: CSVKeyDecoder(InputWindow(MemorySource(try csvDocument(count)))))
    return [.ours { try encode(document, with: CSVKeyEncoder(OutputBuffer(DiscardingSink()))) }]
  },
]

func csvDocument(_ count: Int) throws -> [UInt8] {
  let document = try ReferenceExport.decode(ExportLayout.canonical.export(count))
  let sink = MemorySink()
  _ = try encode(document, with: CSVKeyEncoder(OutputBuffer(sink)))
  return sink.bytes
}
