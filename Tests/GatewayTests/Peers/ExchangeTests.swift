import Foundation
import GatewayTesting
import KeyPeers
import Testing

/// Machines against recorded exchanges. `KEYFERRY_RECORD_EXCHANGES=1` writes the machine's lines anew, to be read
/// before they are committed.
@Suite struct ExchangeTests {
  @Test(arguments: Exchange.all())
  func machineSaysWhatTheExchangeSays(path: String) throws {
    let place = PackageFolder.root.appending(path: "interop/exchanges/\(path)")
    let exchange = try Exchange(place)
    let replayed = try exchange.replayed()
    if ProcessInfo.processInfo.environment["KEYFERRY_RECORD_EXCHANGES"] != nil, replayed != exchange.text {
      try replayed.write(to: place, atomically: true, encoding: .utf8)
    }
    #expect(replayed == exchange.text)
  }

  /// The page's own members, `done` and `nextIndex`, do not keep the format from reading its keys.
  @Test func aPageIsReadAsItIs() throws {
    let key = #"{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":2649024,"transmissionRiskLevel":0}"#
    for page in [#"{"keys":[\#(key)],"done":false,"nextIndex":7}"#, #"{"nextIndex":7,"keys":[\#(key)]}"#, "[\(key)]"] {
      #expect(try read(memory(Array(page.utf8))).content.keys.count == 1, "\(page)")
    }
  }

  @Test(arguments: PeerProtocol.allCases)
  func everyProtocolHasAnExchange(peer: PeerProtocol) {
    #expect(Exchange.all().contains { $0.hasPrefix("\(peer.rawValue)/") })
  }
}
