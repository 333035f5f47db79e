// How an app of iOS 12.5, 13.7 and later calls its server: as one of 13.5, with keys that come later, and with the second version
// of the configuration in the same object.
import Dispatch
import ExposureNotification
import Foundation
import KeyferryClient

@MainActor final class ExposureManager {
  static let shared = ExposureManager()
  let manager = ENManager()

  func preauthorize(completion: @escaping ((any Error)?) -> Void) {
    manager.diagnosisKeysAvailableHandler = { (keys) in
      Server.shared.postDiagnosisKeys(keys) { (error) in
        if let error = error {
          print("Error posting pre-authorized diagnosis keys: \(error)")
        }
        completion(error)
      }
    }
  }

  func detectExposures(startingAt index: Int, finish: @escaping (Result<Int, any Error>) -> Void) {
    Server.shared.getDiagnosisKeyFileURLs(startingAt: index) { result in
      let dispatchGroup = DispatchGroup()
      var localURLResults = [Result<[URL], Error>]()
      switch result {
      case .success(let remoteURLs):
        for remoteURL in remoteURLs {
          dispatchGroup.enter()
          Server.shared.downloadDiagnosisKeyFile(at: remoteURL) { result in
            localURLResults.append(result)
            dispatchGroup.leave()
          }
        }
      case .failure(let error):
        finish(.failure(error))
      }
      dispatchGroup.notify(queue: .main) {
        Server.shared.getExposureConfiguration { result in
          switch result {
          case .success(let configuration):
            _ = configuration.immediateDurationWeight + Double(configuration.reportTypeNoneMap.rawValue)
            self.manager.detectExposures(configuration: configuration) { summary, error in
              if let error = error {
                finish(.failure(error))
                return
              }
              finish(.success(localURLResults.count))
            }
          case .failure(let error):
            finish(.failure(error))
          }
        }
      }
    }
  }

  /// What was refused of the posted keys.
  func explain(_ error: any Error) -> [String] {
    guard case .keysRefused(let keys, accepted: _) = error as? ServerError else { return [] }
    return keys.map { "\($0.position ?? -1): \($0.reason)" }
  }
}

/// The debugging screen of the keys.
@MainActor final class DiagnosisKeysScreen {
  var observers = [NSObjectProtocol]()
  var rows = 0

  init() {
    observers.append(
      Server.shared.$diagnosisKeys.addObserver { [unowned self] in
        self.rows = Server.shared.diagnosisKeys.count
      })
    Server.shared.$diagnosisKeys.addObserver { [weak self] in
      self?.rows = 0
    }
    observers.append(
      NotificationCenter.default.addObserver(
        forName: Server.shared.$diagnosisKeys.notificationName, object: nil, queue: .main
      ) { _ in })
  }

  func close() {
    observers.forEach(NotificationCenter.default.removeObserver)
  }

  func delete(at row: Int) {
    Server.shared.diagnosisKeys.remove(at: row)
    Server.shared.diagnosisKeys.removeAll()
  }
}
