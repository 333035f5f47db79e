internal import BundleTrust
internal import GatewayServer
internal import PolicyFiles

/// What opens the doors for uploads.
extension GatewayReader {
  /// `nil` adds a fault.
  func uploadSettings(_ section: Section) -> UploadSettings? {
    let others = ["clients", "certificates", "codes", "dp3t"]
    let setting =
      others.contains { section.states($0) } ? section.take("token") : section.need("token", Self.secretForm)
    var settings = UploadSettings(token: setting.flatMap(uploadToken) ?? Secret(""))
    section.section("clients") { section in
      section.readAll { name, setting in
        if let token = uploadToken(setting) { settings.clients[name] = token }
      }
    }
    section.read("certificates") { setting in
      settings.certificates = (setting.list() ?? []).compactMap(certificates)
    }
    section.section("codes") { settings.codes = codes($0) }
    section.section("dp3t") { settings.dp3t = dp3t($0) }
    settings.revisionKey = section.take("revision-key").flatMap(revisionKey)
    section.read("ignored-members") { setting in
      settings.ignoredMembers = Set((setting.list() ?? []).compactMap { $0.text() })
    }
    // Who waits for a service is answered after the time that this may take, like everybody else.
    if let codes = settings.codes { settings.answerSeconds = Double(codes.timeoutSeconds + 1) }
    section.read("answer-after") { setting in
      guard let seconds = setting.duration(Allowed.answerSeconds) else { return }
      settings.answerSeconds = Double(seconds)
      if let codes = settings.codes, seconds <= codes.timeoutSeconds {
        setting.add(
          "\(TimeSpan.text(seconds)), allowed more than codes.time-out, \(TimeSpan.text(codes.timeoutSeconds)): "
            + "otherwise the time of an answer tells real uploads")
      }
    }
    section.read("rate") { settings.requestsPerMinute = rate($0) }
    set(&settings.path, section.take("path").flatMap(doorPath))
    section.read("protocols") { settings.protocols = doorProtocols($0) }
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

  func seriesNames(_ setting: Setting) -> [Setting]? { setting.list() }

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
    let names = UploadDoors.names
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
    let issuer = section.need("issuer", "what the claim iss says").flatMap(line)
    let audience = section.need("audience", "what the claim aud says").flatMap(line)
    var settings = CertificateSettings(issuer: issuer ?? "", audience: audience ?? "")
    settings.healthAuthorityID = section.take("health-authority").flatMap(line)
    section.section("keys") { section in
      section.readAll { name, setting in settings.keys[name] = publicKey(setting) }
    }
    section.read("key-set") { keySet($0, &settings) }
    settings.rootsPEM = section.take("roots").flatMap { pem($0, holding: "CERTIFICATE") }
    set(&settings.refreshSeconds, section.take("refresh")?.duration(Allowed.keySetRefreshSeconds))
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
    let address = section.need("url", "an address: https://verify.example.org/api/code").flatMap(self.address)
    var settings = CodeServiceSettings(address: address ?? "")
    settings.token = section.take("token").flatMap { secret($0) }
    settings.rootsPEM = section.take("roots").flatMap { pem($0, holding: "CERTIFICATE") }
    set(&settings.member, section.take("member").flatMap(line))
    set(&settings.timeoutSeconds, section.take("time-out")?.duration(Allowed.codeTimeoutSeconds))
    section.read("rate") { setting in
      // A service that fails must not be asked ever more.
      if setting.isWord("none") { return setting.add("none, allowed a rate: 600/min") }
      set(&settings.callsPerMinute, rate(setting))
    }
    return address == nil ? nil : settings
  }

  private func dp3t(_ section: Section) -> DP3TUploadSettings? {
    let setting = section.need("keys", "a list of PEM files")
    let list = setting?.list()
    let keys = (list ?? []).compactMap(publicKey)
    if list?.isEmpty == true { setting?.add("empty, allowed one key or more") }
    let nextDay = section.need("next-day-key", Self.secretForm)
    let nextDayKey = nextDay.flatMap { setting in
      secret(setting).flatMap { pem in signingKey(pem, setting).map { _ in pem } }
    }
    var settings = DP3TUploadSettings(keys: keys, nextDayKey: nextDayKey ?? Secret(""))
    set(&settings.validitySeconds, section.take("validity")?.duration(Allowed.dp3tValiditySeconds))
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
