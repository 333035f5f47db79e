/// A protocol that a source can speak: a name for its ``PeerDescription``, which stands with its machine in the protocol's
/// own file.
package struct PeerProtocol: Sendable, RawRepresentable, CaseIterable {
  package let description: PeerDescription

  init(_ description: PeerDescription) { self.description = description }

  /// `nil` for what is none of ``PeerCatalog/peers``.
  package init?(rawValue: String) {
    guard let peer = PeerCatalog.peers.first(where: { $0.rawValue == rawValue }) else { return nil }
    self = peer
  }

  /// As `gateway.yaml` spells it.
  package var rawValue: String { description.name }

  package static var allCases: [PeerProtocol] { PeerCatalog.peers }
}

extension PeerProtocol: Hashable {
  package static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }
  package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}
