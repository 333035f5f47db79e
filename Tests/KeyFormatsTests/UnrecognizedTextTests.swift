import ExposureKeys
import KeyFormats
import Testing

/// Success means that something was understood: text in which no field of any format occurs is refused, and an empty
/// document is none of it.
@Suite struct UnrecognizedTextTests {
  private static func fault(_ text: String, _ format: KeyFormat? = nil) -> FormatError? {
    do {
      _ = try DecodedDocument(Array(text.utf8), format: format)
      return nil
    } catch { return error as? FormatError }
  }

  @Test(arguments: [
    "Error: Unauthorized", "status: ok", "status: ok\nregions: 5\n", "error { code: 401 }", #"{"error":"x"}"#,
    #"{"message":"x","region":"de"}"#, #"["unauthorized"]"#, "[1]", "[[]]", #"[{"error":"x"}]"#,
    #"{"keys":[{"error":1}]}"#,
    #"{"keys":["x"]}"#, "signature: {}\n", "signature: {\n  \"a\": 1\n}\n", "export: {\n  \"error\": 1\n}\n",
    "---\nstatus: ok\nerrors:\n  - a\n", "keys:\n  - keyData: x\n", "not found", "error,code\nx,5\n",
    "Exposure Notification Diagnosis Key Parser\nError: no such file\n", "INSERT INTO errors VALUES (1);\n",
    "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict><key>error</key><string>x</string></dict></plist>",
  ])
  func textWithoutAnyFieldIsRefused(text: String) throws {
    let fault = try #require(Self.fault(text), "\(text) was read")
    #expect([.unrecognizedFormat, .malformed, .truncated].contains(fault.code))
  }

  /// Whoever names the format is told so, too.
  @Test(arguments: [
    (KeyFormat.protobufText, "Error: Unauthorized"), (.parserText, "Error: Unauthorized"), (.parserText, "not found"),
    (.codableJSON, #"{"error":"x"}"#), (.efgsJSON, #"{"error":"x"}"#),
  ])
  func aNamedFormatMakesNoFields(format: KeyFormat, text: String) {
    #expect(Self.fault(text, format)?.code == .unrecognizedFormat)
  }

  @Test func theNamesAreTold() throws {
    let fault = try #require(Self.fault("Error: Unauthorized\nretry_after: 5\n"))
    #expect(fault.code == .unrecognizedFormat && fault.reason.contains("Error, retry_after"), "\(fault)")
  }

  @Test(arguments: KeyFormat.allCases.filter { $0.definition.isWritten && $0 != .efgsProtobuf && $0 != .cwaSubmission })
  func emptyDocumentsAreRead(format: KeyFormat) throws {
    let bytes = try DecodedDocument().bytes(as: format)
    #expect(try DecodedDocument(bytes, format: format).keys.isEmpty)
    #expect(try DecodedDocument(bytes).keys.isEmpty, "\(format)")
  }

  @Test(arguments: [
    "[]", "{}", #"{"keys":[]}"#, #"{"diagnosisKeys":null}"#, #"{"start_timestamp":5}"#, "start_timestamp: 5\n",
    "# nothing\nregion: \"DE\"\n", "1: TEK: x\n", "- Region: DE\n1: TEK: 000102030405060708090a0b0c0d0e0f\n",
    "export: {}\n", "key_data\n", #"{"sample_date":"2020-11-18","tek_list":[]}"#,
  ])
  func aKnownFieldIsEnough(text: String) {
    #expect(Self.fault(text) == nil)
  }
}
