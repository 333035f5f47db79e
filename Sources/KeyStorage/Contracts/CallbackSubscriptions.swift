package import ExposureKeys
internal import FoundationEssentials

/// Where a national back end wants to be called when there is a new download batch.
///
/// Batches are announced one after another, in their order, each at least once. A subscriber that does not answer is asked
/// again; in the end its subscription is suspended, and it stays where it is: it goes on behind the last batch that was
/// announced, once an operator or the country itself says so.
package struct CallbackSubscription: Hashable, Sendable, Codable {
  /// Characters of an id at most.
  package static let idLimit = 32
  /// Subscriptions that a country may have.
  package static let mostOfCountry = 16
  /// Seconds between two attempts to announce the same batch.
  package static let retrySeconds: Int64 = 300
  /// Attempts behind the first one.
  package static let retries = 5

  /// Two capital letters. Ids are each country's own.
  package let country: String
  package let id: String
  package var url: String
  /// When it was registered.
  package var since: Instant
  /// The number of the last batch that it has been told of, or that was there before it; see `FederationBatchID`. 0 is none.
  package var announced: Int64
  /// Failed attempts to announce the next batch.
  package var failures = 0
  /// Not before then.
  package var nextAttempt: Instant?
  /// Since when nothing is announced any more; `nil` where it is active.
  package var suspended: Instant?
  /// Why the last attempt failed: a stable code and a line for people.
  package var faultCode: String?
  package var faultReason: String?
  package var lastSuccess: Instant?

  package init(country: String, id: String, url: String, since: Instant, announced: Int64) {
    self.country = country
    self.id = id
    self.url = url
    self.since = since
    self.announced = announced
  }

  /// For people, and for commands.
  package var name: String { "\(country)/\(id)" }

  package func isDue(at now: Instant) -> Bool { suspended == nil && nextAttempt.map { $0 <= now } ?? true }

  /// It goes on, as if nothing had failed.
  mutating func restart() {
    (failures, nextAttempt, suspended, faultCode, faultReason) = (0, nil, nil, nil, nil)
  }

  mutating func note(_ attempt: CallbackAttempt, at now: Instant) {
    guard let code = attempt.faultCode else {
      restart()
      announced = max(announced, attempt.batch)
      lastSuccess = now
      return
    }
    (faultCode, faultReason) = (code, attempt.faultReason)
    failures += 1
    if failures > Self.retries {
      (suspended, nextAttempt) = (now, nil)
    } else {
      nextAttempt = Instant(secondsSince1970: now.secondsSince1970 + Self.retrySeconds)
    }
  }
}

/// How an attempt to announce a batch ended.
package struct CallbackAttempt: Hashable, Sendable {
  /// The number of the batch.
  package var batch: Int64
  /// What clients call it.
  package var tag: String
  /// `nil` where the subscriber has heard it.
  package var faultCode: String?
  package var faultReason: String?

  package init(batch: Int64, tag: String, faultCode: String? = nil, faultReason: String? = nil) {
    self.batch = batch
    self.tag = tag
    self.faultCode = faultCode
    self.faultReason = faultReason
  }
}

/// All subscriptions, by country and id: a few for each country, kept as one note.
package struct CallbackSubscriptions: Hashable, Sendable, Codable {
  package internal(set) var all: [CallbackSubscription] = []

  package init() {}

  package func of(country: String) -> [CallbackSubscription] { all.filter { $0.country == country } }

  package func subscription(_ id: String, of country: String) -> CallbackSubscription? {
    all.first { $0.country == country && $0.id == id }
  }

  mutating func put(_ subscription: CallbackSubscription) {
    remove(subscription.id, of: subscription.country)
    let place = all.firstIndex { ($0.country, $0.id) > (subscription.country, subscription.id) } ?? all.endIndex
    all.insert(subscription, at: place)
  }

  mutating func remove(_ id: String, of country: String) {
    all.removeAll { $0.country == country && $0.id == id }
  }
}

extension PublishingState {
  /// Who wants to be called.
  package func callbackSubscriptions() throws -> CallbackSubscriptions {
    guard let bytes = try note(.callbacks) else { return CallbackSubscriptions() }
    do {
      return try JSONDecoder().decode(CallbackSubscriptions.self, from: Data(bytes))
    } catch {
      throw StorageFault(.corrupt, "the note \(StoredNote.callbacks.name) cannot be read")
    }
  }
}
