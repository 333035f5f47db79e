internal import BundleTrust
internal import ExposureKeys
internal import KeyNormalization
internal import KeyStorage

/// A manifest that cannot be read, beside a store that can make it again.
struct DamagedManifest: Error {
  let path: String
}

/// Bundles that the manifest of a folder names and the store does not know.
struct FoundBundles {
  /// Those that an index names and whose files are whole, with what they released.
  private(set) var listed: [NewStaging] = []
  private(set) var unlisted: [NewBundle] = []
  /// How many stand under numbers that the store has given to others.
  private(set) var clashes = 0
  /// The fingerprint of the key that signed last.
  let key: String?
  /// Where the last window ended when the manifest was written, whether it had a bundle or not.
  let lastWindow: Int64?

  /// Those that are taken over.
  var bundles: [NewBundle] { listed.map(\.bundle) + unlisted }

  var count: Int { listed.count + unlisted.count + clashes }

  /// By kind, the first bundle that an index names.
  let firstOrdinals: [String: Int]

  /// `nil` where the store knows everything, or the folder has no manifest.
  ///
  /// - Parameter isKnown: whether the store has led the series before, perhaps without a bundle.
  init?(
    of series: String, in folder: any PublicationFolder, beside records: [BundleRecord], isKnown: Bool
  ) async throws {
    guard
      let content = try await folder.content(of: SeriesManifest.path(of: series), limit: SeriesManifest.byteLimit)
    else { return nil }
    let manifest: SeriesManifest
    do {
      manifest = try SeriesManifest(document: content)
      key = try manifest.keys.last.map { try P256PublicKey(text: $0.publicKey).fingerprint }
    } catch {
      throw Self.damage(of: series, "cannot be read", isInStore: !records.isEmpty || isKnown)
    }
    lastWindow = manifest.windowEnd
    firstOrdinals = Dictionary(
      manifest.bundles.filter(\.isListed).map { ($0.kind, $0.ordinal) }, uniquingKeysWith: min)

    let known = Set(records.map(\.bundle.path))
    let places = Set(records.map { Place($0.bundle) })
    for facts in manifest.bundles where !known.contains(facts.path) {
      guard let bundle = NewBundle(facts, of: series) else {
        throw Self.damage(
          of: series, "names a bundle that cannot be: \(facts.path)", isInStore: !records.isEmpty || isKnown)
      }
      guard !places.contains(Place(bundle)) else {
        clashes += 1
        continue
      }
      guard facts.isListed, try await folder.fault(of: bundle, digest: true) == nil,
        let archive = try await folder.content(of: bundle.path, limit: max(bundle.byteCount, 1))
      else {
        unlisted.append(bundle)
        continue
      }
      // Roll-ups repeat what increments have released.
      let keys = bundle.kind == .increment ? try PublishedKeys.keys(of: archive, path: bundle.path) : []
      listed.append(NewStaging(bundle, [], releasing: keys.map(NewRelease.init(published:))))
    }
    if count == 0 { return nil }
  }

  /// One damaged byte may leave a manifest that can be read. What the store knows it makes again.
  private static func damage(of series: String, _ what: String, isInStore: Bool) -> any Error {
    let path = SeriesManifest.path(of: series)
    guard !isInStore else { return DamagedManifest(path: path) }
    return PublishingFault(
      .fileDamaged,
      "\(path) \(what), and the store knows nothing of series \(series): which numbers apps have seen is not known;"
        + " restore the file or the store, or begin a series of another name")
  }

  /// Where the last window ended that apps have seen.
  func windowEnd(_ period: Int64) -> Int64? {
    bundles.filter { $0.kind == .increment }.map { $0.windowEnd(period) }.max()
  }

  /// Where the last edition ended.
  var editionEnd: Int64? { bundles.filter { $0.kind == .edition }.map(\.end).max() }

  private struct Place: Hashable {
    let kind: BundleKind
    let ordinal: Int

    init(_ bundle: NewBundle) { (kind, ordinal) = (bundle.kind, bundle.ordinal) }
  }
}

extension NewBundle {
  /// `nil` where a manifest says what cannot be.
  fileprivate init?(_ facts: SeriesManifest.Bundle, of series: String) {
    let parts = facts.path.split(separator: "/", omittingEmptySubsequences: false)
    guard let kind = BundleKind(rawValue: facts.kind), parts.first.map(String.init) == series, parts.count > 1,
      parts.allSatisfy({ !$0.isEmpty && $0.first != "." }),
      [facts.ordinal, facts.keys, facts.revisedKeys].allSatisfy({ (0...1 << 40).contains($0) }),
      (0...SeriesManifest.archiveByteLimit).contains(facts.bytes),
      [facts.start, facts.end].allSatisfy({ (0...1 << 40).contains($0) })
    else { return nil }
    self.init(
      series: series, kind: kind, ordinal: facts.ordinal, start: facts.start, end: facts.end, path: facts.path,
      keyCount: facts.keys, revisedKeyCount: facts.revisedKeys, byteCount: facts.bytes, archiveDigest: facts.sha256,
      exportDigest: facts.exportSHA256, keyID: facts.keyID, keyVersion: facts.keyVersion)
  }
}

extension NewRelease {
  /// As an index names it.
  fileprivate init(published key: ClaimedKey) {
    var plain = key
    plain.isRevised = false
    self.init(key: plain, revisions: key.isRevised ? 1 : 0)
  }
}
