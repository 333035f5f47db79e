package import ExposureKeys

extension Ledger {
  /// A country wants to be called at an address, or at another one than before. A subscription that was suspended goes on.
  ///
  /// - Parameter last: the number of the last batch that there is: a new subscription hears of later ones.
  /// - Throws: ``StorageFault`` `conflict` where the country has as many as it may have.
  package func callbackSet(
    _ id: String, of country: String, to url: String,
    behind last: @escaping @Sendable (any StoredState) throws -> Int64,
    at now: Instant
  ) async throws {
    try await transact(.callbackSet, at: now) { page in
      var subscriptions = try page.transaction.callbackSubscriptions()
      var subscription: CallbackSubscription
      if let known = subscriptions.subscription(id, of: country) {
        guard known.url != url || known.suspended != nil else { return }
        subscription = known
        subscription.url = url
        subscription.restart()
      } else {
        guard subscriptions.of(country: country).count < CallbackSubscription.mostOfCountry else {
          throw StorageFault(
            .conflict, "\(country) has \(CallbackSubscription.mostOfCountry) subscriptions, and may have no more")
        }
        subscription = CallbackSubscription(
          country: country, id: id, url: url, since: now, announced: try last(page.transaction))
      }
      subscriptions.put(subscription)
      try page.change(subscriptions)
      try page.enter(.callbackSet, about: subscription.name)
    }
  }

  /// A country does not want to be called any more.
  ///
  /// - Returns: whether it had the subscription.
  package func callbackRemoved(_ id: String, of country: String, at now: Instant) async throws -> Bool {
    try await transact(.callbackRemoved, at: now) { page in
      var subscriptions = try page.transaction.callbackSubscriptions()
      guard let subscription = subscriptions.subscription(id, of: country) else { return false }
      subscriptions.remove(id, of: country)
      try page.change(subscriptions)
      try page.enter(.callbackRemoved, about: subscription.name)
      return true
    }
  }

  /// A subscriber was told of a batch, or could not be told. Where it has another address meanwhile, or is gone, nothing
  /// happens.
  ///
  /// - Returns: the subscription as it is now; `nil` where nothing happened.
  package func callbackAttempted(
    _ attempt: CallbackAttempt, by asked: CallbackSubscription, at now: Instant
  ) async throws -> CallbackSubscription? {
    try await transact([.callbackAttempted, .callbackSuspended], at: now) { page in
      var subscriptions = try page.transaction.callbackSubscriptions()
      guard var subscription = subscriptions.subscription(asked.id, of: asked.country), subscription.url == asked.url,
        subscription.since == asked.since, subscription.suspended == nil
      else { return nil }
      subscription.note(attempt, at: now)
      subscriptions.put(subscription)
      try page.change(subscriptions)
      try page.enter(
        subscription.suspended == nil ? .callbackAttempted : .callbackSuspended,
        about: "\(subscription.name): \(attempt.tag)")
      return subscription
    }
  }

  /// A suspended subscription goes on, behind the last batch that was announced.
  ///
  /// - Returns: whether it was suspended; `nil` where there is none.
  package func callbackResumed(
    _ id: String, of country: String, by word: Attribution, at now: Instant
  ) async throws -> Bool? {
    try await transact(.callbackResumed, at: now) { page in
      var subscriptions = try page.transaction.callbackSubscriptions()
      guard var subscription = subscriptions.subscription(id, of: country) else { return nil }
      guard subscription.suspended != nil else { return false }
      subscription.restart()
      subscriptions.put(subscription)
      try page.change(subscriptions)
      try page.enter(.callbackResumed, about: subscription.name, by: word)
      return true
    }
  }
}

extension LedgerPage {
  fileprivate func change(_ subscriptions: CallbackSubscriptions) throws {
    try change([NoteChange(.callbacks, subscriptions.all.isEmpty ? nil : try encoded(subscriptions))])
  }
}
