import ExposureKeys
import KeyNormalization
import KeyPeers
import KeyStorage

/// Settings of a source for a test, with nothing but what its protocol looks at.
func source(
  _ peer: PeerProtocol, location: String = "https://keys.example.org", _ options: [String: String] = [:]
) -> SourceSettings {
  SourceSettings(
    name: "test", peer: peer, location: location, options: options, trust: .operator, reading: Policy(name: "test"))
}

extension ResponseHead {
  init(_ status: Int, _ headers: KeyValuePairs<String, String> = [:]) {
    self.init(status: status, headers: headers.map { PeerRequest.Header($0.key, $0.value) })
  }
}

extension PeerAnswer {
  static func ok(_ body: String, _ headers: KeyValuePairs<String, String> = [:]) -> PeerAnswer {
    .response(ResponseHead(200, headers), Array(body.utf8))
  }
}

extension PeerStep {
  /// The names that are to be collected; `nil` for another step.
  var names: [String]? {
    if case .collect(let documents) = self { documents.map(\.name) } else { nil }
  }

  /// `nil` for another step.
  var faultCode: String? {
    if case .fail(let fault) = self { fault.code.rawValue } else { nil }
  }

  var url: String? {
    if case .ask(let request) = self { request.url } else { nil }
  }
}
