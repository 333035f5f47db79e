internal import BundleTrust
internal import ExposureKeys
internal import Federation
internal import FileCommands
internal import GatewaySettings
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyPublishing
internal import KeyReceiving

extension ConfigurationCheck {
  /// The faults, a line each; then the sources and series as they were understood.
  var text: String {
    let lines = faults.map { "\($0)\n" }.joined()
    let errors = faults.count { $0.severity == .error }
    let warnings = counted(faults.count - errors, "warning")
    guard let plan else { return lines + "\(path): \(counted(errors, "error")), \(warnings)\n" }
    let sources = counted(plan.sources.count, "source")
    let series = grouped(plan.series.count + plan.mirrors.count)
    return lines + stale.map(\.text).joined() + "\(path): sound, \(sources), \(series) series, \(warnings)\n"
      + Self.table(of: plan.sources) + Self.table(of: plan.series) + supplyTable(of: plan.series)
      + Self.table(of: plan.mirrors) + floodTable
      + Self.table(of: phones) + Self.table(of: plan.federation) + Self.table(of: plan.destinations)
  }

  private static func table(of mirrors: [MirrorSettings]) -> String {
    guard !mirrors.isEmpty else { return "" }
    return "\n"
      + TextTable(
        heads: ["mirror", "of source", "signed by"],
        rows: mirrors.map { mirror in
          let keys = mirror.ring.keys.map { "\($0.id ?? "any id") \($0.version ?? "any version")" }
          return [mirror.name, mirror.source, "its origin: \(keys.joined(separator: ", "))"]
        }
      ).text
  }

  private static func table(of federation: FederationGatewaySettings?) -> String {
    guard let federation else { return "" }
    return "\n"
      + TextTable(
        heads: ["federation", "client known by", "upload", "batch", "every", "downloaded", "countries"],
        rows: [
          [
            federation.path.isEmpty ? "/" : federation.path, federation.clientCertificates.rawValue,
            "\(grouped(federation.uploadKeys)) keys", "\(grouped(federation.batchKeys)) keys",
            TimeSpan.text(federation.batchSeconds), "today and \(counted(federation.keptDays, "day"))",
            federation.countries.isEmpty ? "none" : federation.countries.joined(separator: " "),
          ]
        ]
      ).text
  }

  private static func table(of destinations: [DestinationSettings]) -> String {
    guard !destinations.isEmpty else { return "" }
    return "\n"
      + TextTable(
        heads: ["destination", "keys of", "that came by", "every", "signed by", "location", ""],
        rows: destinations.map { destination in
          [
            destination.name, destination.origin, destination.sources.sorted().joined(separator: " "),
            TimeSpan.text(destination.interval), destination.signer.subject, destination.location,
            destination.isRehearsal ? "rehearsal" : "",
          ]
        }
      ).text
  }

  private static func table(of phones: [PhoneLoad]) -> String {
    guard !phones.isEmpty else { return "" }
    return "\n"
      + TextTable(
        heads: ["series", "phone", "layout", "files a day", "at first", "calls a day", "takes a day", ""],
        rows: phones.map { load in
          [
            load.series, load.phone, load.layout, grouped(load.filesPerDay), grouped(load.firstFiles),
            grouped(load.callsPerDay), load.limit.text, load.verdict,
          ]
        }
      ).text
  }

  private static func table(of sources: [SourceSettings]) -> String {
    guard !sources.isEmpty else { return "" }
    return "\n"
      + TextTable(
        heads: ["source", "protocol", "every", "origins", "vouched for by", "location"],
        rows: sources.map { source in
          let origins =
            source.isRelay
            ? source.carries.map { "lost of \($0.sorted().joined(separator: " "))" } ?? "lost (relay)"
            : source.spokenOrigins?.joined(separator: " ") ?? "any"
          return [
            source.name + (source.isRehearsal ? " (rehearsal)" : ""), source.peer.rawValue,
            TimeSpan.text(source.interval), origins, source.voucher, source.location,
          ]
        }
      ).text
  }

  private static func table(of series: [SeriesSettings]) -> String {
    guard !series.isEmpty else { return "" }
    return "\n"
      + TextTable(
        heads: ["series", "every", "regions", "policy", "signed by", "app"],
        rows: series.flatMap { series in
          series.identities.enumerated().map { index, scheduled in
            let identity = scheduled.identity
            let until = scheduled.until.map { " until \($0)" } ?? ""
            let signer = "\(identity.keyID) \(identity.keyVersion)\(until)"
            let app = [identity.appBundleID, identity.androidPackage].compactMap { $0 }.joined(separator: " ")
            guard index == 0 else { return ["", "", "", "", signer, app] }
            return [
              series.name, TimeSpan.text(series.period), series.selection.words, series.publishing.name, signer, app,
            ]
          }
        }
      ).text
  }
}

extension ConfigurationCheck {
  /// From how many keys a day on those of an origin are held, where nothing is usual yet.
  private var floodTable: String {
    let limits = floodLimits
    guard !limits.isEmpty else { return "" }
    let table = TextTable(
      heads: ["source", "keys beyond", "a day are held, by"],
      rows: limits.map { [$0.source, $0.keys.map(grouped) ?? "any number", $0.reason] }
    ).text
    guard limits.contains(where: { $0.reason == Self.noPopulation }) else { return "\n" + table }
    return
      "\n\(table)population is not set: state the inhabitants of own-origins, so that the first busy day is no flood\n"
  }

  /// Where the keys of each series come from.
  private func supplyTable(of series: [SeriesSettings]) -> String {
    guard !series.isEmpty else { return "" }
    let rows = series.flatMap { series in
      let supplies = supplies(of: series)
      guard !supplies.isEmpty else { return [[series.name, "none", "no source"]] }
      return supplies.enumerated().map { index, supply in
        [
          index == 0 ? series.name : "", supply.share.words(in: series.selection),
          supply.sources.joined(separator: " "),
        ]
      }
    }
    return "\n" + TextTable(heads: ["series", "publishes", "from"], rows: rows).text
  }
}

extension SeriesSupply.Share {
  fileprivate func words(in selection: RegionSelection) -> String {
    let included = (selection.include ?? []).sorted().joined(separator: " ")
    return switch self {
    case .all: "all keys"
    case .included: "keys for \(included)"
    case .includedOrUnnamed: "keys for \(included), and those that name no region"
    case .unnamed: "keys that name no region"
    case .notExcluded: "keys not for \(selection.exclude.sorted().joined(separator: " "))"
    case .travellers: "keys for several regions"
    case .travellersOrUnnamed: "keys for several regions, and those that name none"
    }
  }
}

extension SourceSettings {
  /// Who vouches for what it sends.
  fileprivate var voucher: String {
    switch trust {
    case .ring(let ring): counted(ring.keys.count, "key")
    case .host: "the TLS identity of \(host ?? "nobody")"
    case .origins: "the signatures of the origins"
    case .operator: "the operator"
    }
  }
}

extension PhoneLoad {
  fileprivate var verdict: String {
    if fits { return "" }
    return takesArchives ? "too many above \(counted(keysPerDay ?? 0, "key")) a day" : "too many"
  }
}

extension RegionSelection {
  fileprivate var words: String {
    var words = include.map { $0.sorted().joined(separator: " ") } ?? "all"
    if !exclude.isEmpty { words += " but \(exclude.sorted().joined(separator: " "))" }
    if let origins { words += " from \(origins.sorted().joined(separator: " "))" }
    return travellersOnly ? words + ", travellers" : words
  }
}

extension StaleReading {
  /// What to do about claims that were read otherwise, or that nothing can be done.
  fileprivate var text: String {
    let others = policies.filter { $0 != policy }
    var by =
      others.isEmpty
      ? "with other settings of \(policy), of the source or of own-origins" : "by \(others.joined(separator: ", "))"
    if unknown == documents { by = "by a policy that was not noted" }
    let curable = documents - unkept
    guard curable > 0 else {
      return
        "source \(source): \(counted(documents, "document")) read \(by), and the bytes are not kept, so that what came with "
        + "\(documents == 1 ? "it" : "them") stays as it was read\n"
    }
    let lost =
      unkept > 0
      ? "; the bytes of \(grouped(unkept)) more are not kept, and what came with them stays as it was read" : ""
    return "source \(source): \(counted(curable, "document")) read \(by), and not as \(policy) reads now: "
      + "keyferry reread \(source)\(lost)\n"
  }
}
