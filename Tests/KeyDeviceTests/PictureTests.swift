import ExposureKeys
import Foundation
import KeyDevice
import Testing

/// Each picture is well-formed, has a table with the same numbers, and is the same each time.
struct PictureTests {
  static let strips = DayStrips(
    keys: ["key 1", "key 2", "key <3> & \"more\""],
    dots: (0..<60).map { number in
      DayStrips.Dot(
        time: Instant(secondsSince1970: 1_600_041_600 + Int64(number / 20) * 86_400 + Int64(number % 20) * 300),
        attenuation: 45 + number * 7 % 50, key: number / 20)
    }, bands: [.init(name: "immediate", upTo: 55), .init(name: "near", upTo: 63), .init(name: "other", upTo: 255)])

  static let map = AlarmMap(
    minutes: Array(1...30), attenuations: Array(40...80),
    panels: [("one", 63, 15), ("two", 73, 10), ("three", 0, 0)].map { name, most, least in
      AlarmMap.Panel(name: name, alarms: (40...80).map { dB in (1...30).map { dB <= most && $0 >= least } })
    })

  static let funnel = FunnelPicture(
    name: "google, bundle.zip",
    steps: [
      .init(name: "keys in the file", count: 1200), .init(name: "readable", count: 1200),
      .init(name: "usable", count: 1100, losingRule: "rolling period 0"), .init(name: "identifiers found", count: 1100),
      .init(name: "windows", count: 900, losingRule: "later than two hours"),
      .init(name: "score", count: 899, losingRule: "below 15 minutes"),
      .init(name: "alarm", count: 0, losingRule: "infectiousness none"),
    ])

  @Test func stripsHaveADotForEachSighting() {
    let picture = Self.strips.picture
    #expect(count("circle", in: picture.svg) == 60 + 3)
    #expect(count("rect", in: picture.svg) == 3 * 3)
    #expect(picture.table.rows.count == 60)
    #expect(picture.table.rows[0] == ["2020-09-14T00:00:00Z", "45", "immediate", "key 1"])
    #expect(DayStrips(keys: [], dots: [], bands: []).picture.svg.contains("No key was met."))
  }

  @Test func mapsAreFilledWhereTheyAlarm() {
    let picture = Self.map.picture
    // A quiet ground for each, and a run in each row that alarms.
    #expect(count("rect", in: picture.svg) == 3 + 24 + 34)
    #expect(picture.table.rows[0] == ["40", "15 and more", "10 and more", "none"])
    #expect(picture.table.rows[33] == ["73", "none", "10 and more", "none"])
    let island = AlarmMap(
      minutes: [1, 2, 3, 4], attenuations: [50, 60], panels: [.init(name: "x", alarms: [[true, false, true, true]])])
    #expect(island.picture.table.rows == [["50", "1, 3 and more"], ["60", "none"]])
  }

  @Test func funnelsNameTheLosingRule() {
    let picture = Self.funnel.picture
    #expect(count("rect", in: picture.svg) == 6 + 4)
    #expect(picture.table.rows.map { $0[2] } == ["0", "0", "100", "0", "200", "1", "899"])
    #expect(picture.table.rows.last == ["alarm", "0", "899", "infectiousness none"])
    #expect(picture.svg.contains("899 lost: infectiousness none"))
  }

  @Test func namesCannotBeMarkup() {
    let name = "<script>\u{0}alert(1)</script>\""
    let pictures = [
      FunnelPicture(
        name: name, steps: [.init(name: name, count: .max, losingRule: name), .init(name: name, count: -1)]
      ).picture,
      AlarmMap(minutes: [], attenuations: [.min], panels: [.init(name: name, alarms: [])]).picture,
      DayStrips(
        keys: [name], dots: [.init(time: Instant(secondsSince1970: .min), attenuation: .max, key: .min)],
        bands: [.init(name: name, upTo: .min)]
      ).picture,
    ]
    for picture in pictures {
      #expect(!picture.svg.contains("<script"))
      #expect(count("svg", in: picture.svg) == 1)
    }
  }

  /// With `KEYFERRY_PICTURES=FOLDER` they are written there, to be looked at.
  @Test func canBeLookedAt() throws {
    guard let folder = ProcessInfo.processInfo.environment["KEYFERRY_PICTURES"] else { return }
    for (name, picture) in [
      ("strips", Self.strips.picture), ("map", Self.map.picture), ("funnel", Self.funnel.picture),
    ] {
      try Data(picture.svg.utf8).write(to: URL(filePath: "\(folder)/\(name).svg"))
    }
  }

  /// How often an element is there; the text must be well-formed: each element is closed, in order.
  private func count(_ element: String, in svg: String) -> Int {
    var open: [Substring] = []
    var count = 0
    for part in svg.split(separator: "<" as Character) {
      let tag = part.prefix { $0 != ">" }
      let name = tag.prefix { !" /".contains($0) }
      if tag.hasPrefix("/") {
        #expect(open.popLast() == tag.dropFirst())
        continue
      }
      if name == element { count += 1 }
      if !tag.hasSuffix("/") { open.append(name) }
    }
    #expect(open.isEmpty)
    return count
  }
}
