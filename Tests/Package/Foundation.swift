// What a program may ask of ICU through Foundation, in English and without a language: `Tests/Package/run` compares what is
// printed with all of ICU's data, and with the part that the program is linked with. What other languages say comes on standard
// error: it is another, and nothing ends the program.
import Foundation

let date = Date(timeIntervalSince1970: 1_606_824_000)
for language in ["en_US_POSIX", "en_US", "en", ""] {
  let formatter = DateFormatter()
  formatter.locale = Locale(identifier: language)
  formatter.timeZone = TimeZone(identifier: "Europe/Berlin")
  formatter.dateFormat = "yyyy-MM-dd HH:mm:ss.SSS EEEE MMMM zzzz XXXXX"
  print(language, formatter.string(from: date), formatter.date(from: formatter.string(from: date)) as Any)
  let number = NumberFormatter()
  number.locale = Locale(identifier: language)
  number.numberStyle = .decimal
  print(number.string(from: 1_234_567.891) ?? "none", Locale(identifier: language).identifier)
}
for zone in ["America/New_York", "Asia/Kathmandu", "UTC", "Europe/Berlin"] {
  let zone = TimeZone(identifier: zone)
  print(zone?.secondsFromGMT(for: date) ?? -1, zone?.nextDaylightSavingTimeTransition(after: date) as Any)
}
for kind in [Calendar.Identifier.gregorian, .iso8601, .hebrew, .japanese] {
  var calendar = Calendar(identifier: kind)
  calendar.timeZone = TimeZone(identifier: "Europe/Berlin") ?? .gmt
  print(calendar.dateComponents([.year, .month, .day, .weekOfYear, .hour], from: date), calendar.firstWeekday)
}
print(
  date.formatted(.iso8601),
  date.formatted(Date.FormatStyle(date: .long, time: .complete, locale: Locale(identifier: "en_US"), timeZone: .gmt)))
print(
  String(format: "%5.2f %@ %d %x", 3.14159, "x", 42, 255),
  String(format: "%.1f", locale: Locale(identifier: "en_US"), 1.55))
let words = ["zebra", "Äpfel", "apple", "Zoo", "éclair", "10", "9"]
print(
  words.sorted { $0.localizedCompare($1) == .orderedAscending },
  words.sorted { $0.localizedStandardCompare($1) == .orderedAscending })
print(
  words.sorted { $0.compare($1, options: [.caseInsensitive, .numeric, .diacriticInsensitive]) == .orderedAscending })
for pattern in [#"^[-+]?(0|[1-9][0-9_]*)$"#, #"\p{Greek}+"#, #"(?i)straße\b"#, #"\w+\s\d+"#] {
  let text = "STRASSE straße αβγ abc 42 -17"
  let regex = try NSRegularExpression(pattern: pattern, options: [.anchorsMatchLines, .useUnicodeWordBoundaries])
  print(regex.matches(in: text, range: NSRange(text.startIndex..., in: text)).map { "\($0.range)" })
}
print(
  URL(string: "https://bücher.example/ä?b=c d")?.absoluteString ?? "none",
  "a b/ü".addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? "")
print(
  "ﬁ Å Ⅻ".precomposedStringWithCompatibilityMapping, "Å".decomposedStringWithCanonicalMapping.unicodeScalars.count,
  "İSTANBUL".lowercased(with: Locale(identifier: "tr")), "ǆ".capitalized)
print(
  1234.5.formatted(.number.locale(Locale(identifier: "en_US"))),
  Int64(123_456_789).formatted(.byteCount(style: .file).locale(Locale(identifier: "en_US"))),
  Duration.seconds(90).formatted(.units(allowed: [.minutes, .seconds]).locale(Locale(identifier: "en_US"))),
  0.256.formatted(.percent.locale(Locale(identifier: "en_US"))),
  ByteCountFormatter.string(fromByteCount: 123_456_789, countStyle: .file))
print(
  try JSONSerialization.data(withJSONObject: ["a": 1.5, "b": "ü"], options: .sortedKeys).base64EncodedString(),
  Decimal(string: "1.25") as Any)
print(
  Data("äöü".utf8).count, String(data: Data([0xe4, 0xf6]), encoding: .isoLatin1) ?? "none",
  String(data: Data([0x80]), encoding: .windowsCP1252) ?? "none",
  String(data: Data([0, 65]), encoding: .utf16BigEndian) ?? "none")
print(
  Locale(identifier: "en_US").currency?.identifier ?? "none", Locale.current.identifier)
// Names of regions and languages are left out in all languages, and so is what other languages call a unit.
for language in ["en_US", "de_DE", "zh_CN", "ar_EG", "hi_IN"] {
  let locale = Locale(identifier: language)
  let day = Date.IntervalFormatStyle(date: .long, time: .none, locale: locale, timeZone: .gmt)
  var said: [String] = [language]
  said.append(locale.localizedString(forRegionCode: "NL") ?? "none")
  said.append(locale.localizedString(forLanguageCode: "de") ?? "none")
  said.append(locale.currencySymbol ?? "none")
  said.append((date..<date.addingTimeInterval(86_400)).formatted(day))
  said.append(date.formatted(.relative(presentation: .named).locale(locale)))
  said.append(12.5.formatted(.currency(code: "EUR").locale(locale)))
  said.append(Int64(123_456_789).formatted(.byteCount(style: .file).locale(locale)))
  said.append(Duration.seconds(90).formatted(.units(allowed: [.minutes, .seconds]).locale(locale)))
  FileHandle.standardError.write(Data((said.joined(separator: ", ") + "\n").utf8))
}
for language in ["de_DE", "zh_CN", "ar_EG", "hi_IN"] {
  let formatter = DateFormatter()
  formatter.locale = Locale(identifier: language)
  formatter.dateStyle = .full
  formatter.timeZone = .gmt
  FileHandle.standardError.write(
    Data(
      "\(language) \(formatter.string(from: date)) \(1234.5.formatted(.number.locale(Locale(identifier: language)))) \("ä".compare("z", locale: Locale(identifier: language)).rawValue)\n"
        .utf8))
}
