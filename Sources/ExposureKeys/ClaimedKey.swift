/// One diagnosis key as its sender described it: a claim, not a belief.
///
/// A trivially copyable record of 48 bytes, so that a million of them are one contiguous array. The five numeric
/// fields are 32-bit words with a presence bit each: *absent* is not zero. They hold whatever was sent, also values
/// that no device would accept; admission and fitting decide about those. Formats that spell a field unsigned read
/// the same 32 bits.
@frozen
public struct ClaimedKey: Hashable, Sendable, BitwiseCopyable {
  public var key: TemporaryExposureKey

  // The raw words: meaningful where `fields` says so, zero otherwise.
  public var rollingStartWord: Int32
  public var rollingPeriodWord: Int32
  public var transmissionRiskWord: Int32
  public var reportTypeWord: Int32
  public var daysSinceOnsetWord: Int32

  /// Which words are stated, and in which list the key stood.
  public var fields: KeyFields

  /// Origin and visited regions, in the ``RegionTable`` of the document; 0 when the sender named none.
  public var regions: RegionClaim.ID

  /// Fields that this version does not know, in the ``UnknownFieldTable`` of the document; 0 when there are none.
  public var unknownFields: UInt32

  @inlinable
  public init(
    key: TemporaryExposureKey, rollingStartWord: Int32 = 0, rollingPeriodWord: Int32 = 0,
    transmissionRiskWord: Int32 = 0, reportTypeWord: Int32 = 0, daysSinceOnsetWord: Int32 = 0,
    fields: KeyFields = [], regions: RegionClaim.ID = .none, unknownFields: UInt32 = 0
  ) {
    self.key = key
    self.rollingStartWord = rollingStartWord
    self.rollingPeriodWord = rollingPeriodWord
    self.transmissionRiskWord = transmissionRiskWord
    self.reportTypeWord = reportTypeWord
    self.daysSinceOnsetWord = daysSinceOnsetWord
    self.fields = fields
    self.regions = regions
    self.unknownFields = unknownFields
  }

  /// Start of validity in ten-minute intervals since 1970.
  @inlinable
  public var rollingStart: Int32? {
    get { fields.contains(.rollingStart) ? rollingStartWord : nil }
    set { set(.rollingStart, \.rollingStartWord, newValue) }
  }

  /// The UTC day in which ``rollingStart`` lies; `nil` when that is not stated.
  public var day: Day? { rollingStart.map { IntervalNumber(Int64($0)).day } }

  /// Length of validity in ten-minute intervals; devices accept 1...144.
  @inlinable
  public var rollingPeriod: Int32? {
    get { fields.contains(.rollingPeriod) ? rollingPeriodWord : nil }
    set { set(.rollingPeriod, \.rollingPeriodWord, newValue) }
  }

  /// Devices accept 0...8 (iOS 0...7).
  @inlinable
  public var transmissionRisk: Int32? {
    get { fields.contains(.transmissionRisk) ? transmissionRiskWord : nil }
    set { set(.transmissionRisk, \.transmissionRiskWord, newValue) }
  }

  /// The number of the report type, also one without a meaning; see ``reportTypeClaim``.
  @inlinable
  public var reportType: Int32? {
    get { fields.contains(.reportType) ? reportTypeWord : nil }
    set { set(.reportType, \.reportTypeWord, newValue) }
  }

  public var reportTypeClaim: Claim<ReportType> {
    guard let number = reportType else { return .absent }
    return ReportType(rawValue: number).map(Claim.stated) ?? .unrecognized(number)
  }

  /// Days from the onset of symptoms to the key's day; devices accept -14...14. The federation also sends codes.
  @inlinable
  public var daysSinceOnset: Int32? {
    get { fields.contains(.daysSinceOnset) ? daysSinceOnsetWord : nil }
    set { set(.daysSinceOnset, \.daysSinceOnsetWord, newValue) }
  }

  /// Whether the key stood among the revised keys of its export.
  @inlinable
  public var isRevised: Bool {
    get { fields.contains(.revised) }
    set { if newValue { fields.insert(.revised) } else { fields.remove(.revised) } }
  }

  @inlinable
  mutating func set(_ field: KeyFields, _ word: WritableKeyPath<ClaimedKey, Int32>, _ value: Int32?) {
    self[keyPath: word] = value ?? 0
    if value == nil { fields.remove(field) } else { fields.insert(field) }
  }
}

/// Presence bits of a ``ClaimedKey``, and the list in which it stood.
@frozen
public struct KeyFields: OptionSet, Hashable, Sendable, BitwiseCopyable {
  public let rawValue: UInt32

  @inlinable
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  @inlinable public static var rollingStart: KeyFields { KeyFields(rawValue: 1) }
  @inlinable public static var rollingPeriod: KeyFields { KeyFields(rawValue: 2) }
  @inlinable public static var transmissionRisk: KeyFields { KeyFields(rawValue: 4) }
  @inlinable public static var reportType: KeyFields { KeyFields(rawValue: 8) }
  @inlinable public static var daysSinceOnset: KeyFields { KeyFields(rawValue: 16) }
  /// The key stood in `revised_keys`.
  @inlinable public static var revised: KeyFields { KeyFields(rawValue: 32) }

  /// The five fields that carry a number.
  @inlinable public static var numbers: KeyFields { KeyFields(rawValue: 31) }
}
