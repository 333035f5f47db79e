package import ExposureKeys
package import GatewayServer
package import KeyStorage
internal import Logging
package import PeerTransport

/// The server's way to the subscriptions: looks at addresses as it does before each call, and keeps what may be called.
struct CallbackRegistration: CallbackRegistrar {
  let ledger: Ledger
  let caller: CallbackCaller
  let clock: @Sendable () -> Instant
  private let logger = Logger(label: "keyferry.federation")

  init(ledger: Ledger, caller: CallbackCaller, clock: @escaping @Sendable () -> Instant) {
    self.ledger = ledger
    self.caller = caller
    self.clock = clock
  }

  func subscriptions(of country: String) async throws -> [RegisteredCallback] {
    try await whileAway(from: country) { try await ledger.read { try $0.callbackSubscriptions() } }.of(
      country: country
    ).map {
      RegisteredCallback(id: $0.id, url: $0.url)
    }
  }

  func set(_ callback: RegisteredCallback, of country: String) async throws {
    do {
      _ = try await caller.addresses(of: try CallbackTarget(callback.url))
      try await whileAway(from: country) {
        try await ledger.callbackSet(
          callback.callbackId, of: country, to: callback.url,
          behind: { try $0.lastFederationBatch()?.id.rawValue ?? 0 }, at: clock())
      }
    } catch let fault as CallbackFault where fault.code == .addressRefused {
      // Which address it is would tell a country of our own network.
      logger.warning(
        "an address for callbacks was refused",
        metadata: ["country": .string(country), "reason": .string(fault.reason)])
      throw CallbackRefusal("its host has an address that is not public")
    } catch let fault as CallbackFault {
      throw CallbackRefusal(fault.reason)
    } catch let fault as StorageFault where fault.code == .conflict {
      throw CallbackRefusal(fault.reason)
    }
  }

  func remove(_ id: String, of country: String) async throws -> Bool {
    try await whileAway(from: country) { try await ledger.callbackRemoved(id, of: country, at: clock()) }
  }
}

/// What calling national back ends takes.
package struct CallbackSetup: Sendable {
  package let settings: FederationCallbackSettings
  package let caller: CallbackCaller
  package let registration: any CallbackRegistrar

  /// - Parameters:
  ///   - ledger: of the gateway's own store, or of one that is opened beside it as an operator.
  ///   - version: what subscribers are told of this program.
  /// - Throws: `ServerFault` where the certificate and the key cannot be used.
  package init(
    _ settings: FederationCallbackSettings, ledger: Ledger, version: String,
    resolver: any HostResolver = SystemResolver(), clock: @escaping @Sendable () -> Instant
  ) throws(ServerFault) {
    self.settings = settings
    do {
      caller = try CallbackCaller(settings, version: version, resolver: resolver)
    } catch {
      throw ServerFault(place: "federation.callbacks.key", reason: error.reason)
    }
    registration = CallbackRegistration(ledger: ledger, caller: caller, clock: clock)
  }

  /// Why ``init(_:ledger:version:resolver:clock:)`` would throw.
  package static func fault(of settings: FederationCallbackSettings) -> ServerFault? {
    do throws(CallbackFault) {
      _ = try CallbackCaller(settings, version: "0", resolver: SystemResolver())
      return nil
    } catch {
      return ServerFault(place: "federation.callbacks.key", reason: error.reason)
    }
  }
}

extension CallbackCaller {
  fileprivate init(
    _ settings: FederationCallbackSettings, version: String, resolver: any HostResolver
  ) throws(CallbackFault) {
    let networks = settings.privateNetworks
    try self.init(
      certificatePEM: settings.certificatePEM, keyPEM: settings.privateKeyPEM,
      reach: AddressReach { address in networks.contains { $0.contains(bytes: address) } }, resolver: resolver,
      version: version)
  }
}
