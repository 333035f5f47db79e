internal import ExposureKeys
internal import KeyNormalization
internal import KeyStorage

/// A part of all key data: from one on, up to before another.
///
/// Claims are kept in the order of key data, and all about one key data stand together. So what is selected of parts is what is
/// selected of the whole, and each part can have a processor of its own.
struct KeyDataPart: Hashable, Sendable {
  let first: TemporaryExposureKey
  /// What follows it; `nil` where nothing does.
  let end: TemporaryExposureKey?

  /// All key data.
  static let whole = Self(first: TemporaryExposureKey(high: 0, low: 0))

  init(first: TemporaryExposureKey, end: TemporaryExposureKey? = nil) {
    self.first = first
    self.end = end
  }

  func contains(_ key: TemporaryExposureKey) -> Bool {
    if let end, key >= end { return false }
    return key >= first
  }

  /// All key data in so many parts, which have about as many claims each, since key data is random.
  ///
  /// - Parameter count: one and more.
  static func parts(_ count: Int) -> [Self] {
    let bounds = (0..<UInt64(count)).map {
      TemporaryExposureKey(high: UInt64.max / UInt64(count) * $0, low: 0)
    }
    return bounds.indices.map { Self(first: bounds[$0], end: $0 + 1 < count ? bounds[$0 + 1] : nil) }
  }
}

extension ClaimPage {
  /// Without claims behind a part, and without a next page where that would begin there.
  func ending(with part: KeyDataPart) -> ClaimPage {
    guard let end = part.end else { return self }
    if let next, next <= end { return next < end ? self : ClaimPage(claims: claims, embargo: embargo, next: nil) }
    return ClaimPage(claims: claims.removing { $0.subject.key >= end }, embargo: embargo, next: nil)
  }
}
