import ExposureKeys
import Foundation
import KeyFormats
import Testing

/// Documents that nobody means well.
@Suite struct JSONHostileTests {
  private func code(_ bytes: [UInt8], limits: ReadLimits = ReadLimits()) -> FormatError.Code? {
    do {
      _ = try readJSON(bytes, limits: limits)
      return nil
    } catch { return (error as? FormatError)?.code }
  }

  @Test(arguments: [
    "[", "{\"a\":", "[{\"keyData\":[", "{\"keys\":[", "[{\"validity\":{\"x\":", "{\"keys\":[{\"a\":[{\"b\":",
  ])
  func deepNesting(opening: String) {
    let bytes = Array(String(repeating: opening, count: 100_000).utf8)
    #expect(code(bytes) == .limitExceeded)
    #expect(code(bytes, limits: ReadLimits(nesting: 3)) == .limitExceeded)
  }

  @Test func nestingUpToTheLimit() throws {
    func text(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
    // In a list of nothing else, nothing would be a key.
    let key = #"{"keyData":"ASNFZ4mrze/w4dLDtKWWhw=="}"#
    #expect(try readJSON("[\(text(511)),\(key)]").rejections.count == 1)
    #expect(code(Array("[\(text(512)),\(key)]".utf8)) == .limitExceeded)
  }

  @Test func everyTruncation() throws {
    let text =
      #"{"a":[{"b":"c\u00e9"},-1.5e3,true,false,null],"keys":[{"keyData":"ASNFZ4mrze\/w4dLDtKWWhw==","rollingPeriod":144}]}"#
    let bytes = Array(text.utf8)
    #expect(try readJSON(bytes).keys.count == 1)
    for length in 0..<bytes.count { #expect(code(Array(bytes[..<length])) == .truncated, "\(length)") }
  }

  @Test(arguments: [
    "[1 2]", "[,]", "[1,]", "{\"a\" 1}", "{a:1}", "[01]", "[1.]", "[.5]", "[+1]", "[1e]", "[tru]", "[nul]",
    "[\"\u{1}\"]",
    "[\"\\x\"]", "[\"\\u12g4\"]", "x", "7", "[]]", "{\"keys\":[{}}", "{\"keys\":5}", "{\"a\":1,}", "[{\"keyData\":\"\"",
    "[{\"a\":1,}]", "[{\"keyData\" \"x\"}]", "[NaN]", "['a']", "[1]x", "// c\n[]",
  ])
  func badSyntax(text: String) {
    let found = code(Array(text.utf8))
    #expect(found == .malformed || found == .truncated, "\(text)")
  }

  @Test func placeOfAnError() throws {
    let error = try #require(throws: FormatError.self) { try readJSON(#"{"keys":[{"keyData":"x" "y"}]}"#) }
    #expect(error.description == "byte 24: found \", expected a comma or }")
  }

  @Test func notAKeyDocument() throws {
    let error = try #require(throws: FormatError.self) { try readJSON(#"{"message":"not found","status":404}"#) }
    #expect(error.code == .unrecognizedFormat)
    #expect(error.reason.contains("message, status"))
  }

  @Test func largeRecords() throws {
    let limits = ReadLimits(recordBytes: 10_000)
    let long = String(repeating: "a", count: 200_000)
    #expect(code(Array("[{\"x\":\"\(long)\"}]".utf8), limits: limits) == .limitExceeded)
    // Around the keys, anything of any size is read over.
    let document = try readJSON("{\"x\":\"\(long)\",\"y\":[\"\(long)\"],\"keys\":[]}", limits: limits)
    #expect(document.keys.isEmpty && document.notes.counts.count == 2)
  }

  @Test func invalidUTF8() throws {
    let broken: [UInt8] = [0xC3, 0x28]
    #expect(code(Array("[{\"".utf8) + broken + Array("\":1}]".utf8)) == .malformed)
    let origin = Array("[{\"keyData\":\"ASNFZ4mrze/w4dLDtKWWhw==\",\"origin\":\"".utf8) + broken + Array("\"}]".utf8)
    #expect(try readJSON(origin).rejections.map(\.reason) == [.malformedEntry])
  }

  @Test func randomBytesNeverCrash() {
    var generator = SeededGenerator(40)
    let alphabet = Array(#"{}[],:"\ue1-.0 keyData/"#.utf8)
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
        alphabet.randomElement(using: &generator) ?? 0
      }
      _ = code(bytes)
    }
  }

  // MARK: Against Foundation

  struct CodableDiagnosisKey: Codable {
    var keyData: Data
    var rollingPeriod: UInt32
    var rollingStartNumber: UInt32
    var transmissionRiskLevel: UInt8
  }

  private func foundation(_ bytes: [UInt8]) -> [ClaimedKey]? {
    guard let keys = try? JSONDecoder().decode([CodableDiagnosisKey].self, from: Data(bytes)) else { return nil }
    return keys.compactMap { key in
      guard let data = TemporaryExposureKey(key.keyData) else { return nil }
      var claimed = ClaimedKey(key: data)
      claimed.rollingPeriod = Int32(bitPattern: key.rollingPeriod)
      claimed.rollingStart = Int32(bitPattern: key.rollingStartNumber)
      claimed.transmissionRisk = Int32(key.transmissionRiskLevel)
      return claimed
    }
  }

  @Test func writesWhatFoundationWrites() throws {
    let keys = ClaimedKey.randoms(500, seed: 41, required: JSONLawTests.codableFields, wild: false).map { key in
      var key = key
      key.reportType = nil
      key.daysSinceOnset = nil
      return key
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let bytes = try encoder.encode(
      keys.map {
        CodableDiagnosisKey(
          keyData: Data($0.key.bytes), rollingPeriod: UInt32($0.rollingPeriodWord),
          rollingStartNumber: UInt32($0.rollingStartWord), transmissionRiskLevel: UInt8($0.transmissionRiskWord))
      })
    #expect(try written(keys) { CodableJSONEncoder($0) } == [UInt8](bytes))
    #expect(foundation([UInt8](bytes)) == keys)
    #expect(try readJSON([UInt8](bytes)).keys == keys)
  }

  /// What Foundation reads out of a mutated document, we read equally. What it refuses, we refuse, reject or note,
  /// except where we are lenient on purpose, in: other member names, absent or wider numbers, unpadded or otherwise spelled
  /// key data, `null`, several documents.
  @Test func mutationsReadLikeFoundation() throws {
    var generator = SeededGenerator(42)
    let keys = ClaimedKey.randoms(3, seed: 43, fields: [], required: JSONLawTests.codableFields, wild: false)
    let original = try written(keys) { CodableJSONEncoder($0) }
    let alphabet = Array(#"{}[],:"\/ue1-.0 =A+"#.utf8) + [0, 10, 0x80, 0xC3, 0xFF]
    var accepted = 0
    for _ in 0..<20_000 {
      var bytes = original
      for _ in 0..<Int.random(in: 1...2, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes[place] = alphabet.randomElement(using: &generator) ?? 0
        case 1: bytes.insert(alphabet.randomElement(using: &generator) ?? 0, at: place)
        default: bytes.remove(at: place)
        }
      }
      guard let expected = foundation(bytes) else {
        // Refused there: what we take in must still be JSON, but for a key that we reject.
        if let document = try? readJSON(bytes), document.rejections.isEmpty {
          let isJSON = (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
          #expect(isJSON, "\(text(bytes))")
        }
        continue
      }
      // Three padding characters: Foundation takes them, and RFC 4648 does not.
      if text(bytes).contains("===") { continue }
      accepted += 1
      guard let document = try? readJSON(bytes) else {
        // The one thing that Foundation takes and RFC 8259 does not: a comma behind the last member.
        #expect(text(bytes).contains(",}") || text(bytes).contains(",]"), "\(text(bytes))")
        continue
      }
      #expect(document.keys == expected, "\(text(bytes))")
      #expect(document.keys.count + document.rejections.count == 3, "\(text(bytes))")
    }
    #expect(accepted > 500)
  }
}
