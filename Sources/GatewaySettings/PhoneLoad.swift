internal import KeyNormalization
package import KeyPublishing

/// What a series' windows and editions mean for one kind of phone: how many files it is given, in how many calls of its
/// framework, and what the framework takes. The numbers of the frameworks are in Apple's and Google's documentation, and
/// are counted over 24 hours.
package struct PhoneLoad: Hashable, Sendable {
  package var series: String
  /// For people: `iOS 13.5`.
  package var phone: String
  package var layout: String
  /// Files that a phone is given a day, once it has all earlier ones.
  package var filesPerDay: Int
  /// Files that a phone is given by its first call.
  package var firstFiles: Int
  /// Calls a day of an app that checks whenever there is something new.
  package var callsPerDay: Int
  package var limit: Limit
  /// Keys a day from which `split` makes more files than the phone takes; `nil` where their number makes no difference to it.
  package var keysPerDay: Int?

  package enum Limit: Hashable, Sendable {
    /// A call with more files than are left fails as a whole.
    case files(Int)
    /// Of any number of files.
    case calls(Int)
    /// Of an index it reads so many entries, the newest; what stands before them it never sees.
    case newest(Int)

    package var count: Int {
      switch self {
      case .files(let count), .calls(let count), .newest(let count): count
      }
    }

    package var text: String {
      switch self {
      case .files(let count): "\(count) files"
      case .calls(let count): "\(count) calls"
      case .newest(let count): "newest \(count) entries"
      }
    }
  }

  package static let firstFramework = "iOS 13.5"
  package static let covidwise = "COVIDWISE on iOS"
  package static let secondSDK = "DP-3T SDK 2"

  /// Keys of a busy day, which phones must still be able to take.
  package static let busyDay = BusyDay.keys(of: nil)

  /// The most bytes of a key in a file, with all its fields and without compression.
  private static let keyBytes = 34

  /// Whether a phone of this kind gets on, on busy days too.
  package var fits: Bool { takesArchives && (keysPerDay ?? .max) >= Self.busyDay }

  /// Whether it gets on where no archive is split.
  package var takesArchives: Bool {
    switch limit {
    case .files(let count): max(filesPerDay, firstFiles) <= count
    case .calls(let count): callsPerDay <= count
    case .newest(let count): firstFiles <= count
    }
  }

  /// Of a series, for the phones of these layouts; windows with keys are taken to be all windows.
  ///
  /// - Parameter layouts: `nil` is all.
  package static func loads(of series: SeriesSettings, servedAs layouts: Set<String>?) -> [PhoneLoad] {
    let serves = { (layout: String) in layouts?.contains(layout) ?? true }
    let windows = Int(86_400 / max(1, series.period))
    let days = Int(series.listedDays)
    var loads: [PhoneLoad] = []
    // As many keys as surely fit into one file.
    let fileKeys = max(1, min(series.maximumKeys, series.maximumBytes / Self.keyBytes))
    /// - Parameter volume: files that a phone is given of how many archives a day, where split archives are too many for it.
    func add(
      _ phone: String, _ layout: String, _ files: Int, _ first: Int, calls: Int, _ limit: Limit,
      volume: (files: Int, archivesPerDay: Int)? = nil
    ) {
      guard serves(layout) else { return }
      let keysPerDay = volume.map { limit.count / max(1, $0.files) * fileKeys * $0.archivesPerDay }
      loads.append(
        PhoneLoad(
          series: series.name, phone: phone, layout: layout, filesPerDay: files, firstFiles: first, callsPerDay: calls,
          limit: limit, keysPerDay: keysPerDay))
    }
    let archives = series.editionsPerDay > 0 ? min(series.editionsPerDay, windows) : windows
    add(
      Self.firstFramework, "apple", archives, archives * days, calls: archives, .files(15),
      volume: (archives * days, archives))
    add("iOS 13.6 and later", "apple", archives, archives * days, calls: archives, .calls(15))
    add("iOS 12.5, 13.7 and later with ENAPIVersion 2", "apple", archives, archives * days, calls: archives, .calls(6))
    // Google's app waits four hours between two checks, and gives all files to one call.
    add("Android with exposure windows", "google", windows, windows * days, calls: min(windows, 6), .calls(6))
    add("Android with tokens", "google", windows, windows * days, calls: min(windows, 6), .calls(20))
    // Whoever calls a series like this serves the app. It visits every twelve hours, and is given the newest entries each time.
    if series.name.hasPrefix("exposureKeyExport-") {
      add(
        Self.covidwise, "google", 2 * min(14, windows * days), windows * days, calls: 2, .newest(14),
        volume: (windows * days, windows))
    }
    if series.makesKeyDays {
      // Ten days, each in a call of its own, by at most two syncs a day.
      add("DP-3T SDK 1", "dp3t", 20, 10, calls: 20, .calls(20))
    }
    // One archive a visit; without roll-ups that is one increment, and the next visit has the next one.
    let visits = series.makesSince || series.makesDays ? min(windows, 6) : windows
    let first = series.makesSince ? 1 : series.makesDays ? days : windows * days
    // Roll-ups are never split.
    add(
      Self.secondSDK, "dp3t", visits, first, calls: visits, .calls(6),
      volume: series.makesSince || series.makesDays ? nil : (windows, windows))
    return loads
  }
}
