internal import ExposureKeys
package import Federation
package import GatewayServer
internal import KeyIntake
package import KeyPublishing
package import KeyReceiving
package import KeyStorage

extension StandingFault {
  /// What a store and files say is wrong with a gateway, whether it runs or not.
  ///
  /// - Parameters:
  ///   - folders: what ``FolderRoom`` says.
  ///   - unheldWork: what no replica does, where several share the store.
  package static func stored(
    _ report: StatusReport, series: [SeriesStatus], destinations: [DestinationStatus],
    federation: FederationStanding?, callbacks: [CallbackSubscription], log: LogStatus?,
    certificates: [CertificateStanding], folders: [StandingFault], clockDoubt: String?, unheldWork: [String] = []
  ) -> [StandingFault] {
    var faults = clockDoubt.map { [StandingFault(.clock, because: $0)] } ?? []
    faults += report.sources.flatMap(Self.faults)
    if report.heldDocuments > 0 {
      faults.append(
        StandingFault(
          .held,
          because:
            "keys of \(counted(report.heldDocuments, "document")) are held until an operator decides"
        ))
      // Of a source the newest, since each source has one fault of a kind.
      let floods = Dictionary(report.floods.map { ($0.source, $0) }) { newest, _ in newest }
      faults += floods.values.sorted { $0.source < $1.source }.map {
        StandingFault(.held, of: $0.source, because: $0.text)
      }
    }
    for series in series {
      faults += series.faults.map {
        StandingFault(.series, of: series.series, because: "series \(series.series): \($0)")
      }
    }
    for mirror in report.mirrors where mirror.lost > 0 {
      faults.append(
        StandingFault(
          .mirror, of: mirror.name,
          because:
            "series \(mirror.name) lacks \(counted(mirror.lost, "archive")) of \(mirror.source) whose files are lost"
        ))
    }
    for destination in destinations where destination.isWrong {
      let fault = destination.attempt?.fault.map { ": \($0.code.rawValue): \($0.reason)" } ?? ""
      faults.append(
        StandingFault(
          .destination, of: destination.name,
          because: "destination \(destination.name) is \(destination.state)\(fault)"))
    }
    if federation?.isOverdue == true {
      faults.append(
        StandingFault(.federation, because: "an upload of a national back end waits too long for a download batch"))
    }
    for callback in callbacks where callback.suspended != nil {
      faults.append(
        StandingFault(
          .callback, of: callback.name,
          because: "callback \(callback.name) is suspended" + (callback.faultReason.map { ": \($0)" } ?? "")))
    }
    if let fault = log?.fault {
      faults.append(StandingFault(.log, because: "the public log cannot go on: \(fault)"))
    }
    faults += unheldWork.map { StandingFault(.work, of: $0, because: "no replica does \($0)") }
    faults += certificates.filter(\.isWrong).map { StandingFault(.certificate, of: $0.address, because: $0.words) }
    return faults + folders
  }

  private static func faults(_ source: StatusReport.Source) -> [StandingFault] {
    var faults: [StandingFault] = []
    if let fault = source.record.lastFault {
      faults.append(
        StandingFault(
          .source, of: source.name,
          because: "source \(source.name) is \(source.state): \(fault.code.rawValue): \(fault.reason) "
            + "(\(counted(source.record.failures, "failure")) in a row)"))
    } else {
      if source.isRejecting {
        faults.append(StandingFault(.source, of: source.name, because: "source \(source.name) is rejecting"))
      }
      if source.isBehind {
        faults.append(StandingFault(.lag, of: source.name, because: "source \(source.name) is behind"))
      }
    }
    let refused = source.summary.documents[.quarantined] ?? source.quarantine.count
    if !source.quarantine.isEmpty {
      faults.append(
        StandingFault(
          .quarantine, of: source.name,
          because: "source \(source.name) has \(counted(refused, "document")) in quarantine"))
    }
    return faults
  }
}
