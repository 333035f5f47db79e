package import BundleTrust

/// In tests a secret is none.
extension Secret: ExpressibleByStringLiteral {
  package init(stringLiteral text: String) { self.init(text) }
}
