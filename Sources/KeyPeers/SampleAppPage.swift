/// What a page of Apple's sample says beside its keys, found in one pass that keeps nothing: a page is as long as its
/// sender likes, and a tree of its values would take many times its bytes.
///
/// It is a page where the JSON (RFC 8259) is well-formed to a depth of ``JSONSkimmer/depthLimit``; what the keys say is read later.
struct SampleAppPage: Hashable {
  var count: Int64 = 0
  var isLast: Bool?
  var nextIndex: Int64?

  /// `nil` for what is no page.
  init?(_ body: [UInt8]) {
    var page = (count: Int64(0), isLast: Bool?.none, nextIndex: Int64?.none)
    let isPage = body.withUnsafeBytes { bytes in
      var reader = JSONSkimmer(bytes)
      reader.skipSpace()
      if reader.next == UInt8(ascii: "[") {
        guard let count = reader.array() else { return false }
        page.count = count
      } else {
        guard Self.read(&reader, &page) else { return false }
      }
      reader.skipSpace()
      return reader.isAtEnd
    }
    guard isPage else { return nil }
    (count, isLast, nextIndex) = page
  }

  private static func read(
    _ reader: inout JSONSkimmer, _ page: inout (count: Int64, isLast: Bool?, nextIndex: Int64?)
  ) -> Bool {
    var hasKeys = false
    let isObject = reader.object { name, reader in
      switch name {
      case "keys":
        guard let count = reader.array() else { return false }
        page.count = count
        hasKeys = true
      case "done":
        if reader.skip("true") {
          page.isLast = true
        } else if reader.skip("false") {
          page.isLast = false
        } else {
          return reader.skip("null")
        }
      case "nextIndex":
        if reader.skip("null") { return true }
        guard let text = reader.number(), let number = Int64(text) ?? Double(text).flatMap({ Int64(exactly: $0) })
        else {
          return false
        }
        page.nextIndex = number
      default: return reader.value()
      }
      return true
    }
    return isObject && hasKeys
  }
}
