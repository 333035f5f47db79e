public import Dispatch
public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A key server, with the methods of the class of this name in Apple's sample app. An app deletes the sample's stub,
/// imports this module, and says once where its server is:
///
/// ```swift
/// Server.shared.configuration = ServerConfiguration(
///   baseURL: URL(string: "https://keys.example.org")!, series: "NL")
///
/// Server.shared.getDiagnosisKeyFileURLs(startingAt: nextDiagnosisKeyFileIndex) { result in
///   guard let urls = try? result.get() else { return }
///   for url in urls {
///     Server.shared.downloadDiagnosisKeyFile(at: url) { files in
///       // Both files go to detectExposures(configuration:diagnosisKeyURLs:).
///     }
///   }
/// }
/// ```
///
/// Completions are called once, on ``completionQueue``. Nothing is retried. Verification is another server's work:
/// ``verifyUniqueTestIdentifier(_:completion:)`` asks ``testVerifier``.
public final class Server: @unchecked Sendable {
  public static let shared = Server()

  private let lock = NSLock()
  private var current: ServerConfiguration?
  private var verifier: TestVerifier?
  private let session: URLSession
  private let transfer = BoundedTransfer()

  /// Where completions are called: one after the other, so that they may change what they share.
  public let completionQueue: DispatchQueue

  /// - Parameters:
  ///   - configuration: may be set later.
  ///   - completionQueue: a serial queue.
  public init(_ configuration: ServerConfiguration? = nil, completionQueue: DispatchQueue = .main) {
    current = configuration
    self.completionQueue = completionQueue
    let settings = URLSessionConfiguration.ephemeral
    settings.timeoutIntervalForResource = 600
    settings.httpShouldSetCookies = false
    session = URLSession(configuration: settings, delegate: transfer, delegateQueue: nil)
  }

  deinit { session.finishTasksAndInvalidate() }

  /// Where the server is. A call uses what is set when it begins.
  public var configuration: ServerConfiguration? {
    get { lock.withLock { current } }
    set { lock.withLock { current = newValue } }
  }

  /// Says whether an identifier of a test is right: it asks the health authority's verification server.
  public typealias TestVerifier =
    @Sendable (_ identifier: String, _ completion: @escaping @Sendable (Result<Bool, any Error>) -> Void) -> Void

  /// `nil` knows no identifier.
  public var testVerifier: TestVerifier? {
    get { lock.withLock { verifier } }
    set { lock.withLock { verifier = newValue } }
  }

  /// What this process has posted and the server has taken, each key once; in memory alone. The sample's stub kept its
  /// keys under this name, and its debugging screens show them, empty it, and watch it by `$diagnosisKeys`.
  @PostedKeys public var diagnosisKeys: [CodableDiagnosisKey]

  // MARK: Files of keys

  func files(
    startingAt index: Int, completion: @escaping @Sendable (Result<DiagnosisKeyFileList, any Error>) -> Void
  ) {
    getDocument("files", ["startingAt": String(max(index, 0))], completion: completion) { answer, url, configuration in
      let urls = try Self.decode([URL].self, answer, url)
      guard let next = answer.headers["x-next-index"].flatMap(Int.init), next >= 0 else {
        throw ServerError.malformed(url, reason: "there is no header x-next-index with a number")
      }
      for listed in urls { try Self.check(listed, against: configuration) }
      return DiagnosisKeyFileList(urls: urls, nextIndex: next)
    }
  }

  func archive(
    at remoteURL: URL, completion: @escaping @Sendable (Result<[URL], any Error>) -> Void
  ) {
    prepare(completion) { configuration in
      try Self.check(remoteURL, against: configuration)
      let limit = configuration.maximumFileBytes
      let (bin, sig) = (remoteURL.appendingPathExtension("bin"), remoteURL.appendingPathExtension("sig"))
      load(bin, limit: limit, configuration, completion) { export in
        self.load(sig, limit: configuration.maximumDocumentBytes, configuration, completion) { signature in
          let name = remoteURL.lastPathComponent
          completion(Result { try Self.store([(".bin", export), (".sig", signature)], named: name, configuration) })
        }
      }
    }
  }

  /// Deletes files that were downloaded. Files that are gone already are no error.
  public func deleteDiagnosisKeyFile(at localURLs: [URL]) throws {
    for url in localURLs where FileManager.default.fileExists(atPath: url.path) {
      try FileManager.default.removeItem(at: url)
    }
  }

  // MARK: Keys

  func post(
    _ diagnosisKeys: [CodableDiagnosisKey], completion: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    prepare(completion) { configuration in
      let url = try configuration.uploadAddress()
      guard Self.isAllowed(url, beside: configuration.baseURL) else { throw ServerError.refusedAddress(url) }
      guard let body = try? JSONEncoder().encode(diagnosisKeys) else {
        throw ServerError.local("the keys cannot be written as JSON")
      }
      var request = URLRequest(url: url, timeoutInterval: configuration.idleTimeout)
      request.httpMethod = "POST"
      request.httpBody = body
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
      if let token = configuration.uploadToken {
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
      }
      transfer.start(request, to: url, limit: configuration.maximumDocumentBytes, in: session) { result in
        completion(result.flatMap { answer in Result { try self.keep(diagnosisKeys, after: answer) } })
      }
    }
  }

  /// - Throws: ``ServerError/keysRefused(_:accepted:)``.
  private func keep(_ keys: [CodableDiagnosisKey], after answer: Answer) throws {
    /// What Keyferry's door answers; another server's may be empty.
    struct Receipt: Decodable {
      var accepted: Int
      /// `key 3: what is wrong`.
      var rejected: [String]
    }
    let receipt = try? JSONDecoder().decode(Receipt.self, from: answer.body)
    let refused = (receipt?.rejected ?? []).map(RefusedKey.init)
    let positions = Set(refused.compactMap(\.position))
    $diagnosisKeys.add(keys.enumerated().filter { !positions.contains($0.offset) }.map(\.element))
    if let receipt, !refused.isEmpty { throw ServerError.keysRefused(refused, accepted: receipt.accepted) }
  }

  func page(
    index: Int, maximumCount: Int, completion: @escaping @Sendable (Result<DiagnosisKeyPage, any Error>) -> Void
  ) {
    let query = ["index": String(max(index, 0)), "maximumCount": String(max(maximumCount, 1))]
    getDocument("keys", query, completion: completion) { answer, url, _ in
      let page = try Self.decode(DiagnosisKeyPage.self, answer, url)
      guard page.keys.count <= max(maximumCount, 1), page.keys.allSatisfy({ $0.keyData.count == 16 }) else {
        throw ServerError.malformed(url, reason: "a page has more keys than were asked for, or keys not of 16 bytes")
      }
      return page
    }
  }

  // MARK: Configuration

  func configuration<Configuration: Decodable & Sendable>(
    as type: Configuration.Type, completion: @escaping @Sendable (Result<Configuration, any Error>) -> Void
  ) {
    getDocument("configuration", completion: completion) { answer, url, _ in
      try Self.decode(Configuration.self, answer, url)
    }
  }

  // MARK: Steps

  /// Runs `start` with the configuration; what it throws completes the call.
  private func prepare<Value>(
    _ completion: @Sendable (Result<Value, any Error>) -> Void, _ start: (ServerConfiguration) throws -> Void
  ) {
    do {
      guard let configuration else { throw ServerError.notConfigured }
      try start(configuration)
    } catch {
      completion(.failure(error))
    }
  }

  private func getDocument<Value>(
    _ document: String, _ query: [String: String] = [:],
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void,
    _ read: @escaping @Sendable (Answer, URL, ServerConfiguration) throws -> Value
  ) {
    prepare(completion) { configuration in
      let url = try configuration.address(of: document, query)
      load(url, limit: configuration.maximumDocumentBytes, configuration, completion) { answer in
        completion(Result { try read(answer, url, configuration) })
      }
    }
  }

  private func load<Value>(
    _ url: URL, limit: Int, _ configuration: ServerConfiguration,
    _ completion: @escaping @Sendable (Result<Value, any Error>) -> Void,
    _ then: @escaping @Sendable (Answer) -> Void
  ) {
    let request = URLRequest(url: url, timeoutInterval: configuration.idleTimeout)
    transfer.start(request, to: url, limit: limit, in: session) { result in
      switch result {
      case .success(let answer): then(answer)
      case .failure(let error): completion(.failure(error))
      }
    }
  }

  private static func decode<Value: Decodable>(_ type: Value.Type, _ answer: Answer, _ url: URL) throws -> Value {
    do {
      return try JSONDecoder().decode(type, from: answer.body)
    } catch let error as DecodingError {
      throw ServerError.malformed(url, reason: reason(of: error))
    }
  }

  private static func reason(of error: DecodingError) -> String {
    func place(_ context: DecodingError.Context) -> String {
      let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
      return path.isEmpty ? "the document" : path
    }
    switch error {
    case .keyNotFound(let key, let context): return "\(place(context)) has no member \(key.stringValue)"
    case .typeMismatch(let type, let context): return "\(place(context)) is not \(type)"
    case .valueNotFound(let type, let context): return "\(place(context)) is null, not \(type)"
    case .dataCorrupted(let context): return "\(place(context)) is not valid"
    @unknown default: return "the document is not valid"
    }
  }

  /// Lists come from outside: a name becomes a local file's, and an address is asked.
  private static func check(_ url: URL, against configuration: ServerConfiguration) throws {
    let name = url.lastPathComponent
    let isName =
      !["", ".", "..", "/"].contains(name) && name.utf8.count <= 200 && !name.contains { "/\\\0".contains($0) }
    guard isName, isAllowed(url, beside: configuration.baseURL) else { throw ServerError.refusedAddress(url) }
  }

  private static func isAllowed(_ url: URL, beside base: URL) -> Bool {
    guard let scheme = url.scheme?.lowercased(), url.host != nil else { return false }
    return scheme == "https" || scheme == "http" && base.scheme?.lowercased() == "http"
  }

  private static func store(
    _ files: [(ending: String, answer: Answer)], named name: String, _ configuration: ServerConfiguration
  ) throws -> [URL] {
    let folder = configuration.downloadFolder
    var written: [URL] = []
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for (ending, answer) in files {
        let file = folder.appendingPathComponent(name + ending)
        try answer.body.write(to: file, options: .atomic)
        written.append(file)
      }
      return written
    } catch {
      for file in written { try? FileManager.default.removeItem(at: file) }
      throw ServerError.local("\(folder.path): the files of \(name) cannot be written: \(error.localizedDescription)")
    }
  }
}
