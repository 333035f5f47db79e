internal import ExposureKeys
internal import GatewayServer
internal import KeyIntake
package import KeyPublishing
package import KeyReceiving
package import KeyStorage

/// What is wrong with a gateway: the exit code of `keyferry status` and the page of operators judge by the same list.
package struct StandingFaults: Sendable {
  /// For people, each naming its place.
  package let reasons: [String]

  package var isEmpty: Bool { reasons.isEmpty }

  /// - Parameter unheldWork: what no replica does, where several share the store.
  package init(
    _ report: StatusReport, series: [SeriesStatus], destinations: [DestinationStatus],
    federation: FederationStanding?, callbacks: [CallbackSubscription], log: LogStatus?,
    certificates: [CertificateStanding], folderFaults: [String], clockDoubt: String?, unheldWork: [String] = []
  ) {
    var reasons = [clockDoubt].compactMap(\.self)
    reasons += report.sources.flatMap(Self.reasons)
    if report.heldDocuments > 0 {
      reasons.append(
        "keys of \(counted(report.heldDocuments, "document")) are held until an operator decides: keyferry quarantine list"
      )
    }
    for series in series { reasons += series.faults.map { "series \(series.series): \($0)" } }
    for mirror in report.mirrors where mirror.lost > 0 {
      reasons.append(
        "series \(mirror.name) lacks \(counted(mirror.lost, "archive")) of \(mirror.source) whose files are lost")
    }
    for destination in destinations where destination.isWrong {
      let fault = destination.attempt?.fault.map { ": \($0.code.rawValue): \($0.reason)" } ?? ""
      reasons.append("destination \(destination.name) is \(destination.state)\(fault)")
    }
    if federation?.isOverdue == true {
      reasons.append("an upload of a national back end waits too long for a download batch")
    }
    for callback in callbacks where callback.suspended != nil {
      reasons.append("callback \(callback.name) is suspended" + (callback.faultReason.map { ": \($0)" } ?? ""))
    }
    if let fault = log?.fault { reasons.append("the public log cannot go on: \(fault)") }
    reasons += unheldWork.map { "no replica does \($0)" }
    reasons += certificates.filter(\.isWrong).map(\.words)
    self.reasons = reasons + folderFaults
  }

  private static func reasons(_ source: StatusReport.Source) -> [String] {
    var reasons: [String] = []
    if let fault = source.record.lastFault {
      reasons.append(
        "source \(source.name) is \(source.state): \(fault.code.rawValue): \(fault.reason) "
          + "(\(counted(source.record.failures, "failure")) in a row)")
    } else {
      for (isSo, word) in [(source.isRejecting, "rejecting"), (source.isBehind, "behind")] where isSo {
        reasons.append("source \(source.name) is \(word)")
      }
    }
    let refused = source.summary.documents[.quarantined] ?? source.quarantine.count
    if !source.quarantine.isEmpty {
      reasons.append("source \(source.name) has \(counted(refused, "document")) in quarantine")
    }
    return reasons
  }
}
