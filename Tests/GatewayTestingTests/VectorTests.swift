import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

@testable import recipes

@Suite struct VectorFileTests {
  private let bytes: [UInt8] = Array("key;\r\n\n\u{feff}x".utf8) + [0, 255]

  @Test(arguments: Vector.Body.allCases.filter { $0 != .pieces })
  func roundTrip(body: Vector.Body) throws {
    let fields = [Vector.Field("comment", "a: b"), .init("expect", "refused:malformed"), .init("body", body.rawValue)]
    let vector = Vector(name: "csv/line_ends", fields: fields, bytes: bytes)
    let again = try Vector(name: vector.name, file: vector.file())
    #expect(again.bytes == bytes)
    #expect(again.comment == "a: b")
    #expect(try again.expectation() == .refused("malformed"))
  }

  @Test func pieces() throws {
    let pieces = [Vector.Piece("{\"keys\": "), .init("[", times: 3), .init([0xff], times: 2), .init("\n")]
    let file = Vector(name: "json/deep", fields: [.init("expect", "accepted")], bytes: []).file(pieces: pieces)
    #expect(String(decoding: file, as: UTF8.self).hasSuffix("text {\"keys\": \n3 * text [\n2 * hex ff\nhex 0a\n"))
    #expect(try Vector(name: "json/deep", file: file).bytes == Array("{\"keys\": [[[".utf8) + [0xff, 0xff, 0x0a])
  }

  @Test(arguments: ["no colon\n\n00", "body: rot13\n\n00", "a: b\n\n0", "a: b\n\n0g", "body: pieces\n\nbits 01"])
  func faults(file: String) {
    #expect(throws: Vector.Fault.self) { try Vector(name: "x/y", file: Array(file.utf8)) }
  }

  @Test func expectations() throws {
    for text in ["accepted", "rejected-keys", "refused:truncated"] {
      #expect(Vector.Expectation(text)?.description == text)
    }
    #expect(Vector.Expectation("refused:") == nil)
    #expect(Vector.Expectation("fine") == nil)
    #expect(throws: Vector.Fault.self) { try Vector(name: "x/y", file: Array("keys: two\n\n".utf8)).number("keys") }
  }
}

@Suite struct CommittedVectorTests {
  @Test func everyVectorSaysWhatItIsAndWhatIsExpected() throws {
    let vectors = try Vector.all()
    #expect(vectors.count >= allRecipes.count)
    for vector in vectors {
      #expect(!vector.comment.isEmpty, "\(vector.name)")
      #expect(throws: Never.self, "\(vector.name)") { try vector.expectation() }
      for field in ["keys", "revised"] { _ = try vector.number(field) }
      for reason in vector["rejected"]?.split(separator: " ") ?? [] {
        #expect(RejectionReason(rawValue: String(reason)) != nil, "\(vector.name): \(reason)")
      }
      if case .refused(let code) = try vector.expectation() {
        #expect(FormatError.Code(rawValue: code) != nil, "\(vector.name): \(code)")
      }
      let format = vector["format"] ?? vector.name.split(separator: "/").first.map(String.init) ?? ""
      #expect(format == "none" || KeyFormat(rawValue: format) != nil, "\(vector.name): \(format)")
      if let detected = vector["detected"] {
        let isRefusal = detected.hasPrefix("refused:") && FormatError.Code(rawValue: "\(detected.dropFirst(8))") != nil
        #expect(isRefusal || KeyFormat(rawValue: detected) != nil, "\(vector.name): \(detected)")
      }
    }
  }

  /// `recipes vectors` writes what is committed.
  @Test func recipesAreUpToDate() throws {
    for recipe in allRecipes {
      let committed = try Data(contentsOf: Vector.folder.appending(path: recipe.name))
      let isSame = Array(committed) == recipe.file
      #expect(isSame, "\(recipe.name): write it again with swift run recipes vectors")
    }
  }

  @Test func theDrawerIsUpToDate() throws {
    let folder = Vector.folder.appending(path: "drawer")
    for file in drawer {
      let bytes = Array(try Data(contentsOf: folder.appending(path: file.name)))
      let expected = Array(try Data(contentsOf: folder.appending(path: file.name + ".expected")))
      let isSame = bytes == file.bytes && expected == file.expected
      #expect(isSame, "\(file.name): write it again with swift run recipes vectors")
    }
    let paths = FileManager.default.enumerator(atPath: folder.path())?.compactMap { $0 as? String } ?? []
    #expect(paths.count { $0.hasSuffix(".expected") } == drawer.count)
  }

  /// The table that ships is what the program for made-up data makes.
  @Test func theTableOfKeysIsMadeUp() throws {
    let shipped = try Data(contentsOf: PackageFolder.root.appending(path: "interop/deploy/keys.csv"))
    let made = try Sample.csv.bytes(300, seed: 2)
    #expect(shipped == made, "write it again with swift run recipes sample csv 300 2")
  }

  /// The reference is an independent witness for what the vectors of the protobuf formats expect.
  @Test(arguments: ["gaen-export", "efgs-protobuf"])
  func referenceAgrees(format: String) throws {
    for vector in try Vector.all(format) {
      let document: DecodedDocument
      do {
        document =
          try format == "gaen-export"
          ? ReferenceExport.decode(vector.bytes) : ReferenceBatch.decode(vector.bytes)
      } catch {
        guard case .refused = try vector.expectation() else {
          Issue.record("\(vector.name): \(error)")
          continue
        }
        continue
      }
      #expect(try vector.expectation() == (document.rejections.isEmpty ? .accepted : .rejectedKeys), "\(vector.name)")
      let reasons = document.rejections.map(\.reason.rawValue).joined(separator: " ")
      #expect(vector["rejected"] ?? "" == reasons, "\(vector.name)")
      if let keys = try vector.number("keys") { #expect(document.keys.count == keys, "\(vector.name)") }
      if let revised = try vector.number("revised") {
        #expect(document.keys.filter(\.isRevised).count == revised, "\(vector.name)")
      }
      if vector["canonical"] == "yes" {
        let again = try format == "gaen-export" ? ReferenceExport.encode(document) : ReferenceBatch.encode(document)
        #expect(again == vector.bytes, "\(vector.name)")
      }
    }
  }
}
