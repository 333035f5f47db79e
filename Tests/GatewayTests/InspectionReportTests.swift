import ExposureKeys
import Foundation
import GatewayTesting
import KeyInspection
import Testing

@Suite struct InspectionReportTests {
  /// Every member of the JSON is in the schema, and every member that the schema requires is in the JSON.
  @Test func reportFitsItsSchema() throws {
    let schema = try DocumentSchema(named: "inspection.schema.json")
    var bundle = SampleBundle()
    bundle.signatures?[0].info.androidPackage = "app"
    bundle.rawKeys = [[0x0a, 1, 1]]
    bundle.keys[1].transmissionRisk = nil
    for bytes in [try bundle.zip(), try bundle.exportFile(), try SampleBundle().zip()] {
      var report = try examineBytes(bytes).report
      report.sha256 = "00"
      let encoder = JSONEncoder()
      #expect(try JSONDecoder().decode(InspectionReport.self, from: encoder.encode(report)) == report)
      encoder.keyEncodingStrategy = .convertToSnakeCase
      let encoded = try encoder.encode(report)
      #expect(try schema.faults(in: encoded, at: "report") == [])
    }
    #expect(schema.values(of: "code", in: "finding") == Set(Finding.Code.allCases.map(\.rawValue)))
  }
}
