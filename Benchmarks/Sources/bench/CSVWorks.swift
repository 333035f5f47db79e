import GatewayTesting
import KeyFormats

/// Our CSV. pyarrow is the yardstick to come; until then the row shows the cost alone.
let csvWorks = [
  Preparation("CSV, read") { count in
    let rows = try csvDocument(count)
    return [
      .ours { try decode(CSVKeyDecoder(InputWindow(MemorySource(rows)))) },
      .missing("pyarrow, one thread", reach: 8, because: "not wired into this program yet"),
    ]
  },
  Preparation("CSV, write") { count in
    let document = try DecodedDocument(decoding: CSVKeyDecoder(InputWindow(MemorySource(try csvDocument(count)))))
    return [.ours { try encode(document, with: CSVKeyEncoder(OutputBuffer(DiscardingSink()))) }]
  },
]

private func csvDocument(_ count: Int) throws -> [UInt8] {
  let document = try ReferenceExport.decode(ExportLayout.canonical.export(count))
  let sink = MemorySink()
  _ = try encode(document, with: CSVKeyEncoder(OutputBuffer(sink)))
  return sink.bytes
}
