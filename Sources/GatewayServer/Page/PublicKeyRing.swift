internal import BundleTrust
internal import KeyPublishing

/// The public keys of a series as a ring: `/NAME/keys.json` is this, and `keyferry verify --trust` takes it as it is.
///
/// It says which keys the server names, and no more: who relies on it compares them with what he was told by another way.
struct PublicKeyRing: Encodable, Hashable {
  static let fileName = "keys.json"

  /// The one that signs now first.
  var keys: [Key]

  struct Key: Encodable, Hashable {
    var id: String
    var version: String
    var publicKey: String
  }

  /// `nil` where the manifest has no readable key.
  init?(_ manifest: SeriesManifest) {
    keys = manifest.keys.reversed().compactMap { key in
      // A ring with one entry that cannot be read is refused as a whole.
      guard (try? P256PublicKey(text: key.publicKey)) != nil else { return nil }
      return Key(id: key.id, version: key.version, publicKey: key.publicKey)
    }
    if keys.isEmpty { return nil }
  }

  /// Of the series at this path; `nil` where the path is another's.
  init?(at path: String, in publications: Publications) {
    guard path.hasSuffix("/" + Self.fileName) else { return nil }
    let name = String(path.dropLast(Self.fileName.count + 1))
    guard let series = publications.series.first(where: { $0.manifest.series == name }) else { return nil }
    self.init(series.manifest)
  }
}
