package import BundleTrust
internal import Synchronization

/// The trust that holds now: it is replaced when the configuration is read again. The lock owns it.
package final class HeldFederationTrust: Sendable {
  private let trust: Mutex<FederationTrust>

  package init(_ trust: FederationTrust) { self.trust = Mutex(trust) }

  package var value: FederationTrust {
    get { trust.withLock { $0 } }
    set { trust.withLock { $0 = newValue } }
  }
}
