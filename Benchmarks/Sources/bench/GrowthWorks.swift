import ExposureKeys
import GatewayTesting
import KeyFormats

/// The same work a hundred times larger, on documents that are made while they are read. Ours is the largest, and a ratio
/// of 0.83 means that it costs a fifth more a key.
let growthWorks = [
  Preparation("export.bin to columns, growth", isOfOneSize: true) { count in
    let block = Array(ExportLayout.mixed.export(blockSize).dropFirst(ReferenceExport.magic.count))
    return growth(from: count) { blocks in
      try decode(ExportDecoder(InputWindow(RepeatingSource(ReferenceExport.magic, block, times: blocks))))
    }
  },
  Preparation("columns to export.bin, growth", isOfOneSize: true) { count in
    let block = try ReferenceExport.decode(ExportLayout.mixed.export(blockSize))
    return growth(from: count) { blocks in
      let encoder = ExportEncoder(OutputBuffer(DiscardingSink()))
      try encoder.begin(block.header)
      for _ in 0..<blocks {
        try block.keys.withUnsafeBufferPointer {
          try encoder.encode($0, regions: block.regions, unknownFields: block.unknownFields)
        }
      }
      try encoder.finish(block.header)
      return blocks * blockSize
    }
  },
  Preparation("CSV, read, growth", isOfOneSize: true) { count in
    let document = try csvDocument(blockSize)
    let start = (document.firstIndex(of: UInt8(ascii: "\n")) ?? 0) + 1
    let (head, block) = (Array(document[..<start]), Array(document[start...]))
    return growth(from: count) { blocks in
      try decode(CSVKeyDecoder(InputWindow(RepeatingSource(head, block, times: blocks))))
    }
  },
]

private let blockSize = 10_000

/// A hundred times as many keys, and ten times, and once.
private func growth(from count: Int, _ work: @escaping (_ blocks: Int) throws -> Int) -> [Contender] {
  func contender(_ times: Int, _ make: (String, @escaping () throws -> Int) -> Contender) -> Contender {
    let blocks = max(1, count / blockSize) * times
    return make("\(Table.grouped(blocks * blockSize)) keys") { try work(blocks) }.handling(blocks * blockSize)
  }
  let reach = 1 / 1.2
  return [
    contender(100) { .ours($0, run: $1) },
    contender(10) { .yardstick($0, reach: reach, run: $1) },
    contender(1) { .yardstick($0, reach: reach, run: $1) },
  ]
}

/// A document that begins with a head and goes on with the same block so many times.
private final class RepeatingSource: ByteSource {
  private var source: MemorySource
  private let block: [UInt8]
  private var left: Int

  init(_ head: [UInt8], _ block: [UInt8], times: Int) {
    source = MemorySource(head)
    self.block = block
    left = times
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      let count = source.read(into: buffer)
      if count > 0 || left == 0 { return count }
      left -= 1
      source = MemorySource(block)
    }
  }
}
