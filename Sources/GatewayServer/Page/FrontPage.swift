internal import FoundationEssentials
internal import KeyIntake

/// The page at `/`: regions, last bundles, keys by day, signatures, and how to configure an app. It needs no script
/// and nothing from elsewhere.
struct FrontPage {
  private let report: PublicationReport

  init(_ report: PublicationReport) { self.report = report }

  static let securityPolicy = PageFrame.securityPolicy(FrontPageStyle.text)

  var html: String {
    PageFrame(
      title: "Keyferry — published diagnosis keys", style: FrontPageStyle.text,
      skip: ("series", "Skip to the series"),
      header: """
        <div class="brand">\(Self.mark)<h1>Keyferry</h1></div>
        <p>Signed bundles of diagnosis keys for Exposure Notification apps, one series for each region.</p>
        \(overview)
        """,
      mainID: "series",
      content: """
        \(report.series.isEmpty ? Self.nothing : report.series.map(section).joined(separator: "\n"))
        \(shared)
        \(publicLog)
        """,
      footer: """
        <p>The same as <a href="/api/series">JSON</a>; <a href="/openapi.json">OpenAPI</a> describes every address that answers here.
        All times are UTC. <em>Keys by day</em> counts keys in the window in which they were published. All numbers of keys include
        padding: keys that no phone used, with which a series may fill up small windows, so that nobody can tell which keys belong together.</p>
        """
    ).html
  }

  /// A ferry: hull, house and waves.
  private static let mark = """
    <svg class="mark" viewBox="0 0 48 48" aria-hidden="true"><path class="hull" d="M6 26h36l-6 11H12z"/>\
    <path class="house" d="M14 15h16l5 9H14z"/>\
    <path class="wave" d="M4 42q5-4 10 0t10 0 10 0 10 0"/></svg>
    """

  private static let nothing = """
    <section class="card" aria-labelledby="none-title"><h2 id="none-title">Nothing is published yet</h2>
    <p>The first series appears here as soon as its first bundle is written.</p></section>
    """

  // MARK: The whole gateway

  private var overview: String {
    let keys = report.series.reduce(0) { $0 + $1.listedKeys }
    let bundles = report.series.reduce(0) { $0 + $1.listedBundles }
    let updated = report.series.map(\.updated).max()
    return """
      <dl class="overview">
      <div><dt>Series</dt><dd>\(ReadableNumber.grouped(report.series.count))</dd></div>
      <div><dt>Listed bundles</dt><dd>\(ReadableNumber.grouped(bundles))</dd></div>
      <div><dt>Listed keys, padding included</dt><dd>\(ReadableNumber.grouped(keys))</dd></div>
      <div><dt>Last change</dt><dd>\(updated.map { Self.time($0) } ?? "—")</dd></div>
      </dl>
      """
  }

  private var shared: String {
    guard !report.addresses.isEmpty else { return "" }
    return """
      <section class="card" aria-labelledby="all-title">
      <h2 id="all-title">All series</h2>
      \(Self.addressTable(report.addresses, caption: "Addresses that concern all series"))
      </section>
      """
  }

  private var publicLog: String {
    guard let log = report.log else { return "" }
    var rows = [
      ("Name", "<code>\(escaped(log.name))</code>"), ("Entries", ReadableNumber.grouped(log.size)),
      ("Root", "<code>\(escaped(log.root))</code>"),
    ]
    if let key = log.key { rows.append(("Key", "<code>\(escaped(key))</code>")) }
    if !log.cosigners.isEmpty { rows.append(("Also signed by", escaped(log.cosigners.joined(separator: ", ")))) }
    let items = rows.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }
    return """
      <section class="card" aria-labelledby="log-title">
      <h2 id="log-title">Public log</h2>
      <p>What is published stands in a log that cannot be rewritten in secret. Each bundle has its proof beside it, an
      attestation says of what and by what it was made, and the
      <a href="\(escaped(log.url))/checkpoint">checkpoint</a> says how far the log goes. Compare the key with the one that
      you were told by another way.</p>
      <dl class="facts">\(items.joined())</dl>
      </section>
      """
  }

  // MARK: One series

  private func section(_ series: PublicationReport.Series) -> String {
    let id = Self.identifier(series.name)
    let isDefault = series.name == report.defaultSeries && report.series.count > 1
    return """
      <section class="card" aria-labelledby="\(id)-name">
      <div class="head">
      <h2 id="\(id)-name">\(escaped(series.title))</h2>
      <span class="badge">\(escaped(series.name))</span>\
      \(isDefault ? "<span class=\"badge quiet\">default</span>" : "")
      </div>
      \(facts(series))
      <h3>Keys by day</h3>
      <figure>
      \(KeyPicture(series.days, id: id).svg)\
      <figcaption><span class="swatch keys"></span>published, padding included <span class="swatch revised"></span>revised</figcaption>
      </figure>
      <details><summary>Numbers of the picture</summary>\(dayTable(series))</details>
      \(series.keysBy.map { shares($0, of: series, id: id) } ?? "")\
      <h3>Last bundles</h3>
      \(bundleTable(series))
      <h3>Signatures</h3>
      \(keyTable(series))
      <details><summary>Configure an app for \(escaped(series.title))</summary>
      \(registration(series))\(addresses(series))
      </details>
      </section>
      """
  }

  private func facts(_ series: PublicationReport.Series) -> String {
    var rows = [("Regions", escaped(series.regions.map { $0.joined(separator: ", ") } ?? "all"))]
    rows.append(("Window", escaped(ReadableNumber.duration(series.period))))
    rows.append(("Listed bundles", ReadableNumber.grouped(series.listedBundles)))
    let revised = series.listedRevisedKeys
    rows.append(
      (
        "Listed keys, padding included",
        ReadableNumber.grouped(series.listedKeys) + (revised > 0 ? " + \(ReadableNumber.grouped(revised)) revised" : "")
      ))
    rows.append(("Changed", Self.time(series.updated)))
    let items = rows.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }
    return "<dl class=\"facts\">\(items.joined())</dl>"
  }

  private func dayTable(_ series: PublicationReport.Series) -> String {
    let rows = series.days.reversed().map { day in
      "<tr><th scope=\"row\">\(escaped(day.day))</th><td class=\"number\">\(ReadableNumber.grouped(day.keys))</td>"
        + "<td class=\"number\">\(ReadableNumber.grouped(day.revisedKeys))</td></tr>"
    }
    return """
      <table><caption>Keys of \(escaped(series.title)) by day, padding included</caption>
      <thead><tr><th scope="col">Day</th><th scope="col" class="number">Published</th>\
      <th scope="col" class="number">Revised</th></tr></thead>
      <tbody>\(rows.joined(separator: "\n"))</tbody></table>
      """
  }

  /// What the listed keys say.
  private func shares(_ shares: PublicationReport.Shares, of series: PublicationReport.Series, id: String) -> String {
    guard !shares.transmissionRisk.isEmpty else { return "" }
    let days = shares.keyDay.suffix(Int(PublicationReport.days))
    let older = shares.keyDay.dropLast(days.count).reduce(0) { $0 + $1.keys }
    let risks = SharePicture(
      "Listed keys by transmission risk level", shares.transmissionRisk.map { ($0.name, $0.keys) }, id: "\(id)-risk")
    let types = SharePicture(
      "Listed keys by report type", shares.reportType.map { (Self.words(ofType: $0.name), $0.keys) }, id: "\(id)-type")
    return """
      <h3>What the listed keys say</h3>
      <figure>
      \(KeyPicture(
        days.map { .init(day: $0.name, keys: $0.keys, revisedKeys: 0) }, id: "\(id)-used",
        title: "Listed keys by the day on which they were used"
      ).svg)\
      <figcaption><span class="swatch keys"></span>by the day on which they were used\
      \(older > 0 ? ", and \(ReadableNumber.grouped(older)) of older days" : "")</figcaption>
      </figure>
      <div class="pair">
      <figure>\(risks.svg)<figcaption>by transmission risk level</figcaption></figure>
      <figure>\(types.svg)<figcaption>by report type</figcaption></figure>
      </div>
      <details><summary>Numbers of these pictures</summary>
      \(Self.shareTable(shares.keyDay, "Day of use", of: series))
      \(Self.shareTable(shares.transmissionRisk, "Transmission risk level", of: series))
      \(Self.shareTable(shares.reportType, "Report type", of: series))</details>

      """
  }

  private static func shareTable(
    _ shares: [PublicationReport.Shares.Share], _ name: String, of series: PublicationReport.Series
  ) -> String {
    let rows = shares.map {
      "<tr><th scope=\"row\">\(escaped($0.name))</th><td class=\"number\">\(ReadableNumber.grouped($0.keys))</td></tr>"
    }
    return """
      <table><caption>Listed keys of \(escaped(series.title)), padding included</caption>
      <thead><tr><th scope="col">\(name)</th><th scope="col" class="number">Keys</th></tr></thead>
      <tbody>\(rows.joined(separator: "\n"))</tbody></table>
      """
  }

  /// `confirmed test`, so that it fits beside a bar.
  private static func words(ofType name: String) -> String {
    switch name {
    case "CONFIRMED_CLINICAL_DIAGNOSIS": "clinical"
    default: name.lowercased().replacing("_", with: " ")
    }
  }

  private func bundleTable(_ series: PublicationReport.Series) -> String {
    guard !series.latestBundles.isEmpty else { return "<p>No bundle is listed.</p>" }
    let rows = series.latestBundles.map { bundle in
      """
      <tr><th scope="row"><a href="/\(escaped(bundle.path))">\(escaped(Self.window(bundle)))</a>\
      <span class="digest" title="SHA-256 of the archive">\(escaped(bundle.sha256.prefix(16)))…</span>\
      \(bundle.proof.map { "<a class=\"digest\" href=\"\(escaped($0))\">proof</a>" } ?? "")\
      \(bundle.attestation.map { " <a class=\"digest\" href=\"\(escaped($0))\">attestation</a>" } ?? "")</th>\
      <td>\(escaped(bundle.kind))</td><td class="number">\(ReadableNumber.grouped(bundle.keys))</td>\
      <td class="number">\(ReadableNumber.grouped(bundle.revisedKeys))</td>\
      <td class="number">\(escaped(ReadableNumber.bytes(bundle.bytes)))</td>\
      <td>\(Self.time(bundle.published))</td></tr>
      """
    }
    return """
      <div class="wide" tabindex="0" role="region" aria-label="Bundles of \(escaped(series.title))"><table><caption>The newest bundles of \(escaped(series.title)); keys include padding</caption>
      <thead><tr><th scope="col">Window</th><th scope="col">Kind</th><th scope="col" class="number">Keys</th>\
      <th scope="col" class="number">Revised</th><th scope="col" class="number">Size</th>\
      <th scope="col">Published</th></tr></thead>
      <tbody>\(rows.joined(separator: "\n"))</tbody></table></div>
      """
  }

  private func keyTable(_ series: PublicationReport.Series) -> String {
    guard !series.signingKeys.isEmpty else { return "<p class=\"warning\">The manifest names no signing key.</p>" }
    let rows = series.signingKeys.reversed().map { key in
      let state =
        key.isCurrent ? "<span class=\"badge good\">signs now</span>" : "<span class=\"badge quiet\">rotated out</span>"
      return """
        <tr><th scope="row">\(escaped(key.id))</th><td>\(escaped(key.version))</td><td>\(state)</td>\
        <td class="number">\(ReadableNumber.grouped(key.listedBundles))</td>\
        <td><code>\(key.fingerprint.map { escaped($0) } ?? "not readable")</code></td></tr>
        """
    }
    return """
      <div class="wide" tabindex="0" role="region" aria-label="Signing keys of \(escaped(series.title))"><table><caption>Keys that sign the bundles of \(escaped(series.title))</caption>
      <thead><tr><th scope="col">Key id</th><th scope="col">Version</th><th scope="col">State</th>\
      <th scope="col" class="number">Listed bundles</th><th scope="col">SHA-256 of the public key</th></tr></thead>
      <tbody>\(rows.joined(separator: "\n"))</tbody></table></div>
      \(series.ring.map { """
        <p>All public keys as one ring: <a href="\(escaped($0))">keys.json</a>, which <code>keyferry verify BUNDLE --trust \
        keys.json</code> takes as it is. Compare its digests with those that you were told by another way.</p>
        """ } ?? "")
      """
  }

  private func registration(_ series: PublicationReport.Series) -> String {
    var items: [(String, String)] = []
    if let id = series.appBundleID { items.append(("iOS bundle id", id)) }
    if let package = series.androidPackage { items.append(("Android package", package)) }
    if let region = series.headerRegion { items.append(("Region in the header", region)) }
    guard !items.isEmpty else { return "" }
    let rows = items.map { "<div><dt>\($0.0)</dt><dd><code>\(escaped($0.1))</code></dd></div>" }
    return """
      <p>Phones accept these bundles in the app for which the signing key is registered with Apple and Google.</p>
      <dl class="facts">\(rows.joined())</dl>
      """
  }

  private func addresses(_ series: PublicationReport.Series) -> String {
    var order: [String] = []
    for address in series.addresses where !order.contains(address.layout) { order.append(address.layout) }
    return order.map { layout in
      let addresses = series.addresses.filter { $0.layout == layout }
      return Self.addressTable(addresses, caption: escaped(addresses.first?.title ?? layout))
    }.joined(separator: "\n")
  }

  private static func addressTable(_ addresses: [AppAddress], caption: String) -> String {
    let rows = addresses.map {
      "<tr><th scope=\"row\">\(escaped($0.purpose))</th><td><code>\(escaped($0.url))</code></td></tr>"
    }
    return
      "<table class=\"addresses\"><caption>\(caption)</caption><tbody>\(rows.joined(separator: "\n"))</tbody></table>"
  }

  // MARK: Pieces

  /// `2020-12-01 14:00 UTC`, with the exact instant for programs.
  private static func time(_ instant: String) -> String {
    "<time datetime=\"\(escaped(instant))\">\(escaped(minutes(instant)))\u{00A0}UTC</time>"
  }

  private static func minutes(_ instant: String) -> String {
    "\(instant.prefix(10))\u{00A0}\(instant.dropFirst(11).prefix(5))"
  }

  /// `2020-12-01 14:00–16:00 UTC`.
  private static func window(_ bundle: PublicationReport.Bundle) -> String {
    let sameDay = bundle.start.prefix(10) == bundle.end.prefix(10)
    let end = sameDay ? String(bundle.end.dropFirst(11).prefix(5)) : minutes(bundle.end)
    return "\(minutes(bundle.start))–\(end)\u{00A0}UTC"
  }

  private static func identifier(_ name: String) -> String {
    "series-"
      + name.utf8.map { byte in
        let character = UnicodeScalar(byte)
        return character.properties.isAlphabetic || ("0"..."9").contains(character) ? String(character) : "-\(byte)-"
      }.joined()
  }
}
