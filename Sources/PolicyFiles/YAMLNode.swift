internal import CLibyaml

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

  init(line: Int, column: Int) {
    (self.line, self.column) = (line, column)
  }

  init(_ mark: yaml_mark_t) {
    self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
  }
}

/// Why a text is not one document of YAML. Only the reader's own words, and names that are stated twice: the text may have secrets.
struct YAMLFault: Error {
  var reason: String
  var mark: YAMLMark?
  /// Names that one mapping states more than once. The place is where the first of them is stated again.
  var repeated: [String] = []
}

/// Reads a text with libyaml, event by event.
struct YAMLReader {
  /// libyaml's state. It stays where it is.
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  /// Sections in each other at most; deeper ones are a fault.
  private let nestingLimit: Int

  /// - Returns: the one document of the text; `nil` where there is none.
  /// - Throws: ``YAMLFault``.
  static func root(of text: String, nestingLimit: Int) throws(YAMLFault) -> YAMLNode? {
    let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    defer { parser.deallocate() }
    guard yaml_parser_initialize(parser) == 1 else { throw YAMLFault(reason: "cannot be read: there is no memory") }
    defer { yaml_parser_delete(parser) }
    // A mark of byte order is no part of the first line.
    let bytes = Array(text.utf8.starts(with: [0xEF, 0xBB, 0xBF]) ? text.utf8.dropFirst(3) : text.utf8[...])
    let result: Result<YAMLNode?, YAMLFault> = bytes.withUnsafeBufferPointer { bytes in
      // Libyaml keeps the address until it has read to the end; an empty array may have none.
      yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
      var nothing: UInt8 = 0
      return withUnsafePointer(to: &nothing) { nothing in
        yaml_parser_set_input_string(parser, bytes.baseAddress ?? nothing, bytes.count)
        do throws(YAMLFault) {
          return .success(try YAMLReader(parser: parser, nestingLimit: nestingLimit).document())
        } catch {
          return .failure(error)
        }
      }
    }
    return try result.get()
  }

  private func document() throws(YAMLFault) -> YAMLNode? {
    _ = try next()
    guard try next().kind == YAML_DOCUMENT_START_EVENT else { return nil }
    let root = try node(try next(), depth: 0)
    _ = try next()
    let end = try next()
    guard end.kind == YAML_STREAM_END_EVENT else {
      throw YAMLFault(reason: "a second document begins here, allowed one", mark: end.mark)
    }
    return root
  }

  /// What an event says, copied out of libyaml.
  private struct Event {
    var kind: yaml_event_type_t
    var mark: YAMLMark
    var text = ""
    var isAnchored = false
  }

  private func next() throws(YAMLFault) -> Event {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw fault }
    defer { yaml_event_delete(&event) }
    var copy = Event(kind: event.type, mark: YAMLMark(event.start_mark))
    switch event.type {
    case YAML_SCALAR_EVENT:
      let scalar = event.data.scalar
      copy.text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
      copy.isAnchored = scalar.anchor != nil
    case YAML_SEQUENCE_START_EVENT: copy.isAnchored = event.data.sequence_start.anchor != nil
    case YAML_MAPPING_START_EVENT: copy.isAnchored = event.data.mapping_start.anchor != nil
    default: break
    }
    return copy
  }

  private func node(_ event: Event, depth: Int) throws(YAMLFault) -> YAMLNode {
    guard depth <= nestingLimit else {
      throw YAMLFault(reason: "nested more than \(nestingLimit) levels deep", mark: event.mark)
    }
    let content: YAMLNode.Content
    switch event.kind {
    case YAML_SCALAR_EVENT: content = .scalar(event.text)
    case YAML_SEQUENCE_START_EVENT:
      var nodes: [YAMLNode] = []
      while case let element = try next(), element.kind != YAML_SEQUENCE_END_EVENT {
        nodes.append(try node(element, depth: depth + 1))
      }
      content = .sequence(nodes)
    case YAML_MAPPING_START_EVENT: content = .mapping(try pairs(depth))
    default: content = .alias
    }
    return YAMLNode(content: content, mark: event.mark, isAnchored: event.isAnchored)
  }

  private func pairs(_ depth: Int) throws(YAMLFault) -> [(key: YAMLNode, value: YAMLNode)] {
    var pairs: [(key: YAMLNode, value: YAMLNode)] = []
    var names: Set<String> = []
    var repeated: Set<String> = []
    var again: YAMLMark?
    while case let event = try next(), event.kind != YAML_MAPPING_END_EVENT {
      let key = try node(event, depth: depth + 1)
      if let name = key.scalar, !names.insert(name).inserted {
        repeated.insert(name)
        again = again ?? key.mark
      }
      pairs.append((key, try node(try next(), depth: depth + 1)))
    }
    guard repeated.isEmpty else {
      throw YAMLFault(reason: "stated twice", mark: again, repeated: repeated.sorted())
    }
    return pairs
  }

  /// What libyaml did not like.
  private var fault: YAMLFault {
    let state = parser.pointee
    let problem = state.problem.map { String(cString: $0) } ?? "cannot be read"
    switch state.error {
    case YAML_SCANNER_ERROR, YAML_PARSER_ERROR: return YAMLFault(reason: problem, mark: YAMLMark(state.problem_mark))
    case YAML_READER_ERROR: return YAMLFault(reason: "\(problem) at byte \(state.problem_offset)")
    default: return YAMLFault(reason: "cannot be read")
    }
  }
}
