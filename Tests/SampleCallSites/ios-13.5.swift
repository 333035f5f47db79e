// How an app of iOS 13.5 calls its server: files of keys in pairs, all in one call.
import Dispatch
import ExposureNotification
import Foundation
import KeyferryClient

@MainActor final class ExposureManager {
  static let shared = ExposureManager()
  let manager = ENManager()
  var nextDiagnosisKeyFileIndex = 0

  func shareKeys(completion: @escaping ((any Error)?) -> Void) {
    manager.getDiagnosisKeys { temporaryExposureKeys, error in
      if let error = error {
        completion(error)
      } else {
        Server.shared.postDiagnosisKeys(temporaryExposureKeys!) { error in
          completion(error)
        }
      }
    }
  }

  func verify(_ identifier: String, show: @escaping (Bool) -> Void) {
    Server.shared.verifyUniqueTestIdentifier(identifier) { result in
      switch result {
      case .success(let valid):
        show(valid)
      case .failure:
        show(false)
      }
    }
  }

  func detectExposures(finish: @escaping (Result<Int, any Error>) -> Void) {
    Server.shared.getDiagnosisKeyFileURLs(startingAt: nextDiagnosisKeyFileIndex) { result in
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
        var localURLs = [URL]()
        for result in localURLResults {
          switch result {
          case .success(let urls):
            localURLs.append(contentsOf: urls)
          case .failure(let error):
            finish(.failure(error))
            return
          }
        }
        Server.shared.getExposureConfiguration { result in
          switch result {
          case .success(let configuration):
            self.manager.detectExposures(configuration: configuration, diagnosisKeyURLs: localURLs) { summary, error in
              if let error = error {
                finish(.failure(error))
                return
              }
              try? Server.shared.deleteDiagnosisKeyFile(at: localURLs)
              self.nextDiagnosisKeyFileIndex += localURLs.count
              finish(.success(localURLs.count))
            }
          case .failure(let error):
            finish(.failure(error))
          }
        }
      }
    }
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
