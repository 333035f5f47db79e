/// What a bucket answers: XML.
let bucketTargets: [String: FuzzTarget] = ["bucket-xml": fuzzBucketXML]

/// A document is refused, or it is what is read of it when it is written again; it nests no deeper than allowed.
@Sendable private func fuzzBucketXML(_ input: UnsafeRawBufferPointer) {
  guard let root = try? XMLElement(document: Array(input)) else { return }
  check(depth(of: root) <= 16, "it nests too deep")
  check((try? XMLElement(document: Array(text(of: root).utf8))) == root, "it reads otherwise: \(text(of: root))")
}

private func depth(of element: XMLElement) -> Int { 1 + (element.children.map(depth).max() ?? 0) }

private func text(of element: XMLElement) -> String {
  let escaped = element.text.unicodeScalars.map { scalar in
    switch scalar {
    case "<", ">", "&", "\r": "&#\(scalar.value);"
    default: String(scalar)
    }
  }
  return "<\(element.name)>" + escaped.joined() + element.children.map(text).joined() + "</\(element.name)>"
}
