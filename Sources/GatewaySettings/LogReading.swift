internal import BundleTrust
internal import GatewayServer
internal import KeyIntake
internal import KeyPublishing
internal import KeyReceiving
internal import PolicyFiles
internal import TransparencyLog

/// The log of what is published, and where its settings stand.
struct StatedLog {
  var section: Section
  /// `nil` where they are at fault.
  var settings: EvidenceSettings?
}

extension GatewayReader {
  /// - Parameter state: the gateway's own state, in which that of the log lies unless it is said.
  func log(_ section: Section, state: String?) -> StatedLog {
    let name = section.needed(
      "name", "a name without spaces and `+`: `keys.example.org/log`",
      missing: "where the log is served, without https://: keys.example.org/log",
      "Its name and that of its key: where it is served, without `https://`. It never changes.", logName)
    let folder =
      section.optional(
        "folder", "letters, digits, `-`, `_`", default: "`\(EvidenceSettings.usualFolder)`", as: .word,
        "The folder in `publication.folder`, or in the bucket, that readers of the log see."
      ).map { self.name($0, marks: "-_") } ?? EvidenceSettings.usualFolder
    let place =
      section.optional(
        "state", Section.path, default: "`log` in `state`",
        "The folder of its private keys and of its signed state, apart from `publication.folder`; `keyferry log init` makes it. Never restore it from a backup. With `store.postgresql` and a bucket it contains only the keys, the same on each replica."
      ).map(resolvedPath) ?? state.map { "\($0)/log" }
    let keys = logKeys(section, name: name)
    let witnesses =
      section.sections(
        "witnesses",
        "Witnesses that also sign each checkpoint (C2SP tlog-witness). One that does not answer delays nothing.",
        witness)
    var stated = StatedLog(section: section)
    if let name, let folder, let place {
      stated.settings = EvidenceSettings(name: name, folder: folder, state: place)
      stated.settings?.witnesses = witnesses
      stated.settings?.keys = keys
    }
    return stated
  }

  /// A key may be 14 days old when it comes, and then stands in bundles for as long as these are listed.
  func checkRetention(_ retention: Retention, of series: [StatedSeries], beside log: StatedLog) {
    guard let longest = series.map(\.settings).max(by: { $0.listedDays < $1.listedDays }) else { return }
    let needed = longest.listedDays + oldestKeyDays
    guard retention.keyDays < needed else { return }
    let most = Allowed.keyDays.upperBound
    let advice =
      needed <= most ? "write retention: {keys: \(needed) days}" : "list it for at most \(most - oldestKeyDays) days"
    document.add(
      log.section.place,
      "series \(longest.name) is listed for \(counted(Int(longest.listedDays), "day")), and retention.keys keeps keys for "
        + "\(counted(Int(retention.keyDays), "day")): keyferry audit rebuild could not make its oldest bundles again; "
        + advice, isWarning: true)
  }

  /// What phones keep and upload.
  private var oldestKeyDays: Int64 { 14 }

  /// The private keys, where they are secrets like others and no files of the log's state.
  private func logKeys(_ section: Section, name: String?) -> LogKeys {
    let key = section.secret(
      "key", default: "`log.key` in `log.state`",
      "The log's private key, `PRIVATE+KEY+…` as `log init` makes it, if it is a secret like others: replicas need no folder for it."
    )
    let attestations = section.secret(
      "attestation-key", default: "`attest.key` in `log.state`",
      "The private key of attestations, PEM, likewise. State both keys or none.")
    guard key != nil || attestations != nil else { return LogKeys() }
    guard let key, let attestations else {
      let missing = key == nil ? "key" : "attestation-key"
      document.add(section.place, "\(missing) is missing: who names one of the log's private keys names both")
      return LogKeys()
    }
    var keys = LogKeys(log: .unread, attestations: .unread)
    let (logSecret, attestationSecret) = (secret(key), secret(attestations))
    guard readsSecrets else { return keys }
    if let secret = logSecret {
      do {
        let signer = try NoteSigner(secret.disclosed)
        if signer.verifier.kind != .log {
          key.add("the key of a witness (type 4), allowed is that of a log (type 1)")
        } else if let name, signer.verifier.name != name {
          key.add("the key is of the log \(signer.verifier.name), and log.name is \(name)")
        } else {
          keys.log = .given(signer)
        }
      } catch {
        key.add("\(error)")
      }
    }
    if let secret = attestationSecret {
      do {
        keys.attestations = .given(try AttestationSigner(pem: secret.disclosed, name: "the secret"))
      } catch {
        attestations.add("\(error)")
      }
    }
    return keys
  }

  private func witness(_ setting: Setting) -> WitnessSettings? {
    guard let section = setting.section() else { return nil }
    let key = section.needed(
      "key", "`NAME+HEX+BASE64`, of type 4", missing: "the key of a witness: NAME+HEX+BASE64", "Its public key.",
      witnessKey)
    let address = section.needed(
      "url", "`https://…` or `http://…`", missing: "https://witness.example.org",
      "The address before `/add-checkpoint`.", address)
    section.finish()
    guard let key, let address else { return nil }
    return WitnessSettings(key: key, address: address.hasSuffix("/") ? String(address.dropLast()) : address)
  }

  private func witnessKey(_ setting: Setting) -> NoteVerifier? {
    guard let text = setting.text() else { return nil }
    do {
      let key = try NoteVerifier(text)
      guard key.kind == .witness else {
        return setting.fault("the key of a log (type 1), allowed is that of a witness (type 4)")
      }
      return key
    } catch {
      return setting.fault("\(error)")
    }
  }

  private func logName(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    guard KeyName.isValid(text), !text.contains("://"), !text.hasSuffix("/") else {
      return setting.fault(
        "\(setting.shown), allowed 1...\(KeyName.byteLimit) bytes without spaces and +, https:// and a slash at the end: "
          + "keys.example.org/log")
    }
    return text
  }

  // MARK: What must hold between settings

  func check(
    _ log: StatedLog, state: String?, _ published: StatedPublication, names: [String], server: ServerSettings?
  ) {
    let section = log.section
    guard let publication = published.folder else {
      return document.add(section.place, "there is nothing to log, publication.folder is missing")
    }
    guard let settings = log.settings else { return }
    if let name = names.first(where: { $0.lowercased() == settings.folder.lowercased() }) {
      document.add(
        section.place(of: "folder"), "\(settings.folder), allowed a folder that is no series: \(name) is one")
    }
    if overlap(settings.state, publication) {
      document.add(
        section.place(of: "state"),
        "\(settings.state), allowed a folder apart from publication.folder, \(publication): the private key would be seen"
      )
    }
    if settings.state == state {
      document.add(section.place(of: "state"), "\(settings.state), allowed a folder of its own: \(settings.state)/log")
    }
    guard let url = server?.publicURL else { return }
    // Behind the scheme.
    let host = url.drop { $0 != "/" }.drop { $0 == "/" }
    let served = "\(host.hasSuffix("/") ? host.dropLast() : host)/\(settings.folder)"
    if served != settings.name {
      document.add(
        section.place(of: "name"),
        "\(settings.name), and the log is served at \(served): others look for a log under its name; where it is new, write "
          + "\(served)", isWarning: true)
    }
  }
}
