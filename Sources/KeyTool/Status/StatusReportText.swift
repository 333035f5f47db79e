internal import ExposureKeys
internal import Federation
internal import FileCommands
internal import KeyIntake
internal import KeyNormalization
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage

extension StatusReport {
  /// The report for people, line by line.
  func lines(
    series: [SeriesStatus], destinations: [DestinationStatus] = [], federation: FederationStanding? = nil,
    log: LogStatus? = nil
  ) -> [String] {
    var lines = sources.flatMap { $0.lines(at: now) + [""] } + series.flatMap { $0.lines(at: now) + [""] }
    lines += destinations.flatMap { $0.lines + [""] }
    if let federation { lines += federation.lines(at: now) + [""] }
    if let log { lines += log.lines + [""] }
    lines += mirrors.map {
      "series \(printableText($0.name)) shows \(counted($0.archives, "archive")) of \(printableText($0.source)) as signed there"
        + ($0.lost > 0
          ? ", and lacks \(counted($0.lost, "archive")) whose files are lost: keyferry publish tells which" : "")
    }
    if arrivals != nil { lines += arrivalLines + [""] }
    lines += pauses.compactMap(\.originLine) + recalls.map(\.line)
    lines.append("\(counted(claimCount, "claim")) in the store")
    lines.append(
      "\(grouped(keptBytes)) bytes of \(counted(keptDocuments, "document")) kept as evidence or in quarantine")
    if let lastRetention { lines.append(retentionLine(lastRetention)) }
    return lines
  }

  /// What came, a line for each day, origin and source.
  var arrivalLines: [String] {
    guard let arrivals else { return [] }
    if arrivals.isEmpty { return ["nothing new came in that time"] }
    return arrivals.map {
      "\($0.day)  \(pad(printableText($0.origin), 6)) \(grouped($0.claims)) new from \(printableText($0.source))"
    }
  }

  private func retentionLine(_ last: Instant) -> String {
    let seconds = max(0, now.secondsSince1970 - last.secondsSince1970)
    return "what was kept long enough was removed last at \(last), \(DurationText.text(seconds)) ago"
  }
}

extension FederationStanding {
  fileprivate func lines(at now: Instant) -> [String] {
    var rows = [("last batch", lastBatch.map { "\($0.tag), closed at \($0.made)" } ?? "none yet")]
    if let waitingSince {
      let age = DurationText.text(max(0, now.secondsSince1970 - waitingSince.secondsSince1970))
      rows.append(
        ("waiting", "\(waiting.words), the oldest for \(age)\(isOverdue ? ": overdue, does keyferry run work?" : "")"))
    } else {
      rows.append(("waiting", "nothing"))
    }
    if keptBack.uploads > 0 {
      rows.append(
        ("kept back", "\(keptBack.words): a country is paused or rehearsed, or keyferry quarantine list has them"))
    }
    return ["federation, what countries download"] + rows.map { "  \(pad($0.0, 13)) \($0.1)" }
  }
}

extension LogStatus {
  fileprivate var lines: [String] {
    var rows = [("entries", size.map { "\(grouped($0)), root \(root ?? "")" } ?? "none are shown yet")]
    if let oldestWaiting {
      let age = DurationText.text(max(0, now.secondsSince1970 - oldestWaiting.secondsSince1970))
      rows.append(("waiting", "\(grouped(waiting)), the oldest for \(age)"))
    } else {
      rows.append(("waiting", "nothing"))
    }
    if let fault { rows.append(("refuses", printableText(fault))) }
    return ["log \(printableText(name))"] + rows.map { "  \(pad($0.0, 13)) \($0.1)" }
  }
}

extension FederationStanding.Pile {
  fileprivate var words: String { "\(counted(uploads, "upload")) of \(counted(keys, "key"))" }
}

extension Pause {
  /// A source says itself that it is paused.
  fileprivate var originLine: String? {
    guard case .origin(let origin) = subject else { return nil }
    return "origin \(printableText(origin)) paused since \(since)\(reason.map { ": " + printableText($0) } ?? "")"
  }
}

extension Recall {
  fileprivate var line: String {
    "recalled \(time): \(counted(claims, "claim")) of \(printableText(request.origin))"
  }
}

extension StatusReport.Source {
  fileprivate func lines(at now: Instant) -> [String] {
    let title = printableText(name) + (peer.map { " (\($0))" } ?? " (not in the configuration)")
    return [title] + (course(at: now) + keys + evidence).map { "  \(pad($0.0, 13)) \($0.1)" }
  }

  /// How asking it goes.
  private func course(at now: Instant) -> [(String, String)] {
    var rows: [(String, String)] = [("state", state)]
    if let pausedSince { rows.append(("paused since", "\(pausedSince)")) }
    if let success = record.lastSuccess {
      rows.append(("last success", "\(success), \(DurationText.text(max(0, lag(at: now) ?? 0))) ago"))
    }
    if let fault = record.lastFault {
      rows.append(
        ("fault", "\(fault.code): \(printableText(fault.reason)) (\(counted(record.failures, "failure")) in a row)"))
    }
    if let newestKey {
      // What is uploaded is dated by the end of its day, so that nobody can tell which keys came together.
      let age = now.secondsSince1970 - newestKey.secondsSince1970
      rows.append(
        ("newest key", age < 0 ? "on \(newestKey.day), today" : "\(newestKey), \(DurationText.text(age)) ago"))
    }
    if let next = nextAttempt { rows.append(("next pull", next <= now ? "due" : "\(next)")) }
    if let cursor = record.cursor { rows.append(("cursor", printableText(cursor))) }
    return rows
  }

  /// What came of it.
  private var keys: [(String, String)] {
    let states = DocumentState.allCases.compactMap { state in
      summary.documents[state].map { "\(grouped($0)) \(state.rawValue)" }
    }
    return [
      ("documents", states.isEmpty ? "none" : states.joined(separator: ", ")),
      ("keys", receivedText(summary.counts)),
    ] + ranked(summary.counts.rejections).map { ("", "rejected, \($0): \(grouped($1))") } + rejectionAdvice
  }

  private var rejectionAdvice: [(String, String)] {
    var rows: [(String, String)] = []
    if isRejecting { rows.append(("", "half or more of the keys of its newest document were rejected")) }
    if let first = rejectedOwnOrigins.first, summary.counts.rejections[AdmissionReason.ownKeyReturned.rawValue] != nil {
      rows.append(
        (
          "",
          "keys of \(rejectedOwnOrigins.joined(separator: ", ")) are rejected, as own ones that come back (own-origins); where it "
            + "is the server of \(first) itself, write origin: \(first)"
        ))
    }
    return rows
  }

  private var evidence: [(String, String)] {
    quarantine.map { ("quarantine", "\(printableText($0.name)): \($0.fault?.code.rawValue ?? "")") }
  }
}
