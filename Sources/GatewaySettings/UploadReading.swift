internal import BundleTrust
internal import GatewayServer
internal import PolicyFiles

/// What opens the doors for uploads.
extension GatewayReader {
  /// `nil` adds a fault.
  func uploadSettings(_ section: Section) -> UploadSettings? {
    let others = ["clients", "certificates", "codes", "dp3t"]
    let setting = section.neededSecret(
      "token", default: "none", when: !others.contains { section.states($0) },
      "The bearer token for uploads, 16 characters or more. It *must be stated* if the file states no other way to let uploads in."
    )
    var settings = UploadSettings(token: setting.flatMap(uploadToken) ?? Secret(""))
    section.section("clients", default: "none", "Bearer tokens of single clients.") { section in
      section.declareSecret("*")
      section.any(Section.secretForm, as: .section, "A client's token, under its name.") { name, setting in
        if let token = uploadToken(setting) { settings.clients[name] = token }
      }
    }
    settings.certificates =
      section.sections("certificates", "Verification servers whose certificates let uploads in.", certificates)
    section.section("codes", default: "none", "A service that verifies the code in a request.") {
      settings.codes = codes($0)
    }
    section.section("dp3t", default: "their upload endpoints are closed", "What lets the apps of DP-3T upload.") {
      settings.dp3t = dp3t($0)
    }
    settings.revisionKey = section.secret(
      "revision-key",
      "The key that seals revision tokens, 32 characters or more. It *must be stated* if `certificates` open the endpoint `publish`. Without it no client can change an earlier statement about a key.",
      revisionKey)
    settings.ignoredMembers = Set(
      section.list(
        "ignored-members", of: "names", as: .word, "Members of a publish request to ignore, regardless of case."
      ) { $0.text() })
    let usualSeconds = Int64(settings.answerSeconds)
    // A request that waits for a service is answered after the time that this may take, like every other.
    if let codes = settings.codes { settings.answerSeconds = Double(codes.timeoutSeconds + 1) }
    let range: ClosedRange<Int64> = 0...30
    if let setting = section.optional(
      "answer-after", range.durations,
      default: "\(TimeSpan.text(usualSeconds)), or a second more than `codes.time-out`", as: .duration,
      "When every request is answered, real or fake, accepted or rejected. 0 s is at once, and tells them apart."),
      let seconds = setting.duration(range)
    {
      settings.answerSeconds = Double(seconds)
      if let codes = settings.codes, seconds <= codes.timeoutSeconds {
        setting.add(
          "\(TimeSpan.text(seconds)), allowed more than codes.time-out, \(TimeSpan.text(codes.timeoutSeconds)): "
            + "otherwise the time of an answer tells real uploads")
      }
    }
    rate(
      section, &settings.requestsPerMinute,
      "Uploads a minute from one client. Rejected uploads are counted separately.")
    section.value(
      "path", &settings.path, "a path: `/va`", default: "nothing",
      "The beginning of each address: `/va` makes `/va/v1/publish`.", doorPath)
    settings.protocols = section.optional(
      "protocols", "a list of \(UploadEndpoints.names.ticked)", default: "all",
      as: .list(.words(UploadEndpoints.names)),
      "Which upload endpoints are open, of those for which the file states a way to let uploads in.", doorProtocols)
    if section.states("certificates"), !section.states("revision-key"),
      settings.protocols?.contains("publish") ?? true
    {
      document.add(
        section.place(of: "revision-key"),
        "missing: phones with Google's app fail each upload whose answer has no revision token, and this key seals them; "
          + "openssl rand -hex 32 makes one, state it as {file: secrets/revision.key}")
    }
    let isOpen =
      !settings.token.disclosed.isEmpty || !settings.clients.isEmpty || !settings.certificates.isEmpty
      || settings.codes != nil || settings.dp3t != nil
    return isOpen ? settings : nil
  }

  func doorPath(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    let parts = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    let isPath = parts.allSatisfy { part in
      part.unicodeScalars.contains(where: \.isLetterOrDigit)
        && part.unicodeScalars.allSatisfy { $0.isLetterOrDigit || "-_.".unicodeScalars.contains($0) }
    }
    guard text.hasPrefix("/"), text.utf8.count <= Allowed.nameLength, isPath else {
      return setting.fault("\(setting.shown), allowed a path of letters, digits, - _ .: /va")
    }
    return text
  }

  private func doorProtocols(_ setting: Setting) -> Set<String>? {
    guard let list = setting.list() else { return nil }
    let names = UploadEndpoints.names
    guard !list.isEmpty else { return setting.fault("empty, allowed one or more of \(names.joined(separator: ", "))") }
    return Set(
      list.compactMap { entry in
        guard let name = entry.text() else { return nil }
        return names.contains(name)
          ? name : entry.fault("\(entry.shown), allowed \(names.joined(separator: ", "))")
      })
  }

  private func certificates(_ setting: Setting) -> CertificateSettings? {
    guard let section = setting.section(labelledBy: "issuer") else { return nil }
    let text = "a line of text"
    let issuer = section.needed(
      "issuer", text, missing: "what the claim iss says", "The value of the claim `iss`.", line)
    let audience = section.needed(
      "audience", text, missing: "what the claim aud says", "The value of the claim `aud`.", line)
    var settings = CertificateSettings(issuer: issuer ?? "", audience: audience ?? "")
    settings.healthAuthorityID = section.optional(
      "health-authority", text, default: "anything",
      "The value of `healthAuthorityID` in a request, or of its `appPackageName`.", line)
    section.section("keys", default: "none", "Its public keys.") { section in
      section.any("a PEM file", "A P-256 key, under the `kid` of certificates.") { name, setting in
        settings.keys[name] = publicKey(setting)
      }
    }
    if let setting = section.optional("key-set", "a file, or an address: `https://…`", "Its public keys as a JWK set.")
    {
      keySet(setting, &settings)
    }
    settings.rootsPEM = section.roots("The certificates to trust instead of the system's when a set is fetched.") {
      pem($0, holding: "CERTIFICATE")
    }
    section.duration(
      "refresh", &settings.refreshSeconds, in: 60...86_400, "The time after which a set is fetched again.")
    if !section.states("keys"), !section.states("key-set") {
      document.add(section.place, "without a key; state keys: {KID: FILE}, or key-set: a JWK set")
    }
    section.finish()
    return issuer == nil || audience == nil ? nil : settings
  }

  /// A P-256 key as PEM; `nil` adds a fault.
  private func publicKey(_ setting: Setting) -> String? {
    guard let bytes = contents(setting, limit: Allowed.publicKeyBytes) else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    do throws(KeyFault) {
      return try P256PublicKey(text: text).pem
    } catch {
      return setting.fault(inFile(at: setting.place, "\(error)"))
    }
  }

  private func keySet(_ setting: Setting, _ settings: inout CertificateSettings) {
    if setting.text()?.contains("://") == true {
      settings.keySetAddress = address(setting)
    } else if let bytes = contents(setting, limit: Allowed.secretBytes) {
      let text = String(decoding: bytes, as: UTF8.self)
      guard CertificateSettings.isKeySet(text) else {
        return setting.add("the file is no JWK set with a key on P-256 that has a kid")
      }
      settings.keySet = text
    }
  }

  private func codes(_ section: Section) -> CodeServiceSettings? {
    let address = section.needed(
      "url", "an address: `https://verify.example.org/api/code`", "Its address.", self.address)
    var settings = CodeServiceSettings(address: address ?? "")
    settings.token = section.secret("token", "The bearer token that Keyferry presents to it.") { secret($0) }
    settings.rootsPEM = section.roots { pem($0, holding: "CERTIFICATE") }
    section.value(
      "member", &settings.member, "a line of text", "The member of a request that contains the code.", line)
    section.duration("time-out", &settings.timeoutSeconds, in: 1...10, "The time until it must have answered.")
    if let setting = section.optional(
      "rate", Self.rates, default: "`\(settings.callsPerMinute)/min`", as: .rate,
      "Calls a minute, of all phones together.")
    {
      // A service that fails must not be asked ever more.
      set(
        &settings.callsPerMinute,
        setting.isWord("none") ? setting.fault("none, allowed a rate: 600/min") : rate(setting))
    }
    return address == nil ? nil : settings
  }

  private func dp3t(_ section: Section) -> DP3TUploadSettings? {
    let setting = section.needed(
      "keys", "a list of PEM files", as: .list(.text), "The public keys of the signer of diagnosis tokens.")
    let list = setting?.list()
    let keys = (list ?? []).compactMap(publicKey)
    if list?.isEmpty == true { setting?.add("empty, allowed one key or more") }
    let nextDayKey = section.neededSecret(
      "next-day-key", "The P-256 key that signs the token for the key of the next day.", signingKeyPEM)
    var settings = DP3TUploadSettings(keys: keys, nextDayKey: nextDayKey ?? Secret(""))
    section.duration(
      "validity", &settings.validitySeconds, in: 60...604_800, "For how long a token may be valid at most.")
    return keys.isEmpty || nextDayKey == nil ? nil : settings
  }

  private func revisionKey(_ setting: Setting) -> Secret? {
    guard let secret = secret(setting) else { return nil }
    guard Allowed.revisionKeyLength.contains(secret.disclosed.utf8.count) else {
      return setting.fault(
        "at least \(Allowed.revisionKeyLength.lowerBound) characters; openssl rand -hex 32 makes one")
    }
    return secret
  }
}
