import Foundation
import Testing

@testable import GatewayServer

@Suite("Exposure configuration")
struct ExposureConfigurationTests {
  /// The first beta: decoding is strict, as the samples do it.
  private struct First: Decodable {
    var minimumRiskScore: UInt8
    var attenuationWeight, daysSinceLastExposureWeight, durationWeight, transmissionRiskWeight: Double
    var attenuationScores, daysSinceLastExposureScores, durationScores, transmissionRiskScores: [UInt8]
  }

  private struct FirstLater: Decodable {
    var minimumRiskScore: UInt8
    var attenuationWeight, daysSinceLastExposureWeight, durationWeight, transmissionRiskWeight: Double
    var attenuationLevelValues, daysSinceLastExposureLevelValues: [UInt8]
    var durationLevelValues, transmissionRiskLevelValues: [UInt8]
  }

  /// iOS 13.5.
  private struct Second: Decodable {
    var minimumRiskScore: UInt8
    var attenuationDurationThresholds: [Int]
    var attenuationLevelValues, daysSinceLastExposureLevelValues: [UInt8]
    var durationLevelValues, transmissionRiskLevelValues: [UInt8]
  }

  /// iOS 12.5 and 13.7.
  private struct Third: Decodable {
    var immediateDurationWeight, nearDurationWeight, mediumDurationWeight, otherDurationWeight: Double
    var infectiousnessForDaysSinceOnsetOfSymptoms: [String: Int]
    var infectiousnessStandardWeight, infectiousnessHighWeight: Double
    var reportTypeConfirmedTestWeight, reportTypeConfirmedClinicalDiagnosisWeight: Double
    var reportTypeSelfReportedWeight, reportTypeRecursiveWeight: Double
    var reportTypeNoneMap: Int
    var minimumRiskScore: UInt8
    var attenuationDurationThresholds: [Int]
    var attenuationLevelValues, daysSinceLastExposureLevelValues: [UInt8]
    var durationLevelValues, transmissionRiskLevelValues: [UInt8]
  }

  @Test("Every generation finds its members in the default, and the default passes its own check")
  func generations() throws {
    let data = Data(ExposureConfiguration.defaultJSON)
    let decoder = JSONDecoder()
    #expect(try decoder.decode(First.self, from: data).attenuationScores.count == 8)
    #expect(try decoder.decode(FirstLater.self, from: data).durationLevelValues.count == 8)
    #expect(try decoder.decode(Second.self, from: data).attenuationDurationThresholds == [50, 70])
    let third = try decoder.decode(Third.self, from: data)
    #expect(third.infectiousnessForDaysSinceOnsetOfSymptoms.count == 30)
    #expect(third.infectiousnessForDaysSinceOnsetOfSymptoms["unknown"] == 1)
    #expect(third.reportTypeNoneMap == 1)
    #expect(try ExposureConfiguration(json: ExposureConfiguration.defaultJSON) == .default)
  }

  @Test("What an operator gives is passed on byte by byte, further members included")
  func passedOn() throws {
    let json = try edited { $0["steps"] = ["a": 1] }
    #expect(try ExposureConfiguration(json: json).json == json)
  }

  /// The documents of Apple's sample, generation by generation, as they stand in its sources.
  private static let generations: [(document: String, missing: Int)] = {
    let levels = { (ending: String) in
      ["attenuation", "daysSinceLastExposure", "duration", "transmissionRisk"].map {
        "\"\($0)\(ending)\":[1, 2, 3, 4, 5, 6, 7, 8]"
      }
    }
    let weights = ["attenuation", "daysSinceLastExposure", "duration", "transmissionRisk"].map { "\"\($0)Weight\":50" }
    let second = ["\"minimumRiskScore\":0", "\"attenuationDurationThresholds\":[50, 70]"] + levels("LevelValues")
    let days = ["\"unknown\":1"] + (-14...14).map { "\"\($0)\":1" }
    let third =
      [
        "immediateDurationWeight", "nearDurationWeight", "mediumDurationWeight", "otherDurationWeight",
        "infectiousnessStandardWeight", "infectiousnessHighWeight", "reportTypeConfirmedTestWeight",
        "reportTypeConfirmedClinicalDiagnosisWeight", "reportTypeSelfReportedWeight", "reportTypeRecursiveWeight",
      ].map { "\"\($0)\":100" }
      + ["\"infectiousnessForDaysSinceOnsetOfSymptoms\":{\(days.joined(separator: ", "))}", "\"reportTypeNoneMap\":1"]
    return [
      (["\"minimumRiskScore\":0"] + weights + levels("Scores"), 17), (second, 20), (second + third, 8),
    ].map { (document: "{\($0.0.joined(separator: ",\n"))}", missing: $0.1) }
  }()

  @Test("A document of one generation is completed for the others, each completion is told", arguments: 0..<3)
  func completed(generation: Int) throws {
    let (text, missing) = Self.generations[generation]
    let given = Array(text.utf8)
    #expect(throws: ExposureConfigurationFault.self) { try ExposureConfiguration(json: given) }
    let (configuration, completions) = try ExposureConfiguration.completing(given)
    #expect(completions.count == missing)
    #expect(configuration.json.starts(with: given.dropLast()), "what was given stays as it is")
    let data = Data(configuration.json)
    let decoder = JSONDecoder()
    _ = try decoder.decode(First.self, from: data)
    _ = try decoder.decode(FirstLater.self, from: data)
    _ = try decoder.decode(Second.self, from: data)
    _ = try decoder.decode(Third.self, from: data)
    // Nothing is left to complete.
    #expect(try ExposureConfiguration(json: configuration.json) == configuration)
    #expect(try ExposureConfiguration.completing(configuration.json).completions == [])
    let marked = try ExposureConfiguration.completing([0xEF, 0xBB, 0xBF] + given).configuration
    #expect(marked == configuration, "a mark of UTF-8 is not for apps")
  }

  @Test("What is wrong with a member is never completed over, and a document of something else is refused")
  func notCompleted() {
    let faults = { (text: String) throws(ExposureConfigurationFault) in
      _ = try ExposureConfiguration.completing(Array(text.utf8))
    }
    let wrong = #expect(throws: ExposureConfigurationFault.self) { try faults("{\"minimumRiskScore\":-1}") }
    #expect(wrong?.faults == ["minimumRiskScore: allowed is a whole number 0...255"])
    for text in ["{}", "{\"series\":\"NL\"}", "[]", ""] {
      #expect(throws: ExposureConfigurationFault.self) { try faults(text) }
    }
  }

  @Test("All faults are named at once")
  func faults() throws {
    let json = try edited {
      $0["minimumRiskScore"] = 256
      $0["nearDurationWeight"] = 251
      $0["attenuationLevelValues"] = [1, 2, 3, 4, 5, 6, 7]
      $0["durationScores"] = [1, 2, 3, 4, 5, 6, 7, 9]
      $0["attenuationDurationThresholds"] = [70, 50]
      $0["reportTypeNoneMap"] = 1.5
      $0["otherDurationWeight"] = nil
      var days = $0["infectiousnessForDaysSinceOnsetOfSymptoms"] as? [String: Int] ?? [:]
      days["15"] = 1
      $0["infectiousnessForDaysSinceOnsetOfSymptoms"] = days
    }
    let fault = #expect(throws: ExposureConfigurationFault.self) { try ExposureConfiguration(json: json) }
    let text = fault?.description ?? ""
    #expect(fault?.faults.count == 8)
    for line in [
      "minimumRiskScore: allowed is a whole number 0...255", "nearDurationWeight: allowed is a number 0...250",
      "attenuationLevelValues: allowed is an array of 8 whole numbers 0...8", "otherDurationWeight is missing",
      "attenuationDurationThresholds: allowed is an array of 2 or 3 ascending whole numbers 0...255",
    ] {
      #expect(text.contains(line), "\(text)")
    }
  }

  @Test(
    "Each bound holds",
    arguments: [
      ("reportTypeNoneMap", 5), ("reportTypeNoneMap", -1), ("infectiousnessHighWeight", -0.5),
      ("attenuationWeight", 100.5), ("minimumRiskScore", "1"), ("transmissionRiskLevelValues", 3),
      ("infectiousnessForDaysSinceOnsetOfSymptoms", [Int]()), ("attenuationDurationThresholds", [50]),
    ] as [(String, any Sendable)])
  func bounds(name: String, value: any Sendable) throws {
    let json = try edited { $0[name] = value }
    let fault = #expect(throws: ExposureConfigurationFault.self) { try ExposureConfiguration(json: json) }
    #expect(fault?.faults.count == 1)
    #expect(fault?.faults.first?.hasPrefix(name) == true)
  }

  @Test("What is no object is no configuration", arguments: ["", "[]", "1", "{", "{\"minimumRiskScore\":"])
  func noObject(text: String) {
    #expect(throws: ExposureConfigurationFault.self) { try ExposureConfiguration(json: Array(text.utf8)) }
  }

  private func edited(_ body: (inout [String: Any]) -> Void) throws -> [UInt8] {
    var members = try #require(
      try JSONSerialization.jsonObject(with: Data(ExposureConfiguration.defaultJSON)) as? [String: Any])
    body(&members)
    return Array(try JSONSerialization.data(withJSONObject: members))
  }
}
