import BundleTrust
import Testing

@Suite struct SecretTests {
  private static let text = "hunter2-hunter2"

  /// Everything that a log, an error or a debugger makes of a value by itself.
  private static func showings(of value: some Any) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    let children = Mirror(reflecting: value).children.map { "\($0.value)" }
    return ["\(value)", String(reflecting: value), String(describing: value), dumped, "\([value])", "\(["a": value])"]
      + children
  }

  private struct Settings {
    var secret = Secret(SecretTests.text)
    var other: Secret? = Secret(SecretTests.text)
    var more = ["Authorization": Secret(SecretTests.text)]
  }

  @Test func showsItselfNowhere() {
    let showings = Self.showings(of: Secret(Self.text)) + Self.showings(of: Settings())
    for showing in showings { #expect(!showing.contains("hunter"), "\(showing)") }
    #expect("\(Secret(Self.text))" == "(hidden)")
    #expect(!(Secret(Self.text) as Any is any Encodable))
    #expect(!(Secret(Self.text) as Any is any LosslessStringConvertible))
  }

  @Test func saysWhatItIsWhenAsked() {
    #expect(Secret(Self.text).disclosed == Self.text)
    #expect(Secret(Self.text) == Secret(Self.text) && Secret(Self.text) != Secret("other"))
  }

  @Test func keysShowThemselvesNowhereEither() throws {
    let secret = [UInt8](repeating: 0xA7, count: 32)
    let key = SigningKey.generate()
    let showings = Self.showings(of: KeyedHash(secret: secret)) + Self.showings(of: key)
    for showing in showings {
      for part in ["167, 167", "a7a7", "A7A7", "p6en", "PRIVATE"] { #expect(!showing.contains(part), "\(showing)") }
    }
  }
}
