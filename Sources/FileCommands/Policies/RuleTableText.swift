internal import KeyIntake
package import KeyNormalization
internal import PolicyFiles

extension RuleTable {
  /// Rule, value, and what becomes of a key, in columns.
  package var text: String {
    let names = rows.map(\.rule.name.count).max() ?? 0
    var stage: Row.Stage?
    var text = ""
    for row in rows {
      if row.stage != stage { text += "\n\(row.stage.rawValue)\n" }
      stage = row.stage
      text += "  \(pad(row.rule.name, names))  \(row.value)\n"
      for outcome in row.rule.outcome.split(separator: ";") {
        text += "  \(pad("", names))    \(outcome.drop { $0 == " " })\n"
      }
    }
    text += "\nwithin an origin, and before others\n" + preferences.map { "  \($0)\n" }.joined()
    if !levels.isEmpty { text += "\nlevels by symptom status and day\n" }
    for line in levels { text += "  \(line)\n" }
    if !changes.isEmpty { text += "\nlater\n" }
    for line in changes { text += "  \(line)\n" }
    return text
  }
}
