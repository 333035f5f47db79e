import KeyStorage
import Synchronization

/// Asks the server by a connection of its own whether it answers. Callers that ask at the same time share one question.
final class PostgresPulse: StorePulse {
  private let words: ConnectionWords
  private let application: String
  private let haste: Haste
  private let thread = ConnectionThread(name: "keyferry pulse")
  private let question = Mutex<Task<Bool, Never>?>(nil)

  init(_ words: ConnectionWords, application: String, haste: Haste) {
    (self.words, self.application, self.haste) = (words, application, haste)
  }

  func beats(within time: Duration) async -> Bool {
    let question = question.withLock { question in
      if let question { return question }
      let new = Task { await ask() }
      question = new
      return new
    }
    let answer = FirstAnswer<Bool>()
    Task { answer.give(.success(await question.value)) }
    let end = Task {
      try await Task.sleep(for: time)
      answer.give(.success(false))
    }
    defer { end.cancel() }
    return (try? await answer.value()) ?? false
  }

  private func ask() async -> Bool {
    defer { question.withLock { $0 = nil } }
    do {
      try await thread.run { [words, application, haste] connection in
        do {
          let database = try connection ?? PostgresStore.connect(words, application: application, haste: haste)
          database.patience = Self.patience
          connection = database
          try database.script("SELECT 1")
        } catch {
          connection = nil
          throw error
        }
      }
      return true
    } catch {
      return false
    }
  }

  /// Seconds. A server that stood still may answer after that; then it is asked anew.
  private static let patience = 5
}
