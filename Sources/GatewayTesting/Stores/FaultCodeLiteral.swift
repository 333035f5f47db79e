package import ExposureKeys
internal import KeyStorage

/// Tests spell codes as programs see them.
extension FaultCode: ExpressibleByStringLiteral {
  package init(stringLiteral value: String) { self.init(rawValue: value) }
}
