public import Foundation

/// Where a ``Server`` is and what it may do.
public struct ServerConfiguration: Hashable, Sendable {
  /// The beginning of every address: `https://keys.example.org`.
  public var baseURL: URL
  /// The name of the series that the app wants; `nil` is the server's default.
  public var series: String?
  /// Where keys are posted; `nil` is the server's own door for the series.
  public var uploadURL: URL?
  /// Sent with posts as `Authorization: Bearer …`.
  public var uploadToken: String?
  /// Where downloaded files are put. Made when it is missing.
  public var downloadFolder: URL
  /// The most bytes of a file of keys.
  public var maximumFileBytes = 64 << 20
  /// The most bytes of a list, a page or a configuration.
  public var maximumDocumentBytes = 4 << 20
  /// Seconds without a byte after which a call fails.
  public var idleTimeout: TimeInterval = 30

  /// - Parameters:
  ///   - baseURL: the beginning of every address.
  ///   - series: the name of the series; `nil` is the server's default.
  ///   - uploadURL: where keys are posted; `nil` is the server's own door.
  ///   - uploadToken: sent with posts as `Authorization: Bearer …`.
  ///   - downloadFolder: `nil` is a folder of its own among the caches.
  public init(
    baseURL: URL, series: String? = nil, uploadURL: URL? = nil, uploadToken: String? = nil, downloadFolder: URL? = nil
  ) {
    self.baseURL = baseURL
    self.series = series
    self.uploadURL = uploadURL
    self.uploadToken = uploadToken
    let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
    self.downloadFolder =
      downloadFolder ?? (caches ?? FileManager.default.temporaryDirectory).appendingPathComponent("DiagnosisKeys")
  }

  /// Where keys are posted: only a door for a named series is known.
  func uploadAddress() throws -> URL {
    if let uploadURL { return uploadURL }
    guard series != nil else { throw ServerError.noUploadAddress }
    return try address(of: "keys")
  }

  /// The address of a document of Keyferry's layout for Apple's sample.
  func address(of document: String, _ query: [String: String] = [:]) throws -> URL {
    let series = series.map { [$0] } ?? []
    let path = (["apple"] + series + [document]).reduce(baseURL) { $0.appendingPathComponent($1) }
    guard var parts = URLComponents(url: path, resolvingAgainstBaseURL: true) else {
      throw ServerError.refusedAddress(baseURL)
    }
    if !query.isEmpty {
      parts.queryItems = query.sorted { $0.key < $1.key }.map { URLQueryItem(name: $0.key, value: $0.value) }
    }
    guard let url = parts.url else { throw ServerError.refusedAddress(baseURL) }
    return url
  }
}
