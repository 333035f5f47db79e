/// The exposure configuration that apps fetch: one JSON document in which every generation of the sample app finds its
/// members.
///
/// The generations decode strictly: each fails when one of its own members is missing, and ignores those of the others.
/// No name has two types, so the union of all serves all: the scores and weights of the first beta (G1), the level
/// values of the later betas and of iOS 13.5 (G1b, G2), and the durations, infectiousness and report types of iOS 12.5
/// and 13.7 (G3). Members beyond these are passed on as they are.
package struct ExposureConfiguration: Hashable, Sendable {
  /// The document, UTF-8.
  package let json: [UInt8]

  /// Reads a whole document, and checks it.
  ///
  /// - Parameter json: an object with all members.
  /// - Throws: ``ExposureConfigurationFault`` with everything that is wrong.
  package init(json: [UInt8]) throws(ExposureConfigurationFault) {
    let members = try Self.members(of: json)
    let faults = Self.rules.compactMap { $0.fault(in: members) }
    guard faults.isEmpty else { throw ExposureConfigurationFault(faults: faults) }
    self.json = json
  }

  /// Reads what an operator gives, which most often is the document of one generation, and puts the members of the
  /// others behind its own with the values of ``default``. What is given stays as it is, byte by byte.
  ///
  /// - Returns: the document, and what was put in: one line a member.
  /// - Throws: ``ExposureConfigurationFault`` with everything that is wrong.
  package static func completing(
    _ json: [UInt8]
  ) throws(ExposureConfigurationFault) -> (configuration: ExposureConfiguration, completions: [String]) {
    // Some editors mark UTF-8, and apps' decoders stumble over it.
    let json = json.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(json.dropFirst(3)) : json
    let members = try members(of: json)
    let missing = rules.filter { members[$0.name] == nil }
    guard missing.count < rules.count else {
      throw ExposureConfigurationFault(faults: ["the document has no member of an exposure configuration"])
    }
    let faults = rules.filter { members[$0.name] != nil }.compactMap { $0.fault(in: members) }
    guard faults.isEmpty else { throw ExposureConfigurationFault(faults: faults) }
    guard !missing.isEmpty, let end = json.lastIndex(of: UInt8(ascii: "}")) else {
      return (ExposureConfiguration(trusted: json), [])
    }
    let added = missing.map { "\"\($0.name)\":\(defaultMembers[$0.name] ?? "")" }
    let completed = json[..<end] + Array(",\n  \(added.joined(separator: ",\n  "))\n".utf8) + json[end...]
    return (
      ExposureConfiguration(trusted: Array(completed)),
      missing.map { rule in
        let value = defaultMembers[rule.name] ?? ""
        return "\(rule.name) is missing; apps that need it are given \(value.utf8.count <= 40 ? value : "the default")"
      }
    )
  }

  private static func members(of json: [UInt8]) throws(ExposureConfigurationFault) -> [String: JSONValue] {
    guard json.count <= byteLimit else {
      throw ExposureConfigurationFault(faults: ["the document has \(json.count) bytes, at most \(byteLimit) are read"])
    }
    guard let members = JSONValue.parse(json)?.object else {
      throw ExposureConfigurationFault(faults: ["the file is no JSON object"])
    }
    return members
  }

  private static let byteLimit = 1 << 20

  private init(trusted json: [UInt8]) { self.json = json }

  /// Values with which every level counts and nothing is scaled: a starting point, which the health authority replaces.
  package static let `default` = ExposureConfiguration(trusted: Array(defaultText.utf8))

  /// ``default`` as a document.
  package static let defaultJSON: [UInt8] = `default`.json

  // MARK: The members

  /// What a member has to be.
  fileprivate struct Rule {
    var name: String
    var kind: Kind

    enum Kind {
      case integer(ClosedRange<Int64>)
      case number(ClosedRange<Double>)
      case levels
      case thresholds
      case infectiousness
    }

    func fault(in members: [String: JSONValue]) -> String? {
      guard let value = members[name] else { return "\(name) is missing" }
      guard let allowed = kind.expectation(unlessMetBy: value) else { return nil }
      return "\(name): allowed is \(allowed)"
    }
  }

  private static let rules: [Rule] =
    [Rule(name: "minimumRiskScore", kind: .integer(0...255))]
    + factors.flatMap { factor in
      [
        Rule(name: "\(factor)Weight", kind: .number(0...100)), Rule(name: "\(factor)Scores", kind: .levels),
        Rule(name: "\(factor)LevelValues", kind: .levels),
      ]
    }
    + [
      Rule(name: "attenuationDurationThresholds", kind: .thresholds),
      Rule(name: "infectiousnessForDaysSinceOnsetOfSymptoms", kind: .infectiousness),
      // A key without a report type counts as: unknown (it is ignored) to recursive.
      Rule(name: "reportTypeNoneMap", kind: .integer(0...4)),
    ]
    + percentages.map { Rule(name: $0, kind: .number(0...250)) }

  private static let factors = ["attenuation", "daysSinceLastExposure", "duration", "transmissionRisk"]

  private static let percentages = [
    "immediateDurationWeight", "nearDurationWeight", "mediumDurationWeight", "otherDurationWeight",
    "infectiousnessStandardWeight", "infectiousnessHighWeight", "reportTypeConfirmedTestWeight",
    "reportTypeConfirmedClinicalDiagnosisWeight", "reportTypeSelfReportedWeight", "reportTypeRecursiveWeight",
  ]

  /// Days from six before to ten after the onset are infectious, the days around it most.
  private static let defaults: [(name: String, value: String)] = {
    let days =
      ["\"unknown\":1"] + (-14...14).map { "\"\($0)\":\((-2...4).contains($0) ? 2 : (-6...10).contains($0) ? 1 : 0)" }
    let levels = "[1,2,3,4,5,6,7,8]"
    var members = [("minimumRiskScore", "0"), ("attenuationDurationThresholds", "[50,70]")]
    for factor in factors {
      members += [("\(factor)Weight", "50"), ("\(factor)Scores", levels), ("\(factor)LevelValues", levels)]
    }
    members += percentages.map { ($0, "100") }
    members += [
      ("infectiousnessForDaysSinceOnsetOfSymptoms", "{\(days.joined(separator: ","))}"), ("reportTypeNoneMap", "1"),
    ]
    return members
  }()

  private static let defaultMembers = Dictionary(defaults, uniquingKeysWith: { first, _ in first })

  private static let defaultText = "{\n  \(defaults.map { "\"\($0)\":\($1)" }.joined(separator: ",\n  "))\n}\n"
}

extension ExposureConfiguration.Rule.Kind {
  /// What is allowed, where the value is something else.
  fileprivate func expectation(unlessMetBy value: JSONValue) -> String? {
    switch self {
    case .integer(let range):
      if let number = value.integer, range.contains(number) { return nil }
      return "a whole number \(range.lowerBound)...\(range.upperBound)"
    case .number(let range):
      if let number = value.number, range.contains(number) { return nil }
      return "a number \(Int(range.lowerBound))...\(Int(range.upperBound))"
    case .levels:
      if let values = value.array, values.count == 8, values.allSatisfy({ (0...8).contains($0.integer ?? -1) }) {
        return nil
      }
      return "an array of 8 whole numbers 0...8"
    case .thresholds:
      // Two for the sample apps; apps with four buckets have three.
      let numbers = value.array?.compactMap(\.integer) ?? []
      let isAscending = zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
      if let count = value.array?.count, (2...3).contains(count), numbers.count == count, isAscending,
        numbers.allSatisfy({ (0...255).contains($0) })
      {
        return nil
      }
      return "an array of 2 or 3 ascending whole numbers 0...255"
    case .infectiousness:
      let names = Set(["unknown"] + (-14...14).map(String.init))
      if let days = value.object, Set(days.keys) == names,
        days.values.allSatisfy({ (0...2).contains($0.integer ?? -1) })
      {
        return nil
      }
      return "an object with the members \"unknown\" and \"-14\" to \"14\", each 0, 1 or 2"
    }
  }
}

/// Everything that is wrong with an exposure configuration.
package struct ExposureConfigurationFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// One line for each member.
  package var faults: [String]

  package var description: String { faults.joined(separator: "\n") }
}
