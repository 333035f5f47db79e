import ExposureKeys
import GatewayTesting
import KeyConversion
import KeyFormats
import KeyIntake
import KeyPublishing

/// What a conversion should come to, said again in the plainest way: one key at a time, from the catalogue's row alone.
struct ConversionModel {
  let format: KeyFormat
  let defaults: FieldDefaults
  private(set) var keys: [Document.Content.Key: Int] = [:]
  private(set) var written = 0
  private(set) var rejected = 0
  private(set) var repeated = 0
  private(set) var lost: [String: Int] = [:]
  private(set) var filled: [String: Int] = [:]

  private var target: FormatCapabilities { format.capabilities }

  /// Whether fields that readers do not know mean something else in the target.
  private let crossesSchemas: Bool

  /// - Parameter source: the format that the keys were read from.
  init(
    _ content: Document.Content, from source: KeyFormat = .csv, to format: KeyFormat, defaults: FieldDefaults
  ) {
    self.format = format
    let export: Set<KeyFormat> = [.gaenExport, .cwaSubmission, .csv, .json]
    let federation: Set<KeyFormat> = [.efgsProtobuf]
    crossesSchemas =
      export.contains(source) && federation.contains(format) || federation.contains(source) && export.contains(format)
    self.defaults = defaults
    for key in content.keys + content.revised { take(key) }
    if target.sortsKeys {
      repeated = keys.values.reduce(0) { $0 + $1 - 1 }
      written -= repeated
      keys = keys.mapValues { _ in 1 }
    }
  }

  /// The receipt's lines about keys.
  var losses: Set<String> {
    Set(lost.map { "\(counted($0.value, "key")) \($0.value == 1 ? "loses" : "lose") \($0.key)" })
  }
  var fillings: Set<String> { Set(filled.map { "\($0.key): \(counted($0.value, "key"))" }) }

  private mutating func take(_ sent: Document.Content.Key) {
    var key = sent
    var lost: [String] = []
    var filled: [String] = []
    var isRefused = false

    func number(
      _ name: String, _ place: WritableKeyPath<ClaimedKey, Int32?>, _ rule: FormatCapabilities.FieldRule,
      _ chosen: Int32?
    ) {
      guard rule.presence != .notCarried else {
        if key.claim[keyPath: place] != nil { lost.append(name) }
        key.claim[keyPath: place] = nil
        return
      }
      if let word = key.claim[keyPath: place] {
        let value = rule.isUnsigned ? Int64(UInt32(bitPattern: word)) : Int64(word)
        guard !rule.allowed.contains(value) else { return }
        if rule.presence == .required {
          isRefused = true
        } else {
          key.claim[keyPath: place] = nil
          lost.append("\(name) (the value is outside what devices accept)")
        }
      } else if let value = chosen ?? rule.builtInDefault {
        key.claim[keyPath: place] = value
        filled.append("\(name) absent, written as \(value)")
      } else if rule.presence == .required {
        isRefused = true
      }
    }
    number("rolling start", \.rollingStart, target.rollingStart, nil)
    number("rolling period", \.rollingPeriod, target.rollingPeriod, defaults.rollingPeriod)
    number("transmission risk level", \.transmissionRisk, target.transmissionRisk, defaults.transmissionRisk)
    number("report type", \.reportType, target.reportType, defaults.reportType)
    number("days since onset", \.daysSinceOnset, target.daysSinceOnset, defaults.daysSinceOnset)

    if target.origin == .notCarried {
      if key.regions.origin != nil { lost.append("origin") }
      key.regions.origin = nil
    } else if key.regions.origin == nil {
      if let origin = defaults.origin {
        key.regions.origin = origin
        filled.append("origin absent, filled in")
      } else if target.origin == .required {
        isRefused = true
      }
    }
    if target.visitedRegions == .notCarried {
      if key.regions.visited?.isEmpty == false { lost.append("visited regions") }
      key.regions.visited = nil
    } else if key.regions.visited == nil, let visited = defaults.visitedRegions {
      key.regions.visited = visited
      filled.append("visited regions absent, filled in")
    }
    if key.claim.isRevised, !target.carriesRevision {
      key.claim.isRevised = false
      lost.append("mark as revised")
    }
    if !key.unknownFields.isEmpty, !target.carriesUnknownFields || crossesSchemas || isOwn(key.unknownFields) {
      key.unknownFields = []
      lost.append("unknown fields")
    }

    guard !isRefused else {
      rejected += 1
      return
    }
    written += 1
    for name in lost { self.lost[name, default: 0] += 1 }
    for name in filled { self.filled[name, default: 0] += 1 }
    keys[spelled(key), default: 0] += 1
  }

  /// Whether the target would read the first of these fields as one of its own. Random keys have no such fields; those
  /// of the Corona-Warn-App's submissions name regions in the fields 5 and 6.
  private func isOwn(_ unknownFields: [UInt8]) -> Bool {
    let tags: [KeyFormat: [UInt8]] = [
      .gaenExport: [0x0a, 0x10, 0x18, 0x20, 0x28, 0x30],
      .efgsProtobuf: [0x0a, 0x10, 0x18, 0x20, 0x2a, 0x32, 0x38, 0x40],
    ]
    return unknownFields.first.map { tags[format]?.contains($0) == true } ?? false
  }

  /// The federation's batch does not tell a list of no regions from none, nor an empty origin.
  func spelled(_ key: Document.Content.Key) -> Document.Content.Key {
    guard format == .efgsProtobuf || format == .efgsJSON else { return key }
    var key = key
    key.regions.visited = key.regions.visited ?? []
    if key.regions.origin == "" { key.regions.origin = nil }
    return key
  }
}
