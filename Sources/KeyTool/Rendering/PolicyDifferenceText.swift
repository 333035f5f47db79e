internal import KeyIntake
internal import KeyNormalization

extension PolicyDifference {
  /// How many keys fare how before and after, the most first.
  var text: String {
    let rows = changes.sorted { ($1.value, $0.key.before, $0.key.after) < ($0.value, $1.key.before, $1.key.after) }
    let counts = rows.map { grouped($0.value) }
    let width = counts.map(\.count).max() ?? 0
    let before = rows.map(\.key.before.count).max() ?? 0
    let lines = zip(rows, counts).map { row, count in
      "\(pad(count, width, right: true))  \(pad(row.key.before, before))  ->  \(row.key.after)\n"
    }
    return lines.joined() + "\(grouped(changed)) of \(counted(keys, "key")) fare differently\n"
  }
}
