internal import ExposureKeys
internal import KeyIntake
internal import KeyNormalization

/// What two policies make of the same files: `schemas/policy-diff.schema.json`.
struct PolicyDifferenceDocument: Encodable {
  let reportVersion = 1
  let before: String
  let after: String
  let now: String
  let region: String?
  /// Keys that either side knows.
  let keys: Int
  let changed: Int
  /// The most first.
  let changes: [Change]
  /// By policy: what each rejects at admission, by reason.
  let rejections: [Rejections]

  struct Change: Encodable {
    let before: String
    let after: String
    let keys: Int
    /// A key of them, for `explain`.
    let example: String?
    /// How many keys each origin claims, and how many go to each region; no name stands for none.
    let origins: [String: Int]
    let regions: [String: Int]
    /// Of keys that are published differently, how many differ in each field.
    let fields: [String: Int]
  }

  struct Rejections: Encodable {
    let policy: String
    let reasons: [String: Int]
  }

  init(
    _ difference: PolicyDifference, before: String, after: String, region: String?, now: Instant,
    rejections: [Rejections]
  ) {
    self.before = before
    self.after = after
    self.now = now.description
    self.region = region
    self.rejections = rejections
    keys = difference.keys
    changed = difference.changed
    let rows = difference.changes.sorted {
      ($1.value, $0.key.before, $0.key.after) < ($0.value, $1.key.before, $1.key.after)
    }
    changes = rows.map { row in
      let details = difference.details[row.key]
      return Change(
        before: row.key.before, after: row.key.after, keys: row.value, example: details?.example?.hex,
        origins: details?.origins ?? [:], regions: details?.regions ?? [:], fields: details?.fields ?? [:])
    }
  }

  /// How many keys fare how before and after, the most first, and whose.
  var text: String {
    let counts = changes.map { grouped($0.keys) }
    let width = counts.map(\.count).max() ?? 0
    let beforeWidth = changes.map(\.before.count).max() ?? 0
    let lines = zip(changes, counts).map { change, count in
      "\(pad(count, width, right: true))  \(pad(change.before, beforeWidth))  ->  \(change.after)\n"
        + change.lines.map { "\(pad("", width))    \($0)\n" }.joined()
    }
    let rejected = rejections.flatMap { side in
      ranked(side.reasons).map { "\(side.policy) rejects, \($0): \(grouped($1))\n" }
    }
    return lines.joined() + rejected.joined() + "\(grouped(changed)) of \(counted(keys, "key")) fare differently\n"
  }
}

extension PolicyDifferenceDocument.Change {
  fileprivate var lines: [String] {
    func list(_ counts: [String: Int], _ none: String) -> String {
      let all = ranked(counts)
      let names = all.prefix(12).map { "\($0.isEmpty ? none : printableText($0)) \(grouped($1))" }
      return names.joined(separator: ", ") + (all.count > 12 ? " and \(all.count - 12) more" : "")
    }
    var lines = fields.isEmpty ? [] : ["other: \(list(fields, ""))"]
    if !origins.isEmpty { lines.append("origins: \(list(origins, "not known"))") }
    if !regions.isEmpty { lines.append("regions: \(list(regions, "none named"))") }
    return lines + (example.map { ["such as \($0)"] } ?? [])
  }
}
