package import BundleTrust
internal import ExposureKeys
internal import FoundationEssentials
internal import KeyFormats

/// How the signatures of origins are verified that a federation gateway passes on with its batches.
package struct OriginsVerification: Sendable {
  package let trust: FederationTrust
  package let allowed: SignatureAllowances

  package init(trust: FederationTrust, allowing allowed: SignatureAllowances = []) {
    self.trust = trust
    self.allowed = allowed
  }

  /// Who has signed the keys of one origin.
  package struct Finding {
    package let document: VerifiedDocument
    /// For people: the country and the certificates that signed.
    package let words: String
  }

  /// Gives each entry of the audit answer the next keys, as many as it says, and verifies its signature over these. Keys that
  /// are left over, or missing, prove nothing.
  ///
  /// - Parameters:
  ///   - keys: the batch of one origin.
  ///   - audit: its entries.
  /// - Throws: ``DocumentRefusal``, `FormatError`.
  package func verify(_ keys: [UInt8], audit: [UInt8], named name: String) throws -> Finding {
    func refusal(_ reason: String) -> DocumentRefusal { .originsNotProven(name: name, reason: reason) }
    if let absence = try? JSONDecoder().decode(AuditAbsence.self, from: Data(audit)) {
      throw refusal("the gateway answered \(absence.status) when it was asked who has signed its keys")
    }
    let entries: [AuditEntry]
    do {
      entries = try JSONDecoder().decode([AuditEntry].self, from: Data(audit))
    } catch {
      throw refusal("an entry of the audit answer lacks a member, or has one of another type")
    }
    let batch = try DecodedDocument(keys, format: .efgsProtobuf)
    if let bad = batch.rejections.first {
      throw refusal(
        "key \(bad.position.index) cannot be read, so that no signature can be over it: \(bad.reason.rawValue), \(bad.detail)"
      )
    }
    guard !entries.isEmpty else {
      throw refusal("the audit answer has no entry for its \(counted(batch.keys.count, "key"))")
    }
    var signers: [BatchSigner] = []
    var place = 0
    for (number, entry) in entries.enumerated() {
      guard entry.amount > 0, entry.amount <= batch.keys.count - place else {
        throw refusal(
          "audit entry \(number + 1) of \(entries.count) is for \(counted(entry.amount, "key")), and \(batch.keys.count - place) "
            + "are left")
      }
      let slice = Array(batch.keys[place..<(place + entry.amount)])
      let (signed, ambiguities) = CanonicalBatch.received(slice, regions: batch.regions)
      // No gateway of this kind passes such an element on: it would say other regions than were signed.
      if let ambiguity = ambiguities.first(where: { $0.reason == .comma }) {
        throw refusal("audit entry \(number + 1) of \(entries.count): \(ambiguity)")
      }
      do throws(BatchRefusal) {
        signers.append(try trust.verify(entry, over: signed, allowing: allowed))
      } catch {
        throw refusal("audit entry \(number + 1) of \(entries.count): \(error)")
      }
      place += entry.amount
    }
    guard place == batch.keys.count else {
      throw refusal("\(counted(batch.keys.count - place, "key")) are in no entry of the audit answer")
    }
    let certificates = Set(signers.map(\.certificate.thumbprint)).sorted().joined(separator: ", ")
    let countries = Set(signers.map(\.country)).sorted().joined(separator: ", ")
    return Finding(
      document: .origins(OriginsProof(signers)), words: "signature of \(countries), certificate \(certificates)")
  }
}

/// In place of entries, where the gateway has none any more.
private struct AuditAbsence: Decodable {
  var status: Int
}
