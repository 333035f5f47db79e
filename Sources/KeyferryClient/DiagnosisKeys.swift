public import Foundation

/// A diagnosis key as Apple's sample app spells it in JSON.
public struct CodableDiagnosisKey: Codable, Hashable, Sendable {
  /// Sixteen bytes.
  public let keyData: Data
  /// In ten-minute intervals, 1...144.
  public let rollingPeriod: UInt32
  /// In ten-minute intervals since 1970.
  public let rollingStartNumber: UInt32
  /// 0...7, defined by the app.
  public let transmissionRiskLevel: UInt8

  public init(keyData: Data, rollingPeriod: UInt32 = 144, rollingStartNumber: UInt32, transmissionRiskLevel: UInt8 = 0)
  {
    self.keyData = keyData
    self.rollingPeriod = rollingPeriod
    self.rollingStartNumber = rollingStartNumber
    self.transmissionRiskLevel = transmissionRiskLevel
  }

  /// The beta had no rolling period: a key without one is valid for a whole day.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    keyData = try members.decode(Data.self, forKey: .keyData)
    rollingPeriod = try members.decodeIfPresent(UInt32.self, forKey: .rollingPeriod) ?? 144
    rollingStartNumber = try members.decode(UInt32.self, forKey: .rollingStartNumber)
    transmissionRiskLevel = try members.decode(UInt8.self, forKey: .transmissionRiskLevel)
  }
}

/// A page of keys, for apps of the beta generation.
public struct DiagnosisKeyPage: Decodable, Hashable, Sendable {
  public let keys: [CodableDiagnosisKey]
  /// Whether nothing is behind it.
  public let done: Bool
  /// The place of the first key of the next page. More than the place asked for and the keys of this page together when
  /// keys before it have expired.
  public let nextIndex: Int
}

/// The files that a phone has yet to fetch.
public struct DiagnosisKeyFileList: Hashable, Sendable {
  /// One an archive, oldest first.
  public let urls: [URL]
  /// Where the next list begins, counted in files: two an archive, expired ones included.
  public let nextIndex: Int
}
