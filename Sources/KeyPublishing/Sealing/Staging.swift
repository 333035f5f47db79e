internal import BundleTrust
internal import ExposureKeys
internal import KeyNormalization
internal import KeyStorage

/// Numbers for those whose opinions publish keys: few publish, and a key that waits outside of memory has a number.
struct OriginNumbers: Sendable {
  private var origins: [ReleasingOrigins] = []
  private var numbers: [ReleasingOrigins: UInt32] = [:]

  /// Of keys that are not released: look-alikes.
  static let none: UInt32 = 0
  /// Of keys that were released before, and are said otherwise.
  static let releasedBefore: UInt32 = 1
  private static let first: UInt32 = 2

  mutating func number(of releasing: ReleasingOrigins) -> UInt32 {
    if let number = numbers[releasing] { return number }
    let number = Self.first + UInt32(origins.count)
    origins.append(releasing)
    numbers[releasing] = number
    return number
  }

  /// `nil` where the key is not released; what is within is `nil` where it was before.
  subscript(number: UInt32) -> ReleasingOrigins?? {
    switch number {
    case Self.none: nil
    case Self.releasedBefore: .some(nil)
    default: .some(origins[Int(number - Self.first)])
    }
  }
}

/// What one transaction is to stage: bundles with their numbers and names.
struct Staging: Sendable {
  private(set) var bundles: [(bundle: NewBundle, sealed: SealedBundle, recipe: BundleRecipe)] = []
  /// What the numbers of the keys stand for: which are released, and of first releases whose opinions publish them. All
  /// others in the bundles are look-alikes, or stay as they were released.
  var origins = OriginNumbers()
  /// Of the released keys the first releases, which have look-alikes beside them.
  var padded = KeyRun()
  /// By kind, the number of the first bundle that is staged.
  private(set) var firstOrdinals: [String: Int]

  private let folder: any PublicationFolder
  private let settings: SeriesSettings
  private let signer: SigningIdentity
  /// The files of the series, as far as they were asked for.
  private var present: Set<String>?
  private var nextOrdinals: [BundleKind: Int]
  /// Apps of the sample's kind name their copies by the last part of the path.
  private var fileNames: Set<Substring>
  /// By the window's names, the greatest number that is known.
  private var numbersOfWindows: [NamePattern.Names: Int] = [:]

  /// - Parameters:
  ///   - records: all bundles that the series ever had.
  ///   - folder: no file of it gets other bytes, whatever the store knows.
  init(
    _ settings: SeriesSettings, _ signer: SigningIdentity, _ records: [BundleRecord],
    beside folder: any PublicationFolder
  ) {
    self.folder = folder
    self.settings = settings
    self.signer = signer
    var next: [BundleKind: Int] = [:]
    for kind in BundleKind.allCases { next[kind] = 0 }
    for record in records { next[record.bundle.kind] = max(next[record.bundle.kind] ?? 0, record.bundle.ordinal + 1) }
    nextOrdinals = next
    firstOrdinals = Dictionary(uniqueKeysWithValues: next.map { ($0.key.rawValue, $0.value) })
    fileNames = Set(records.compactMap { $0.bundle.path.split(separator: "/").last })
    for bundle in records.map(\.bundle) where bundle.kind == .increment {
      let names = settings.namePattern.names(start: bundle.start, end: bundle.windowEnd(settings.period))
      guard let number = bundle.path.split(separator: "/").last.flatMap(names.number) else { continue }
      numbersOfWindows[names] = max(numbersOfWindows[names] ?? 0, number)
    }
  }

  func nextOrdinal(_ kind: BundleKind) -> Int { nextOrdinals[kind] ?? 0 }

  /// Editions are numbered from here on, or behind those that there were.
  mutating func beginEditions(at ordinal: Int) {
    nextOrdinals[.edition] = max(nextOrdinals[.edition] ?? 0, ordinal)
    firstOrdinals[BundleKind.edition.rawValue] = nextOrdinals[.edition]
  }

  /// What the increments release, as the series remembers it. Of bundles among which a run was dealt out, in the order of
  /// the run.
  var releases: ReleaseReading {
    var runs: [(keys: KeyRun, bundles: [Int])] = []
    for (index, (bundle, sealed, _)) in bundles.enumerated() where bundle.kind == .increment {
      if sealed.keys.part == 0 { runs.append((sealed.keys.run, [])) }
      runs[runs.count - 1].bundles.append(index)
    }
    return { [origins, runs] release in
      for (keys, bundles) in runs {
        var place = 0
        try keys.read { record in
          defer { place += 1 }
          let key = record.key
          guard let origins = origins[record.number] else { return }
          var plain = key
          plain.isRevised = false
          try release(
            bundles[place % bundles.count], NewRelease(key: plain, revisions: key.isRevised ? 1 : 0, origins: origins))
        }
      }
    }
  }

  /// - Parameter recipe: how it was made; which part it is, the bundle says.
  /// - Throws: what the folder throws.
  mutating func add(_ sealed: SealedBundle, _ kind: BundleKind, made recipe: BundleRecipe) async throws {
    var recipe = recipe
    (recipe.part, recipe.parts) = (sealed.keys.part, sealed.keys.parts)
    let ordinal = nextOrdinals[kind] ?? 0
    nextOrdinals[kind] = ordinal + 1
    let bundle = NewBundle(
      series: settings.name, kind: kind, ordinal: ordinal, start: sealed.start, end: sealed.end,
      path: try await path(of: sealed, kind), keyCount: sealed.keyCount, revisedKeyCount: sealed.revisedKeyCount,
      byteCount: sealed.content.byteCount, archiveDigest: sealed.archiveDigest, exportDigest: sealed.exportDigest,
      keyID: signer.keyID, keyVersion: signer.keyVersion)
    // Only increments release keys, and only theirs are put together again.
    bundles.append((bundle, kind == .increment ? sealed : sealed.withoutKeys, recipe))
  }

  /// Whether the folder has no file of this name. A bucket is asked for all names at once.
  private mutating func isFree(_ path: String) async throws -> Bool {
    if folder.width == 1 { return try await folder.byteCount(of: path) == nil }
    let names: Set<String>
    if let present {
      names = present
    } else {
      names = Set(try await folder.files(of: settings.name).map(\.path))
      present = names
    }
    return !names.contains(path)
  }

  /// Increments are named by the series' pattern: window, and a number that counts the bundles of the window, those that are
  /// signed again included. Roll-ups and key days are named by their day and their end,
  /// editions by the time that they are of.
  private mutating func path(of sealed: SealedBundle, _ kind: BundleKind) async throws -> String {
    let day = Instant(secondsSince1970: sealed.start).day
    let (folder, name) =
      switch kind {
      case .increment: ("\(settings.name)/", "")
      case .day: ("\(settings.name)/day/", "\(day)-\(sealed.end)")
      case .since: ("\(settings.name)/since/", "since-\(day)-\(sealed.end)")
      case .keyDay: ("\(settings.name)/key-day/", "keys-\(day)-\(sealed.end)")
      case .edition: ("\(settings.name)/edition/", "edition-\(sealed.start)-\(sealed.end)")
      }
    let window = settings.namePattern.names(start: sealed.start, end: sealed.windowEnd)
    // Only the newest name of an archive may be known after a loss; older ones, which a log may have, are not given again either.
    var number =
      kind == .increment ? (numbersOfWindows[window] ?? 0) + 1 : (numbers(of: name).max().map { $0 + 1 } ?? 0)
    while true {
      let digits = String(number)
      let suffix = number == 0 ? "" : "-" + String(repeating: "0", count: max(0, 5 - digits.count)) + digits
      let fileName = kind == .increment ? window[number] : "\(name)\(suffix).zip"
      let isNew = fileNames.insert(Substring(fileName)).inserted
      if isNew, try await isFree(folder + fileName) {
        if kind == .increment { numbersOfWindows[window] = number }
        return folder + fileName
      }
      number += number == 0 ? 2 : 1
    }
  }

  /// Under which numbers archives of this name are known; the one without a number is the first.
  private func numbers(of name: String) -> [Int] {
    fileNames.compactMap { fileName in
      guard fileName.hasPrefix(name), fileName.hasSuffix(".zip") else { return nil }
      let rest = fileName.dropFirst(name.utf8.count).dropLast(4)
      if rest.isEmpty { return 1 }
      return rest.first == "-" ? Int(rest.dropFirst()) : nil
    }
  }
}

extension NewBundle {
  /// Where its window ended: a few seconds before its end where the window had several bundles.
  func windowEnd(_ period: Int64) -> Int64 {
    let aligned = end - end % period
    return aligned > start ? aligned : end
  }
}

extension SeriesReceipt.Bundle {
  init(_ bundle: NewBundle) {
    self.init(
      kind: bundle.kind.rawValue, path: bundle.path, keys: bundle.keyCount, revisedKeys: bundle.revisedKeyCount,
      bytes: bundle.byteCount, exportSHA256: bundle.exportDigest)
  }
}
