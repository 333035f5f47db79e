import Foundation
import GatewayTesting
import Testing

@testable import KeyPeers

/// What JSON documents list, against a reader that makes a tree of them.
@Suite struct ListedItemsTests {
  @Test(arguments: [
    ("[].url", #"[{"url":"a","x":["b"]},{"y":{"url":"c"}},{"url":"d"}]"#, ["a", "d"]),
    ("batches[]", #"{"batches":["18597",18598,"18598_111590"]}"#, ["18597", "18598", "18598_111590"]),
    (
      "daily[].paths[]", #"{"daily":[{"paths":["\\a\\1"]},{"paths":[]},{"paths":["\/b\u002f2"]}]}"#, [#"\a\1"#, "/b/2"]
    ),
    ("a.b[],c[]", #"{"c":["1"],"a":{"b":["2"]}}"#, ["1", "2"]), ("[][]", #"[["a"],["b","c"]]"#, ["a", "b", "c"]),
    ("a", #"{"a":"x"}"#, ["x"]),
  ])
  func aSelectorMeansItems(selector: String, document: String, items: [String]) throws {
    let selectors = try #require(ItemSelector.all(in: selector))
    let found = try #require(ListedItems(in: Array(document.utf8), selectors, limit: 10))
    #expect(found.items == items)
    #expect(found.passedOver == 0)
    #expect(found.isFound)
  }

  @Test(arguments: [
    "", ".", "a.", ".a", "a[", "a[]b", "a b", "a,", "ä", "[].", "a..b", String(repeating: "a.", count: 20) + "a",
  ])
  func aSelectorIsChecked(text: String) { #expect(ItemSelector.all(in: text) == nil) }

  @Test func aDocumentOfAnotherShapeIsNotFound() throws {
    for document in [#"{"error":1}"#, "[]", "null", #"{"batches":{"a":["x"]}}"#] {
      let found = try #require(
        ListedItems(in: Array(document.utf8), ItemSelector.all(in: "batches[]") ?? [], limit: 10))
      #expect(!found.isFound, "\(document)")
    }
  }

  @Test func valuesThatAreNoItemsAreCounted() throws {
    let document = #"{"batches":[null,true,{"a":"b"},["c"],"","a b","ä","\n",1.5,-1,1e3,"ok"]}"#
    let found = try #require(
      ListedItems(in: Array(document.utf8), ItemSelector.all(in: "batches[]") ?? [], limit: 10))
    #expect(found.items == ["ok"])
    #expect(found.passedOver == 11)
  }

  @Test func aLongListIsNotReadToItsEnd() throws {
    let document = "[\(String(repeating: "1,", count: 1000))"
    let found = try #require(ListedItems(in: Array(document.utf8), ItemSelector.all(in: "[]") ?? [], limit: 10))
    #expect(found.isTooLong)
    #expect(found.items.count == 10)
  }

  /// Whatever is damaged, the reader ends, and finds what a tree of the same document has.
  @Test func damagedDocumentsAreReadAsATreeIsOrNotAtAll() throws {
    var random = SeededRandom(for: "listed items")
    let selectors = try #require(ItemSelector.all(in: "[].url,batches[].paths[],batches[]"))
    let documents = [
      #"[{"region":"440","url":"https:\/\/h.example\/1.zip","created":1595642409000},{"url":"x"},{"url":null}]"#,
      #"{"batches":[{"paths":["\\a\\1.zip","b"]},{"paths":[7,8]},"18598_111590",18597],"interval":2677968}"#,
    ]
    var read = 0
    for round in 0..<20_000 {
      var bytes = Array(documents[round % 2].utf8)
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: place)
        case 2: bytes.insert(random.pick(Array(#"[]{}",:\u0"#.utf8)), at: place)
        default: bytes.removeSubrange(place...)
        }
        if bytes.isEmpty { break }
      }
      guard let found = ListedItems(in: bytes, selectors, limit: 100) else { continue }
      read += 1
      guard let tree = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed) else {
        continue
      }
      // Members that are named twice are told once by a tree.
      let expected = Self.items(of: tree, selectors.map { $0.steps[...] })
      let unique = Set(found.items)
      #expect(Set(expected).isSubset(of: unique), "seed \(random.seed): \(String(decoding: bytes, as: UTF8.self))")
    }
    #expect(read > 1000)
  }

  private static func items(of value: Any, _ paths: [ArraySlice<ItemSelector.Step>]) -> [String] {
    if paths.contains(where: \.isEmpty) {
      guard let text = value as? String, (1...2048).contains(text.utf8.count),
        text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
      else { return [] }
      return [text]
    }
    if let list = value as? [Any] {
      let inner = paths.filter { $0.first == .eachElement }.map { $0.dropFirst() }
      return inner.isEmpty ? [] : list.flatMap { items(of: $0, inner) }
    }
    guard let object = value as? [String: Any] else { return [] }
    return object.flatMap { name, value in
      let inner = paths.filter { $0.first == .member(name) }.map { $0.dropFirst() }
      return inner.isEmpty ? [] : items(of: value, inner)
    }
  }
}
