internal import ExposureKeys
internal import KeyStorage
internal import TransparencyLog

/// Of what, by what and when a bundle was made, for everybody.
///
/// No document that came in is named by its digest: that would prove for ever to whoever has the document that it came. The
/// log has commitments to them, and the attestation says which of its entries these are. No number of an event is named:
/// each upload of a person is an event, and whoever subtracts two numbers would count them.
enum BundleProvenance {
  /// What the parameters mean is written in the page "A public log".
  static let buildType = "https://keyferry.example/bundle/v1"

  /// - Parameters:
  ///   - log: the name of the log.
  ///   - entry: where the bundle is in it.
  /// - Throws: ``StorageFault`` where nobody can read how it was made.
  static func provenance(
    of record: BundleRecord, _ staged: StagedRecipe, in log: String, at entry: Int
  ) throws -> Provenance {
    let bundle = record.bundle
    let (round, recipe) = try staged.read()
    func time(_ seconds: Int64) -> String { Instant(secondsSince1970: seconds).description }

    var external = [
      "series": bundle.series, "kind": bundle.kind.rawValue, "ordinal": "\(bundle.ordinal)",
      "start": time(bundle.start),
      "end": time(bundle.end), "clock": time(round.clock),
      "source": recipe.source.rawValue, "part": "\(recipe.part + 1)", "parts": "\(recipe.parts)",
      "key_id": bundle.keyID, "key_version": bundle.keyVersion,
    ]
    for (name, value) in round.settings.named { external["settings.\(name)"] = value }
    if let selection = round.selection, recipe.source == .claims {
      external["judged_at"] = time(selection.instant)
      external["follows_recall"] = "\(selection.followsRecall)"
      external["releases_new"] = "\(selection.releasesNew)"
      external["paused_sources"] = selection.pausedSources.joined(separator: " ")
      external["paused_origins"] = selection.pausedOrigins.joined(separator: " ")
    }
    for (step, increments) in (recipe.increments ?? []).enumerated() {
      external[recipe.increments?.count == 1 ? "increments" : "increments.\(step + 1)"] = increments
    }
    if let copied = recipe.copied { external["copied_ordinal"] = "\(copied)" }

    var dependencies: [Provenance.Dependency] = []
    if let policy = round.policy {
      dependencies.append(Provenance.Dependency(name: "policy", uri: "keyferry:policy", digest: policy))
    }
    dependencies.append(
      Provenance.Dependency(
        name: "log", uri: "https://\(log)",
        annotations: [
          "entries_before": "\(entry)",
          "what": "commitments to what came in, and what operators said, stand in the entries before this one",
        ]))
    let program = round.program.split(separator: " ", maxSplits: 1).map(String.init)
    return Provenance(
      of: [
        Provenance.Subject(name: "export.bin", digest: bundle.exportDigest),
        Provenance.Subject(name: bundle.path, digest: bundle.archiveDigest),
      ], buildType: buildType, externalParameters: external,
      internalParameters: ["keys": "\(bundle.keyCount)", "revised_keys": "\(bundle.revisedKeyCount)"],
      dependencies: dependencies, builder: "https://\(log)",
      versions: [program.first ?? "keyferry": program.count > 1 ? program[1] : ""],
      invocation: "\(bundle.series)/\(bundle.kind.rawValue)/\(bundle.ordinal)", started: time(round.clock),
      finished: time(staged.event.time.secondsSince1970))
  }
}
