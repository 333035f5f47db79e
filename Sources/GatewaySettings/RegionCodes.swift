internal import KeyNormalization
internal import PolicyFiles

/// Codes of regions and origins. Systems have names of their own, so one that ISO 3166 does not have is a warning.
extension GatewayReader {
  /// A code of a region or an origin, in capital letters.
  func code(_ setting: Setting) -> String? {
    guard let code = anyCode(setting) else { return nil }
    // What sources' keys are said to name was told of there.
    if !codesInKeys.contains(code), let reason = UnusualCode.reason(code, shown: setting.shown) {
      setting.add(reason, isWarning: true)
    }
    return code
  }

  /// A list of codes, at least one.
  func codes(_ setting: Setting) -> Set<String>? { codes(setting, code) }

  /// Codes that keys of a source name, as its system spells them: a mobile country code may be among them.
  func codesOfKeys(_ setting: Setting) -> Set<String>? {
    codes(setting) { entry in
      guard let code = anyCode(entry) else { return nil }
      codesInKeys.insert(code)
      let isNumber = code.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      if !isNumber || !RegionName.isPossible(code), let reason = UnusualCode.reason(code, shown: entry.shown) {
        entry.add("\(reason); fine where its keys name it so", isWarning: true)
      }
      return code
    }
  }

  private func codes(_ setting: Setting, _ read: (Setting) -> String?) -> Set<String>? {
    guard let list = setting.list() else { return nil }
    guard !list.isEmpty else { return setting.fault("empty, allowed one or more codes: [DE, US-VA]") }
    var codes: Set<String> = []
    for entry in list {
      guard let code = read(entry) else { continue }
      if !codes.insert(code).inserted { entry.add("\(code) is named twice") }
    }
    return codes
  }

  private func anyCode(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    guard (2...16).contains(text.utf8.count), text.unicodeScalars.allSatisfy({ $0.isLetterOrDigit || $0 == "-" }) else {
      return setting.fault("\(setting.shown), allowed a region's code: DE, US-VA")
    }
    namedCodes.insert(text.uppercased())
    return text.uppercased()
  }
}

/// A code of a region that ISO 3166 does not have.
package enum UnusualCode {
  /// What is usual instead.
  ///
  /// - Parameters:
  ///   - code: in capital letters.
  ///   - shown: as it was stated, in quotes.
  /// - Returns: `nil` where it is a code of a country, of a part of one, `EU`, or one that everybody may use.
  package static func reason(_ code: String, shown: String) -> String? {
    let country = String(code.prefix(2))
    let isWord = code.utf8.count == 2 || code.dropFirst(2).first == "-"
    // How the European Union spells two of them.
    if isWord, country == "UK" { return "\(shown) is no region's code of ISO 3166; the United Kingdom's is GB" }
    if isWord, country == "EL" { return "\(shown) is no region's code of ISO 3166; Greece's is GR" }
    let isNumber = code.utf8.first.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
    // A code that everybody may use is looked at as if it were a country's.
    let known = isUserAssigned(country) ? "EU\(code.dropFirst(2))" : code
    if !isNumber, RegionName.isPossible(known) { return nil }
    return "\(shown) is no region's code of ISO 3166: two letters such as DE, or US-VA"
  }

  /// AA, QM to QZ, XA to XZ, and ZZ.
  private static func isUserAssigned(_ country: String) -> Bool {
    let letters = Array(country.utf8)
    guard letters.count == 2, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(letters[1]) else { return false }
    return country == "AA" || country == "ZZ" || letters[0] == UInt8(ascii: "X")
      || (letters[0] == UInt8(ascii: "Q") && letters[1] >= UInt8(ascii: "M"))
  }
}
