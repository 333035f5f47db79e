/// Names of regions and origins: an ISO 3166-1 code of two letters, one of ISO 3166-2 for a part of a country
/// (`GB-SCT`), or a mobile country code (`262`).
package enum RegionName {
  /// Whether there can be a region of this name. Names are compared in capitals.
  package static func isPossible(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    if bytes.count == 3, bytes.allSatisfy(isDigit) {
      // E.212 gives 2xx...7xx to countries.
      return (UInt8(ascii: "2")...UInt8(ascii: "7")).contains(bytes[0])
    }
    guard countries.contains(String(name.prefix(2))) else { return false }
    if bytes.count == 2 { return true }
    let part = bytes.dropFirst(3)
    return bytes[2] == UInt8(ascii: "-") && (1...3).contains(part.count)
      && part.allSatisfy { isDigit($0) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
  }

  /// The origin of a file of which nobody says whose it is: it is told apart from all others and named in no output.
  package static func ofFile(_ name: String) -> String { filePrefix + name }

  /// Whether it is the origin of such a file. A stated one has no small letters.
  package static func isFile(_ origin: String) -> Bool { origin.hasPrefix(filePrefix) }

  /// An origin's name as it is compared.
  static func normalized(_ origin: String) -> String { isFile(origin) ? origin : origin.uppercased() }

  private static let filePrefix = "file "

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  /// Officially assigned, and four in common use: `EU` for a series of all its countries, `EL` and `UK` as the
  /// European Union spells Greece and the United Kingdom, `XK` for Kosovo.
  private static let countries: Set<String> = Set(
    """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC
    CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD
    GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH
    KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW
    MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC
    SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY
    UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW EU EL UK XK
    """.split(whereSeparator: \.isWhitespace).map(String.init))
}
