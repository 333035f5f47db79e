internal import BundleTrust
internal import ExposureKeys
internal import FoundationEssentials
internal import KeyFormats
internal import KeyIntake
package import KeyStorage

/// One round of a mirror: what its source has received and its origin lists goes out byte for byte, under the names that the
/// origin gave.
///
/// Nothing is asked of the origin here. A pull has fetched, verified and recorded each archive, has put aside what changed
/// under its name, and has noted what is listed. The round makes the folder follow: an archive is verified once more by the
/// ring that holds now, its file goes first, the index last. What is in the folder can be made again from the store.
struct MirrorRound: Sendable {
  private let settings: MirrorSettings
  private let ledger: Ledger
  private let folder: any PublicationFolder
  private let look: ClockLook
  private var state = MirrorState()
  private var receipt: SeriesReceipt
  /// Where an archive of this name stands in the state, and whose a file is.
  private var places: [String: Int] = [:]
  private var files: [String: String] = [:]
  /// Those that no index names, because their files are not whole.
  private var lost: Set<String> = []
  private var erasures = Erasures()
  /// The lists as they were seen when the round began.
  private var shown: [String: ShownList] = [:]
  /// Bytes of files that are read in one round to find damage.
  private static let digestedBytes = 32 << 20

  init(_ settings: MirrorSettings, ledger: Ledger, folder: any PublicationFolder, at look: ClockLook) {
    (self.settings, self.ledger, self.folder, self.look) = (settings, ledger, folder, look)
    receipt = SeriesReceipt(series: settings.name, now: look.now)
  }

  private var now: Int64 { look.now.secondsSince1970 }

  /// - Throws: `CancellationError` alone; everything else is in the receipt.
  mutating func publish() async throws -> SeriesReceipt {
    do {
      try await PublicationStanding.requireWords(ledger)
      try await follow()
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      receipt.fault = PublishingFault(error)
    }
    return receipt
  }

  private mutating func follow() async throws {
    let settings = settings
    // Before the store is asked, as in a round of a series.
    for name in [SeriesManifest.path(of: settings.name)]
      + ["SHA256SUMS", "index.txt"].map({ "\(settings.name)/\($0)" })
    {
      shown[name] = try await folder.list(name, limit: SeriesManifest.byteLimit)
    }
    let (listed, old, documents, erasures) = try await ledger.read { state in
      (
        try state.note(.listing(source: settings.source)).map(SourceListing.names),
        try state.note(.mirror(settings.name)).flatMap(MirrorState.init(note:)) ?? MirrorState(),
        try state.documents(of: settings.source, in: [.recorded], limit: .max), try state.erasures()
      )
    }
    // Before the source was pulled nobody knows what is listed.
    guard let listed else { return }
    (state, self.erasures) = (old, erasures)
    places = Dictionary(state.entries.map { ($0.name, $0.ordinal) }, uniquingKeysWith: { first, _ in first })
    files = Dictionary(state.entries.map { ($0.file, $0.name) }, uniquingKeysWith: { first, _ in first })
    let recorded = Dictionary(documents.map { ($0.name, $0.id) }, uniquingKeysWith: { first, _ in first })
    for name in listed { try await list(name, recorded[name]) }
    unlist(all: Set(listed))
    try await lookAtFiles(recorded)
    try await remove()
    if state != old {
      // A crash may leave the index of before beside a new manifest.
      state.indexBefore = sha256(index(of: old.entries.filter { $0.unlisted == nil }))
      try await ledger.mirrored(
        try state.note, by: settings.name, listed: receipt.bundles.count, unlisted: receipt.expired, at: look.now)
    }
    try await write()
  }

  // MARK: Archives

  private mutating func list(_ name: String, _ document: DocumentID?) async throws {
    if let index = places[name] {
      guard state.entries[index].unlisted != nil else { return }
      // It has come back: the same bytes under the same number.
      if state.entries[index].isRemoved {
        guard let document, let content = try await content(of: document),
          sha256(content) == state.entries[index].sha256
        else {
          return warn(.fileMissing, "\(printableText(name)) is listed again, and \(whyNoBytes(of: document))")
        }
        try await put(content, at: path(of: state.entries[index]))
      }
      (state.entries[index].unlisted, state.entries[index].isRemoved) = (nil, false)
      return
    }
    // A document that is still to come, or was refused, is told by its source.
    guard let document else { return }
    let file = name.split(separator: "/").last.map(String.init) ?? ""
    guard MirrorState.isFileName(file) else {
      return warn(.nameRefused, "\(printableText(name)): a file's name is letters, digits, . - _ + and ends in .zip")
    }
    if let other = files[file] {
      return warn(.nameRefused, "\(printableText(name)): \(printableText(other)) has the same file name")
    }
    guard let content = try await content(of: document) else {
      return warn(.fileMissing, "\(printableText(name)) is not shown: \(whyNoBytes(of: document))")
    }
    var entry = MirrorState.Entry(name: name, file: file, ordinal: state.entries.count)
    do {
      try entry.read(content, trusting: settings.ring, at: look.now)
    } catch let fault as DocumentRefusal {
      return warn(.notVerified, "\(fault)".split(separator: "\n").joined(separator: "; "))
    } catch let fault as FormatError {
      return warn(.notVerified, "\(printableText(name)): \(fault)")
    }
    entry.published = now
    try await put(content, at: path(of: entry))
    (places[name], files[file]) = (entry.ordinal, name)
    state.entries.append(entry)
    receipt.bundles.append(
      SeriesReceipt.Bundle(
        kind: "increment", path: path(of: entry), keys: entry.keys, revisedKeys: entry.revisedKeys, bytes: entry.bytes,
        exportSHA256: entry.exportSHA256))
  }

  private func whyNoBytes(of document: DocumentID?) -> String {
    if let erased = document.flatMap(erasures.moment) {
      return "its bytes were erased at \(erased), since a key was erased that is in it"
    }
    return "its bytes are not kept any more; retention.evidence says how long they are"
  }

  private func content(of document: DocumentID) async throws -> [UInt8]? {
    try await ledger.read { try $0.content(of: document) }
  }

  private mutating func unlist(all listed: Set<String>) {
    // Nothing follows from a clock that is in doubt.
    guard look.sound != nil else { return }
    for index in state.entries.indices
    where state.entries[index].unlisted == nil && !listed.contains(state.entries[index].name) {
      state.entries[index].unlisted = now
      receipt.expired += 1
    }
  }

  /// An index names only what is there and whole. What is gone or damaged is put there again while its bytes are kept.
  private mutating func lookAtFiles(_ recorded: [String: DocumentID]) async throws {
    let current = state.entries.filter { $0.unlisted == nil }
    let turn = current.isEmpty ? 0 : Int(now / 60 % Int64(current.count))
    var budget = Self.digestedBytes
    for entry in current[turn...] + current[..<turn] {
      let isDigested = budget > 0
      budget -= entry.bytes
      guard let fault = try await folder.fault(of: entry.bundle(of: settings.name), digest: isDigested) else {
        continue
      }
      if let document = recorded[entry.name], let content = try await content(of: document),
        sha256(content) == entry.sha256
      {
        try await folder.heal(path(of: entry), with: content)
        receipt.madeAgain += 1
        warn(fault.code, "\(path(of: entry)) was gone or damaged; the same bytes are there again")
      } else {
        lost.insert(entry.name)
        receipt.warn(
          PublishingWarning(
            fault.code, "mirror \(settings.name): \(fault.reason), and \(whyNoBytes(of: recorded[entry.name]))"))
      }
    }
  }

  /// Removes the files that no index named for so long that no cached one can either.
  private mutating func remove() async throws {
    guard let settled = look.settled?.instant.secondsSince1970 else { return }
    for (index, entry) in state.entries.enumerated() {
      guard let unlisted = entry.unlisted, !entry.isRemoved, unlisted + settings.graceSeconds <= settled else {
        continue
      }
      try await folder.remove(path(of: entry))
      state.entries[index].isRemoved = true
      receipt.removed += 1
    }
  }

  // MARK: Index

  private func path(of entry: MirrorState.Entry) -> String { "\(settings.name)/\(entry.file)" }

  private mutating func write() async throws {
    let listed = state.entries.filter { $0.unlisted == nil && !lost.contains($0.name) }
    let names = Set(listed.map(\.name))
    // Those whose files are gone are named no more, and no memory answers for them. The others keep their numbers: apps
    // count on.
    var manifest = SeriesManifest(
      series: settings.name, title: settings.title, regions: nil, headerRegion: state.entries.last?.region,
      appBundleID: nil, androidPackage: nil, period: settings.period,
      keys: settings.ring.keys.map {
        SeriesManifest.Key(id: $0.id ?? "", version: $0.version ?? "", publicKey: $0.publicKey.pem)
      }, written: now,
      bundles: state.entries.filter { !$0.isRemoved }
        .map { $0.facts(of: settings.name, isListed: names.contains($0.name)) })
    let path = SeriesManifest.path(of: settings.name)
    let index = index(of: listed)
    if let content = shown[path]?.content, let old = try? SeriesManifest(document: content) {
      manifest.written = old.written
      if manifest != old { manifest.written = now }
      if isIndexChanged(old, index) {
        warn(.indexChanged, "\(settings.name)/index.txt was not as it was written; it is written anew")
        try await ledger.indexRestored(of: settings.name, at: look.now)
      }
    }
    try await replace(path, with: try manifest.document)
    let sums = listed.map { "\($0.sha256)  \($0.file)\n" }.joined()
    try await replace("\(settings.name)/SHA256SUMS", with: Array(sums.utf8))
    try await replace("\(settings.name)/index.txt", with: index)
  }

  private func replace(_ path: String, with content: [UInt8]) async throws {
    if shown[path]?.content == content { return }
    _ = try await folder.replace(shown[path]?.version, with: content, at: path)
  }

  private func index(of entries: [MirrorState.Entry]) -> [UInt8] {
    Array(entries.map(path).joined(separator: "\n").utf8)
  }

  /// Whether somebody has changed the index since it was written.
  ///
  /// - Parameters:
  ///   - manifest: the one in the folder.
  ///   - index: what is about to be written.
  private func isIndexChanged(_ manifest: SeriesManifest, _ index: [UInt8]) -> Bool {
    let written = Array(manifest.bundles.filter(\.isListed).map(\.path).joined(separator: "\n").utf8)
    guard let present = shown["\(settings.name)/index.txt"]?.content else { return true }
    return present != written && present != index && sha256(present) != state.indexBefore
  }

  /// Puts the file of an archive that no index names yet.
  private func put(_ content: [UInt8], at path: String) async throws {
    if folder.isOwnedAlone {
      try await folder.heal(path, with: content)
    } else {
      try await folder.create(content, at: path)
    }
  }

  private mutating func warn(_ code: PublishingWarning.Code, _ reason: String) {
    receipt.warn(PublishingWarning(code, "mirror \(settings.name): \(reason)"))
  }
}

extension MirrorSettings {
  /// How many archives the mirror's index names, and how many of those that its source lists it does not name: their files
  /// are lost. Where there is no index to be read, what the store knows.
  package func listedArchives(in state: any StoredState, folder: String?) throws -> (listed: Int, lost: Int) {
    let entries = try state.note(.mirror(name)).flatMap(MirrorState.init(note:))?.entries ?? []
    let shown = Set(entries.filter { $0.unlisted == nil }.map { "\(name)/\($0.file)" })
    guard let folder,
      let index = try? LocalFolder(folder).content(of: "\(name)/index.txt", limit: SeriesManifest.byteLimit)
    else {
      return (shown.count, 0)
    }
    let named = String(decoding: index, as: UTF8.self).split(separator: "\n").map(String.init)
    return (named.count, shown.subtracting(named).count)
  }
}

/// What a mirror has shown, kept in the store.
struct MirrorState: Hashable, Codable {
  /// In the order in which they came; the place is the number by which layouts count.
  var entries: [Entry] = []
  /// The SHA-256 of the index before the last change; `nil` before there was any.
  var indexBefore: String?

  struct Entry: Hashable, Codable {
    /// As the origin's index spells it.
    var name: String
    var file: String
    var ordinal: Int
    var start: Int64 = 0
    var end: Int64 = 0
    var region: String?
    var keys = 0
    var revisedKeys = 0
    var bytes = 0
    var sha256 = ""
    var exportSHA256 = ""
    var keyID = ""
    var keyVersion = ""
    var published: Int64 = 0
    /// Since when the origin lists it no more.
    var unlisted: Int64?
    var isRemoved = false

    init(name: String, file: String, ordinal: Int) { (self.name, self.file, self.ordinal) = (name, file, ordinal) }
  }

  init() {}

  /// `nil` where it cannot be read: then everything is shown anew.
  init?(note: [UInt8]) {
    guard let state = try? JSONDecoder().decode(MirrorState.self, from: Data(note)) else { return nil }
    self = state
  }

  var note: [UInt8] {
    get throws { Array(try JSONEncoder().encode(self)) }
  }

  static func isFileName(_ name: String) -> Bool {
    (5...128).contains(name.utf8.count) && name.hasSuffix(".zip") && !name.hasPrefix(".")
      && name.unicodeScalars.allSatisfy { scalar in
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
          || ".-_+".unicodeScalars.contains(scalar)
      }
  }
}

extension MirrorState.Entry {
  /// Verifies an archive, and takes from it what layouts tell.
  ///
  /// - Throws: `DocumentRefusal`, `FormatError`.
  mutating func read(_ content: [UInt8], trusting ring: TrustRing, at now: Instant) throws {
    let document = SourceDocument(name: name, source: MemorySource(content))
    let verified = try Arrival(document, vouching: .ring(ring, at: now), at: now).examine().verify()
    exportSHA256 = try verified.contentDigest()
    var counts = (released: 0, revised: 0)
    let reading = try verified.decode { chunk, _ in
      chunk.keys.withKeys { keys in
        for key in keys {
          if key.isRevised { counts.revised += 1 } else { counts.released += 1 }
        }
      }
    }
    (keys, revisedKeys) = counts
    let limit: UInt64 = 253_402_300_799
    start = Int64(min(reading.headers.merged.startTimestamp ?? 0, limit))
    end = Int64(min(reading.headers.merged.endTimestamp ?? 0, limit))
    region = reading.headers.merged.region
    keyID = reading.headers.merged.signatureInfos.first?.verificationKeyID ?? ""
    keyVersion = reading.headers.merged.signatureInfos.first?.verificationKeyVersion ?? ""
    bytes = content.count
    sha256 = KeyPublishing.sha256(content)
  }

  func bundle(of mirror: String) -> NewBundle {
    NewBundle(
      series: mirror, kind: .increment, ordinal: ordinal, start: start, end: end, path: "\(mirror)/\(file)",
      keyCount: keys, revisedKeyCount: revisedKeys, byteCount: bytes, archiveDigest: sha256, exportDigest: exportSHA256,
      keyID: keyID, keyVersion: keyVersion)
  }

  func facts(of mirror: String, isListed: Bool) -> SeriesManifest.Bundle {
    SeriesManifest.Bundle(
      kind: "increment", ordinal: ordinal, path: "\(mirror)/\(file)", start: start, end: end, published: published,
      isListed: isListed, keys: keys, revisedKeys: revisedKeys, bytes: bytes, sha256: sha256,
      exportSHA256: exportSHA256, keyID: keyID, keyVersion: keyVersion)
  }
}
