package import ExposureKeys

/// When and how near keys were met: a strip for each day, with the time across and the attenuation upwards from far to near.
package struct DayStrips: Hashable, Sendable {
  package struct Dot: Hashable, Sendable {
    package var time: Instant
    /// In dB.
    package var attenuation: Int
    /// Which of ``keys`` it belongs to.
    package var key: Int

    package init(time: Instant, attenuation: Int, key: Int) {
      self.time = time
      self.attenuation = attenuation
      self.key = key
    }
  }

  /// A bucket of the configuration, up to and with this attenuation.
  package struct Band: Hashable, Sendable {
    package var name: String
    package var upTo: Int

    package init(name: String, upTo: Int) {
      self.name = name
      self.upTo = upTo
    }
  }

  /// What the keys are called, which is never key data: `key 1`.
  package var keys: [String]
  package var dots: [Dot]
  /// From near to far.
  package var bands: [Band]

  package init(keys: [String], dots: [Dot], bands: [Band]) {
    self.keys = keys
    self.dots = dots
    self.bands = bands
  }

  private static let nearest = 30
  private static let farthest = 100
  private static let stripHeight = 130
  private static let left = 48
  private static let right = PictureCanvas.width - 10
  /// More days than a phone keeps are not drawn; the table has them.
  private static let mostDays = 31

  package var picture: DevicePicture {
    let byDay = Dictionary(grouping: dots) { $0.time.day }
    let days = byDay.keys.sorted()
    let shown = days.suffix(Self.mostDays)
    var canvas = PictureCanvas()
    var top = drawLegend(on: &canvas)
    for day in shown {
      canvas.text(day.description, x: Self.left, y: top + 14, kind: "ink")
      draw(byDay[day] ?? [], of: day, at: top + 20, on: &canvas)
      top += Self.stripHeight + 44
    }
    let hidden = days.count - shown.count
    let title =
      days.isEmpty
      ? "No key was met."
      : "\(dots.count) sightings of \(Set(dots.map(\.key)).count) keys on \(days.count) days, by time (UTC) and attenuation"
        + (hidden > 0 ? "; the last \(shown.count) days are drawn" : "")
    return DevicePicture(svg: canvas.svg(title, height: top), table: table)
  }

  private func draw(_ dots: [Dot], of day: Day, at top: Int, on canvas: inout PictureCanvas) {
    var above = Self.nearest
    // Above the grid.
    var names: [(text: String, y: Int)] = []
    for (index, band) in bands.enumerated() {
      let foot = min(max(band.upTo, above), Self.farthest)
      canvas.rectangle(
        "band band\(min(index, PictureCanvas.kinds - 1))", x: Self.left, y: Self.y(above, top),
        width: Self.right - Self.left, height: Self.y(foot, top) - Self.y(above, top), title: band.name)
      if Self.y(foot, top) - Self.y(above, top) >= 14 { names.append((band.name, Self.y(above, top) + 12)) }
      above = foot
    }
    for attenuation in stride(from: 40, through: Self.farthest, by: 20) {
      canvas.line(x: Self.left...Self.right, y: Self.y(attenuation, top))
      canvas.text("\(attenuation) dB", x: Self.left - 6, y: Self.y(attenuation, top) + 4, .end)
    }
    for hour in stride(from: 0, through: 24, by: 6) {
      let x = Self.x(second: hour * 3600)
      canvas.line(x: x, y: top...top + Self.stripHeight)
      canvas.text("\(hour):00", x: x, y: top + Self.stripHeight + 15, hour == 24 ? .end : hour == 0 ? .start : .middle)
    }
    for name in names { canvas.text(name.text, x: Self.right - 4, y: name.y, .end) }
    for dot in dots.sorted(by: { $0.time < $1.time }) {
      let second = Int(dot.time.secondsSince1970 - day.start.secondsSince1970)
      canvas.dot(
        "dot dot\(kind(of: dot.key))", x: Self.x(second: second), y: Self.y(dot.attenuation, top),
        title: "\(dot.time): \(dot.attenuation) dB, \(name(of: dot.key))")
    }
  }

  /// - Returns: how high it is.
  private func drawLegend(on canvas: inout PictureCanvas) -> Int {
    guard keys.count > 1 else { return 10 }
    var (x, y) = (Self.left, 16)
    for (index, key) in keys.prefix(PictureCanvas.kinds * 2).enumerated() {
      let width = 24 + key.count * 7
      if x + width > Self.right { (x, y) = (Self.left, y + 20) }
      canvas.dot("dot dot\(kind(of: index))", x: x + 5, y: y - 4, title: key)
      canvas.text(key, x: x + 14, y: y)
      x += width
    }
    return y + 14
  }

  private var table: PictureTable {
    let rows = dots.sorted { ($0.time, $0.key) < ($1.time, $1.key) }.map { dot in
      [dot.time.description, "\(dot.attenuation)", bucket(of: dot.attenuation), name(of: dot.key)]
    }
    return PictureTable(columns: ["time", "attenuation (dB)", "bucket", "key"], rows: rows)
  }

  private func bucket(of attenuation: Int) -> String { bands.first { attenuation <= $0.upTo }?.name ?? "beyond all" }

  private func name(of key: Int) -> String { keys.indices.contains(key) ? keys[key] : "key \(key)" }

  private func kind(of key: Int) -> Int { Int(key.magnitude % UInt(PictureCanvas.kinds)) }

  private static func x(second: Int) -> Int { left + min(max(second, 0), 86_400) * (right - left) / 86_400 }

  private static func y(_ attenuation: Int, _ top: Int) -> Int {
    top + (min(max(attenuation, nearest), farthest) - nearest) * stripHeight / (farthest - nearest)
  }
}
