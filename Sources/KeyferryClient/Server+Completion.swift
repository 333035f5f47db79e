public import Foundation

/// The methods of the sample's class: their names, arguments and completions.
///
/// A completion may be any closure, also one that changes what it captures, as the sample's do: it is called on
/// ``Server/completionQueue`` alone.
extension Server {
  // MARK: Files of keys

  /// The addresses of the archives from this file on.
  ///
  /// - Parameters:
  ///   - index: counted in files, two an archive, as the sample does: it adds the number of local files.
  ///   - completion: is handed the addresses, or what went wrong, once.
  public func getDiagnosisKeyFileURLs(
    startingAt index: Int, completion: @escaping (Result<[URL], any Error>) -> Void
  ) {
    let deliver = delivery(to: completion)
    files(startingAt: index) { deliver($0.map(\.urls)) }
  }

  /// The same, with the index at which the next list begins. It is right also for an app that comes when archives have
  /// expired already; who counts local files instead gets some archives twice then.
  public func getDiagnosisKeyFiles(
    startingAt index: Int, completion: @escaping (Result<DiagnosisKeyFileList, any Error>) -> Void
  ) {
    files(startingAt: index, completion: delivery(to: completion))
  }

  /// Downloads the two files of an archive into the download folder.
  ///
  /// - Parameters:
  ///   - remoteURL: from ``getDiagnosisKeyFileURLs(startingAt:completion:)``.
  ///   - completion: gets the addresses of two local files, named as the last component of `remoteURL` with `.bin` and
  ///     with `.sig` behind it. Either both are there or none.
  public func downloadDiagnosisKeyFile(
    at remoteURL: URL, completion: @escaping (Result<[URL], any Error>) -> Void
  ) {
    archive(at: remoteURL, completion: delivery(to: completion))
  }

  // MARK: Keys

  /// Posts the user's keys. Posting them again changes nothing. Where some are refused, the others are taken all the same,
  /// and the error is ``ServerError/keysRefused(_:accepted:)``.
  public func postDiagnosisKeys(
    _ diagnosisKeys: [CodableDiagnosisKey], completion: @escaping ((any Error)?) -> Void
  ) {
    let deliver = delivery(to: completion)
    post(diagnosisKeys) { result in
      if case .failure(let error) = result { deliver(error) } else { deliver(nil) }
    }
  }

  /// Whether the identifier of a test is right, as ``testVerifier`` says.
  public func verifyUniqueTestIdentifier(
    _ identifier: String, completion: @escaping (Result<Bool, any Error>) -> Void
  ) {
    let deliver = delivery(to: completion)
    guard let testVerifier else { return deliver(.failure(ServerError.noTestVerifier)) }
    testVerifier(identifier, deliver)
  }

  /// The next page, with the place behind it. Who begins when keys have expired already gets some keys again where it counts
  /// keys itself.
  public func getDiagnosisKeyPage(
    index: Int, maximumCount: Int, completion: @escaping (Result<DiagnosisKeyPage, any Error>) -> Void
  ) {
    page(index: index, maximumCount: maximumCount, completion: delivery(to: completion))
  }

  // MARK: Configuration

  /// The exposure configuration as another generation's structure: ``CodableExposureConfiguration/Beta``,
  /// ``CodableExposureConfiguration/Version1``, or the app's own.
  public func getExposureConfiguration<Configuration: Decodable & Sendable>(
    as type: Configuration.Type, completion: @escaping (Result<Configuration, any Error>) -> Void
  ) {
    configuration(as: type, completion: delivery(to: completion))
  }

  #if !canImport(ExposureNotification) || targetEnvironment(macCatalyst)
    /// The exposure configuration, as apps since iOS 13.5 have it. Where the framework is, it comes as the framework's type.
    public func getExposureConfiguration(
      completion: @escaping (Result<CodableExposureConfiguration, any Error>) -> Void
    ) {
      getExposureConfiguration(as: CodableExposureConfiguration.self, completion: completion)
    }

    /// A page of keys, for apps of the beta generation: the keys from this place on. Where the framework is, they come as
    /// the framework's type.
    public func getDiagnosisKeys(
      index: Int, maximumCount: Int,
      completion: @escaping (Result<(diagnosisKeys: [CodableDiagnosisKey], done: Bool), any Error>) -> Void
    ) {
      getDiagnosisKeyPage(index: index, maximumCount: maximumCount) { result in
        completion(result.map { (diagnosisKeys: $0.keys, done: $0.done) })
      }
    }
  #endif

  // MARK: Delivery

  /// Calls a completion on the queue, whatever thread the value comes from.
  func delivery<Value: Sendable>(to completion: @escaping (Value) -> Void) -> @Sendable (Value) -> Void {
    let handler = Handler(completion)
    return { [completionQueue] value in completionQueue.async { handler.call(value) } }
  }
}

/// A completion on its way to its queue. It is made by the caller, and called on ``Server/completionQueue`` alone.
private struct Handler<Value>: @unchecked Sendable {
  let call: (Value) -> Void

  init(_ call: @escaping (Value) -> Void) { self.call = call }
}
