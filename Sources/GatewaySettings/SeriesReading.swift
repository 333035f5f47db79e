internal import BundleTrust
internal import ExposureKeys
internal import KeyIntake
internal import KeyNormalization
internal import KeyPublishing
internal import PolicyFiles

/// An entry under `series`.
enum SeriesEntry {
  case series(StatedSeries)
  case mirror(StatedMirror)
}

/// A mirror, before it is known what its source says.
struct StatedMirror {
  var name: String
  var title: String?
  var source: Setting
  var period: Int64?
  var graceSeconds: Int64?
  var section: Section
}

/// A series, and where its settings stand.
struct StatedSeries {
  var settings: SeriesSettings
  /// Those that could be read.
  var identities: [StatedIdentity]
  /// How many the file lists; `nil` where it lists none.
  var statedKeys: Int?
  var section: Section
}

struct StatedIdentity {
  var scheduled: ScheduledIdentity
  var section: Section

  var identity: SigningIdentity { scheduled.identity }
  /// The names and the public half: what a phone knows.
  var fingerprint: String { identity.key.publicKey.fingerprint }
}

private enum TooFew: String, CaseIterable { case pad, wait }
private enum EmptyWindows: String, CaseIterable { case publish, skip }
private enum Rollup: String, CaseIterable {
  case day, since
  case keyDay = "key-day"
}

extension GatewayReader {
  /// `nil` adds a fault.
  func series(_ setting: Setting) -> SeriesEntry? {
    guard let section = setting.section(labelledBy: "name") else { return nil }
    guard let source = section.take("mirror") else { return series(section).map { .series($0) } }
    let mirror = StatedMirror(
      name: section.need("name", "letters, digits, hyphens").flatMap { self.name($0, marks: "-") } ?? "",
      title: section.take("title").flatMap(line), source: source, period: section.take("every").flatMap(period),
      graceSeconds: section.take("grace")?.duration(Allowed.graceSeconds), section: section)
    section.finish()
    return mirror.name.isEmpty ? nil : .mirror(mirror)
  }

  private func series(_ section: Section) -> StatedSeries? {
    let name = section.need("name", "letters, digits, hyphens").flatMap { self.name($0, marks: "-") }
    let title = section.take("title").flatMap(line)
    let selection = RegionSelection(
      include: section.take("include").flatMap(codes), exclude: section.take("exclude").flatMap(codes) ?? [],
      origins: section.take("origins").flatMap(codes),
      travellersOnly: section.take("travellers-only")?.flag() ?? false)
    let statedPolicy = section.take("publishing")
    let publishing = statedPolicy.flatMap(policy)
    let keys = section.need("sign", "a list of signing keys")?.list()
    let identities = (keys ?? []).compactMap(identity)
    var settings = SeriesSettings(
      name: name ?? "", title: title, selection: selection, publishing: publishing ?? defaultPolicy,
      headerRegion: section.take("region").flatMap(line), identities: identities.map(\.scheduled))
    settings.policyDigest = policyDigest(statedPolicy)
    section.read("every") { set(&settings.period, period($0)) }
    section.section("minimum") { section in
      set(&settings.minimumKeys, section.take("keys")?.number(Allowed.minimumKeys))
      settings.pads = section.take("too-few")?.option(TooFew.self) == .pad
    }
    settings.publishesEmptyWindows = section.take("empty-windows")?.option(EmptyWindows.self) == .publish
    section.section("split") { section in
      set(&settings.maximumKeys, section.take("keys")?.number(Allowed.splitKeys))
      set(&settings.maximumBytes, section.take("bytes")?.byteCount(Allowed.splitBytes))
      set(&settings.mostKeys, section.take("window")?.number(Allowed.windowKeys))
    }
    section.read("rollups") { setting in
      let rollups = Set((setting.list() ?? []).compactMap { $0.option(Rollup.self) })
      settings.makesDays = rollups.contains(.day)
      settings.makesSince = rollups.contains(.since)
      settings.makesKeyDays = rollups.contains(.keyDay)
    }
    section.read("names") { set(&settings.namePattern, names($0)) }
    section.read("editions") { set(&settings.editionsPerDay, editions($0)) }
    set(&settings.listedDays, section.take("listed")?.days(Allowed.listedDays))
    set(&settings.graceSeconds, section.take("grace")?.duration(Allowed.graceSeconds))
    section.finish()
    guard name != nil else { return nil }
    return StatedSeries(settings: settings, identities: identities, statedKeys: keys?.count, section: section)
  }

  private func period(_ setting: Setting) -> Int64? {
    guard let seconds = setting.duration(Allowed.period) else { return nil }
    guard 86_400 % seconds == 0 else {
      return setting.fault("\(TimeSpan.text(seconds)), allowed what divides a day: 30 min, 2 hours, 1 day")
    }
    return seconds
  }

  private func names(_ setting: Setting) -> NamePattern? {
    guard let text = setting.text() else { return nil }
    return NamePattern(text)
      ?? setting.fault(
        "\(setting.shown), allowed {start}, {number} and perhaps {end}, each once, with letters, digits, - or _ between, and .zip"
      )
  }

  private func editions(_ setting: Setting) -> Int? {
    if setting.isWord("none") { return 0 }
    guard let number = setting.number(Allowed.editions) else { return nil }
    return 24 % number == 0 ? number : setting.fault("\(number), allowed none, or what divides 24: 1, 2, 4")
  }

  private func identity(_ setting: Setting) -> StatedIdentity? {
    guard let section = setting.section() else { return nil }
    let key = identityKey(section)
    let id = section.need("id", "the key's id as registered: 310")?.text()
    let version = section.need("version", "the key's version as registered: v1")?.text()
    let app = section.take("app").flatMap { $0.text() }
    let android = section.take("android").flatMap { $0.text() }
    let from = section.take("from").flatMap(instant)
    let until = section.take("until").flatMap(instant)
    section.finish()
    if let from, let until, until <= from {
      document.add(section.place(of: "until"), "\(until), allowed a time after from, \(from)")
    }
    guard let key, let id, let version else { return nil }
    do throws(KeyFault) {
      let identity = try SigningIdentity(
        key: key, keyID: id, keyVersion: version, appBundleID: app, androidPackage: android)
      return StatedIdentity(
        scheduled: ScheduledIdentity(identity: identity, from: from, until: until), section: section)
    } catch {
      let names = ["key id": "id", "key version": "version", "app bundle id": "app", "Android package": "android"]
      document.add(names[error.place].map(section.place(of:)) ?? section.place, error.reason)
      return nil
    }
  }

  /// A key of this process, or one of a program that signs.
  private func identityKey(_ section: Section) -> SigningKey? {
    guard let command = section.take("command") else {
      let setting = section.need("key", Self.secretForm)
      for name in ["public-key", "timeout"] { section.take(name)?.add("goes with command alone") }
      return setting.flatMap { setting in secret(setting).flatMap { signingKey($0, setting) } }
    }
    if let key = section.take("key") { key.add("allowed one of key and command") }
    guard readsSecrets else {
      for name in ["public-key", "timeout"] { _ = section.take(name) }
      return .generate()
    }
    let words = signingWords(command)
    let limit = section.take("timeout")?.duration(Allowed.signingSeconds)
    let publicKey = section.need("public-key", "a PEM file with the public key of what signs").flatMap(publicKey)
    guard let words, let publicKey else { return nil }
    var signing = SigningCommand(words: words)
    set(&signing.limit, limit)
    return signing.key(publicKey)
  }

  /// The program as a path, and its arguments.
  private func signingWords(_ setting: Setting) -> [String]? {
    guard let settings = setting.isText ? [setting] : setting.list() else { return nil }
    guard let program = settings.first, let path = resolvedPath(program) else {
      return setting.fault("allowed a program's path, or a list of it and its arguments")
    }
    let arguments = settings.dropFirst().map { $0.text() }
    guard let permissions = files.permissions(of: path) else {
      return program.fault("\(program.shown): there is no such program")
    }
    guard permissions & 0o111 != 0 else { return program.fault("\(program.shown) is no program: chmod +x it") }
    if permissions & 0o002 != 0 {
      program.add("mode \(octal(permissions)): everyone on this machine may change it; chmod o-w it", isWarning: true)
    }
    guard !arguments.contains(where: { $0 == nil }) else { return nil }
    return [path] + arguments.compactMap(\.self)
  }

  private func publicKey(_ setting: Setting) -> P256PublicKey? {
    guard let bytes = contents(setting, limit: Allowed.publicKeyBytes) else { return nil }
    do throws(KeyFault) {
      return try P256PublicKey(text: String(decoding: bytes, as: UTF8.self))
    } catch {
      return setting.fault(inFile(at: setting.place, "\(error)"))
    }
  }

  /// A P-256 key; `nil` adds a fault at the setting.
  func signingKey(_ pem: Secret, _ setting: Setting) -> SigningKey? {
    guard readsSecrets else { return .generate() }
    do throws(KeyFault) {
      return try SigningKey(pem: pem.disclosed)
    } catch {
      return setting.fault(inFile(at: setting.place, "\(error)"))
    }
  }
}
