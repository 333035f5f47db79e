/// Numbers for people.
enum NumberText {
  /// With commas between groups of three digits: `1,204`.
  static func grouped(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    var text = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
      text.append(digit)
    }
    return text
  }

  /// `1 key`, `1,204 keys`.
  static func counted(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
    "\(grouped(number)) \(number == 1 ? noun : plural ?? noun + "s")"
  }
}
