internal import ArgumentParser
internal import Containers
internal import ExposureKeys
internal import FileCommands
internal import GatewayDaemon
internal import GatewaySettings
internal import Glibc
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyPublishing
internal import KeyStorage
internal import PeerTransport
internal import TransparencyLog

/// The log that a command writes: the folder that others see, and the state that only its owner has. Or the log of a gateway.
struct LogWriting: ParsableArguments {
  @Argument(help: ArgumentHelp("The folder in which others see the log.", valueName: "folder"), completion: .directory)
  var folder: String?

  @Option(
    help: ArgumentHelp(
      "The folder of the private key and of what was signed; nobody else reads it.", valueName: "folder"),
    completion: .directory)
  var state: String?

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("The configuration of a gateway that has a log, instead of folders.", valueName: "file"),
    completion: .configuration)
  var config: String?

  func validate() throws {
    guard config == nil else {
      guard state == nil else { throw ValidationError(Self.tooMuch) }
      return
    }
    guard let folder, let state else {
      throw ValidationError("say which log: its folder and --state, or --config gateway.yaml")
    }
    guard !folder.isEmpty, !state.isEmpty else { throw ValidationError("a folder has a name") }
    let (inside, outside) = (Self.canonical(state), Self.canonical(folder))
    guard inside != outside, !inside.hasPrefix(outside + "/") else {
      throw ValidationError("--state \(state) lies in \(folder), which others see; the private key would be seen, too")
    }
  }

  private static let tooMuch = "--config says where the log is; leave out the folder and --state"

  /// For commands that take nothing but the log.
  func checkNothingElse() throws {
    guard config == nil || folder == nil else { throw ValidationError(Self.tooMuch) }
  }

  /// What stands behind the log: with --config no folder stands in front of it.
  ///
  /// - Throws: `ValidationError` where there is nothing.
  func behind(_ arguments: [String], _ what: String) throws -> [String] {
    let all = config == nil ? arguments : [folder].compactMap(\.self) + arguments
    guard !all.isEmpty else { throw ValidationError("say which \(what)") }
    return all
  }

  struct Places {
    let folder: any LogShelf
    let state: any LogStatePlace
    /// What the configuration calls the log; `nil` where there is none.
    let name: String?
    /// The copy of a bucket's log that this machine keeps, and how many entries it shows.
    var copy: (name: String, size: Int)?
  }

  /// - Throws: `ValidationError` where the configuration has no log.
  func places() async throws -> Places {
    guard let config else {
      return Places(folder: LogFolder(folder ?? ""), state: LogFolder(state ?? ""), name: nil)
    }
    let gateway = try GatewayOptions.parse(["--config", config])
    let words = try gateway.operatorsPlan()
    guard let stated = words.log, let publication = words.publicationFolder else {
      throw ValidationError("\(config) has no log; say which with log: {name: keys.example.org/log}")
    }
    if stated.place == .folder, stated.keys == LogKeys() {
      return Places(
        folder: LogFolder("\(publication)/\(stated.folder)"), state: stated.stateFolder(), name: stated.name)
    }
    // The private keys may be secrets; requests to a bucket are signed, and the store of several replicas has what was signed.
    let plan = try gateway.plan(warnings: false)
    guard let log = plan.log else { throw ValidationError("\(config) has no log") }
    if log.place == .folder {
      return Places(folder: LogFolder("\(publication)/\(log.folder)"), state: log.stateFolder(), name: log.name)
    }
    let place = try plan.requirePublicationPlace(of: config)
    let ledger = log.place == .replicas ? try await gateway.ledger(plan, as: .owner) : nil
    let copy = ShownLog(in: LocalFolder(publication), of: log).map { ("\(publication)/\(log.folder)", $0.size) }
    return Places(
      folder: place.shelf(of: log), state: PublicationPlace.state(of: log, ledger), name: log.name, copy: copy)
  }

  private static func canonical(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else {
      let parent = LogPlace.above(path)
      let name = path.split(separator: "/").last.map(String.init) ?? ""
      guard parent != path, let above = realpath(parent, nil) else { return path }
      defer { free(above) }
      return "\(String(cString: above))/\(name)"
    }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
