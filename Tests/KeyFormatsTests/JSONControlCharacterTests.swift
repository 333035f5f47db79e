import KeyFormats
import Testing

/// Found by fuzzing: a control character in a string was seen only where the string was read byte by byte.
@Suite struct JSONControlCharacterTests {
  @Test(arguments: [0, 1, 9, 10, 29, 31] as [UInt8])
  func areRefusedWhereverTheyStand(control: UInt8) {
    for place in 0..<24 {
      var text = [UInt8](repeating: UInt8(ascii: "A"), count: 24)
      text[place] = control
      let document = Array(#"[{"keyData":""#.utf8) + text + Array(#"","rollingStartNumber":2649024}]"#.utf8)
      for capacity in [16, 4096] {
        let window = InputWindow(MemorySource(document), capacity: capacity)
        let error = #expect(throws: FormatError.self) { try DecodedDocument(decoding: JSONKeyDecoder(window)) }
        #expect(error?.code == .malformed && error?.byteOffset == 13 + place)
      }
    }
  }
}
