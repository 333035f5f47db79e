internal import Containers
internal import ExposureKeys
internal import KeyInspection
internal import KeyIntake

/// A report as one page: plots that say what is seen, a table behind each, and nothing from elsewhere.
struct ReportPage {
  private let report: HistoryReport
  private let leftOut: [LeftOutDocument]

  init(_ report: HistoryReport, _ leftOut: [LeftOutDocument]) {
    (self.report, self.leftOut) = (report, leftOut)
  }

  var html: String {
    """
    <!doctype html>
    <html lang=en><head><meta charset=utf-8><meta name=viewport content="width=device-width,initial-scale=1">
    <meta name=color-scheme content="light dark"><title>Diagnosis keys: \(shown(headline))</title>
    <style>\(ReportPageStyle.text)</style></head><body>
    <header><h1>Diagnosis keys over time</h1><p>\(shown(headline))</p>
    <dl>\(tiles.map { "<div><dt>\(shown($0.name))</dt><dd>\($0.value)</dd></div>" }.joined())</dl></header>
    <main>
    \(section("What looks wrong", anomalies))
    \(section("When keys were published", publication))
    \(section("What keys say", values))
    \(section("Regions", regions))
    \(section("Windows", windows))
    \(section("Signatures", signers))
    \(section("Estimates", estimates))
    \(section("Sizes", sizes))
    \(leftOut.isEmpty ? "" : section("Not read", unread))
    </main>
    <footer><p>Made by keyferry \(Program.version). Days are UTC. A key counts once, by its key data, unless it says \
    otherwise, with what it said when it was first published. No key data is in this page.</p></footer>
    </body></html>

    """
  }

  private func section(_ title: String, _ body: String) -> String {
    body.isEmpty ? "" : "<section><h2>\(shown(title))</h2>\n\(body)</section>"
  }

  private func number(_ value: Int) -> String { ReadableNumber.grouped(value) }

  private var headline: String {
    let days = report.publicationDays
    let span =
      days.isEmpty
      ? "no stated window" : days.count == 1 ? days[0].day : "\(days[0].day) to \(days[days.count - 1].day)"
    let regions = report.regions.prefix(6).map(\.region).joined(separator: ", ")
    return regions.isEmpty ? span : "\(regions)\(report.regions.count > 6 ? " and others" : ""), \(span)"
  }

  private var tiles: [(name: String, value: String)] {
    var tiles = [
      ("documents", number(report.documents - report.unreadable)), ("keys", number(report.keys)),
      ("distinct keys", number(report.distinct)), ("days with keys", number(report.keyDays.count { $0.keys > 0 })),
      ("things that look wrong", number(report.anomalies.count)),
    ]
    if report.unreadable > 0 { tiles.append(("documents not read", number(report.unreadable))) }
    if report.rejected > 0 { tiles.append(("rejected keys", number(report.rejected))) }
    if !report.isComplete { tiles.append(("not all keys could be compared", "!")) }
    return tiles
  }

  // MARK: What looks wrong

  private var anomalies: String {
    guard !report.anomalies.isEmpty else {
      return
        "<p>Nothing: every document is signed where it can be, none was changed under its window or its name, and no key stands out.</p>"
    }
    return report.anomalies.map { anomaly in
      let names = anomaly.documents.map { "<li>\(shown($0))</li>" }.joined()
      return """
        <article class="\(anomaly.severity.rawValue)"><h3><span class=badge>\(anomaly.severity.rawValue)</span> \
        \(number(anomaly.count)) \(shown(anomaly.title))</h3><p>\(shown(anomaly.reason)). <code>\(anomaly.code)</code></p>
        <details><summary>Where\(anomaly.documents.count < 20 ? "" : ", the first")</summary><ul>\(names)</ul></details></article>

        """
    }.joined()
  }

  // MARK: Plots

  private var publication: String {
    let days = report.publicationDays
    guard !days.isEmpty else { return "<p>No document states a window, so nobody knows when keys were published.</p>" }
    let withSome = days.filter { $0.documents > 0 }
    let fullest = days.max { $0.keys < $1.keys }
    let gaps = days.count - withSome.count
    let title =
      "\(counted(withSome.count, "day")) with documents\(gaps > 0 ? ", \(counted(gaps, "day")) without" : ""); "
      + "most keys on \(fullest?.day ?? "-"): \(number(fullest?.keys ?? 0))"
    let plot = TimePlot(
      title: title, unit: "keys", parts: ["new", "published before"],
      bars: days.map { TimePlot.Bar(day: $0.day, values: [$0.new, max($0.keys - $0.new, 0)]) }, marksGaps: true)
    let latency = ReportTable.bars(
      "From the end of a key's use to its publication", "whole days", Self.rows(report.latencies), unit: "keys")
    let times = ReportTable.bars(
      "How often a key was published", "times", Self.rows(report.occurrences, most: 30), unit: "keys")
    return plot.html + latency + times
  }

  private var values: String {
    let days = report.keyDays
    var text = ""
    if let fullest = days.max(by: { $0.keys < $1.keys }) {
      text +=
        TimePlot(
          title: "Days on which keys were first used; most on \(fullest.day): \(number(fullest.keys))", unit: "keys",
          parts: ["keys"], bars: days.map { TimePlot.Bar(day: $0.day, values: [$0.keys]) }
        ).html
    }
    let types = report.reportTypes.map { count in
      (name: count.value.map(Self.reportType) ?? "not stated", count: count.keys)
    }
    return text + ReportTable.bars("Transmission risk level", "level", Self.rows(report.risks))
      + ReportTable.bars("Report type", "type", types)
      + ReportTable.bars("Days since onset of symptoms", "days", Self.rows(report.onsets, most: 60))
      + ReportTable.bars("Rolling period, in intervals of ten minutes", "period", Self.rows(report.periods, most: 30))
  }

  private static func reportType(_ value: Int) -> String {
    let name = Int32(exactly: value).flatMap { ReportType(rawValue: $0) }?.name
    return name.map { "\(value) \($0)" } ?? "\(value)"
  }

  /// The rows with the most keys, in the order of their values, and the others together.
  private static func rows(_ counts: [HistoryReport.ValueCount], most: Int = 40) -> [(name: String, count: Int)] {
    let kept = Set(counts.indices.sorted { (counts[$1].keys, $0) < (counts[$0].keys, $1) }.prefix(most))
    let rows = counts.indices.filter(kept.contains).map { index in
      (name: counts[index].value.map { "\($0)" } ?? "not stated", count: counts[index].keys)
    }
    let others = counts.indices.filter { !kept.contains($0) }
    guard !others.isEmpty else { return rows }
    return rows + [(name: "\(counted(others.count, "other value"))", count: others.reduce(0) { $0 + counts[$1].keys })]
  }

  // MARK: Regions, windows, signatures

  private var regions: String {
    let own = ReportTable.html(
      ["region", "documents", "keys", "distinct keys"],
      report.regions.map { ($0.region, [number($0.documents), number($0.keys), number($0.distinct)]) })
    guard report.regions.count > 1 else { return own }
    let matrix = report.regions.enumerated().map { index, region in
      (
        header: region.region,
        cells: report.overlaps[index].map { both in
          let share = region.distinct > 0 ? Int((Double(both) / Double(region.distinct) * 1000).rounded()) : 0
          return "\(share / 10).\(share % 10)\u{00A0}%"
        }
      )
    }
    return own + "<h3>Of the keys of a row's region so many are also in the column's</h3>"
      + ReportTable.html(["region"] + report.regions.map(\.region), matrix)
  }

  private var windows: String {
    guard !report.series.isEmpty else { return "" }
    let table = ReportTable.html(
      ["region", "length", "windows", "first", "last", "missing", "overlapping"],
      report.series.map { series in
        (
          series.region,
          [
            Self.length(series.seconds), number(series.documents), series.first, series.last,
            number(series.missingCount),
            number(series.overlappingCount),
          ]
        )
      }, isText: true)
    let missing = report.series.flatMap { series in
      series.missing.map { (header: series.region, cells: ["missing", $0.from, $0.to]) }
        + series.overlapping.map { (header: series.region, cells: ["overlapping", $0.from, $0.to]) }
    }
    guard !missing.isEmpty else { return table }
    return table + "<details><summary>Which</summary>"
      + ReportTable.html(["region", "what", "from", "to"], missing, isText: true) + "</details>"
  }

  private static func length(_ seconds: Int) -> String {
    seconds % 86_400 == 0
      ? counted(seconds / 86_400, "day") : seconds % 3600 == 0 ? counted(seconds / 3600, "hour") : "\(seconds) s"
  }

  private var signers: String {
    guard !report.signers.isEmpty else { return "<p>No document is signed.</p>" }
    return "<p>What signatures name as their key; whether they verify is what <code>keyferry verify</code> says.</p>"
      + ReportTable.html(
        ["key id and version", "documents", "first", "last"],
        report.signers.map { signer in
          (
            signer.key.isEmpty ? "none named" : signer.key,
            [number(signer.documents), signer.first ?? "-", signer.last ?? "-"]
          )
        }, isText: true)
  }

  // MARK: Estimates

  private var estimates: String {
    var text = ""
    if !report.padding.isEmpty {
      text +=
        "<h3>Padding</h3><p>The greatest number that divides all groups of one key day and risk level, over seven "
        + "days: so many keys there seem to be for each real one. Padding of whole rounds hides persons, "
        + "not their number; other padding is not seen like this.</p>"
        + ReportTable.html(
          ["region", "keys for a real one", "documents", "first", "last"],
          report.padding.map { span in
            (span.region, ["\(span.multiplier)", number(span.documents), span.first ?? "-", span.last ?? "-"])
          }, isText: true)
    }
    if !report.persons.isEmpty {
      var days: [String: Int] = [:]
      for persons in report.persons { days[persons.day, default: 0] += persons.persons }
      let total = days.values.reduce(0, +)
      let keys = report.persons.reduce(0) { $0 + $1.newKeys / max($1.multiplier, 1) }
      let each = total > 0 ? keys * 10 / total : 0
      text +=
        TimePlot(
          title: "About \(number(total)) persons shared keys, \(each / 10).\(each % 10) keys each", unit: "persons",
          parts: ["persons"],
          bars: days.sorted { $0.key < $1.key }.map { TimePlot.Bar(day: $0.key, values: [$0.value]) }
        ).html
      text +=
        "<p>Nobody has two keys of one day: of the keys that are new on a day, the fullest key day, divided by the "
        + "padding, is the estimate. It is too low where people share late or leave out days, and too high where one person "
        + "shares on two days. With fifteen keys a person and with one, and if the padding is right, it is from "
        + "\(number(report.persons.reduce(0) { $0 + $1.least })) to \(number(report.persons.reduce(0) { $0 + $1.most })). "
        + "A key that two regions publish counts where it was published first.</p>"
      text +=
        "<details><summary>By region and day</summary>"
        + ReportTable.html(
          ["region", "day", "new keys", "padding", "persons", "at least", "at most"],
          report.persons.map { persons in
            (
              persons.region,
              [
                persons.day, number(persons.newKeys), "\(persons.multiplier)", number(persons.persons),
                number(persons.least), number(persons.most),
              ]
            )
          }) + "</details>"
    }
    if !report.shortfall.isEmpty {
      text +=
        "<h3>Against positive tests</h3><p>100 - 100 · persons / cases, over the days for which both are known. Below "
        + "zero more people shared keys than were tested positive: padding or wrong case numbers.</p>"
        + ReportTable.html(
          ["region", "first", "last", "cases", "persons", "shortfall"],
          report.shortfall.map { part in
            (
              part.region,
              [part.first, part.last, number(part.cases), number(part.persons), "\(part.percent)\u{00A0}%"]
            )
          })
    }
    return text
  }

  private var sizes: String {
    guard let sizes = report.sizes else { return "" }
    return ReportTable.html(
      ["of one document", "least", "median", "most"],
      [
        (
          "size",
          [
            ReadableNumber.bytes(sizes.leastBytes), ReadableNumber.bytes(sizes.medianBytes),
            ReadableNumber.bytes(sizes.mostBytes),
          ]
        ), ("keys", [number(sizes.leastKeys), number(sizes.medianKeys), number(sizes.mostKeys)]),
      ]) + "<p>All together \(ReadableNumber.bytes(report.byteCount)).</p>"
  }

  private var unread: String {
    "<ul>" + leftOut.prefix(1000).map { "<li>\(shown($0.reason))</li>" }.joined() + "</ul>"
      + (leftOut.count > 1000 ? "<p>and \(number(leftOut.count - 1000)) more</p>" : "")
  }
}

/// Light or dark as the reader's system is, and on paper. The two colours of a plot differ in lightness, too.
private enum ReportPageStyle {
  static let text = """
    :root{--paper:#f6f8f9;--card:#fff;--ink:#14202a;--soft:#52626f;--line:#d9e1e7;--one:#0b5d7a;--two:#e9a23b;--gap:#b9c3cb;\
    --error:#a3201d;--warning:#8a5300}
    @media (prefers-color-scheme:dark){:root{--paper:#0e151a;--card:#162028;--ink:#e6edf2;--soft:#a3b4c0;--line:#2a3843;\
    --one:#4fb3d1;--two:#f3bd62;--gap:#3a4a56;--error:#ff9a94;--warning:#f3bd62}}
    *{box-sizing:border-box}
    body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
    header,main,footer{max-width:60rem;margin:0 auto;padding:1rem}
    h1{margin:.5rem 0 0;font-size:1.8rem;line-height:1.2}h2{margin:0 0 .8rem;font-size:1.3rem}h3{margin:1.2rem 0 .4rem;font-size:1rem}
    header p{color:var(--soft);margin:.2rem 0 1rem}
    dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.8rem;margin:0}
    dt{font-size:.85rem;color:var(--soft)}dd{margin:0;font-size:1.4rem;font-weight:600;font-variant-numeric:tabular-nums}
    section{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1rem;margin:0 0 1rem}
    figure{margin:0 0 1.6rem}figcaption{font-weight:600;margin-bottom:.3rem}
    .legend{margin:0;color:var(--soft);font-size:.9rem;min-height:.3rem}.legend span{margin-right:1rem}
    .swatch{display:inline-block;width:.8rem;height:.8rem;margin-right:.35rem;vertical-align:-.05rem}
    .part0{fill:var(--one);background:var(--one)}.part1{fill:var(--two);background:var(--two)}.gap{fill:var(--gap);opacity:.45}
    .plot{display:flex;gap:.5rem;height:13rem}
    .scale{display:flex;flex-direction:column;justify-content:space-between;text-align:right;font-size:.8rem;color:var(--soft);\
    width:4.6rem;flex:none;line-height:1}
    .plot svg{flex:1;min-width:0;height:100%;display:block}
    .grid{stroke:var(--line);vector-effect:non-scaling-stroke;fill:none}
    .marks{display:flex;justify-content:space-between;margin-left:5.1rem;font-size:.8rem;color:var(--soft);gap:.5rem}
    .wide{overflow-x:auto}
    table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}
    th,td{text-align:left;padding:.25rem .6rem .25rem 0;border-top:1px solid var(--line);vertical-align:top;overflow-wrap:normal}
    thead th,thead td{border-top:0;color:var(--soft);font-weight:500}tbody th{font-weight:500}
    .number{text-align:right;white-space:nowrap}
    td.bar{width:55%;min-width:3rem}.bars th{overflow-wrap:anywhere;min-width:3rem}td.bar i{display:block;height:1.1rem;background:var(--one);min-width:2px}
    article{border-left:.3rem solid var(--soft);padding:0 0 0 .8rem;margin:0 0 1rem}
    article h3{margin-top:0}article p{margin:.2rem 0}
    article.error{border-color:var(--error)}article.warning{border-color:var(--warning)}
    .badge{font-size:.8rem;text-transform:uppercase;letter-spacing:.04em;color:var(--soft)}
    .error .badge{color:var(--error)}.warning .badge{color:var(--warning)}
    summary{cursor:pointer;color:var(--soft)}summary:focus-visible,.wide:focus-visible{outline:2px solid var(--one)}
    code{font-size:.85rem}footer{color:var(--soft);font-size:.85rem}
    @media print{body{background:#fff;color:#000}section{break-inside:auto;border:0;padding:0}figure,article{break-inside:avoid}\
    .part0,.part1,.gap,td.bar i,.swatch{print-color-adjust:exact;-webkit-print-color-adjust:exact}summary{display:none}}

    """
}
