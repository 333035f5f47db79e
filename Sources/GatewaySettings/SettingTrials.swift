package import Federation
package import GatewayServer
package import KeyPeers

/// What only those can say who put settings to use: each trial makes what they would make before the gateway begins, and
/// keeps nothing. The configuration is read with them by every command, so `check` finds what `run` would.
package struct SettingTrials {
  /// Its protocol's options. A reason that begins with `NAME: ` is placed at that option.
  package var options: (SourceSettings) -> [String]
  /// The way to a source.
  package var way: (SourceSettings) -> [SettingMisfit]
  package var server: (ServerSettings) -> [SettingMisfit]
  /// What the section `federation` says about TLS and callbacks.
  package var federation: (ServerSettings, FederationCallbackSettings?) -> [SettingMisfit]

  package init(
    options: @escaping (SourceSettings) -> [String] = { _ in [] },
    way: @escaping (SourceSettings) -> [SettingMisfit] = { _ in [] },
    server: @escaping (ServerSettings) -> [SettingMisfit] = { _ in [] },
    federation: @escaping (ServerSettings, FederationCallbackSettings?) -> [SettingMisfit] = { _, _ in [] }
  ) {
    self.options = options
    self.way = way
    self.server = server
    self.federation = federation
  }
}

/// A setting that cannot be put to use.
package struct SettingMisfit: Hashable, Sendable {
  /// Below the section that was tried: `certificate`, `http.headers`.
  package var setting: String
  package var reason: String

  package init(_ setting: String, _ reason: String) {
    self.setting = setting
    self.reason = reason
  }
}
