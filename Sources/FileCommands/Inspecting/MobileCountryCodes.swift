/// Mobile country codes (ITU-T E.212) of the countries whose apps use exposure notifications.
package enum MobileCountryCodes {
  /// The codes of a country; empty where they are not known here.
  ///
  /// - Parameter region: `NL`, or a part of a country: `US-VA`.
  package static func codes(of region: String) -> [String] { codes[String(region.prefix(2))] ?? [] }

  private static let codes: [String: [String]] = [
    "AT": ["232"], "AW": ["363"], "BE": ["206"], "BG": ["284"], "BQ": ["362"], "BR": ["724"], "CA": ["302"],
    "CH": ["228"], "CY": ["280"], "CZ": ["230"], "DE": ["262"], "DK": ["238"], "EC": ["740"], "EE": ["248"],
    "ES": ["214"], "FI": ["244"], "FR": ["208"], "GB": ["234", "235"], "GI": ["266"], "GR": ["202"],
    "GU": ["310", "311"], "HR": ["219"], "HU": ["216"], "IE": ["272"], "IS": ["274"], "IT": ["222"],
    "JP": ["440", "441"], "LT": ["246"], "LU": ["270"], "LV": ["247"], "MT": ["278"], "NL": ["204"], "NO": ["242"],
    "NZ": ["530"], "PL": ["260"], "PT": ["268"], "RO": ["226"], "SE": ["240"], "SI": ["293"], "SK": ["231"],
    "US": ["310", "311", "312", "313", "314", "315", "316"], "ZA": ["655"],
  ]
}
