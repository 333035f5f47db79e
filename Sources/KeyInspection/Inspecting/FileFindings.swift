import ExposureKeys
import KeyFormats
internal import KeyIntake

/// The most that the platforms recommend for one archive.
enum ArchiveLimits {
  static let keys = 750_000
  static let bytes = 16_000_000
  /// A device looks at no more signatures than this.
  static let signatures = 10
  /// A file covers a day at most on every known server.
  static let windowSeconds: UInt64 = 86_400
}

/// The findings about a file's container, header and signatures.
func fileFindings(_ facts: InspectedDocument) -> [Finding] {
  guard facts.isExport else { return [] }
  return containerFindings(facts) + headerFindings(facts) + signatureFindings(facts)
}

private func quoted(_ text: String) -> String { text.debugDescription }

/// One for each field that is stated more than once.
func repetitionFindings(_ notes: ReadingNotes) -> [Finding] {
  notes.sorted.filter { $0.note.code == ReadingNote.fieldRepeated }.map { note, count in
    Finding(.fieldRepeated, .warning, count: count, note.text)
  }
}

// MARK: Container

private func containerFindings(_ facts: InspectedDocument) -> [Finding] {
  var findings: [Finding] = []
  if let size = facts.fileSize, size > ArchiveLimits.bytes {
    findings.append(
      Finding(
        .fileTooLarge, .warning,
        "the file has \(grouped(size)) bytes, recommended are at most "
          + grouped(ArchiveLimits.bytes)))
  }
  guard let container = facts.container, container.kind == .zip else { return findings }
  let entries = container.entries
  let others = entries.filter { $0.role == .other }
  if !others.isEmpty {
    let names = others.prefix(5).map { quoted($0.name) }.joined(separator: ", ")
    findings.append(
      Finding(
        .archiveEntryExtra, .warning, count: others.count,
        "the archive holds \(names) too, allowed are export.bin and export.sig only"))
  }
  let folders = entries.filter { $0.role == .folder || $0.role != .other && $0.name.contains("/") }
  if let folder = folders.first {
    findings.append(
      Finding(
        .archiveEntryFolder, .warning, count: folders.count,
        "the archive has a folder (\(quoted(folder.name))); both entries belong to the root"))
  }
  for (role, name) in [(InspectionReport.Entry.Role.export, "export.bin"), (.signature, "export.sig")] {
    guard let entry = entries.first(where: { $0.role == role }), entry.name.split(separator: "/").last ?? "" != name
    else { continue }
    findings.append(
      Finding(.archiveEntryName, .warning, "the entry \(quoted(entry.name)) should be named \(name)"))
  }
  let roles = entries.map(\.role)
  if let signature = roles.firstIndex(of: .signature), let bin = roles.firstIndex(of: .export), signature < bin {
    findings.append(
      Finding(.archiveEntryOrder, .info, "the signature stands before the export; servers write export.bin first"))
  }
  let unreadable = entries.filter { $0.hasDataDescriptor && $0.method == "stored" }
  if let entry = unreadable.first {
    findings.append(
      Finding(
        .archiveDataDescriptor, .warning, count: unreadable.count,
        "the entry \(quoted(entry.name)) is stored with a data descriptor; streaming readers such as Android's refuse it"
      ))
  }
  let undated = entries.count { $0.date == nil }
  if undated > 0 {
    findings.append(
      Finding(
        .archiveDateAbsent, .info, count: undated,
        "\(counted(undated, "entry", "entries")) without a date that exists (1980-00-00); some libraries throw"
      ))
  }
  if container.prefixBytes > 0 {
    findings.append(
      Finding(
        .archivePrefix, .warning, "\(counted(container.prefixBytes, "byte")) before the archive begins"))
  }
  if container.commentBytes > 0 {
    findings.append(
      Finding(
        .archiveComment, .info, "the archive has a comment of \(counted(container.commentBytes, "byte"))"))
  }
  return findings
}

// MARK: Header

private func headerFindings(_ facts: InspectedDocument) -> [Finding] {
  var findings: [Finding] = []
  switch facts.fileHeader {
  case .wrongPadding:
    findings.append(
      Finding(
        .fileHeaderPadding, .error, "the file header is not \"EK Export v1\" and four spaces; most devices refuse it"))
  case .absent:
    findings.append(
      Finding(.fileHeaderAbsent, .error, "the file begins without the 16 bytes \"EK Export v1    \"; devices refuse it")
    )
  case .exact, nil: break
  }
  let header = facts.header
  if let start = header.startTimestamp, let end = header.endTimestamp {
    if start >= end {
      findings.append(
        Finding(
          .windowEmpty, .error, "the window starts at \(start) and ends at \(end); the start must come before the end"))
    } else if end - start > ArchiveLimits.windowSeconds {
      findings.append(
        Finding(.windowLong, .warning, "the window covers \(durationText(end - start)), usual are at most 24 hours"))
    }
  } else {
    let missing = [
      header.startTimestamp == nil ? "start_timestamp" : nil, header.endTimestamp == nil ? "end_timestamp" : nil,
    ].compactMap(\.self)
    findings.append(Finding(.windowAbsent, .warning, "\(missing.joined(separator: " and ")) not stated"))
  }
  if header.region ?? "" == "" { findings.append(Finding(.regionAbsent, .info, "no region is named")) }
  findings += batchFindings(header)
  if facts.unknownHeaderBytes > 0 {
    findings.append(
      Finding(
        .headerUnknownFields, .info,
        "header or signatures carry \(counted(facts.unknownHeaderBytes, "byte")) in fields that no schema defines"
      ))
  }
  return findings
}

private func batchFindings(_ header: ExportHeader) -> [Finding] {
  switch (header.batchNum, header.batchSize) {
  case (1, 1): return []
  case (nil, nil): return [Finding(.batchAbsent, .info, "no batch number and size; written should be 1 of 1")]
  case (let number, let size):
    let text = "batch \(number.map(String.init) ?? "?") of \(size.map(String.init) ?? "?")"
    guard let number, let size, size >= 1, (1...size).contains(number) else {
      return [Finding(.batchContradictory, .error, "\(text), allowed is 1...size of at least 1")]
    }
    return [
      Finding(
        .batchNotSingle, .warning, "\(text): devices want all files in one call, or refuse them; portable is 1 of 1")
    ]
  }
}

/// `5 minutes`, `24 hours`, `14 days 3 hours`.
package func durationText(_ seconds: UInt64) -> String {
  let units: [(UInt64, String)] = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")]
  if seconds == 86_400 { return "24 hours" }
  var rest = seconds
  var parts: [String] = []
  for (size, name) in units {
    let count = rest / size
    rest %= size
    if count > 0 { parts.append(counted(Int(clamping: count), name)) }
  }
  return parts.isEmpty ? "0 seconds" : parts.prefix(2).joined(separator: " ")
}

// MARK: Signatures

private func signatureFindings(_ facts: InspectedDocument) -> [Finding] {
  var findings: [Finding] = []
  let infos = facts.header.signatureInfos
  if infos.isEmpty {
    findings.append(
      Finding(.signatureInfosAbsent, .warning, "export.bin names no signature info; required is at least 1"))
  }
  if let fault = facts.signatureFault {
    findings.append(Finding(.signatureFileMalformed, .error, "export.sig: \(fault)"))
  } else if facts.signatureFileSize == nil {
    findings.append(Finding(.signatureFileAbsent, .warning, "there is no export.sig; devices refuse an unsigned file"))
  } else if facts.signatures.isEmpty {
    findings.append(Finding(.signatureFileEmpty, .error, "export.sig holds no signature; required is at least 1"))
  } else if facts.signatures.count != infos.count {
    findings.append(
      Finding(
        .signatureCountDiffers, .error,
        "export.sig holds \(counted(facts.signatures.count, "signature")), "
          + "export.bin names \(infos.count); devices want as many"))
  }
  if facts.signatures.count > 1 {
    findings.append(
      Finding(
        .signaturesSeveral, .warning, count: facts.signatures.count,
        "\(facts.signatures.count) signatures: iOS looks at the first only, microG needs every one to verify"))
  }
  if facts.signatures.count > ArchiveLimits.signatures {
    findings.append(
      Finding(
        .signaturesTooMany, .warning, count: facts.signatures.count,
        "\(facts.signatures.count) signatures, devices look at \(ArchiveLimits.signatures) at most"))
  }
  findings += differingInfos(facts)
  for (index, info) in facts.infosToJudge.enumerated() {
    findings += infoFindings(
      info, place: "\(facts.signatures.isEmpty ? "export.bin: signature info" : "signature") \(index)")
  }
  for (index, signature) in facts.signatures.enumerated() {
    findings += encodingFindings(signature, facts.signatureEncodings[index], place: "signature \(index)")
  }
  return combined(findings)
}

/// The fields in which the info beside a signature differs from the one in the export, by position.
func differences(_ left: SignatureInfo, _ right: SignatureInfo) -> [String] {
  [
    left.verificationKeyID == right.verificationKeyID ? nil : "key id",
    left.verificationKeyVersion == right.verificationKeyVersion ? nil : "key version",
    left.signatureAlgorithm == right.signatureAlgorithm ? nil : "algorithm",
    left.appBundleID == right.appBundleID ? nil : "app bundle id",
    left.androidPackage == right.androidPackage ? nil : "Android package",
    left.unknownFields == right.unknownFields ? nil : "unknown fields",
  ].compactMap(\.self)
}

private func differingInfos(_ facts: InspectedDocument) -> [Finding] {
  zip(facts.header.signatureInfos, facts.signatures).enumerated().compactMap { index, pair in
    let fields = differences(pair.0, pair.1.info)
    guard !fields.isEmpty else { return nil }
    return Finding(
      .signatureInfoDiffers, .warning,
      "signature \(index): \(fields.joined(separator: ", ")) in export.sig and in export.bin differ")
  }
}

private func infoFindings(_ info: SignatureInfo, place: String) -> [Finding] {
  var findings: [Finding] = []
  if info.signatureAlgorithm != SignatureInfo.ecdsaWithSHA256 {
    let isSHA512 = info.signatureAlgorithm == SignatureAlgorithms.ecdsaWithSHA512
    findings.append(
      Finding(
        .signatureAlgorithm, isSHA512 ? .warning : .error,
        "\(place): algorithm \(info.signatureAlgorithm.map(quoted) ?? "not stated"), required is "
          + SignatureInfo.ecdsaWithSHA256))
  }
  if let id = info.verificationKeyID, !id.isEmpty {
    if !id.utf8.allSatisfy(isKeyIDCharacter) {
      findings.append(
        Finding(
          .keyIDCharacters, .warning, "\(place): key id \(quoted(id)), allowed are letters, digits, \"_\" and \".\""))
    }
  } else {
    findings.append(Finding(.keyIDAbsent, .warning, "\(place): no key id; clients cannot tell which key signed"))
  }
  if info.verificationKeyVersion ?? "" == "" {
    findings.append(Finding(.keyVersionAbsent, .warning, "\(place): no key version; iOS refuses the signature"))
  }
  return findings
}

private func isKeyIDCharacter(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), UInt8(ascii: "."):
    true
  default: false
  }
}

enum SignatureAlgorithms {
  /// ECDSA with SHA-512, which Android reads and nobody writes.
  static let ecdsaWithSHA512 = "1.2.840.10045.4.3.4"
}

private func encodingFindings(
  _ signature: ExportSignature, _ encoding: SignatureEncoding, place: String
) -> [Finding] {
  var findings: [Finding] = []
  switch encoding {
  case .der: break
  case .empty: findings.append(Finding(.signatureEmpty, .error, "\(place): no signature bytes"))
  case .raw:
    findings.append(
      Finding(.signatureRaw, .error, "\(place): 64 raw bytes (r and s), required is a DER sequence (X9.62)"))
  case .notCanonical, .unrecognized:
    findings.append(
      Finding(
        .signatureNotDER, .error,
        "\(place): \(counted(signature.signature.count, "byte")) that are no canonical DER sequence of r and s"
      ))
  }
  switch (signature.batchNum, signature.batchSize) {
  case (1, 1), (nil, nil): break
  case (let number, let size):
    findings.append(
      Finding(
        .signatureBatch, .warning,
        "\(place): batch \(number.map(String.init) ?? "?") of \(size.map(String.init) ?? "?"), usual is 1 of 1"))
  }
  return findings
}

/// One finding a code, with the text of the first place: a signature file may have a thousand entries.
private func combined(_ findings: [Finding]) -> [Finding] {
  var result: [Finding] = []
  for finding in findings {
    if let place = result.firstIndex(where: { $0.code == finding.code }) {
      result[place].count += finding.count
    } else {
      result.append(finding)
    }
  }
  return result
}
