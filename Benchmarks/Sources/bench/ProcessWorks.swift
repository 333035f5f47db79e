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
  Preparation("keyferry inspect, 700 keys", of: "file", isOfOneSize: true) { _ in
    let folder = try ScratchFolder()
    let file = try folder.add("700.zip", try archive(ExportLayout.canonical.export(700)))
    return [
      .process("Keyferry", .ours, Program.keyferry, ["inspect", file], handling: 1, in: folder),
      .process("unzip -l", .yardstick(reach: 0.2), Program.unzip, ["-l", file], handling: 1, in: folder),
    ]
  },
]

/// Requests for a bundle of about 100 KB on the loopback: `Benchmarks/serving`.
let downloadWorks = [
  Preparation("download of 100 KB", of: "request", isOfOneSize: true) { _ in
    let script = "Benchmarks/serving"
    let nginx = Contender.Role.yardstick(reach: 0.5)
    let folder = try ScratchFolder()
    let lack = [Program.keyferry, Program.nginx, Program.wrk].first { !isExecutable($0) }.map { "there is no \($0)" }
    if let lack { return [.missing("Keyferry", .ours, because: lack), .missing("nginx", nginx, because: lack)] }
    let outcome = try Tool(path: script).run(["prepare", folder.path])
    guard outcome.status == 0 else { throw HarnessError(description: "\(script): \(outcome.errors)") }
    return [("Keyferry", Contender.Role.ours), ("nginx", nginx)].map { name, role in
      let server = TurnTaker(script, [name.lowercased(), folder.path], keeping: folder)
      return Contender(name: name, role: role, takeTurn: server.takeTurn).handling(1000)
    }
  }
]

private func conversion(
  _ count: Int, to format: String, _ options: [String] = [], from input: [UInt8]
) throws -> [Contender] {
  let folder = try ScratchFolder()
  let file = try folder.add("in", input)
  let python = "Python: protobuf upb, zipfile, csv"
  let role = Contender.Role.yardstick(reach: 50)
  let arguments = ["convert", file, "--to", format, "--output", folder / "ours", "--quiet"] + options
  return [
    .process("Keyferry", .ours, Program.keyferry, arguments, handling: count, in: folder).onOneCore(),
    .process(
      "Keyferry, all cores", .yardstick(reach: nil), Program.keyferry, arguments, handling: count, in: folder),
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
