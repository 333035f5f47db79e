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

private enum Rollup: String, CaseIterable {
  case day, since
  case keyDay = "key-day"
}

extension GatewayReader {
  /// `nil` adds a fault.
  func series(_ setting: Setting) -> SeriesEntry? {
    guard let section = setting.section(labelledBy: "name") else { return nil }
    let name = section.needed(
      "name", "letters, digits, hyphens", as: .word, "Its name and its folder. It must be unique, regardless of case."
    ) { self.name($0, marks: "-") }
    let title = section.optional(
      "title", "a line of text", default: "the name", as: .word, "Its name for people.", line)
    let source = section.optional(
      "mirror", "a source with `protocol: index` and keys as `trust`",
      "The source whose archives this series shows byte for byte, as signed and named by their origin. Such a series has only `name`, `title`, `every` and `grace` besides."
    )
    var settings = SeriesSettings(
      name: name ?? "", title: title, selection: RegionSelection(), publishing: defaultPolicy, identities: [])
    let allowed: ClosedRange<Int64> = 60...86_400
    let period = section.optional(
      "every", allowed.durations, default: TimeSpan.text(settings.period), as: .duration,
      "The length of a window. It divides a day."
    ) { self.period($0, allowed) }
    let grace = section.duration(
      "grace", default: TimeSpan.text(settings.graceSeconds), in: 0...2_592_000,
      "How long a file stays after the last index that named it.")
    guard let source else {
      set(&settings.period, period)
      set(&settings.graceSeconds, grace)
      let (identities, statedKeys) = own(section, &settings)
      section.finish()
      guard name != nil else { return nil }
      return .series(
        StatedSeries(settings: settings, identities: identities, statedKeys: statedKeys, section: section))
    }
    section.finish()
    guard let name else { return nil }
    return .mirror(
      StatedMirror(name: name, title: title, source: source, period: period, graceSeconds: grace, section: section))
  }

  /// What a series has that is no mirror.
  ///
  /// - Returns: the keys that could be read, and how many the file lists.
  private func own(_ section: Section, _ settings: inout SeriesSettings) -> ([StatedIdentity], Int?) {
    settings.selection.include = section.codes(
      "include", default: "all keys",
      "Keys for any of these regions: they name it, or it is their origin. By the default policy, keys that name no region are for all.",
      codes)
    settings.selection.exclude =
      section.codes("exclude", "Not keys for these, unless they are for an included one as well.", codes) ?? []
    settings.selection.origins = section.codes(
      "origins", default: "any", "Only keys of these origins, whatever regions they are for.", codes)
    section.flag("travellers-only", &settings.selection.travellersOnly, "Only keys for more than one region.")
    let policy = section.policy("publishing", "The policy by which keys are published.")
    set(&settings.publishing, policy.flatMap(self.policy))
    settings.policyDigest = policyDigest(policy)
    let keys = section.needed(
      "sign", "a list, at least one", missing: "a list of signing keys",
      default: "*must be stated*, except with `mirror`",
      as: .list(.section), "The keys that sign, each in its time. Of several, the one that began last signs."
    )?.list()
    let identities = (keys ?? []).compactMap(identity)
    settings.identities = identities.map(\.scheduled)
    settings.headerRegion = section.optional(
      "region", "a line of text", as: .word,
      "The region in the header of a bundle. By convention it is the mobile country code.", line)
    section.section("minimum", "How small windows are treated.") { section in
      section.number(
        "keys", &settings.minimumKeys, in: 0...100_000, "Keys go out when there are this many, padding included.")
      section.choice(
        "too-few", &settings.pads, "pad", "wait", "Whether fewer keys are padded, or wait for the next window.")
    }
    section.choice(
      "empty-windows", &settings.publishesEmptyWindows, "publish", "skip",
      "Whether a window without keys gives a signed bundle without keys, or none.")
    section.section("split", "When a window is split into several bundles.") { section in
      // What devices take in one bundle.
      section.number(
        "keys", &settings.maximumKeys, in: 1...750_000,
        "No bundle of a window has more keys. A rollup stays one archive.")
      section.bytes("bytes", &settings.maximumBytes, in: 1024...16 << 20, "No archive of a window is larger.")
      section.number(
        "window", &settings.mostKeys, in: 1000...100_000_000,
        "New keys of one window, and likewise revised ones. Others wait for the next. It limits the temporary files of publishing."
      )
    }
    let rollups = Rollup.allCases.map(\.rawValue)
    if let setting = section.optional(
      "rollups", "a list of \(rollups.ticked)", default: "`[day]`", as: .list(.words(rollups)),
      "Bundles made besides those of the windows.")
    {
      let rollups = Set((setting.list() ?? []).compactMap { $0.option(Rollup.self) })
      settings.makesDays = rollups.contains(.day)
      settings.makesSince = rollups.contains(.since)
      settings.makesKeyDays = rollups.contains(.keyDay)
    }
    section.value(
      "names", &settings.namePattern,
      "`{start}`, `{number}` and perhaps `{end}`, with letters, digits, `-`, `_` between",
      "The names of the windows' files, for apps that read names. The series' name is the folder.", names)
    section.value(
      "editions", &settings.editionsPerDay, "`none`, or a number that divides 24",
      as: .either(.words(["none"]), .number(1...24)),
      "How many archives a day, at most, apps made from Apple's sample receive. Each holds the publications of a day or a part of it, once that is over. With `none` these apps receive the windows.",
      editions)
    section.days("listed", &settings.listedDays, in: 1...60, "How long indexes name a bundle.")
    return (identities, keys?.count)
  }

  private func period(_ setting: Setting, _ allowed: ClosedRange<Int64>) -> Int64? {
    guard let seconds = setting.duration(allowed) else { return nil }
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
    guard let number = setting.number(1...24) else { return nil }
    return 24 % number == 0 ? number : setting.fault("\(number), allowed none, or what divides 24: 1, 2, 4")
  }

  private func identity(_ setting: Setting) -> StatedIdentity? {
    guard let section = setting.section() else { return nil }
    let key = identityKey(section)
    let marks = "letters, digits, `_`, `.`"
    let id = section.needed(
      "id", marks, missing: "the key's id as registered: 310", as: .word, "The key's id as registered."
    )?.text()
    let version = section.needed(
      "version", marks, missing: "the key's version as registered: v1", as: .word, "The key's version as registered."
    )?.text()
    let app = section.optional("app", "a bundle id", "The iOS app that trusts the key.") { $0.text() }
    let android = section.optional("android", "a package name", "The Android app that trusts the key.") { $0.text() }
    let from = section.optional(
      "from", "a time in UTC: `2020-06-01T00:00:00Z`", default: "no limit", "The first instant at which it signs.",
      instant)
    let until = section.optional(
      "until", "a time in UTC, after `from`", default: "no limit", "The first instant at which it no longer signs.",
      instant)
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
    let command = section.optional(
      "command", "a program's path, or a list of it and its arguments", as: .either(.text, .list(.word)),
      "A program that signs, if the key is elsewhere. It receives the 32 bytes of a SHA-256 on standard input, and writes an ECDSA signature in DER."
    )
    let key = section.neededSecret(
      "key", default: "*must be stated* without `command`", when: command == nil, "The P-256 private key, PEM.")
    let publicKeyFile = section.needed(
      "public-key", "a PEM file with the public key of what signs", default: "*must be stated* with `command`",
      when: command != nil && readsSecrets, "With `command`: the key that verifies every signature before it is used.")
    var signing = SigningCommand(words: [])
    let allowed: ClosedRange<Int64> = 1...60
    let limit = section.optional(
      "timeout", allowed.durations, default: TimeSpan.text(signing.limit), as: .duration,
      "With `command`: how long it may take. After that Keyferry ends it, and publishes nothing.")
    guard let command else {
      for setting in [publicKeyFile, limit] { setting?.add("goes with command alone") }
      return key.flatMap { setting in secret(setting).flatMap { signingKey($0, setting) } }
    }
    key?.add("allowed one of key and command")
    guard readsSecrets else { return .generate() }
    let words = signingWords(command)
    set(&signing.limit, limit?.duration(allowed))
    guard let publicKey = publicKeyFile.flatMap(publicKey), let words else { return nil }
    signing.words = words
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

  /// The text of a P-256 key; `nil` adds a fault.
  func signingKeyPEM(_ setting: Setting) -> Secret? {
    secret(setting).flatMap { pem in signingKey(pem, setting).map { _ in pem } }
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
