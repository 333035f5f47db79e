internal import Yams

/// A part of a YAML document: what it is, and where it begins. Everything that is one word or text is a text; whoever reads it says
/// what else it may be.
struct YAMLNode {
  enum Content {
    case scalar(String)
    case sequence([YAMLNode])
    case mapping([(key: YAMLNode, value: YAMLNode)])
    /// `*name`: what an anchor stands for, which is not looked up.
    case alias
  }

  let content: Content
  let mark: YAMLMark
  /// Whether it has a name (`&name`) by which others mean it.
  let isAnchored: Bool

  var scalar: String? { if case .scalar(let text) = content { text } else { nil } }
  var sequence: [YAMLNode]? { if case .sequence(let nodes) = content { nodes } else { nil } }
  var mapping: [(key: YAMLNode, value: YAMLNode)]? { if case .mapping(let pairs) = content { pairs } else { nil } }
}

/// A place in the text, counted from 1.
struct YAMLMark: Hashable {
  let line: Int
  let column: Int
}

extension YAMLMark {
  init(_ mark: Mark) { self.init(line: mark.line, column: mark.column) }
}

/// Why a text is not one document of YAML. Only the reader's own words, and names that are stated twice: the text may have secrets.
struct YAMLFault: Error {
  var reason: String
  var mark: YAMLMark?
  /// Names that one mapping states more than once. The place is where the first of them is stated first.
  var repeated: [String] = []
}

/// Reads a text with Yams.
///
/// Yams puts what an alias means in its place and then compares whole names, so a few lines of aliases in names would take it hours.
/// It is given the text with another character in place of each `*`, and sees no alias: a plain scalar that begins with this character
/// is one, since YAML has no plain scalar that begins with `*`.
struct YAMLReader {
  private let nestingLimit: Int
  /// What stands in place of `*`; `nil` where there is none.
  private let mask: Unicode.Scalar?

  /// - Parameter nestingLimit: sections in each other at most; deeper ones are a fault.
  /// - Returns: the one document of the text; `nil` where there is none.
  /// - Throws: ``YAMLFault``.
  static func root(of text: String, nestingLimit: Int) throws(YAMLFault) -> YAMLNode? {
    // A mark of byte order is no part of the first line.
    let text = text.utf8.starts(with: [0xEF, 0xBB, 0xBF]) ? String(text.unicodeScalars.dropFirst()) : text
    guard !text.isEmpty else { return nil }
    var mask: Unicode.Scalar?
    if text.utf8.contains(UInt8(ascii: "*")) {
      let taken = Set(text.unicodeScalars)
      mask = (0xE000...0xF8FF).lazy.compactMap(Unicode.Scalar.init).first { !taken.contains($0) }
      guard mask != nil else { throw YAMLFault(reason: "has all characters that are for private use") }
    }
    let reader = YAMLReader(nestingLimit: nestingLimit, mask: mask)
    return try reader.root(of: reader.replace("*", by: mask, in: text))
  }

  private func root(of text: String) throws(YAMLFault) -> YAMLNode? {
    let parser: Parser
    let root: Node?
    do {
      parser = try Parser(yaml: text, resolver: .basic, encoding: .utf8)
      root = try parser.singleRoot()
    } catch {
      throw fault(error, in: text)
    }
    // Nodes have their anchors while there is a parser.
    return try withExtendedLifetime(parser) { () throws(YAMLFault) in
      try root.map { (root) throws(YAMLFault) in try node(root, depth: 0) }
    }
  }

  private func replace(_ old: Unicode.Scalar?, by new: Unicode.Scalar?, in text: String) -> String {
    guard let old, let new, mask != nil else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == old ? new : $0 }))
  }

  private func node(_ node: Node, depth: Int) throws(YAMLFault) -> YAMLNode {
    let mark = node.mark.map { YAMLMark($0) } ?? YAMLMark(line: 1, column: 1)
    guard depth <= nestingLimit else { throw tooDeep(mark) }
    let content: YAMLNode.Content
    switch node {
    case .scalar(let scalar):
      let isAlias = scalar.style == .plain && mask != nil && scalar.string.unicodeScalars.first == mask
      content = isAlias ? .alias : .scalar(replace(mask, by: "*", in: scalar.string))
    case .sequence(let sequence):
      content = .sequence(try sequence.map { (element) throws(YAMLFault) in try self.node(element, depth: depth + 1) })
    case .mapping(let mapping):
      content = .mapping(
        try mapping.map { (pair) throws(YAMLFault) in
          (try self.node(pair.key, depth: depth + 1), try self.node(pair.value, depth: depth + 1))
        })
    case .alias: content = .alias
    }
    return YAMLNode(content: content, mark: mark, isAnchored: node.anchor != nil)
  }

  private func tooDeep(_ mark: YAMLMark) -> YAMLFault {
    YAMLFault(reason: "nested more than \(nestingLimit) levels deep", mark: mark)
  }

  /// What Yams did not like.
  private func fault(_ error: any Error, in text: String) -> YAMLFault {
    switch error as? YamlError {
    case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _):
      // Of a thousand levels Yams makes no document.
      if problem.hasPrefix("Maximum nesting level") { return tooDeep(YAMLMark(mark)) }
      return YAMLFault(reason: problem, mark: YAMLMark(mark))
    case .composer(_, _, let mark, _):
      return YAMLFault(reason: "a second document begins here, allowed one", mark: YAMLMark(mark))
    case .duplicatedKeysInMapping(let names, let context):
      let names = names.map { replace(mask, by: "*", in: $0) }
      return YAMLFault(reason: "stated twice", mark: YAMLMark(context.mark), repeated: names)
    case .reader(let problem, let offset, _, _):
      return YAMLFault(reason: problem, mark: offset.map { Self.mark(of: text.prefix($0)) })
    default: return YAMLFault(reason: "cannot be read")
    }
  }

  private static func mark(of before: Substring) -> YAMLMark {
    let line = before.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).last ?? ""
    return YAMLMark(line: before.count(where: \.isNewline) + 1, column: line.unicodeScalars.count + 1)
  }
}
