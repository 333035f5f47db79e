import BundleTrust
import ExposureKeys
import GatewayTesting
import KeyPeers
import Testing

@Suite struct PeerCatalogTests {
  private static let now = Instant(secondsSince1970: 1_606_989_600)

  private static var covidGreen: SourceSettings {
    var settings = source(.covidGreen)
    settings.secrets["refresh-token"] = Secret("a-refresh-token")
    return settings
  }

  /// The least that each protocol must be told.
  static func enough(for peer: PeerProtocol) -> SourceSettings {
    switch peer {
    case .index: source(peer, ["index": "index.txt"])
    case .list: source(peer, ["preset": "japan"])
    case .calendar: source(peer, ["preset": "england-and-wales"])
    case .coronaWarnApp: source(peer, ["country": "DE"])
    case .dp3t: source(peer, ["version": "v2"])
    case .files: source(peer, location: "/var/spool/keys")
    case .covidGreen: covidGreen
    case .coronaMelder: source(peer, ["ca": TestCertificate.anchor.pem])
    default: source(peer)
    }
  }

  @Test(arguments: PeerProtocol.allCases)
  func requiredOptionsAreEnough(peer: PeerProtocol) throws {
    let settings = Self.enough(for: peer)
    #expect(PeerCatalog.faults(of: settings) == [])
    _ = try PeerCatalog.machine(for: settings, cursor: nil, now: Self.now)
    let description = peer.description
    #expect(PeerProtocol(rawValue: description.name) == peer)
    #expect(
      Set(description.options.filter(\.isRequired).map(\.name))
        == Set(settings.options.keys).union(settings.secrets.keys))
  }

  @Test(arguments: PeerProtocol.allCases)
  func unknownAndMissingOptionsAreAllNamed(peer: PeerProtocol) {
    let faults = PeerCatalog.faults(of: source(peer, ["colour": "red", "size": "7"]))
    let required = peer.description.options.filter(\.isRequired).map(\.name)
    #expect(faults.count == 2 + required.count)
    for name in ["colour", "size"] + required {
      #expect(faults.contains { $0.hasPrefix("options.\(name): ") }, "\(name)")
    }
    #expect(throws: PeerSettingsFault.self) {
      try PeerCatalog.machine(for: source(peer, ["colour": "red"]), cursor: nil, now: Self.now)
    }
  }

  @Test(arguments: [
    (PeerProtocol.coronaWarnApp, "country", "de"), (.coronaWarnApp, "country", "DE/../x"), (.dp3t, "version", "v3"),
    (.dp3t, "days", "0"), (.dp3t, "days", "22"), (.dp3t, "days", "-1"), (.dp3t, "key", "AAAA"),
    (.efgs, "format", "xml"), (.efgs, "origins", "verified"), (.sampleApp, "maximumCount", "many"),
    (.index, "index", "a b"), (.index, "index", ""), (.index, "suffix", " "), (.immuni, "country", "ITALY"),
    (.dp3t, "withFederationGateway", "yes"), (.list, "preset", "atlantis"), (.list, "items", "batches[]."),
    (.calendar, "preset", "wales"), (.calendar, "days", "15"), (.calendar, "today", "true"), (.calendar, "keys", "own"),
    (.list, "items", "[].a b"), (.list, "items", "[],"), (.list, "since", "=0"), (.list, "since", "a&b"),
  ])
  func wrongValuesAreFaults(peer: PeerProtocol, option: String, value: String) {
    var settings = Self.enough(for: peer)
    settings.options[option] = value
    let faults = PeerCatalog.faults(of: settings)
    #expect(faults.count == 1)
    #expect(faults.first?.hasPrefix("options.\(option): ") == true)
  }

  @Test func aFaultSaysWhatIsAllowed() {
    #expect(
      PeerCatalog.faults(of: source(.dp3t, ["version": "v3", "dys": "4"])) == [
        "options.dys: unknown to protocol dp3t, which knows version, key, days, withFederationGateway",
        #"options.version: "v3", allowed v1, v2"#,
      ])
    #expect(
      PeerCatalog.faults(of: source(.files, location: "/", ["x": "1"])) == [
        "options.x: unknown to protocol files, which has no options"
      ])
  }

  @Test func aListOfOnesOwnNeedsWhatAPresetStates() {
    #expect(
      PeerCatalog.faults(of: source(.list, ["preset": "own", "since": "after"])) == [
        "options.list: missing; preset own needs it", "options.items: missing; preset own needs it",
      ])
    #expect(PeerCatalog.faults(of: source(.list, ["preset": "own", "list": "x.json", "items": "[]"])) == [])
  }

  @Test func canadaNeedsAKeyInHexadecimal() {
    var settings = source(.calendar, ["preset": "canada"])
    #expect(PeerCatalog.faults(of: settings).count == 1)
    settings.secrets["hmac-key"] = Secret("not-hexadecimal-not-hexadecimal-not-hexadecimal-not-hexadecimal-")
    #expect(
      PeerCatalog.faults(of: settings) == ["options.hmac-key: the secret must be 64 or more hexadecimal digits"])
    settings.secrets["hmac-key"] = Secret(String(repeating: "0a", count: 32))
    #expect(PeerCatalog.faults(of: settings) == [])
  }

  @Test(arguments: [
    ("england-and-wales", ["daily/2020120301", "daily/2020120302", "hourly/2020120300", "two-hourly/2020120323"]),
    ("canada", ["302/1859", "302/00000", "303/18599", "302/18599/x"]),
    ("denmark", ["2020-12-01_0_all", "2020-12-01_01_all", "2020-12-01_1_dk", "2020-12-01_501_all", "2020-12-01:0"]),
  ])
  func namesOfOtherLayoutsAreNone(preset: String, names: [String]) throws {
    var settings = source(.calendar, ["preset": preset])
    if preset == "canada" { settings.secrets["hmac-key"] = Secret(String(repeating: "0a", count: 32)) }
    let machine = try PeerCatalog.machine(for: settings, cursor: nil, now: Self.now)
    for name in names { #expect(machine.document(named: name) == nil, "\(name)") }
  }

  @Test func aKeyIsReadFromPEM() {
    let key = SigningKey.generate().publicKey
    for text in [key.pem, key.base64] {
      #expect(PeerCatalog.faults(of: source(.dp3t, ["version": "v2", "key": text])) == [])
    }
  }

  @Test func theConfigurationSaysWhoVouchesForOrigins() {
    #expect(PeerProtocol.efgs.description.caution?.contains("trust: origins") == true)
    #expect(PeerProtocol.efgs.description.trusts.first == .origins)
  }

  /// A source whose protocol was changed has another protocol's cursor: it begins anew.
  @Test(arguments: PeerProtocol.allCases)
  func aCursorOfAnotherProtocolIsAsGoodAsNone(peer: PeerProtocol) throws {
    let settings = Self.enough(for: peer)
    var fresh = try PeerCatalog.machine(for: settings, cursor: nil, now: Self.now)
    let first = fresh.next()
    for cursor in [
      "", "…", "[]", "{}", "-1", #"{"date":"x","batchTag":""}"#, #"{"all":-5}"#, String(repeating: "9", count: 40),
    ] {
      var machine = try PeerCatalog.machine(for: settings, cursor: cursor, now: Self.now)
      #expect(machine.next() == first, "\(cursor)")
    }
  }

  /// What was put aside can be asked for by its name alone, the same way as the first time.
  @Test(arguments: [
    (PeerProtocol.index, "a/1.zip"), (.index, "https://cdn.example.net/5.zip?v=2"),
    (.calendar, "daily/2020120300"),
    (.coronaMelder, "6f1c1f6e-30a4-4d0e-9c05-7b1b3f1a8a11"), (.calendar, "two-hourly/2020120322"),
    (.list, "c19r/440/17.zip"),
    (.list, "https://cdn.example.net/5.zip"), (.coronaWarnApp, "DE/2020-12-01"),
    (.coronaWarnApp, "DE/2020-12-01/13"), (.dp3t, "all@1606982400000"), (.immuni, "17"),
    (.efgs, "2020-12-01/20201201-3"),
    (.sampleApp, "120+17"), (.files, "keys.zip@4711-1606816800.250000000"),
  ])
  func aNameIsEnoughToAskOnceMore(peer: PeerProtocol, name: String) throws {
    let machine = try PeerCatalog.machine(for: Self.enough(for: peer), cursor: nil, now: Self.now)
    let document = try #require(machine.document(named: name))
    #expect(document.name == name)
    #expect(!document.request.url.isEmpty)
    #expect(document.response == nil)
  }

  @Test(arguments: PeerProtocol.allCases)
  func aNameOfAnotherProtocolIsNone(peer: PeerProtocol) throws {
    let machine = try PeerCatalog.machine(for: Self.enough(for: peer), cursor: nil, now: Self.now)
    for name in ["", "…", "/", "@", "+", "FR/2020-12-01/1/1", "-1", "2020-13-01/x"] where peer != .index || name.isEmpty
    {
      #expect(machine.document(named: name) == nil, "\(name)")
    }
  }
}
