#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// One block of RFC 7468 text.
struct PEMBlock {
  /// `PUBLIC KEY`, `EC PRIVATE KEY`.
  let label: String
  let content: [UInt8]
  /// The line of `-----BEGIN`, counted from 1.
  let line: Int
  /// Whether the block has the old header that says that its content is encrypted.
  let isEncrypted: Bool

  /// The most bytes of text that is read.
  static let maximumTextLength = 4 << 20

  /// All blocks of the text. What stands between blocks is ignored, as the RFC says.
  static func blocks(in text: String) throws(KeyFault) -> [PEMBlock] {
    guard text.utf8.count <= maximumTextLength else {
      throw KeyFault(.limitExceeded, "\(text.utf8.count) bytes of text, at most \(maximumTextLength) are read")
    }
    var blocks: [PEMBlock] = []
    var open: (label: String, line: Int)?
    var base64: [UInt8] = []
    var isEncrypted = false
    var number = 0
    for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      let line = trimmed(line)
      if let label = label(of: line, "BEGIN") {
        if let open { throw KeyFault(.notPEM, place: "line \(open.line)", "the block has no END line") }
        open = (label, number)
        base64 = []
        isEncrypted = false
      } else if let block = open, let label = label(of: line, "END") {
        guard label == block.label else {
          let reason = "BEGIN \(quoted(block.label)) is closed by END \(quoted(label))"
          throw KeyFault(.notPEM, place: "line \(number)", reason)
        }
        guard let content = Data(base64Encoded: Data(base64)) else {
          throw KeyFault(.notPEM, place: "line \(block.line)", "the content of the block is not base64")
        }
        blocks.append(
          PEMBlock(label: label, content: Array(content), line: block.line, isEncrypted: isEncrypted))
        open = nil
      } else if open != nil {
        // RFC 1421 headers of old OpenSSL keys: `Proc-Type: 4,ENCRYPTED`, `DEK-Info: …`.
        if line.contains(UInt8(ascii: ":")) {
          isEncrypted = isEncrypted || line.starts(with: Array("Proc-Type:".utf8))
          isEncrypted = isEncrypted || line.starts(with: Array("DEK-Info:".utf8))
        } else {
          base64.append(contentsOf: line)
        }
      }
    }
    if let open { throw KeyFault(.notPEM, place: "line \(open.line)", "the block has no END line") }
    return blocks
  }

  private static func label(of line: Substring.UTF8View, _ keyword: String) -> String? {
    let prefix = Array("-----\(keyword) ".utf8)
    let suffix = Array("-----".utf8)
    guard line.count > prefix.count + suffix.count, line.starts(with: prefix), line.suffix(5).elementsEqual(suffix)
    else { return nil }
    return String(Substring(line.dropFirst(prefix.count).dropLast(suffix.count)))
  }

  static func text(_ label: String, _ content: [UInt8]) -> String {
    let base64 = Data(content).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
    return "-----BEGIN \(label)-----\n\(base64)\n-----END \(label)-----\n"
  }
}

func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
  let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
  var text = text
  while let first = text.first, isSpace(first) { text.removeFirst() }
  while let last = text.last, isSpace(last) { text.removeLast() }
  return text
}
