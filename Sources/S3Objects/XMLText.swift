internal import CLibxml2
internal import KeyIntake

/// An element of the small documents that S3 answers with. libxml2 reads them, without the network and without a document type,
/// whose entities could be anything.
package struct XMLElement: Hashable, Sendable {
  package let name: String
  package private(set) var text = ""
  package private(set) var children: [XMLElement] = []

  /// What the first element of this name says, that lies directly in this one.
  package subscript(name: String) -> String? { children.first { $0.name == name }?.text }
  package func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

  package struct Malformed: Error, Hashable { package let reason: String }

  private static let mostDepth = 16
  private static let mostBytes = 64 << 20

  /// The root of a document.
  package init(document: [UInt8]) throws(Malformed) {
    guard document.count <= Self.mostBytes else { throw Malformed(reason: "\(document.count) bytes are too many") }
    guard let context = xmlNewParserCtxt() else { throw Malformed(reason: "libxml2 has too little memory") }
    defer { xmlFreeParserCtxt(context) }
    let options = Int32(XML_PARSE_NONET.rawValue | XML_PARSE_NOERROR.rawValue | XML_PARSE_NOWARNING.rawValue)
    let parsed = document.withUnsafeBytes { bytes in
      xmlCtxtReadMemory(
        context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), nil, nil, options)
    }
    guard let parsed else { throw Malformed(reason: Self.reason(in: context)) }
    defer { xmlFreeDoc(parsed) }
    guard parsed.pointee.intSubset == nil else { throw Malformed(reason: "it has a document type") }
    guard let root = xmlDocGetRootElement(parsed) else { throw Malformed(reason: "it has no element") }
    try self.init(root, depth: 0)
  }

  private init(_ node: xmlNodePtr, depth: Int) throws(Malformed) {
    guard depth < Self.mostDepth else { throw Malformed(reason: "elements nest deeper than \(Self.mostDepth) levels") }
    name = Self.string(node.pointee.name)
    var next = node.pointee.children
    while let child = next {
      switch child.pointee.type {
      case XML_ELEMENT_NODE: children.append(try XMLElement(child, depth: depth + 1))
      case XML_TEXT_NODE, XML_CDATA_SECTION_NODE: text += Self.string(child.pointee.content)
      case XML_COMMENT_NODE, XML_PI_NODE: break
      default: throw Malformed(reason: "\(name) has an entity that is not defined")
      }
      next = child.pointee.next
    }
  }

  private static func string(_ text: UnsafePointer<xmlChar>?) -> String { text.map { String(cString: $0) } ?? "" }

  private static func reason(in context: xmlParserCtxtPtr) -> String {
    guard let error = xmlCtxtGetLastError(context), let message = error.pointee.message else { return "it is no XML" }
    let words = String(cString: message).split(separator: "\n").first ?? ""
    return "line \(error.pointee.line): \(printableText(String(words)))"
  }
}
