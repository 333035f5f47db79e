import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats

/// Sample dumps, each as the system that it is named after writes it.
enum Sample: String, CaseIterable {
  /// The array that Apple's sample app keeps: no report type, no onset.
  case codableJSON = "codable-json"
  case csv
  /// `export.bin` alone.
  case exportBin = "export-bin"
  case efgsProtobuf = "efgs-protobuf"

  static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

  /// - Parameter day: keys are of the fourteen days before it.
  func bytes(_ count: Int, seed: UInt64, day: Day = RandomKeys.usualDay) throws -> Data {
    var random = SeededRandom(seed: seed)
    let keys = RandomKeys(.plausible, day: day, statesRegions: self == .efgsProtobuf)
    let document = keys.document(count, using: &random)
    switch self {
    case .codableJSON:
      // The array has no place for revised keys: others come instead of them.
      var plain = document.keys.filter { !$0.isRevised }
      while plain.count < count {
        plain += keys.document(count - plain.count, using: &random).keys.filter { !$0.isRevised }
      }
      return try JSONEncoder().encode(plain.map(CodableDiagnosisKey.init))
    case .csv: return csv(document)
    case .exportBin: return Data(try ReferenceExport.encode(document))
    case .efgsProtobuf: return Data(try ReferenceBatch.encode(document))
    }
  }

  private func csv(_ document: DecodedDocument) -> Data {
    let header = [
      "key_data", "rolling_start_interval_number", "rolling_period", "transmission_risk_level", "report_type",
      "days_since_onset_of_symptoms", "revised",
    ]
    let rows = document.keys.map { claim in
      [
        claim.key.hex, cell(claim.rollingStart), cell(claim.rollingPeriod), cell(claim.transmissionRisk),
        claim.reportType.flatMap(ReportType.init)?.name ?? "", cell(claim.daysSinceOnset), "\(claim.isRevised)",
      ]
    }
    return Data(([header] + rows).map { $0.joined(separator: ",") + "\n" }.joined().utf8)
  }

  private func cell(_ number: Int32?) -> String { number.map(String.init) ?? "" }
}

/// The members and their types as Apple's sample app declares them.
private struct CodableDiagnosisKey: Encodable {
  var keyData: Data
  var rollingPeriod: UInt32
  var rollingStartNumber: UInt32
  var transmissionRiskLevel: UInt8

  init(_ claim: ClaimedKey) {
    keyData = Data(claim.key.bytes)
    rollingPeriod = UInt32(claim.rollingPeriodWord)
    rollingStartNumber = UInt32(claim.rollingStartWord)
    transmissionRiskLevel = UInt8(claim.transmissionRiskWord)
  }
}
