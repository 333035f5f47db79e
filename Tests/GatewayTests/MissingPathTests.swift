import KeyIntake
import Testing

/// What a message shows of a path that leads nowhere.
@Suite struct MissingPathTests {
  @Test(arguments: [
    "drop", "keys/privat.pem", "/etc/keyferry/key.pem", "/nowhere/keyferry/key.pem", "missing.zip", "../private.pem",
    "./x",
    "~/keys/1f2e3d", "day-1/DE.zip", "2021-05-01.tar.gz", "TemporaryExposureKeyExport.zip", "my keys/test (2).json",
    "out/pg15/v2.sqlite", "schl\u{FC}ssel/datei.pem", "/tmp/0f1e2d3c4b5a69788796a5b4c3d2e1f0", "a/b/", "--color",
  ]) func mistypedPathIsShownWhole(_ path: String) { #expect(PathText.shownAsMissing(path) == path) }

  @Test(arguments: [
    "hunter2", "correct horse battery staple", "Tr0ub4dor&3", "p4ssw0rd.txt", "S3cretPass/w0rd", "swordfish",
    "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0", "/9j4aK2mQ8sVt3xZ+b1Lw7Yc0RfHnEuPd5gTiOk6AzXs=",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJrZXlmZXJyeSJ9.c2lnbmF0dXJlLW9mLXRva2Vu",
    "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg\n-----END PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY----- MIGHAgEAMBMGByqGSM49 -----END PRIVATE KEY-----",
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg", "keys.example.org/log+0a1b2c3d+AfKx8wBz",
    "https://user:secret@example.org/x.zip", "Bearer 0a1b2c3d4e5f", "/tmp\u{1}/key.pem",
  ]) func secretIsCutOff(_ secret: String) {
    let shown = PathText.shownAsMissing(secret)
    #expect(!shown.contains(secret.prefix(6)))
    #expect(shown.hasPrefix(secret.prefix(4)) && shown.hasSuffix("characters that do not look like a path)"))
  }

  @Test func faultAndLeftOutDocumentCutItOff() throws {
    let token = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
    for number in [Int32(2), 20, 36] {
      let fault = FileFault("open", token, number: number)
      #expect(!"\(fault)".contains(token) && "\(fault)".hasPrefix("0f1e... (32 characters"))
      let document = try #require(LeftOutDocument(token, fault))
      #expect(!document.name.contains(token) && !document.reason.contains(token))
    }
    // A file that exists is named.
    #expect("\(FileFault("open", token, number: 13))".hasPrefix("\(token): cannot open"))
  }
}
