import GatewayTesting
import S3Objects
import Testing

@Suite("Answers in XML") struct XMLTests {
  @Test("an answer of S3 is read") func answer() throws {
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!-- a comment -->
      <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>false</IsTruncated>
        <Contents><Key>a&amp;b&lt;&#x41;&#66;&gt;&quot;&apos;</Key><Size>12</Size></Contents>
        <Contents><Key>ü</Key><Size>0</Size><Owner/></Contents>
      </ListBucketResult>
      """
    let root = try XMLElement(document: Array(text.utf8))
    #expect(root.name == "ListBucketResult")
    #expect(root["IsTruncated"] == "false")
    #expect(root.all("Contents").map { $0["Key"] } == ["a&b<AB>\"'", "ü"])
    #expect(root.all("Contents").map { $0["Size"] } == ["12", "0"])
    #expect(try XMLElement(document: Array("<a><![CDATA[x<]]>y</a>".utf8)).text == "x<y")
  }

  @Test(
    "what is no such answer is refused",
    arguments: [
      "", "text", "<a>", "<a></b>", "<a/>x", "<a>&unknown;</a>", "<a>&#x110000;</a>", "<a>&amp</a>", "<a b></a>",
      "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>", "<?xml version=\"1.0\"?><!DOCTYPE a><a/>",
      "<a b=\"1></a>", "<a><a", "</a>", "<>", "<a><!-- </a>",
      String(repeating: "<a>", count: 10_000),
      String(repeating: "<a>", count: 20) + String(repeating: "</a>", count: 20),
    ])
  func malformed(_ text: String) {
    #expect(throws: XMLElement.Malformed.self) { try XMLElement(document: Array(text.utf8)) }
  }

  @Test("no bytes end the program") func bytes() {
    var seed: UInt64 = 7
    let whole = Array("<?xml?><a b='1'><c>&amp;&#65;</c><!-- x --></a>".utf8)
    for _ in 0..<5000 {
      var bytes = whole
      for _ in 0..<3 {
        seed = seed &* 6_364_136_223_846_793_005 &+ 1
        bytes[Int(seed >> 33) % bytes.count] = UInt8(truncatingIfNeeded: seed >> 20)
      }
      _ = try? XMLElement(document: bytes)
      _ = try? XMLElement(document: Array(whole.prefix(Int(seed >> 40) % whole.count)))
    }
  }
}
