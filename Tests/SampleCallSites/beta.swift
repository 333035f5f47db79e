// How an app of the first beta of iOS 13.5 calls its server: pages of keys for a session. flags: BETA
import Dispatch
import ExposureNotification
import Foundation
import KeyferryClient

@MainActor final class ExposureManager {
  static let shared = ExposureManager()
  let manager = ENManager()
  var nextDiagnosisKeyIndex = 0

  func shareKeys(completion: @escaping ((any Error)?) -> Void) {
    manager.getDiagnosisKeys { temporaryExposureKeys, error in
      if let error = error {
        completion(error)
      } else {
        Server.shared.postDiagnosisKeys(temporaryExposureKeys ?? []) { error in
          completion(error)
        }
      }
    }
  }

  func detect(finish: @escaping ((any Error)?) -> Void) {
    let session = ENExposureDetectionSession()
    let batchSize = session.maximumKeyCount

    func checkExposure(index: Int, diagnosisKeys: [ENTemporaryExposureKey]?, done: Bool) {
      let dispatchGroup = DispatchGroup()
      var newDiagnosisKeys: [ENTemporaryExposureKey]?
      var newDone = done
      var firstError: (any Error)?
      if let diagnosisKeys = diagnosisKeys {
        dispatchGroup.enter()
        session.addDiagnosisKeys(diagnosisKeys) { error in
          firstError = error
          dispatchGroup.leave()
        }
      }
      if !done {
        dispatchGroup.enter()
        Server.shared.getDiagnosisKeys(index: index, maximumCount: batchSize) { result in
          switch result {
          case .success((let diagnosisKeys, let done)):
            newDiagnosisKeys = diagnosisKeys
            newDone = done
          case .failure(let error):
            firstError = error
          }
          dispatchGroup.leave()
        }
      }
      dispatchGroup.notify(queue: .main) {
        if let error = firstError {
          finish(error)
        } else if newDone {
          self.nextDiagnosisKeyIndex += newDiagnosisKeys?.count ?? 0
          finish(nil)
        } else {
          checkExposure(index: index + batchSize, diagnosisKeys: newDiagnosisKeys, done: newDone)
        }
      }
    }

    Server.shared.getExposureConfiguration { result in
      switch result {
      case .success(let configuration):
        session.configuration = configuration
        session.activate { error in
          if let error = error {
            finish(error)
            return
          }
          checkExposure(index: self.nextDiagnosisKeyIndex, diagnosisKeys: nil, done: false)
        }
      case .failure(let error):
        finish(error)
      }
    }
  }

  /// The debugging screen.
  func reset() -> Int {
    let count = Server.shared.diagnosisKeys.count
    Server.shared.diagnosisKeys = []
    return count
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
