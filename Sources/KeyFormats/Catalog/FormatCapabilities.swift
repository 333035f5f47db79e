/// What a format can carry, and what its readers require. Fitting compares keys with it before they are written.
public struct FormatCapabilities: Sendable {
  public let rollingStart: FieldRule
  public let rollingPeriod: FieldRule
  public let transmissionRisk: FieldRule
  public let reportType: FieldRule
  public let daysSinceOnset: FieldRule
  public let origin: RegionRule
  public let visitedRegions: RegionRule
  /// Whether revised keys are told apart from the others.
  public let carriesRevision: Bool
  public let carriesHeader: Bool
  public let carriesUnknownFields: Bool
  /// Whether keys are written in the order of their raw bytes, revised ones last.
  public let sortsKeys: Bool

  /// Whether origin and visited regions are said once, for all keys of a document.
  public let statesRegionsOnce: Bool

  public enum RegionRule: Sendable { case notCarried, optional, required }

  /// What a format does with one number of a key.
  public struct FieldRule: Sendable {
    public enum Presence: Sendable { case notCarried, optional, required }
    public let presence: Presence
    /// The values that the format, and the devices that read it, accept.
    public let allowed: ClosedRange<Int64>
    /// What is written for a key that does not state the field, unless the operator chose otherwise.
    public let builtInDefault: Int32?
    /// Whether the format spells the word unsigned.
    public let isUnsigned: Bool

    static let anyInt32 = Int64(Int32.min)...Int64(Int32.max)
    static let anyUInt32 = Int64(0)...Int64(UInt32.max)

    static func optional(_ allowed: ClosedRange<Int64> = anyInt32) -> FieldRule {
      FieldRule(presence: .optional, allowed: allowed, builtInDefault: nil, isUnsigned: false)
    }
    static func required(_ allowed: ClosedRange<Int64> = anyInt32, default value: Int32? = nil) -> FieldRule {
      FieldRule(presence: .required, allowed: allowed, builtInDefault: value, isUnsigned: false)
    }
    static func requiredUnsigned(default value: Int32? = nil) -> FieldRule {
      FieldRule(presence: .required, allowed: anyUInt32, builtInDefault: value, isUnsigned: true)
    }
    static let notCarried = FieldRule(
      presence: .notCarried, allowed: anyInt32, builtInDefault: nil, isUnsigned: false)

    /// Whether no word is outside what is allowed.
    var takesAnyWord: Bool { allowed == (isUnsigned ? Self.anyUInt32 : Self.anyInt32) }

    /// The field's value of this word, as the format would spell it.
    @inline(__always)
    func value(of word: Int32) -> Int64 { isUnsigned ? Int64(UInt32(bitPattern: word)) : Int64(word) }
  }

  /// What is not named is not carried.
  init(
    rollingStart: FieldRule, rollingPeriod: FieldRule, transmissionRisk: FieldRule, reportType: FieldRule = .notCarried,
    daysSinceOnset: FieldRule = .notCarried, origin: RegionRule = .notCarried, visitedRegions: RegionRule = .notCarried,
    statesRegionsOnce: Bool = false, carriesRevision: Bool = false, carriesHeader: Bool = false,
    carriesUnknownFields: Bool = false, sortsKeys: Bool = false
  ) {
    self.rollingStart = rollingStart
    self.rollingPeriod = rollingPeriod
    self.transmissionRisk = transmissionRisk
    self.reportType = reportType
    self.daysSinceOnset = daysSinceOnset
    self.origin = origin
    self.visitedRegions = visitedRegions
    self.statesRegionsOnce = statesRegionsOnce
    self.carriesRevision = carriesRevision
    self.carriesHeader = carriesHeader
    self.carriesUnknownFields = carriesUnknownFields
    self.sortsKeys = sortsKeys
  }

  /// Of a format that loses nothing.
  static let everything = FormatCapabilities(
    rollingStart: .optional(), rollingPeriod: .optional(), transmissionRisk: .optional(), reportType: .optional(),
    daysSinceOnset: .optional(), origin: .optional, visitedRegions: .optional, carriesRevision: true,
    carriesHeader: true, carriesUnknownFields: true)
}
