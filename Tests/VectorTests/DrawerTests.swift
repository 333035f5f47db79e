import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyIntake
import Testing

/// The dumps of `interop/vectors/drawer`: each is read as the file beside it says, and what is left of a damaged one is never
/// something else.
@Suite struct DrawerTests {
  static let files = (try? Dump.all()) ?? []

  @Test func theDrawerIsFull() {
    #expect(Self.files.count >= 150)
    #expect(Set(Self.files.map(\.format)).count >= 15)
  }

  @Test(arguments: files)
  func isReadAsItStands(_ dump: Dump) throws {
    let reading = try read(dump.bytes)
    #expect(reading.format == dump.format, "\(dump)")
    #expect(reading.lines == dump.keys, "\(dump)")
    #expect(reading.rejected == dump.rejected, "\(dump)")
  }

  /// A file that was cut off holds no key that the whole one does not hold. Where nothing tells that the last number goes
  /// on, the last key may say something else, but its data is whole.
  @Test(arguments: files)
  func cutOffItHasNoOtherKeys(_ dump: Dump) throws {
    let count = dump.bytes.count
    let known = Set(dump.tellsItsEnd ? dump.keys : dump.keys.map(withoutRegions))
    let data = Set(dump.keys.map { $0.prefix(32) })
    for cut in 1..<24 {
      let end = count * cut / 24
      switch Result(catching: { try read(Array(dump.bytes[..<end])) }) {
      case .success(let reading):
        // What stands behind the keys and was cut off with them is said of all keys.
        let lines = dump.tellsItsEnd ? reading.lines : reading.lines.dropLast().map(withoutRegions)
        for line in lines { #expect(known.contains(line), "\(dump) cut at byte \(end)") }
        for line in reading.lines { #expect(data.contains(line.prefix(32)), "\(dump) cut at byte \(end)") }
      case .failure(let error):
        let fault = try #require(error as? FormatError, "\(dump) cut at byte \(end): \(error)")
        #expect(!fault.reason.isEmpty)
        #expect(hasPlace(fault), "\(dump) cut at byte \(end): \(fault)")
      }
    }
  }

  private func withoutRegions(_ line: String) -> String { line.split(separator: " ").prefix(7).joined(separator: " ") }

  /// Bytes that were overwritten end in an error with a place, in rejections, or in what can still be read.
  @Test(arguments: files)
  func damagedItTellsWhere(_ dump: Dump) throws {
    let count = dump.bytes.count
    for (number, spot) in (1..<24).map({ count * $0 / 24 }).enumerated() {
      var bytes = dump.bytes
      let damage: [UInt8] = [[0], [0xff, 0xff], Array("}{".utf8), Array("'\"".utf8)][number % 4]
      bytes.replaceSubrange(spot..<min(spot + damage.count, count), with: damage)
      do {
        let reading = try read(bytes)
        #expect(reading.lines.count <= dump.keys.count + 1, "\(dump) damaged at byte \(spot)")
      } catch {
        let fault = try #require(error as? FormatError, "\(dump) damaged at byte \(spot): \(error)")
        #expect(hasPlace(fault), "\(dump) damaged at byte \(spot): \(fault)")
      }
    }
  }

  /// Two files one behind the other are both read, or it is said where that is not possible.
  @Test(arguments: files)
  func twiceItIsReadTwiceOrRefused(_ dump: Dump) throws {
    let gap: [UInt8] = dump.bytes.last == UInt8(ascii: "\n") || dump.isBinary ? [] : [0x0a]
    do {
      let reading = try read(dump.bytes + gap + dump.bytes)
      let twice = dump.keys + dump.keys
      #expect(reading.lines == twice || reading.lines == dump.keys, "\(dump)")
      #expect(reading.lines == twice || !reading.rejected.isEmpty || !reading.notes.isEmpty || dump.isBinary, "\(dump)")
    } catch {
      let fault = try #require(error as? FormatError, "\(dump): \(error)")
      #expect(hasPlace(fault), "\(dump): \(fault)")
    }
  }

  /// A document that is nothing, as a whole, has no place within.
  private func hasPlace(_ fault: FormatError) -> Bool {
    fault.byteOffset != nil || !fault.place.isEmpty || fault.code == .unrecognizedFormat || fault.code == .missingEntry
  }

  private struct Reading {
    var format: String
    var lines: [String] = []
    var rejected: [String] = []
    var notes: [String] = []
  }

  private func read(_ bytes: [UInt8]) throws -> Reading {
    let source = SourceDocument(name: "", source: MemorySource(bytes))
    let arrival = Arrival(source, vouching: .operator, at: Instant(secondsSince1970: 1_606_000_000))
    var reading = Reading(format: "")
    let whole = try arrival.examine().verify().decode { chunk, context in
      chunk.keys.withKeys { keys in
        for key in keys { reading.lines.append(line(key, context.regions[key.regions])) }
      }
      reading.rejected += chunk.rejections.map(\.reason.rawValue)
    }
    reading.format = whole.format.rawValue
    reading.notes = whole.notes.sorted.map(\.note.code)
    return reading
  }

  private func line(_ key: ClaimedKey, _ regions: RegionClaim) -> String {
    func cell(_ number: Int32?) -> String { number.map { "\($0)" } ?? "-" }
    let visited = regions.visited.map { $0.isEmpty ? "[]" : $0.joined(separator: "+") } ?? "-"
    return [
      key.key.hex, cell(key.rollingStart), cell(key.rollingPeriod), cell(key.transmissionRisk), cell(key.reportType),
      cell(key.daysSinceOnset), key.isRevised ? "revised" : "-", regions.origin ?? "-", visited,
    ].joined(separator: " ")
  }
}

/// A file of the drawer, and what `NAME.expected` says of it.
struct Dump: CustomTestStringConvertible, CustomStringConvertible, Sendable {
  var name: String
  var bytes: [UInt8]
  var format = ""
  var rejected: [String] = []
  var tellsItsEnd = true
  /// One line a key.
  var keys: [String] = []

  var description: String { name }
  var testDescription: String { name }
  var isBinary: Bool { bytes.contains { $0 == 0 } }

  static func all() throws -> [Dump] {
    let folder = Vector.folder.appending(path: "drawer")
    let paths = (FileManager.default.enumerator(atPath: folder.path())?.compactMap { $0 as? String } ?? []).sorted()
    return try paths.filter { $0.hasSuffix(".expected") }.map { path in
      let name = String(path.dropLast(".expected".count))
      var dump = Dump(name: name, bytes: Array(try Data(contentsOf: folder.appending(path: name))))
      let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      for line in lines.prefix(while: { !$0.isEmpty }) {
        let value = line.drop { $0 != ":" }.dropFirst(2)
        if line.hasPrefix("format: ") { dump.format = String(value) }
        if line.hasPrefix("rejected: ") { dump.rejected = value.split(separator: " ").map(String.init) }
        if line == "end: untold" { dump.tellsItsEnd = false }
      }
      dump.keys = lines.drop { !$0.isEmpty }.dropFirst().filter { !$0.isEmpty }.map(String.init)
      return dump
    }
  }
}
