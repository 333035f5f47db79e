/// Where a bucket is, and how it stands in addresses.
package struct BucketAddress: Hashable, Sendable {
  package enum Style: String, Hashable, Sendable, CaseIterable {
    /// `https://s3.example.org/BUCKET/KEY`: MinIO, Ceph and most others.
    case path
    /// `https://BUCKET.s3.example.org/KEY`: AWS.
    case virtualHost = "virtual-host"
  }

  /// Scheme, host and port, without a slash at the end.
  package let endpoint: String
  package let bucket: String
  /// Before every key: empty, or with a slash at its end.
  package let prefix: String
  package let region: String
  package let style: Style

  /// - Parameters:
  ///   - endpoint: `nil` is AWS's for the region.
  ///   - style: `nil` is `path` with an endpoint, `virtual-host` without one, unless the bucket's name is none for a host.
  package init(
    endpoint: String?, bucket: String, prefix: String = "", region: String, style: Style? = nil
  ) {
    self.endpoint =
      endpoint.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 } ?? "https://s3.\(region).amazonaws.com"
    self.bucket = bucket
    self.prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
    self.region = region
    self.style = style ?? (endpoint == nil && !bucket.contains(".") ? .virtualHost : .path)
  }

  private var scheme: String { endpoint.hasPrefix("http://") ? "http" : "https" }

  /// Host and port of the endpoint.
  private var authority: String { String(endpoint.drop { $0 != "/" }.drop { $0 == "/" }) }

  /// As `Host` says it; the scheme's own port is not said.
  package var host: String {
    let usual = scheme == "http" ? ":80" : ":443"
    let authority = authority.hasSuffix(usual) ? String(authority.dropLast(usual.count)) : authority
    return style == .path ? authority : "\(bucket).\(authority)"
  }

  package var origin: String { "\(scheme)://\(host)" }

  /// - Parameter key: without the prefix; `nil` is the bucket itself.
  package func path(_ key: String?) -> String {
    let inside = key.map { "\(prefix)\($0)" } ?? ""
    return style == .path ? (key == nil ? "/\(bucket)" : "/\(bucket)/\(inside)") : "/\(inside)"
  }

  /// For people: `s3://BUCKET/PREFIX`.
  package func shown(_ key: String = "") -> String { "s3://\(bucket)/\(prefix)\(key)" }
}
