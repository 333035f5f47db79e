import ExposureKeys
import Foundation
import GatewayTesting
import Testing

@testable import KeyDevice

/// A node of a JSON vector.
struct Node {
  let value: Any

  init(_ value: Any) { self.value = value }

  static func file(_ name: String) throws -> Node {
    let bytes = try #require(try RealData.bytes(of: "device/vectors/\(name)"))
    return Node(try JSONSerialization.jsonObject(with: Data(bytes)))
  }

  subscript(name: String) -> Node { Node((value as? [String: Any])?[name] ?? NSNull()) }
  subscript(index: Int) -> Node { list[index] }
  var list: [Node] { (value as? [Any] ?? []).map(Node.init) }
  var members: [(String, Node)] { (value as? [String: Any] ?? [:]).map { ($0.key, Node($0.value)) } }
  var isNull: Bool { value is NSNull }
  var int: Int { (value as? NSNumber)?.intValue ?? Int(text) ?? .min }
  var optionalInt: Int? { value is NSNull ? nil : int }
  var double: Double { (value as? NSNumber)?.doubleValue ?? .nan }
  var bool: Bool { (value as? NSNumber)?.boolValue ?? false }
  var text: String { value as? String ?? "" }
  var bytes: [UInt8] { Hexadecimal.decode(text.utf8) ?? [] }
  var word: UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
  var ints: [Int] { list.map(\.int) }
  var doubles: [Double] { list.map(\.double) }
  var key: TemporaryExposureKey { TemporaryExposureKey(bytes) ?? TemporaryExposureKey(high: 0, low: 0) }
  var identifier: ProximityIdentifier { ProximityIdentifier(bytes) ?? ProximityIdentifier(high: 0, low: 0) }

  /// A key as the vectors spell it.
  var claimedKey: ClaimedKey {
    var key = ClaimedKey(key: self["tek"].key)
    key.rollingStart = Int32(self["start"].int)
    key.rollingPeriod = self["period"].optionalInt.map(Int32.init)
    key.transmissionRisk = self["trl"].optionalInt.map(Int32.init)
    key.reportType = self["report"].optionalInt.map(Int32.init)
    key.daysSinceOnset = self["dsos"].optionalInt.map(Int32.init)
    return key
  }

  var firstConfiguration: FirstConfiguration {
    var configuration = FirstConfiguration()
    configuration.minimumScore = self["min"].int
    configuration.attenuation = self["att"].ints
    configuration.days = self["days"].ints
    configuration.duration = self["dur"].ints
    configuration.transmission = self["trl"].ints
    configuration.thresholds = self["thr"].ints
    return configuration
  }
}

let hasVectors = RealData.isPresent
let howToEnable = Comment(rawValue: RealData.howToEnable)
