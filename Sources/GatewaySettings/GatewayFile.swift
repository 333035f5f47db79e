package import ExposureKeys
internal import KeyFormats
package import KeyPeers
internal import PolicyFiles

/// Reads `gateway.yaml`: everything the operator says, checked as a whole, relations between settings included.
package enum GatewayFile {
  /// The file holds settings, not data.
  package static let byteLimit = 262_144

  /// Reads a configuration and the files that it names: policies, rings, keys, secrets.
  ///
  /// - Parameters:
  ///   - path: relative paths in the file are relative to its folder.
  ///   - environment: where `{env: NAME}` looks.
  ///   - now: the clock, for signing keys that begin and end.
  ///   - layouts: the names that `server.layouts` may state.
  ///   - trials: what is wrong with settings that are each as they should be.
  /// - Returns: the plan, and what is likely wrong with it.
  /// - Throws: `FileFault` when the file itself cannot be read, ``GatewayFaults`` with everything that is wrong.
  package static func read(
    path: String, environment: [String: String], now: Instant, layouts: Set<String>,
    trials: SettingTrials = SettingTrials()
  ) throws -> (plan: GatewayPlan, warnings: [GatewayFault]) {
    let files = SystemFiles()
    let text = String(decoding: try files.contents(of: path, limit: byteLimit), as: UTF8.self)
    return try parse(
      text, path: path, files: files, environment: environment, now: now, layouts: layouts, trials: trials)
  }

  /// What commands read that ask the store alone, or say a word of the operator: no secret, which may be in the service's
  /// environment or in files that the operator cannot open; and a fault elsewhere in the file is no reason to let a leaked
  /// source go on.
  ///
  /// - Returns: what could be read, and how many faults there are in what could not.
  /// - Throws: `FileFault` when the file itself cannot be read, ``GatewayFaults`` when it does not say where the state is, or how the store is reached.
  package static func readForOperators(
    path: String, environment: [String: String] = [:], now: Instant, layouts: Set<String>
  ) throws -> (plan: OperatorsPlan, faultCount: Int) {
    let files = SystemFiles()
    let text = String(decoding: try files.contents(of: path, limit: byteLimit), as: UTF8.self)
    let reader = GatewayReader(
      path: path, files: files, environment: environment, now: now, layouts: layouts, readsSecrets: false)
    guard let plan = reader.plan(text) else { throw GatewayFaults(all: reader.faults) }
    return (OperatorsPlan(plan, namedCodes: reader.namedCodes), reader.faults.count { $0.severity == .error })
  }

  /// As ``read(path:environment:now:layouts:trials:)``, of a text whose files are found elsewhere.
  ///
  /// - Parameter peers: the protocols that sources may speak.
  package static func parse(
    _ text: String, path: String, files: any SettingFiles, environment: [String: String], now: Instant,
    layouts: Set<String>, peers: [PeerProtocol] = PeerCatalog.peers,
    trials: SettingTrials = SettingTrials()
  ) throws(GatewayFaults) -> (plan: GatewayPlan, warnings: [GatewayFault]) {
    let reader = GatewayReader(
      path: path, files: files, environment: environment, now: now, layouts: layouts, peers: peers, trials: trials)
    let plan = reader.plan(text)
    let faults = reader.faults
    guard let plan, !faults.contains(where: { $0.severity == .error }) else { throw GatewayFaults(all: faults) }
    return (plan, faults)
  }
}

/// One thing that is wrong with a configuration, or likely wrong. Never holds a secret.
package struct GatewayFault: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Severity: String, Hashable, Sendable, Codable {
    /// The configuration cannot be used.
    case error
    /// It can, but most likely does not do what was meant.
    case warning
  }

  package var severity: Severity
  /// The path of `gateway.yaml`, or of a policy that it names.
  package var file: String
  /// The setting: `sources.germany.every`.
  package var place: String
  /// Where that stands in its file, counted from 1; 0 where it is not known.
  package var line: Int
  package var column: Int
  /// What was found and what is allowed.
  package var reason: String

  package init(severity: Severity, file: String, place: String, line: Int = 0, column: Int = 0, reason: String) {
    self.severity = severity
    self.file = file
    self.place = place
    self.line = line
    self.column = column
    self.reason = reason
  }

  /// `gateway.yaml:12:5: error: sources.germany.every: 5 s, allowed 10 s...7 days`.
  package var description: String {
    "\(file):" + (line > 0 ? "\(line):\(column):" : "") + " \(severity.rawValue): \(place): \(reason)"
  }
}

/// Everything that is wrong with a configuration, and likely wrong: at least one error.
package struct GatewayFaults: ProgramFault, Hashable, Sendable {
  /// By file, in the order of their places.
  package let all: [GatewayFault]

  /// One line a fault.
  package var description: String { all.map(\.description).joined(separator: "\n") }
}
