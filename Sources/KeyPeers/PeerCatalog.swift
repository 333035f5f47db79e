internal import BundleTrust
package import ExposureKeys

/// The protocols that sources can speak. A new one is one line here, and its file.
package enum PeerCatalog {
  /// In the order in which help lists them.
  package static let peers: [PeerProtocol] = [
    .index,
    .list,
    .calendar,
    .covidGreen,
    .coronaMelder,
    .coronaWarnApp,
    .dp3t,
    .immuni,
    .efgs,
    .sampleApp,
    .files,
  ]

  /// What is wrong with a source's options: unknown ones, missing ones, values that are not allowed. Empty is good.
  package static func faults(of settings: SourceSettings) -> [String] {
    let description = settings.peer.description
    var faults: [String] = []
    for (name, value) in settings.options.sorted(by: { $0.key < $1.key }) {
      guard let option = description.options.first(where: { $0.name == name }) else {
        faults.append("options.\(name): unknown to protocol \(settings.peer.rawValue), \(description.knownOptions)")
        continue
      }
      guard !option.isSecret else {
        faults.append("options.\(name): a secret is never written here, allowed {file: PATH} or {env: NAME}")
        continue
      }
      if let fault = option.values.fault(of: value) { faults.append("options.\(name): \(fault)") }
    }
    for (name, secret) in settings.secrets.sorted(by: { $0.key < $1.key }) {
      guard description.isSecret(name) else {
        faults.append("options.\(name): no secret of protocol \(settings.peer.rawValue), \(description.knownOptions)")
        continue
      }
      if let fault = PeerOption.Values.secret.fault(of: secret.disclosed) { faults.append("options.\(name): \(fault)") }
    }
    for option in description.options
    where option.isRequired && settings.options[option.name] == nil && settings.secrets[option.name] == nil {
      faults.append("options.\(option.name): missing; protocol \(settings.peer.rawValue) needs it: \(option.meaning)")
    }
    return faults + description.faults(settings)
  }

  /// The conversation with a source.
  ///
  /// - Parameters:
  ///   - cursor: where it stands, as the machine of the last run said; one that is none of this protocol's is as good
  ///     as none, and what is recorded already is skipped by its name.
  ///   - now: decides which days are asked for.
  /// - Throws: ``PeerSettingsFault`` with everything that ``faults(of:)`` finds.
  package static func machine(
    for settings: SourceSettings, cursor: String?, now: Instant
  ) throws(PeerSettingsFault) -> any PeerSync {
    let faults = faults(of: settings)
    guard faults.isEmpty else { throw PeerSettingsFault(source: settings.name, faults: faults) }
    return settings.peer.description.makeMachine(settings, cursor, now)
  }
}

/// A protocol, in words and as a machine.
package struct PeerDescription: Sendable {
  /// How bytes come from such a peer.
  package enum Way: Sendable {
    /// By HTTP, from the address that is the source's location.
    case web
    /// From the folder that is the source's location.
    case folder
  }

  /// As `gateway.yaml` spells it: small letters and hyphens.
  package let name: String
  /// One line.
  package let summary: String
  package let options: [PeerOption]
  package let way: Way
  /// Whether such a peer lets nobody in without a client certificate.
  package let asksForCertificate: Bool
  /// Who can stand behind what comes from such a peer, the safest first.
  package let trusts: [Trust.Kind]
  /// What the operator should know before relying on the source; shown with the configuration check.
  package let caution: String?
  /// Expects settings without faults.
  /// Whether the clock says where the first pull begins, and the cursor goes on from there: what lies between is not asked for
  /// where the clock was wrong then.
  package let beginsByClock: Bool
  /// Whether its files can be published as they are, in a series of their own.
  package let canMirror: Bool
  let makeMachine: @Sendable (SourceSettings, String?, Instant) -> any PeerSync
  /// What proves such a source, by its options, and how its servers behaved; shown when it is tried.
  package let note: @Sendable (SourceSettings) -> String?
  /// What is wrong with options that are right one by one.
  let faults: @Sendable (SourceSettings) -> [String]

  /// Whether such a peer is a federation gateway, which passes on what each origin has signed.
  package var isGateway: Bool { trusts.contains(.origins) }
  package var isFolder: Bool { way == .folder }

  init(
    _ name: String, summary: String, way: Way = .web, options: [PeerOption] = [], asksForCertificate: Bool = false,
    trusts: [Trust.Kind], caution: String? = nil, beginsByClock: Bool = false, canMirror: Bool = false,
    note: @escaping @Sendable (SourceSettings) -> String? = { _ in nil },
    faults: @escaping @Sendable (SourceSettings) -> [String] = { _ in [] },
    makeMachine: @escaping @Sendable (SourceSettings, String?, Instant) -> any PeerSync
  ) {
    self.name = name
    self.summary = summary
    self.options = options
    self.way = way
    self.asksForCertificate = asksForCertificate
    self.trusts = trusts
    self.caution = caution
    self.beginsByClock = beginsByClock
    self.canMirror = canMirror
    self.note = note
    self.faults = faults
    self.makeMachine = makeMachine
  }

  /// Whether the operator says this option by a file or the environment alone.
  package func isSecret(_ option: String) -> Bool { options.contains { $0.name == option && $0.isSecret } }

  var knownOptions: String {
    guard !options.isEmpty else { return "which has no options" }
    return "which knows \(options.map(\.name).joined(separator: ", "))"
  }
}

/// What a protocol must be told beside the location of the source.
package struct PeerOption: Sendable {
  package let name: String
  /// One line, for the manual and for faults.
  package let meaning: String
  package let isRequired: Bool
  package let values: Values

  package var isSecret: Bool {
    guard case .secret = values else { return false }
    return true
  }

  package var isPublicKey: Bool {
    guard case .publicKey = values else { return false }
    return true
  }

  package var isCertificate: Bool {
    guard case .certificate = values else { return false }
    return true
  }

  init(_ name: String, _ values: Values, isRequired: Bool = false, _ meaning: String) {
    self.name = name
    self.meaning = meaning
    self.isRequired = isRequired
    self.values = values
  }

  package enum Values: Sendable {
    /// `true` or `false`.
    case flag
    case number(ClosedRange<Int64>)
    case choice([String])
    /// A country code of two or three capital letters.
    case country
    /// Visible ASCII, at most 2,048 characters.
    case address
    /// Where the items of a JSON document are: `batches[]`, `[].url`, several with commas between them.
    case selectors
    /// A query parameter, or `NAME=START`.
    case parameter
    /// The end of a file's name; empty is any.
    case ending
    /// A P-256 public key: PEM, or base64 of its SubjectPublicKeyInfo.
    case publicKey
    /// An X.509 certificate in PEM.
    case certificate
    /// What nobody may see: 8 to 1,024 characters of visible ASCII. A machine says where it belongs, and never has it:
    /// ``SourceSettings/secrets``.
    case secret

    /// What is wrong with a value, and what is allowed; `nil` is nothing.
    func fault(of value: String) -> String? {
      switch self {
      case .publicKey: publicKeyFault(of: value)
      case .certificate: certificateFault(of: value)
      case .secret: isAllowed(value) ? nil : "what the secret is, is not allowed; allowed \(allowed)"
      default: isAllowed(value) ? nil : "\(peerText(value)), allowed \(allowed)"
      }
    }

    private func isAllowed(_ value: String) -> Bool {
      switch self {
      case .flag: ["true", "false"].contains(value)
      case .number(let range): decimalNumber(value).map { range.contains($0) } ?? false
      case .choice(let choices): choices.contains(value)
      case .country: (2...3).contains(value.utf8.count) && value.utf8.allSatisfy { (0x41...0x5A).contains($0) }
      case .address: (1...2048).contains(value.utf8.count) && value.utf8.allSatisfy { (0x21...0x7E).contains($0) }
      case .selectors: value.utf8.count <= 1024 && ItemSelector.all(in: value) != nil
      case .parameter:
        (1...64).contains(value.utf8.count) && value.first != "="
          && value.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"&#?%{}".utf8.contains($0) }
      case .ending: value.utf8.count <= 32 && value.utf8.allSatisfy { (0x21...0x7E).contains($0) }
      case .publicKey: publicKeyFault(of: value) == nil
      case .certificate: certificateFault(of: value) == nil
      case .secret: (8...1024).contains(value.utf8.count) && value.utf8.allSatisfy { (0x21...0x7E).contains($0) }
      }
    }

    /// In words, for faults and for the manual.
    package var allowed: String {
      switch self {
      case .flag: "true or false"
      case .number(let range): "\(range.lowerBound)...\(range.upperBound)"
      case .choice(let choices): choices.joined(separator: ", ")
      case .country: "two or three capital letters, such as DE"
      case .address: "an address or a path in visible ASCII, at most 2048 characters"
      case .selectors: "places of items in JSON, such as batches[] or [].url, with commas between them"
      case .parameter: "the name of a query parameter, or NAME=START such as previous=0, at most 64 characters"
      case .ending: "an ending such as .zip, at most 32 characters"
      case .publicKey: "a P-256 public key in PEM, or base64 of its SubjectPublicKeyInfo"
      case .certificate: "one X.509 certificate in PEM"
      case .secret: "8 to 1024 characters of visible ASCII"
      }
    }

    private func certificateFault(of value: String) -> String? {
      do throws(FederationFault) {
        _ = try SealRoot(pem: value)
        return nil
      } catch {
        return error.description
      }
    }

    private func publicKeyFault(of value: String) -> String? {
      do throws(KeyFault) {
        _ = try P256PublicKey(text: value)
        return nil
      } catch {
        return error.description
      }
    }
  }
}

extension SourceSettings {
  func flag(_ option: String) -> Bool? { options[option].map { $0 == "true" } }
  func number(_ option: String) -> Int64? { options[option].flatMap { decimalNumber($0) } }
}

/// A source whose options are no good; all faults at once.
package struct PeerSettingsFault: ProgramFault, Hashable, Sendable {
  package var source: String
  package var faults: [String]

  package var description: String { faults.map { "source \(source): \($0)" }.joined(separator: "\n") }
}
