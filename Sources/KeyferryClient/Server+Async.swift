public import Foundation

/// The same calls for asynchronous code.
///
/// ```swift
/// let list = try await Server.shared.getDiagnosisKeyFiles(startingAt: nextIndex)
/// for url in list.urls { files += try await Server.shared.downloadDiagnosisKeyFile(at: url) }
/// nextIndex = list.nextIndex
/// ```
@available(iOS 13, macOS 10.15, tvOS 13, watchOS 6, *)
extension Server {
  public func getDiagnosisKeyFileURLs(startingAt index: Int) async throws -> [URL] {
    try await withCheckedThrowingContinuation { continuation in
      files(startingAt: index) { continuation.resume(with: $0.map(\.urls)) }
    }
  }

  public func getDiagnosisKeyFiles(startingAt index: Int) async throws -> DiagnosisKeyFileList {
    try await withCheckedThrowingContinuation { continuation in
      files(startingAt: index) { continuation.resume(with: $0) }
    }
  }

  public func downloadDiagnosisKeyFile(at remoteURL: URL) async throws -> [URL] {
    try await withCheckedThrowingContinuation { continuation in
      archive(at: remoteURL) { continuation.resume(with: $0) }
    }
  }

  public func postDiagnosisKeys(_ diagnosisKeys: [CodableDiagnosisKey]) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      post(diagnosisKeys) { continuation.resume(with: $0) }
    }
  }

  public func getDiagnosisKeys(
    index: Int, maximumCount: Int
  ) async throws -> (diagnosisKeys: [CodableDiagnosisKey], done: Bool) {
    let page = try await getDiagnosisKeyPage(index: index, maximumCount: maximumCount)
    return (page.keys, page.done)
  }

  public func getDiagnosisKeyPage(index: Int, maximumCount: Int) async throws -> DiagnosisKeyPage {
    try await withCheckedThrowingContinuation { continuation in
      page(index: index, maximumCount: maximumCount) { continuation.resume(with: $0) }
    }
  }

  public func getExposureConfiguration() async throws -> CodableExposureConfiguration {
    try await getExposureConfiguration(as: CodableExposureConfiguration.self)
  }

  public func getExposureConfiguration<Configuration: Decodable & Sendable>(
    as type: Configuration.Type
  ) async throws -> Configuration {
    try await withCheckedThrowingContinuation { continuation in
      configuration(as: type) { continuation.resume(with: $0) }
    }
  }
}
