package import ExposureKeys
internal import KeyFormats
package import KeyPeers
internal import KeyStorage

/// Tries a destination without handing anything over: is it there, and does it let this certificate in?
///
/// It asks for the batches of today, as whoever downloads there does, since a gateway of this kind has no question of its own
/// for that. Whether it takes what is signed shows with the first batch alone.
package struct DestinationProbe: Sendable {
  package let destination: String
  /// What was found, line by line.
  package private(set) var findings: [String] = []
  /// Why nothing can be handed over as it is.
  package private(set) var faults: [DocumentFault] = []

  package var isUsable: Bool { faults.isEmpty }

  /// Of a destination that cannot even be asked.
  package init(destination: String, fault: DocumentFault) {
    self.destination = destination
    faults = [fault]
  }

  /// - Throws: cancellation. What goes wrong with the gateway is among the faults.
  package init(of destination: DestinationSettings, through transport: any Transport, now: Instant) async throws {
    self.destination = destination.name
    do {
      let (head, _) = try await transport.ask(EFGSUpload.probe(of: destination.location, on: now.day))
      judge(head)
    } catch let fault as TransportFault {
      faults.append(fault.documentFault)
    }
    let signer = destination.signer
    findings.append("batches would be signed by \(signer.subject), thumbprint \(signer.thumbprint)")
    if destination.isRehearsal { findings.append("rehearsal: true, so nothing is handed over") }
  }

  private mutating func judge(_ head: ResponseHead) {
    switch head.status {
    case 200 where head["batchTag"] == nil:
      faults.append(
        DocumentFault(
          code: .malformedAnswer, reason: "it answers 200 without the header batchTag: is a federation gateway there?"))
    case 200, 404, 410:
      findings.append("lets the certificate of \(destination) in (\(head.status) for batches of today)")
    case 401, 403:
      faults.append(
        DocumentFault(
          code: .forbidden,
          reason: "it answers \(head.status): its operator has to list the authentication certificate of this country"))
    default:
      faults.append(
        DocumentFault(
          code: .httpStatus, reason: "it answers \(head.status) to a question for batches, expected 200 or 404"
        ))
    }
  }
}
