internal import BundleTrust
package import ExposureKeys
internal import Federation
internal import GatewayServer
package import GatewaySettings
internal import Glibc
internal import KeyIntake
internal import KeyPeers
internal import KeyPublishing
internal import KeyStorage
internal import PeerTransport
internal import S3Publications
internal import TransparencyLog

/// The configuration with everything that it is checked against.
package enum GatewayConfiguration {
  /// - Throws: `FileFault` or `GatewayFaults`.
  package static func read(
    _ path: String, environment: [String: String], now: Instant
  ) throws -> (plan: GatewayPlan, warnings: [GatewayFault]) {
    let (plan, warnings) = try GatewayFile.read(
      path: path, environment: environment, now: now,
      layouts: Set(LayoutCatalog.all.map { $0.name }),
      trials: SettingTrials(
        options: { source in
          PeerCatalog.faults(of: source).map { $0.hasPrefix("options.") ? String($0.dropFirst("options.".count)) : $0 }
        }, way: misfits, server: { GatewayApplication.faults(of: $0).map { SettingMisfit($0.setting, "\($0)") } },
        federation: { settings, callbacks in
          let faults = [GatewayApplication.federationFault(of: settings), callbacks.flatMap(CallbackSetup.fault)]
          return faults.compactMap(\.self).map {
            SettingMisfit(String($0.setting.trimmingPrefix("federation.")), $0.reason)
          }
        }))
    return (plan, warnings + leftSeries(of: plan, path) + ownFolders(of: plan, path))
  }

  /// A folder of one machine beside a store that several share.
  private static func ownFolders(of plan: GatewayPlan, _ path: String) -> [GatewayFault] {
    guard plan.database != nil else { return [] }
    if plan.publicationBucket?.hasConditions == false {
      return [
        GatewayFault(
          severity: .warning, file: path, place: "publication.s3.conditional-writes",
          reason:
            "without conditions one replica alone may run: one that wakes late would write an old list over a newer one"
        )
      ]
    }
    guard plan.publicationBucket == nil, let folder = plan.publicationFolder else { return [] }
    return [
      GatewayFault(
        severity: .warning, file: path, place: "publication.folder",
        reason:
          "\(printableText(folder)) is this machine's own: with store.postgresql one replica alone may run then; several "
          + "publish into a bucket, publication: {s3: …}")
    ]
  }

  /// Series that were taken out of the configuration, and are served for as long as their folders are there.
  package static func leftSeries(of plan: GatewayPlan, _ path: String) -> [GatewayFault] {
    plan.leftSeries.map { name in
      let place = "\(plan.publicationFolder ?? "")/\(name)"
      return GatewayFault(
        severity: .warning, file: path, place: "publication.folder",
        reason:
          "\(printableText(place)) holds a series that series does not name any more, and that is served as it stands; "
          + "to end it, move the folder away: mv '\(printableText(place))' ELSEWHERE")
    }
  }

  /// What commands read that ask the store alone; see ``GatewayFile/readForOperators(path:environment:now:layouts:)``.
  ///
  /// - Parameter environment: may have the connection string of the store.
  package static func readForOperators(
    _ path: String, environment: [String: String] = [:], now: Instant
  ) throws -> (plan: OperatorsPlan, faultCount: Int) {
    try GatewayFile.readForOperators(
      path: path, environment: environment, now: now, layouts: Set(LayoutCatalog.all.map { $0.name }))
  }

  /// Has each program that signs, and whose key has not ended, sign what is not published.
  package static func signingFaults(of plan: GatewayPlan, _ path: String, now: Instant) -> [GatewayFault] {
    plan.series.flatMap { series in
      series.identities.compactMap { scheduled -> GatewayFault? in
        let identity = scheduled.identity
        guard identity.key.isElsewhere, scheduled.until.map({ now < $0 }) ?? true else { return nil }
        do throws(KeyFault) {
          try identity.key.prove(over: "keyferry check")
          return nil
        } catch {
          return GatewayFault(
            severity: .error, file: path, place: "series.\(series.name).sign",
            reason: "the command of key \(identity.keyID), version \(identity.keyVersion), does not sign: \(error)")
        }
      }
    }
  }

  /// What opening the store says, and where it could not be made; nothing is made.
  package static func storeFaults(of plan: GatewayPlan, _ path: String, now: Instant) -> [GatewayFault] {
    let place = plan.database == nil ? "state" : "store.postgresql"
    let fault = { (severity: GatewayFault.Severity, reason: String) in
      [GatewayFault(severity: severity, file: path, place: place, reason: reason)]
    }
    var lacks: [GatewayFault] = []
    do {
      let missing = try Stores.missingRights(at: plan.store)
      lacks = missing.flatMap { fault($0.isNeeded ? .error : .warning, $0.reason) }
      // What it says would be about the same.
      if missing.contains(where: \.isNeeded) { return lacks }
      _ = try Stores.reader(at: plan.store, now: now)
      return lacks
    } catch let error as StorageFault where error.code == .notFound && plan.database != nil {
      return lacks
    } catch let error as StorageFault where error.code == .notFound {
      let folder = existing(plan.stateFolder)
      // Whoever checks a configuration is not always whoever runs it.
      return access(folder, W_OK | X_OK) == 0
        ? [] : fault(.warning, "this user cannot write into \(folder), and there is no store yet")
    } catch let error as StorageFault where plan.database == nil && isClosed(plan.stateFolder) {
      return fault(.warning, "\(error): this user may not look into it, and whether keyferry run can is not known")
    } catch {
      return lacks + fault(.error, "\(error)")
    }
  }

  /// A new store beside series that another one has published. Nothing is made.
  ///
  /// - Parameter isOnline: whether a bucket is asked; otherwise what this machine has of it tells. Who cannot be asked is told
  ///   elsewhere, and so is what is wrong with the store.
  package static func beginningFaults(
    of plan: GatewayPlan, _ path: String, isOnline: Bool, now: Instant
  ) async -> [GatewayFault] {
    let isAsked = isOnline || plan.publicationBucket == nil
    let published = isAsked ? PublishedSeries(of: plan) : PublishedSeries(onThisMachineOf: plan)
    do {
      guard let loss = try await Stores.loss(at: plan.store, beside: published, now: now) else {
        return await waitingFaults(of: plan, path, now: now)
      }
      return [
        GatewayFault(
          severity: .error, file: path, place: plan.database == nil ? "state" : "store.postgresql",
          reason: loss.fault.reason)
      ]
    } catch let fault as StorageFault where fault.code == .publicationUnread && plan.publicationBucket == nil {
      let isClosed = plan.publicationFolder.map(isClosed) ?? false
      return [
        GatewayFault(
          severity: isClosed ? .warning : .error, file: path, place: "publication.folder",
          reason: isClosed
            ? "\(fault): this user may not look into it, and whether keyferry run can is not known" : "\(fault)")
      ]
    } catch {
      return []
    }
  }

  /// A store that began anew, and waits for the operator's word.
  private static func waitingFaults(of plan: GatewayPlan, _ path: String, now: Instant) async -> [GatewayFault] {
    guard let ledger = try? Stores.reader(at: plan.store, now: now),
      let beginning = try? await ledger.read({ try $0.beginning() }), beginning.waits
    else { return [] }
    return [
      GatewayFault(
        severity: .warning, file: path, place: plan.database == nil ? "state" : "store.postgresql",
        reason:
          "the store began anew at \(beginning.since), and nothing is published before pauses, recalls and erasures were said "
          + "again: then keyferry store begin --publish --yes")
    ]
  }

  /// Whether there is a folder that this user may not look into.
  private static func isClosed(_ folder: String) -> Bool {
    var status = stat()
    return stat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && access(folder, R_OK | X_OK) != 0
      && errno == EACCES
  }

  /// A log that was not begun, or cannot go on: without it nothing is published. Nothing is made.
  package static func logFaults(of plan: GatewayPlan, _ path: String, now: Instant) async -> [GatewayFault] {
    guard let log = plan.log else { return [] }
    var (ledger, head): (Ledger?, LogHead?)
    if log.place == .replicas {
      // What is wrong with the store is told as such.
      ledger = try? Stores.reader(at: plan.store, now: now)
      head = try? await ledger?.read { try $0.logHead(named: log.name) }
    }
    var hasKey = access("\(log.state)/log.key", F_OK) == 0 || errno != ENOENT && errno != ENOTDIR
    if case .given = log.keys.log {
      if log.place == .replicas, ledger == nil { return [] }
      // With it alone nothing was begun.
      hasKey = head != nil || log.place != .replicas && access("\(log.state)/signed", F_OK) == 0
    }
    let shown = plan.publicationFolder.flatMap { ShownLog(in: LocalFolder($0), of: log) }
    guard !hasKey else {
      guard log.place != .replicas || ledger != nil else { return [] }
      guard let folder = plan.publicationFolder, let reason = await LogStatus.fault(of: log, in: folder, ledger: ledger)
      else {
        return []
      }
      return [
        GatewayFault(
          severity: .error, file: path, place: "log",
          reason: "the log cannot go on, and nothing is published: \(reason)")
      ]
    }
    if head != nil {
      return [
        GatewayFault(
          severity: .error, file: path, place: "log.state",
          reason:
            "log.key is not in \(printableText(log.state)), and the store has the log \(log.name): copy log.key and attest.key "
            + "from another replica, or from where they are kept, or name them with log.key and log.attestation-key")
      ]
    }
    if let shown {
      return [
        GatewayFault(
          severity: .error, file: path, place: "log.state",
          reason:
            "log.key is not in \(printableText(log.state)), and others see a log of \(counted(shown.size, "entry", "entries")) "
            + "by that key: nothing is published; bring log.key back from its copy, and then keyferry log adopt --config "
            + printableText(path))
      ]
    }
    return [
      GatewayFault(
        severity: .warning, file: path, place: "log.state",
        reason:
          "there is no log in \(printableText(log.state)) yet, and nothing is published without it: keyferry log init "
          + "--config \(printableText(path)) -o log.vkey")
    ]
  }

  /// A folder of what is published that could not be made, or written into. Nothing is made.
  package static func publicationFaults(of plan: GatewayPlan, _ path: String) -> [GatewayFault] {
    // With a bucket it is the server's copy alone, which lies beside the store.
    guard plan.publicationBucket == nil, let stated = plan.publicationFolder else { return [] }
    let fault = { (severity: GatewayFault.Severity, reason: String) in
      [GatewayFault(severity: severity, file: path, place: "publication.folder", reason: reason)]
    }
    var status = stat()
    if stat(stated, &status) == 0, status.st_mode & S_IFMT != S_IFDIR {
      return fault(.error, "\(printableText(stated)) is no folder")
    }
    let folder = existing(stated)
    // Whoever checks a configuration is not always whoever runs it.
    if access(folder, W_OK | X_OK) == 0 { return [] }
    return fault(
      .warning,
      folder == stated
        ? "this user cannot write into \(printableText(stated))"
        : "this user cannot make \(printableText(stated)): it may not write into \(printableText(folder))")
  }

  /// The folder, or the nearest one above it that is there.
  private static func existing(_ folder: String) -> String {
    var folder = folder
    while access(folder, F_OK) != 0 {
      let parent = folder.lastIndex(of: "/").map { folder[..<$0] }
      folder = parent.map { $0.isEmpty ? "/" : String($0) } ?? "."
    }
    return folder
  }

  /// Sources that read a folder which is not there. Nothing is made.
  package static func folderFaults(of plan: GatewayPlan, _ path: String) -> [GatewayFault] {
    plan.sources.filter { $0.peer.description.way == .folder }.compactMap { source in
      var status = stat()
      let isFolder = stat(source.location, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
      guard !isFolder else { return nil }
      let folder = printableText(source.location)
      return GatewayFault(
        severity: .warning, file: path, place: "sources.\(source.name).location",
        reason: status.st_mode == 0
          ? "there is no folder \(folder); its pulls fail until it is there: mkdir -p \(folder)"
          : "\(folder) is no folder; its pulls fail")
    }
  }

  private static func misfits(of source: SourceSettings) -> [SettingMisfit] {
    guard source.peer.description.way == .web else { return [] }
    do {
      try PeerClients.check(source)
      return []
    } catch let error as TransportFault {
      switch error.code {
      case .badAddress: return [SettingMisfit("location", error.reason)]
      case .badHeader: return [SettingMisfit("http.headers", error.reason)]
      default: return [SettingMisfit("http", error.reason)]
      }
    } catch {
      return [SettingMisfit("http", "\(error)")]
    }
  }
}
