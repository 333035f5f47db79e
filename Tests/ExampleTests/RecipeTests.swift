import BundleTrust
import ExposureKeys
import Foundation
import KeyFiles
import KeyFormats
import Testing

/// Runs the recipes on files, as another package would.
@Suite struct RecipeTests {
  private static let csv = """
    key_data,rolling_start_interval_number,rolling_period,transmission_risk_level,report_type,origin
    000102030405060708090a0b0c0d0e0f,2678400,144,5,CONFIRMED_TEST,DE
    ffeeddccbbaa99887766554433221100,2678544,144,,CONFIRMED_TEST,DE
    101112131415161718191a1b1c1d1e1f,2678544,144,3,CONFIRMED_TEST,
    abcd,2678544,144,3,CONFIRMED_TEST,DE

    """

  /// A folder with `keys.csv`, a key, and `ring` with its public half.
  private func inFolder(_ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "recipes-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder.appending(path: "ring"), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try Self.csv.write(to: folder.appending(path: "keys.csv"), atomically: true, encoding: .utf8)
    let key = SigningKey.generate()
    try key.pemRepresentation.write(to: folder.appending(path: "key.pem"), atomically: true, encoding: .utf8)
    try key.publicKey.pem.write(to: folder.appending(path: "ring/310-v1.pem"), atomically: true, encoding: .utf8)
    try body(folder)
  }

  @Test func keysAreReadAndCounted() throws {
    try inFolder { folder in
      let url = folder.appending(path: "keys.csv")
      #expect(try countPerDay(url).map { "\($0.key) \($0.value)" }.sorted() == ["2020-12-04 1", "2020-12-05 2"])
      #expect(try countPerOrigin(url) == ["DE": 2, "not stated": 1])
      #expect(try expiredKeys(url, at: Date(timeIntervalSince1970: 1_607_126_400 + 7200)).count == 1)
      #expect(try expiredKeys(url, at: Date(timeIntervalSince1970: 1_607_126_400 + 7199)).isEmpty)
      var lines: [String] = []
      try tellRejected(url) { lines.append($0) }
      #expect(lines.count == 1 && lines[0].hasPrefix("key 3: ") && !lines[0].contains("abcd"))
      let file = try KeyFile(contentsOf: url)
      #expect(file.count == 3 && file.last?.reportTypeClaim == .stated(.confirmedTest) && file.format == .csv)
      #expect(file[1...].map(\.transmissionRisk) == [nil, 3])
    }
  }

  @Test func filesAreWritten() throws {
    try inFolder { folder in
      let url = folder.appending(path: "keys.csv")
      let (table, batch) = (folder.appending(path: "table.csv"), folder.appending(path: "batch.json"))
      try writeTable(url, to: table)
      #expect(try KeyFile(contentsOf: table).document.keys.map(\.key) == KeyFile(contentsOf: url).map(\.key))
      var lines: [String] = []
      try writeBatch(url, to: batch) { lines.append($0) }
      let written = try KeyFile(contentsOf: batch)
      #expect(written.format == .efgsJSON && written.allSatisfy { $0.daysSinceOnset == 4000 })
      #expect(try newKeys(in: batch, since: table).isEmpty)
      let first = Self.csv.split(separator: "\n").prefix(2).joined(separator: "\n") + "\n"
      try first.write(to: table, atomically: true, encoding: .utf8)
      #expect(try newKeys(in: batch, since: table).count == 2)
    }
  }

  @Test("A file is verified by what was read, also where it has changed since") func bundlesAreVerified() throws {
    try inFolder { folder in
      let bundle = folder.appending(path: "bundle.zip")
      let ring = folder.appending(path: "ring")
      try publish(folder.appending(path: "keys.csv"), keyAt: folder.appending(path: "key.pem"), to: bundle)
      #expect(try verifiedKeys(bundle, ringAt: ring).count == 3)
      #expect(try verifiedKeys(bundle, ringAt: ring.appending(path: "310-v1.pem")).count == 3)
      // Another key under the same name.
      let other = folder.appending(path: "other.pem")
      try SigningKey.generate().publicKey.pem.write(to: other, atomically: true, encoding: .utf8)
      #expect(try verifiedKeys(bundle, ringAt: other).isEmpty)

      // A bare pair, whose signatures stand in a file of their own; then one that has changed by one bit.
      let archive = try ZipArchive(MemorySource(Array(try Data(contentsOf: bundle))))
      func entry(_ name: String) throws -> [UInt8] {
        try archive.open(try #require(archive[name])).readAll(limit: 1 << 20)
      }
      var export = try entry("export.bin")
      let bare = folder.appending(path: "export.bin")
      try Data(export).write(to: bare)
      let trusted = try TrustRing(contentsOf: ring)
      #expect(try !KeyFile(contentsOf: bare).verify(against: trusted).isTrusted)
      try Data(try entry("export.sig")).write(to: folder.appending(path: "export.sig"))
      let file = try KeyFile(contentsOf: bare)
      export[export.count - 20] ^= 1
      try Data(export).write(to: bare)
      #expect(try file.verify(against: trusted).isTrusted)
      #expect(try !KeyFile(contentsOf: bare).verify(against: trusted).isTrusted)
      // A format without signatures is no success.
      let table = try KeyFile(contentsOf: folder.appending(path: "keys.csv"))
      #expect(throws: FormatError.self) { _ = try table.verify(against: trusted) }
    }
  }

  @Test("Errors say what the command line says, also as any error") func errorsAreReadable() throws {
    try inFolder { folder in
      var lines: [String] = []
      let path = folder.path() + "/"
      tell(folder.appending(path: "none.zip")) { lines.append($0) }
      tell(folder) { lines.append($0) }
      try Data("<html>".utf8).write(to: folder.appending(path: "page.zip"))
      tell(folder.appending(path: "page.zip")) { lines.append($0) }
      tell(folder.appending(path: "keys.csv")) { lines.append($0) }
      let address = try #require(URL(string: "https://example.org/keys.zip"))
      tell(address) { lines.append($0) }
      #expect(lines[0] == "\(path)none.zip: cannot open: no such file or directory")
      #expect(lines[1].hasSuffix(": cannot read: it is a folder"))
      #expect(lines[2].hasPrefix("\(path)page.zip: the file looks like a web page"))
      #expect(lines[3] == "3 keys, csv")
      #expect(lines[4] == "https://example.org/keys.zip: cannot open: it is no address of a file")

      let error = #expect(throws: TrustRingError.self) {
        _ = try TrustRing(contentsOf: folder.appending(path: "page.zip"))
      }
      #expect(error?.localizedDescription.hasPrefix("\(path)page.zip: ") == true)
      #expect(throws: TrustRingError.self) { _ = try TrustRing(contentsOf: folder.appending(path: "none")) }
      #expect(throws: TrustRingError.self) { _ = try TrustRing(contentsOf: folder) }
      let fault = #expect(throws: KeyFault.self) { _ = try SigningKey(pem: "no key") }
      #expect(fault?.localizedDescription == fault.map { "\($0)" })
      // What is too large is refused before it is read to its end.
      let limited = #expect(throws: FormatError.self) {
        _ = try KeyFile(contentsOf: folder.appending(path: "keys.csv"), limits: ReadLimits(documentBytes: 100))
      }
      #expect(limited?.code == .cannotRead && limited?.localizedDescription.contains("more than 100 bytes") == true)
    }
  }

  @Test func datesAndInstantsAreTheSame() {
    let date = Date(timeIntervalSince1970: 1_607_083_200.9)
    #expect(Instant(date) == Instant(secondsSince1970: 1_607_083_200))
    #expect(Date(Instant(date)).timeIntervalSince1970 == 1_607_083_200)
    #expect(Instant(Date(timeIntervalSince1970: -0.5)) == Instant(secondsSince1970: -1))
    #expect(Instant(.distantFuture) > Instant(date) && Instant(Date(timeIntervalSince1970: .nan)) > Instant(date))
    #expect(Instant(Date(timeIntervalSince1970: -.infinity)) < Instant(date))
  }
}
