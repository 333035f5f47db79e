package import KeyInspection
internal import KeyIntake

extension InspectionSum.Report {
  /// A table of two columns under a line that says of what.
  package var text: String {
    var rows: [(String, String)] = []
    if let verified { rows.append(("verified", grouped(verified))) }
    if let notVerified { rows.append(("not verified", grouped(notVerified))) }
    rows.append(("unreadable", grouped(unreadable)))
    rows.append(("keys", grouped(keys) + (revised > 0 ? ", \(grouped(revised)) of them revised" : "")))
    rows.append(("distinct", distinct.map(grouped) ?? "not counted: no room for a temporary file"))
    if rejected > 0 { rows.append(("rejected", grouped(rejected))) }
    let names = regions.prefix(24).map { "\(printableText($0.region)) \(grouped($0.documents))" }
    let more = regions.count > names.count || hasMoreRegions ? ", …" : ""
    rows.append(("regions", names.isEmpty ? "none stated" : names.joined(separator: ", ") + more))
    let span = days.map { "\($0.first) to \($0.last), \(counted($0.count, "day"))" }
    rows.append(("days", span ?? "none stated"))
    rows.append(("formats", formats.map { "\($0.format) \(grouped($0.documents))" }.joined(separator: ", ")))
    let width = (rows.map(\.0.count).max() ?? 0) + 2
    return "\(counted(documents, "document"))\n" + rows.map { "  \(pad($0.0, width))\($0.1)\n" }.joined()
  }
}
