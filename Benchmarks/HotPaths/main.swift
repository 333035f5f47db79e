import ExposureKeys
import KeyFormats
import KeyNormalization

// hotpaths              names the paths
// hotpaths PATH KEYS    runs one of them twice: to warm up, and to be counted
//
// Benchmarks/instructions compiles this with what it needs of the benchmarks, and counts.

/// A path by its name: makes the input for so many keys and returns what is counted.
let paths: [(name: String, prepare: (Int) throws -> () throws -> Int)] = [
  ("export-read-canonical", { readExport(.canonical, $0) }),
  ("export-read-mixed", { readExport(.mixed, $0) }),
  ("export-write-canonical", { try writeExport(.canonical, $0) }),
  ("export-write-mixed", { try writeExport(.mixed, $0) }),
  ("deflate-canonical", { deflateExport(.canonical, $0) }),
  ("deflate-mixed", { deflateExport(.mixed, $0) }),
  ("inflate-canonical", { try inflateExport(.canonical, $0) }),
  ("inflate-mixed", { try inflateExport(.mixed, $0) }),
  (
    "json-read",
    { keys in
      let bytes = try document(keys).bytes(as: .codableJSON)
      return { try decode(JSONKeyDecoder(InputWindow(MemorySource(bytes)), dialect: .codable)) }
    }
  ),
  (
    "json-write",
    { keys in
      let document = try document(keys)
      return { try encode(document, with: CodableJSONEncoder(OutputBuffer(DiscardingSink()))) }
    }
  ),
  (
    "csv-read",
    { keys in
      let bytes = try document(keys).bytes(as: .csv)
      return { try decode(CSVKeyDecoder(InputWindow(MemorySource(bytes)))) }
    }
  ),
  (
    "csv-write",
    { keys in
      let document = try document(keys)
      return { try encode(document, with: CSVKeyEncoder(OutputBuffer(DiscardingSink()))) }
    }
  ),
  (
    "claims-record",
    { keys in
      let sources = ClaimSources(keys)
      return { sources.record().count }
    }
  ),
  (
    "claims-fold",
    { keys in
      let sources = ClaimSources(keys)
      let recorded = sources.record()
      return { fold(recorded, policy: PublishingPolicy(), now: sources.now).receipt.isBalanced ? recorded.count : 0 }
    }
  ),
]

func readExport(_ layout: ExportLayout, _ keys: Int) -> () throws -> Int {
  let bytes = layout.export(keys)
  return { try decode(ExportDecoder(InputWindow(MemorySource(bytes)))) }
}

func writeExport(_ layout: ExportLayout, _ keys: Int) throws -> () throws -> Int {
  let document = try document(keys, layout)
  return { try encode(document, with: ExportEncoder(OutputBuffer(DiscardingSink()))) }
}

func deflateExport(_ layout: ExportLayout, _ keys: Int) -> () throws -> Int {
  let bytes = layout.export(keys)
  return {
    let writer = DeflateWriter { blackHole($0.count) }
    try bytes.withUnsafeBytes { try writer.write($0) }
    blackHole(try writer.finish())
    return keys
  }
}

func inflateExport(_ layout: ExportLayout, _ keys: Int) throws -> () throws -> Int {
  let bytes = layout.export(keys)
  var stream: [UInt8] = []
  let writer = DeflateWriter { stream.append(contentsOf: $0) }
  try writer.write(bytes)
  _ = try writer.finish()
  let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 64)
  return {
    let inflater = Inflater(MemorySource(stream))
    var total = 0
    while case let count = try inflater.read(into: room), count > 0 { total += count }
    return total == bytes.count ? keys : 0
  }
}

func document(_ keys: Int, _ layout: ExportLayout = .canonical) throws -> DecodedDocument {
  try DecodedDocument(decoding: ExportDecoder(InputWindow(MemorySource(layout.export(keys)))))
}

/// What callgrind counts: everything that is called from here. Not optimized, so that it is one function with this name.
@inline(never)
@_optimize(none)
func counted(_ path: () throws -> Int) throws -> Int { try path() }

let arguments = CommandLine.arguments.dropFirst()
if arguments.isEmpty {
  for path in paths { print(path.name) }
} else if arguments.count == 2, let path = paths.first(where: { $0.name == arguments[1] }), let keys = Int(arguments[2])
{
  let run = try path.prepare(keys)
  let warm = try run()
  let handled = try counted(run)
  guard warm == keys, handled == keys else { fatalError("\(path.name) handled \(warm) and \(handled) of \(keys) keys") }
} else {
  fatalError("usage: hotpaths [PATH KEYS]")
}
