/// Where subscriptions are kept, and who looks at their addresses. The server knows neither stores nor the way out.
package protocol CallbackRegistrar: Sendable {
  /// A country's own, by id.
  func subscriptions(of country: String) async throws -> [RegisteredCallback]
  /// When this returns, the subscription is durable.
  ///
  /// - Throws: ``CallbackRefusal`` where the address may not be called, or the country has too many.
  func set(_ callback: RegisteredCallback, of country: String) async throws
  /// - Returns: whether the country had it.
  func remove(_ id: String, of country: String) async throws -> Bool
}

/// A subscription as its country sees it.
package struct RegisteredCallback: Hashable, Sendable, Encodable {
  package var callbackId: String
  package var url: String

  package init(id: String, url: String) {
    callbackId = id
    self.url = url
  }
}

/// Why a subscription is not taken.
package struct CallbackRefusal: Error, Hashable, Sendable {
  package let reason: String

  package init(_ reason: String) { self.reason = reason }
}
