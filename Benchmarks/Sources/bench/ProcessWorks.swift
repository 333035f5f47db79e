import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats

/// Whole processes, from their start to their end, with the files in the system's cache.
let processWorks = [
  Preparation("keyferry convert, bundle to CSV") { count in
    try conversion(count, to: "csv", from: try archive(ExportLayout.canonical.export(count)))
  },
  Preparation("keyferry convert, CSV to bundle") { count in
    try conversion(count, to: "gaen-export", ["--unsigned"], from: try csvDocument(count))
  },
  Preparation("keyferry inspect, 700 keys", isOfOneSize: true) { _ in
    let folder = try ScratchFolder()
    let file = try folder.add("700.zip", try archive(ExportLayout.canonical.export(700)))
    return [
      .process("Keyferry", .ours, Program.keyferry, ["inspect", file], handling: 1, in: folder),
      .process("unzip -l", .yardstick(reach: 0.2), Program.unzip, ["-l", file], handling: 1, in: folder),
    ]
  },
]

private func conversion(
  _ count: Int, to format: String, _ options: [String] = [], from input: [UInt8]
) throws -> [Contender] {
  let folder = try ScratchFolder()
  let file = try folder.add("in", input)
  let python = "Python: protobuf upb, zipfile, csv"
  let role = Contender.Role.yardstick(reach: 50)
  return [
    .process(
      "Keyferry", .ours, Program.keyferry,
      ["convert", file, "--to", format, "--output", folder / "ours", "--quiet"] + options, handling: count, in: folder),
    Peer.upb.program.map {
      .process(python, role, $0, ["--to", format, file, folder / "theirs"], handling: count, in: folder)
    } ?? .missing(python, role, because: Peer.upb.lack),
  ]
}

private func archive(_ export: [UInt8]) throws -> [UInt8] {
  let sink = MemorySink()
  let archive = ZipWriter(sink, date: Instant(secondsSince1970: 1_606_780_800))
  try archive.addEntry("export.bin") { try $0.write(export) }
  try archive.finish()
  return sink.bytes
}
