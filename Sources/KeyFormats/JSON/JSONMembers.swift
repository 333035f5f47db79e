import ExposureKeys

/// What a member of a key object means.
enum KeyMember: UInt8 {
  case keyData, rollingStart, rollingPeriod, transmissionRisk, reportType, daysSinceOnset
  /// Not 0 for padding of an upload.
  case fake
  case origin, visited
  /// Whether an earlier statement about the key is changed.
  case revised
  /// An object that holds start and period, among others.
  case validity
  case unknownFields

  /// What says of a number whether it is stated.
  var field: KeyFields {
    switch self {
    case .rollingStart: .rollingStart
    case .rollingPeriod: .rollingPeriod
    case .transmissionRisk: .transmissionRisk
    case .reportType: .reportType
    case .daysSinceOnset: .daysSinceOnset
    default: []
    }
  }

  var bit: UInt32 { 1 << UInt32(rawValue) }

  /// Where the number stands in a ``ClaimedKey``; 0 for what is no number.
  var fieldOffset: Int { Self.fieldOffsets[Int(rawValue)] }

  private static let fieldOffsets: [Int] = {
    let words: [PartialKeyPath<ClaimedKey>] = [
      \.rollingStartWord, \.rollingPeriodWord, \.transmissionRiskWord, \.reportTypeWord, \.daysSinceOnsetWord,
    ]
    return [0] + words.map { MemoryLayout<ClaimedKey>.offset(of: $0) ?? 0 } + [0, 0, 0, 0, 0, 0]
  }()
}

/// A name that a member of a key has in some dialect, or a column of a table, and what it means in all of them.
struct KeyMemberName {
  let text: StaticString
  let member: KeyMember
  /// Its own among ``all``.
  let bit: UInt64

  /// Every spelling that a known system uses, once.
  static let all: [KeyMemberName] = {
    var all: [KeyMemberName] = []
    func add(_ names: [StaticString], for member: KeyMember) {
      for name in names {
        let known = all.first { $0.text.matches(name) }
        assert(known == nil || known?.member == member, "\(name) has two meanings in the dialects of JSON")
        if known == nil { all.append(KeyMemberName(text: name, member: member, bit: 1 << UInt64(all.count))) }
      }
    }
    for (_, dialect) in JSONDialect.all {
      for (member, names) in dialect.keyMembers { add(names, for: member) }
    }
    // Tables are turned into JSON, and JSON into tables.
    for column in CSVColumn.allCases { add(column.names, for: column.member) }
    assert(all.count <= UInt64.bitWidth, "more names than JSONNames has bits")
    return all
  }()

  /// ``all`` by the length of the name.
  private static let byLength: [[KeyMemberName]] = {
    let longest = all.map(\.text.utf8CodeUnitCount).max() ?? 0
    return (0...longest).map { length in all.filter { $0.text.utf8CodeUnitCount == length } }
  }()

  static func find(_ name: UnsafeRawBufferPointer) -> KeyMemberName? {
    guard name.count < byLength.count else { return nil }
    for known in byLength[name.count] where known.text.matches(name) { return known }
    return nil
  }
}

/// What a member of an object around the keys means.
enum DocumentMember: Equatable {
  case list(of: JSONEntries)
  case startTimestamp, endTimestamp, region, batchNum, batchSize, signatureInfos, unknownFields
  /// The day on which the validity of all keys begins that are listed by their data alone.
  case sampleDate
  /// A list of keys, or of something else that belongs to a person.
  case listOrPrivateData(of: JSONEntries)
  /// Belongs to no key, and is kept by this name for who takes the document for a request.
  case request(String)
  /// Stated elsewhere too, or says nothing, so that nothing is lost by reading over it.
  case redundant
  /// Personal data or a secret: read over with a note.
  case privateData
}

/// What the entries of a list of keys are.
enum JSONEntries: Equatable {
  case keys, revisedKeys
  /// The data alone, as text.
  case keyData
}

/// A name that a member beside the keys has in some dialect, and what it means in all of them.
struct DocumentMemberName {
  let text: StaticString
  let member: DocumentMember
  /// The dialect that the name gives away.
  let dialect: JSONDialect?

  static let all: [DocumentMemberName] = {
    var all: [DocumentMemberName] = []
    func add(_ names: JSONDialect.DocumentNames, givingAway dialect: JSONDialect?) {
      for (member, names) in names {
        for name in names {
          let known = all.first { $0.text.matches(name) }
          assert(known == nil || known?.member == member, "\(name) has two meanings in the dialects of JSON")
          if known == nil { all.append(DocumentMemberName(text: name, member: member, dialect: dialect)) }
        }
      }
    }
    for (_, dialect) in JSONDialect.all { add(dialect.ownMembers, givingAway: dialect) }
    for (_, dialect) in JSONDialect.all { add(dialect.documentMembers, givingAway: nil) }
    return all
  }()

  static func find(_ name: UnsafeRawBufferPointer) -> DocumentMemberName? { all.first { $0.text.matches(name) } }
}

/// Members of a signature info.
enum SignatureInfoMember {
  case appBundleID, androidPackage, verificationKeyVersion, verificationKeyID, signatureAlgorithm, unknownFields

  static let all: [(text: StaticString, member: SignatureInfoMember)] = [
    ("app_bundle_id", .appBundleID), ("appBundleId", .appBundleID),
    ("android_package", .androidPackage), ("androidPackage", .androidPackage),
    ("verification_key_version", .verificationKeyVersion), ("verificationKeyVersion", .verificationKeyVersion),
    ("verification_key_id", .verificationKeyID), ("verificationKeyId", .verificationKeyID),
    ("signature_algorithm", .signatureAlgorithm), ("signatureAlgorithm", .signatureAlgorithm),
    ("unknown_fields", .unknownFields),
  ]

  static func find(_ name: UnsafeRawBufferPointer) -> SignatureInfoMember? {
    all.first { $0.text.matches(name) }?.member
  }
}

extension StaticString {
  func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count == utf8CodeUnitCount else { return false }
    for index in 0..<bytes.count where bytes[index] != utf8Start[index] { return false }
    return true
  }

  func matches(_ other: StaticString) -> Bool {
    matches(UnsafeRawBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount))
  }
}
