import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

/// What the program takes of memory, at a size that is quick: what grows with the keys would show.
@Suite struct MemoryTests {
  private static let keyCount = 150_000
  private static let noon = ["--now", "2020-12-04T12:00:00Z"]

  /// Runs `keyferry` and looks every few milliseconds at the most memory that it has had, in MiB.
  private func peak(_ workshop: Workshop, _ arguments: [String]) throws -> (status: Int32, mebibytes: Int) {
    let process = Process()
    process.executableURL = URL(filePath: try #require(Workshop.program, "the program keyferry was not built"))
    process.arguments = arguments
    process.currentDirectoryURL = workshop.folder
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    var peak = 0
    while process.isRunning {
      let status = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
      let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
      peak = max(peak, line.flatMap { Int($0.filter(\.isNumber)) } ?? 0)
      Thread.sleep(forTimeInterval: 0.005)
    }
    process.waitUntilExit()
    return (process.terminationStatus, peak / 1024)
  }

  /// Publishing them took 147 MiB when it held what a window releases in memory, and takes 84 of which 50 are the program as it is
  /// built for tests.
  /// Making them again took 111 and signing them again 135 when they held what was published in memory (204 and 229 of 450,000
  /// keys), and both take about as much as publishing.
  @Test(
    "150,000 keys of one document come in, go out, are made again and signed again in 112 MiB",
    .enabled(if: LongList.isRun, Comment(rawValue: LongList.advice)))
  func manyKeys() throws {
    #if os(Linux)
      try Workshop.run { workshop in
        var random = SeededRandom(seed: 150)
        var document = DecodedDocument()
        document.keys = (0..<Self.keyCount).map { number in
          ClaimedKey(
            key: TemporaryExposureKey(high: .random(in: 0 ... .max, using: &random), low: UInt64(number)),
            rollingStartWord: 2_678_400 - 144 * Int32(2 + number % 9), rollingPeriodWord: 144, transmissionRiskWord: 3,
            reportTypeWord: 1, daysSinceOnsetWord: 0, fields: .numbers)
        }
        try FileManager.default.createDirectory(
          at: workshop.folder.appending(path: "drop"), withIntermediateDirectories: false)
        try workshop.write(try document.bytes(as: .gaenExport), "drop/many.bin")
        try FileManager.default.setAttributes(
          [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: workshop.path("drop/many.bin"))
        try workshop.makeSigner()
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path("310-v1.key.pem"))
        try workshop.write("name: open\nreading: {flood: {factor: never, most-a-day: none}}\n", "open.yaml")
        try workshop.write(
          """
          state: state
          policies: [open.yaml]
          sources:
            - name: drop
              protocol: files
              location: drop
              trust: operator
              reading: open
              origin: DE
              speaks-for: [DE]
          series:
            - name: DE
              include: [DE]
              region: "262"
              split: {keys: 60000}
              sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]
          publication: {folder: public}
          """, "gateway.yaml")

        let pull = try peak(workshop, ["pull"] + Self.noon)
        #expect(pull.status == 0 && pull.mebibytes < 112, "\(pull)")
        let publish = try peak(workshop, ["publish"] + Self.noon)
        #expect(publish.status == 0 && publish.mebibytes < 112, "\(publish)")
        func listed() throws -> (names: [Substring], keys: Int) {
          let index = try workshop.text("public/DE/index.txt").split(separator: "\n")
          return (index, try index.reduce(0) { try $0 + workshop.keys("public/\($1)").keys.count })
        }
        let first = try listed()
        #expect(first.names.count == 3 && first.keys == Self.keyCount)

        // A file is lost: what moves behind the others with it is all that there is.
        let last = try #require(first.names.last)
        try FileManager.default.removeItem(atPath: workshop.path("public/\(last)"))
        let again = try peak(workshop, ["publish"] + Self.noon)
        // It is told.
        #expect(again.status == 1 && again.mebibytes < 112, "\(again)")
        let second = try listed()
        #expect(second.keys == Self.keyCount && Set(second.names).isDisjoint(with: first.names))

        // Another key signs: everything is signed again.
        try workshop.makeSigner("310", "v2")
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o600], ofItemAtPath: workshop.path("310-v2.key.pem"))
        let settings = try workshop.text("gateway.yaml").replacing("310-v1", with: "310-v2")
        try workshop.write(settings.replacing("version: v1", with: "version: v2"), "gateway.yaml")
        let signed = try peak(workshop, ["publish"] + Self.noon)
        #expect(signed.status == 0 && signed.mebibytes < 112, "\(signed)")
        let third = try listed()
        #expect(third.keys == Self.keyCount && Set(third.names).isDisjoint(with: second.names))
      }
    #endif
  }
}
