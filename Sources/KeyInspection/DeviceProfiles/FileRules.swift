import ExposureKeys
internal import KeyIntake

/// The rules about a file as a whole. Each switch says what the clients do when the rule is broken.
extension DeviceProfile {
  func fileRows(_ evidence: ProfileEvidence) -> [ProfileReport.Row] {
    let facts = evidence.facts
    return [
      archiveEntries(facts),
      .init(.uniqueNames, notJudged: "names must differ among the files of one call"),
      dataDescriptor(facts), fileHeader(facts),
      .init(rule: .encoding, outcome: .ok, count: 0, text: "ok"),
      batch(facts), signatureCount(facts), signatureInfos(facts), keyIdentity(facts), algorithm(facts),
      signatureEncoding(facts), signatureVerifies(evidence), size(evidence), window(facts),
      .init(.callBudget, notJudged: "the number of files and calls in 24 hours is limited (15 or 20 files, 6 calls)"),
    ]
  }

  private func archiveEntries(_ facts: InspectedDocument) -> ProfileReport.Row {
    guard let container = facts.container, container.kind == .zip else {
      return .init(.archiveEntries, notJudged: "there is no archive")
    }
    let names = container.entries.map(\.name)
    let isExact = names.count == 2 && Set(names) == ["export.bin", "export.sig"]
    let what =
      "entries \(names.prefix(4).map(printableText).joined(separator: ", ")), allowed are export.bin and export.sig"
    let reaction: Reaction =
      switch self {
      case .strict: Reaction(.refuseFile, "exactly these two stand at the root")
      case .google: Reaction(.refuseCall, "any other entry, or a missing one, is an exception for the call")
      case .iosV1, .ios125, .ios137:
        Reaction(.warn, "the app unpacks; many apps hand on every entry, and detection then fails")
      case .microg: Reaction(.warn, "ignored, but the Swiss and German apps need exactly these names")
      }
    return .init(.archiveEntries, broken: isExact ? 0 : names.count, what: what, reaction)
  }

  private func dataDescriptor(_ facts: InspectedDocument) -> ProfileReport.Row {
    let entries = (facts.container?.entries ?? []).filter { $0.hasDataDescriptor && $0.method == "stored" }
    let reaction: Reaction =
      switch self {
      case .strict: Reaction(.refuseFile, "no entry may be both")
      case .google: Reaction(.refuseCall, "the streaming reader throws")
      case .iosV1, .ios125, .ios137, .microg: Reaction(.info, "read from the archive's directory, no matter")
      }
    return .init(.dataDescriptor, broken: entries.count, what: "a stored entry with a data descriptor", reaction)
  }

  private func fileHeader(_ facts: InspectedDocument) -> ProfileReport.Row {
    let isPadding = facts.fileHeader == .wrongPadding
    let reaction: Reaction =
      switch self {
      case .strict: Reaction(.refuseFile, "all 16 bytes must be right")
      case .google: Reaction(.refuseFile, "the file is taken for empty")
      case .iosV1, .ios125, .ios137: Reaction(.refuseFile, "bad format")
      case .microg:
        isPadding ? Reaction(.warn, "compared without its padding") : Reaction(.refuseFile, "the file is ignored")
      }
    return .init(
      .fileHeader, broken: facts.fileHeader == .exact ? 0 : 1,
      what: isPadding ? "the file header is wrongly padded" : "there is no file header", reaction)
  }

  private func batch(_ facts: InspectedDocument) -> ProfileReport.Row {
    let (number, size) = (facts.header.batchNum, facts.header.batchSize)
    let what = "batch \(number.map(String.init) ?? "?") of \(size.map(String.init) ?? "?")"
    if number == nil, size == nil {
      return .init(
        .batch, broken: self == .strict ? 1 : 0, what: "no batch number and size",
        Reaction(.warn, "always written is 1 of 1"))
    }
    if number == 1, size == 1 { return .init(.batch, broken: 0, what: what, Reaction(.ok, "")) }
    let fits = size == nil || number.map { (1...max(1, size ?? 1)).contains($0) } == true && (size ?? 1) >= 1
    let reaction: Reaction =
      switch self {
      case .strict: Reaction(.refuseFile, "only 1 of 1 is read everywhere")
      case .google:
        if !fits {
          Reaction(.refuseCall, "the number must be 1 to the size")
        } else if (size ?? 1) == 1 {
          Reaction(.info, "complete by itself")
        } else {
          Reaction(.refuseCall, "all files of a batch must be given in one call")
        }
      case .iosV1, .ios125, .ios137: Reaction(.refuseFile, "documented as unsupported")
      case .microg: Reaction(.info, "ignored")
      }
    return .init(.batch, broken: 1, what: what, reaction)
  }

  private func signatureCount(_ facts: InspectedDocument) -> ProfileReport.Row {
    let (signatures, infos) = (facts.signatures.count, facts.header.signatureInfos.count)
    let what =
      facts.signatureFault != nil
      ? "export.sig cannot be read"
      : "\(counted(signatures, "signature")) for \(counted(infos, "signature info"))"
    let isSound = facts.signatureFault == nil && signatures > 0 && signatures == infos
    let reaction: Reaction =
      switch self {
      case .strict: Reaction(.refuseFile, "as many signatures as infos, and at least one")
      case .google: Reaction(.refuseCall, "unsigned data, or other numbers, are an exception for the call")
      case .iosV1, .ios125, .ios137:
        signatures == 0
          ? Reaction(.refuseFile, "an unsigned file is refused") : Reaction(.info, "the first signature counts")
      case .microg: Reaction(.warn, "looked at for the Swiss and German apps only, which need a signature")
      }
    if isSound, signatures > 1 { return severalSignatures(signatures) }
    return .init(.signatureCount, broken: isSound ? 0 : max(1, signatures), what: what, reaction)
  }

  private func severalSignatures(_ count: Int) -> ProfileReport.Row {
    let reaction: Reaction =
      switch self {
      case .strict: Reaction(.warn, "portable is one: iOS uses the first, microG needs all")
      case .google: Reaction(.info, "co-signatures and rotation are understood")
      case .iosV1, .ios125, .ios137: Reaction(.warn, "only the first counts")
      case .microg: Reaction(.warn, "the Swiss and German apps need every one to verify with their one key")
      }
    return .init(.signatureCount, broken: count, what: "\(count) signatures", reaction)
  }

  private func signatureInfos(_ facts: InspectedDocument) -> ProfileReport.Row {
    let differing =
      self == .strict
      ? zip(facts.header.signatureInfos, facts.signatures).count { !differences($0, $1.info).isEmpty } : 0
    return .init(
      .signatureInfos, broken: differing, what: "the infos in export.bin and export.sig differ",
      Reaction(.refuseFile, "those beside the signatures must equal those in export.bin"))
  }

  private func keyIdentity(_ facts: InspectedDocument) -> ProfileReport.Row {
    let infos = facts.infosToJudge
    let anonymous = infos.count { $0.verificationKeyID ?? "" == "" }
    let unversioned = infos.count { $0.verificationKeyVersion ?? "" == "" }
    switch self {
    case .strict:
      return .init(
        .keyIdentity, broken: max(anonymous, unversioned), what: "a signature without key id or version",
        Reaction(.refuseFile, "both are needed to find the key"))
    case .google:
      let reaction =
        infos.count > 1
        ? Reaction(.refuseCall, "allowed beside a single signature only")
        : Reaction(.info, "the only signature is tried with the only key")
      return .init(.keyIdentity, broken: anonymous, what: "a signature without key id", reaction)
    case .iosV1, .ios125, .ios137:
      let isAbsent = infos.first.map { $0.verificationKeyVersion ?? "" == "" } ?? false
      return .init(
        .keyIdentity, broken: isAbsent ? 1 : 0, what: "the first signature has no key version",
        Reaction(.refuseFile, "a version is required"))
    case .microg: return .init(.keyIdentity, broken: 0, what: "", Reaction(.ok, ""))
    }
  }

  private func algorithm(_ facts: InspectedDocument) -> ProfileReport.Row {
    var allowed = [SignatureInfo.ecdsaWithSHA256]
    if self == .google || self == .microg { allowed.append(SignatureAlgorithms.ecdsaWithSHA512) }
    let wrong = facts.infosToJudge.filter { !allowed.contains($0.signatureAlgorithm ?? "") }
    let name = wrong.first?.signatureAlgorithm.map { printableText($0).debugDescription } ?? "not stated"
    let reaction: Reaction =
      switch self {
      case .strict:
        Reaction(.refuseFile, "only the object identifier \(SignatureInfo.ecdsaWithSHA256) is read everywhere")
      case .google: Reaction(.refuseCall, "any text but the object identifiers is an exception")
      case .iosV1, .ios125, .ios137: Reaction(.info, "not looked at")
      case .microg: Reaction(.warn, "the Swiss and German apps skip the file")
      }
    return .init(.algorithm, broken: wrong.count, what: "signature algorithm \(name)", reaction)
  }

  private func signatureEncoding(_ facts: InspectedDocument) -> ProfileReport.Row {
    let judged = isApple ? Array(facts.signatureEncodings.prefix(1)) : facts.signatureEncodings
    let wrong = judged.filter { $0 != .der }
    let what =
      switch wrong.first {
      case .raw: "a signature of 64 raw bytes"
      case .empty: "a signature without bytes"
      default: "a signature that is no canonical DER"
      }
    // A verifier may take DER that is not canonical; whether it verifies is the next rule's business.
    let isLenient = !wrong.isEmpty && wrong.allSatisfy { $0 == .notCanonical }
    let reaction: Reaction =
      switch self {
      case .strict: Reaction(.refuseFile, "required is DER (X9.62) with r and s in 1...n-1")
      case .google:
        isLenient ? Reaction(.warn, "some verifiers refuse it") : Reaction(.refuseCall, "the verifier throws")
      case .iosV1, .ios125, .ios137:
        isLenient ? Reaction(.warn, "some verifiers refuse it") : Reaction(.refuseFile, "it cannot verify")
      case .microg: Reaction(.warn, "it cannot verify for the Swiss and German apps")
      }
    return .init(.signatureEncoding, broken: wrong.count, what: what, reaction)
  }

  private func signatureVerifies(_ evidence: ProfileEvidence) -> ProfileReport.Row {
    if evidence.signature == .unknown {
      return .init(.signatureVerifies, notJudged: "no trust ring was given")
    }
    let reaction: Reaction =
      switch self {
      case .strict: Reaction(.refuseFile, "a trusted key must have signed the whole file")
      case .google: Reaction(.refuseCall, "no set of keys of the app matches")
      case .iosV1, .ios125, .ios137: Reaction(.refuseFile, "the first signature must verify with the registered key")
      case .microg: Reaction(.warn, "the Swiss and German apps skip the file, others do not look")
      }
    return .init(
      .signatureVerifies, broken: evidence.signature == .verified ? 0 : 1, what: "no signature verifies", reaction)
  }

  private func size(_ evidence: ProfileEvidence) -> ProfileReport.Row {
    let isLarge = evidence.facts.fileSize.map { $0 > ArchiveLimits.bytes } ?? false
    let isLong = evidence.keys.keyCount > ArchiveLimits.keys
    let what =
      isLarge
      ? "\(counted(evidence.facts.fileSize ?? 0, "byte"))"
      : counted(evidence.keys.keyCount, "key")
    return .init(
      .size, broken: isLarge || isLong ? 1 : 0, what: what,
      Reaction(
        self == .strict ? .warn : .info,
        "recommended are at most \(grouped(ArchiveLimits.keys)) keys and "
          + "\(grouped(ArchiveLimits.bytes)) bytes"))
  }

  private func window(_ facts: InspectedDocument) -> ProfileReport.Row {
    let (start, end) = (facts.header.startTimestamp, facts.header.endTimestamp)
    switch self {
    case .strict:
      let isSound = if let start, let end { start < end } else { false }
      return .init(
        .window, broken: isSound ? 0 : 1,
        what: "window from \(start.map(String.init) ?? "?") to \(end.map(String.init) ?? "?")",
        Reaction(.warn, "the start must come before the end, and both be stated"))
    case .microg:
      return .init(
        .window, broken: end == nil ? 1 : 0, what: "no end_timestamp",
        Reaction(.warn, "it is stored as the file's date"))
    case .google, .iosV1, .ios125, .ios137:
      return .init(.window, broken: 0, what: "", Reaction(.ok, ""))
    }
  }
}
