internal import BundleTrust
internal import Containers
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake

/// The keys of one side of a comparison, sorted, each description once.
struct ComparedKeys {
  private(set) var keys: [ClaimedKey] = []
  /// How many keys stood there, with those that were said twice in the same words.
  private(set) var count = 0
  private(set) var rejected = 0
  private(set) var documents: [ComparedDocument] = []
  private var isSorted = true

  /// Reads a document.
  ///
  /// - Parameters:
  ///   - side: what was named on the command line.
  ///   - names: regions and fields of all sides.
  /// - Throws: what is wrong with the document, of which nothing stays then.
  mutating func add(_ found: FoundDocument, of side: String, _ names: inout SharedNames) throws {
    let before = (keys: keys.count, rejected: rejected, isSorted: isSorted)
    do {
      try read(found, of: side, &names)
    } catch {
      keys.removeLast(keys.count - before.keys)
      (count, rejected, isSorted) = (before.keys, before.rejected, before.isSorted)
      throw error
    }
  }

  private mutating func read(_ found: FoundDocument, of side: String, _ names: inout SharedNames) throws {
    let source = found.document
    let digest = DigestCollector(includingBody: false)
    let document = try source.open(observeExport: digest.update)
    let decoder = document.decoder
    var numbers = SharedNames.Numbers()
    try source.located {
      var chunk = KeyChunk()
      while try decoder.decode(into: &chunk) {
        let unknown = chunk.unknownFields
        let regions = decoder.regions
        rejected += chunk.rejections.count
        chunk.keys.withKeys { claims in
          for var claim in claims {
            if claim.regions != .none { claim.regions = names.number(of: claim.regions, in: regions, &numbers) }
            if claim.unknownFields != 0 { claim.unknownFields = names.number(of: unknown[claim.unknownFields]) }
            if isSorted, let last = keys.last, !Self.precedes(last, claim) { isSorted = false }
            keys.append(claim)
          }
        }
        chunk.advance()
      }
    }
    count = keys.count
    let isExport = document.format == .gaenExport
    let signatures = isExport ? try source.located { try document.signatures() } : []
    documents.append(
      ComparedDocument(
        path: Self.path(found.place, in: side), format: document.format,
        digest: isExport ? digest.finish().hexadecimal : try source.digest().hexadecimal,
        header: decoder.header, signatures: signatures))
  }

  /// Below what was named, so that a folder and an archive of it have the same names.
  private static func path(_ place: DocumentPlace, in side: String) -> String {
    guard let entry = place.entry else { return place.path }
    return place.file == side ? entry : "\(place.path)!\(entry)"
  }

  /// Must come before sides are compared.
  mutating func sort() {
    if !isSorted { keys.sort(by: Self.precedes) }
    isSorted = true
    var kept = 0
    for index in keys.indices where index == 0 || keys[index] != keys[kept - 1] {
      keys[kept] = keys[index]
      kept += 1
    }
    keys.removeLast(keys.count - kept)
  }

  /// Whether two say something of one key: the same key data and the same start.
  static func isSameSubject(_ left: ClaimedKey, _ right: ClaimedKey) -> Bool {
    left.key == right.key && left.rollingStart == right.rollingStart
  }

  /// By key data and start, and then by all that is said.
  static func precedes(_ left: ClaimedKey, _ right: ClaimedKey) -> Bool {
    if left.key != right.key { return left.key < right.key }
    return rank(left).lexicographicallyPrecedes(rank(right))
  }

  private static func rank(_ claim: ClaimedKey) -> [Int64] {
    [
      claim.rollingStart.map(Int64.init) ?? .min, Int64(claim.rollingPeriodWord), Int64(claim.transmissionRiskWord),
      Int64(claim.reportTypeWord), Int64(claim.daysSinceOnsetWord), Int64(claim.fields.rawValue),
      Int64(claim.regions.rawValue), Int64(claim.unknownFields),
    ]
  }
}

/// A document of one side.
struct ComparedDocument {
  /// Below the folder or in the archive that was named.
  let path: String
  let format: KeyFormat
  /// SHA-256 of `export.bin`, or of the file in other formats.
  let digest: String
  let header: ExportHeader
  let signatures: [ExportSignature]

  /// Whether both can state a header, so that what one does not state is a difference.
  static func stateHeaders(_ left: Self, _ right: Self) -> Bool {
    left.format == right.format
      || [left, right].allSatisfy { $0.format.definition.capabilities?.carriesHeader == true }
  }
}

/// Numbers for regions and unknown fields that mean the same on both sides.
struct SharedNames {
  private(set) var regions = RegionTable(isLimited: false)
  private var fields: [[UInt8]: UInt32] = [:]

  /// Of one document.
  typealias Numbers = [RegionClaim.ID: RegionClaim.ID]

  mutating func number(of id: RegionClaim.ID, in table: RegionTable, _ known: inout Numbers) -> RegionClaim.ID {
    if let number = known[id] { return number }
    // Without a limit there is room for each.
    let number = regions.intern(table[id]) ?? .none
    known[id] = number
    return number
  }

  mutating func number(of bytes: ArraySlice<UInt8>) -> UInt32 {
    let bytes = Array(bytes)
    if let number = fields[bytes] { return number }
    let number = UInt32(fields.count + 1)
    fields[bytes] = number
    return number
  }
}

/// What two sides say differently.
struct KeyComparison {
  enum Field: String {
    case rollingPeriod = "rolling_period"
    case transmissionRisk = "transmission_risk"
    case reportType = "report_type"
    case daysSinceOnset = "days_since_onset"
    case revised
    case regions
    case unknownFields = "unknown_fields"
    /// One side says several things of the key.
    case repeated
  }

  struct Change {
    let left: [ClaimedKey]
    let right: [ClaimedKey]
    let fields: [Field]
  }

  private(set) var onlyLeft = 0
  private(set) var onlyRight = 0
  private(set) var changed = 0
  private(set) var equal = 0
  private(set) var fields: [Field: Int] = [:]

  /// - Parameters:
  ///   - left: sorted, as the other one.
  ///   - tell: is told each difference, in the order of the keys.
  init(_ left: ComparedKeys, _ right: ComparedKeys, _ tell: (Change) throws -> Void) rethrows {
    var (one, other) = (left.keys[...], right.keys[...])
    while let claim = Self.earlier(one.first, other.first) {
      let same = Self.countSame(one, other)
      if same > 0 {
        equal += same
        (one, other) = (one.dropFirst(same), other.dropFirst(same))
        continue
      }
      let mine = Self.take(claim, from: &one)
      let theirs = Self.take(claim, from: &other)
      if mine.elementsEqual(theirs) {
        equal += 1
        continue
      }
      let changes = mine.isEmpty || theirs.isEmpty ? [] : Self.fields(mine, theirs)
      if theirs.isEmpty { onlyLeft += 1 } else if mine.isEmpty { onlyRight += 1 } else { changed += 1 }
      for field in changes { fields[field, default: 0] += 1 }
      try tell(Change(left: Array(mine), right: Array(theirs), fields: changes))
    }
  }

  var isEqual: Bool { onlyLeft + onlyRight + changed == 0 }

  /// How many keys stand at the front of which both sides say one thing, and the same.
  private static func countSame(_ left: ArraySlice<ClaimedKey>, _ right: ArraySlice<ClaimedKey>) -> Int {
    left.withUnsafeBufferPointer { left in
      right.withUnsafeBufferPointer { right in
        let most = min(left.count, right.count)
        var count = 0
        while count < most, left[count] == right[count] {
          let isLast = count + 1 == left.count || !ComparedKeys.isSameSubject(left[count], left[count + 1])
          let isOtherLast = count + 1 == right.count || !ComparedKeys.isSameSubject(right[count], right[count + 1])
          guard isLast, isOtherLast else { break }
          count += 1
        }
        return count
      }
    }
  }

  private static func earlier(_ left: ClaimedKey?, _ right: ClaimedKey?) -> ClaimedKey? {
    guard let left, let right else { return left ?? right }
    if left.key != right.key { return left.key < right.key ? left : right }
    let (one, other) = (left.rollingStart.map(Int64.init) ?? .min, right.rollingStart.map(Int64.init) ?? .min)
    return other < one ? right : left
  }

  /// All that stands at the front about one key.
  private static func take(_ claim: ClaimedKey, from keys: inout ArraySlice<ClaimedKey>) -> ArraySlice<ClaimedKey> {
    var end = keys.startIndex
    while end < keys.endIndex, ComparedKeys.isSameSubject(keys[end], claim) { end += 1 }
    defer { keys = keys[end...] }
    return keys[..<end]
  }

  private static func fields(_ left: ArraySlice<ClaimedKey>, _ right: ArraySlice<ClaimedKey>) -> [Field] {
    guard let one = left.first, let other = right.first, left.count == 1, right.count == 1 else { return [.repeated] }
    var fields: [Field] = []
    if one.rollingPeriod != other.rollingPeriod { fields.append(.rollingPeriod) }
    if one.transmissionRisk != other.transmissionRisk { fields.append(.transmissionRisk) }
    if one.reportType != other.reportType { fields.append(.reportType) }
    if one.daysSinceOnset != other.daysSinceOnset { fields.append(.daysSinceOnset) }
    if one.isRevised != other.isRevised { fields.append(.revised) }
    if one.regions != other.regions { fields.append(.regions) }
    if one.unknownFields != other.unknownFields { fields.append(.unknownFields) }
    return fields
  }
}
