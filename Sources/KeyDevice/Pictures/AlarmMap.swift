/// Which encounters alarm: minutes across, attenuation upwards from far to near, one map for each phone or app.
package struct AlarmMap: Hashable, Sendable {
  package struct Panel: Hashable, Sendable {
    package var name: String
    /// For each of ``attenuations``, for each of ``minutes``: whether such an encounter alarms.
    package var alarms: [[Bool]]

    package init(name: String, alarms: [[Bool]]) {
      self.name = name
      self.alarms = alarms
    }
  }

  package var minutes: [Int]
  /// In dB, from near to far.
  package var attenuations: [Int]
  package var panels: [Panel]

  package init(minutes: [Int], attenuations: [Int], panels: [Panel]) {
    self.minutes = minutes
    self.attenuations = attenuations
    self.panels = panels
  }

  private static let left = 44
  private static let columns = 2
  private static let panelHeight = 150

  package var picture: DevicePicture {
    var canvas = PictureCanvas()
    let panelWidth = (PictureCanvas.width - 8) / Self.columns
    for (index, panel) in panels.enumerated() {
      draw(
        panel, x: index % Self.columns * (panelWidth + 8), y: index / Self.columns * (Self.panelHeight + 70),
        width: panelWidth, on: &canvas)
    }
    let rows = (panels.count + Self.columns - 1) / Self.columns
    let title = "Encounters that alarm, by minutes and attenuation: \(panels.map(\.name).joined(separator: ", "))"
    return DevicePicture(svg: canvas.svg(title, height: max(rows, 1) * (Self.panelHeight + 70)), table: table)
  }

  private func draw(_ panel: Panel, x: Int, y: Int, width: Int, on canvas: inout PictureCanvas) {
    canvas.text(panel.name, x: x, y: y + 16, kind: "ink")
    let (left, top) = (x + Self.left, y + 28)
    let (room, height) = (width - Self.left - 8, Self.panelHeight)
    canvas.rectangle("quiet", x: left, y: top, width: room, height: height)
    guard !minutes.isEmpty, !attenuations.isEmpty else { return }
    for (row, attenuation) in attenuations.enumerated() {
      let (above, below) = (row * height / attenuations.count, (row + 1) * height / attenuations.count)
      for run in Self.runs(of: alarms(panel, row)) {
        let (begin, end) = (run.lowerBound * room / minutes.count, run.upperBound * room / minutes.count)
        canvas.rectangle(
          "alarm", x: left + begin, y: top + above, width: end - begin, height: below - above,
          title: "\(attenuation) dB: \(words(for: run)) min alarm")
      }
    }
    for row in Self.marks(attenuations.count) {
      let place = top + (2 * row + 1) * height / (2 * attenuations.count)
      canvas.text("\(attenuations[row]) dB", x: left - 6, y: place + 4, .end)
    }
    for column in Self.marks(minutes.count) {
      let place = left + (2 * column + 1) * room / (2 * minutes.count)
      canvas.text("\(minutes[column])", x: place, y: top + height + 15, .middle)
    }
    canvas.text("minutes", x: left + room / 2, y: top + height + 31, .middle)
  }

  private var table: PictureTable {
    PictureTable(
      columns: ["attenuation (dB)"] + panels.map { "\($0.name): minutes that alarm" },
      rows: attenuations.enumerated().map { row, attenuation in
        ["\(attenuation)"]
          + panels.map { panel in
            let runs = Self.runs(of: alarms(panel, row))
            return runs.isEmpty ? "none" : runs.map(words).joined(separator: ", ")
          }
      })
  }

  private func alarms(_ panel: Panel, _ row: Int) -> ArraySlice<Bool> {
    panel.alarms.indices.contains(row) ? panel.alarms[row].prefix(minutes.count) : []
  }

  private func words(for run: Range<Int>) -> String {
    if run.upperBound == minutes.count { return "\(minutes[run.lowerBound]) and more" }
    return run.count == 1 ? "\(minutes[run.lowerBound])" : "\(minutes[run.lowerBound])-\(minutes[run.upperBound - 1])"
  }

  /// Neighbours that alarm.
  private static func runs(of alarms: ArraySlice<Bool>) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    for (index, alarms) in alarms.enumerated() where alarms {
      if let last = runs.last, last.upperBound == index {
        runs[runs.count - 1] = last.lowerBound..<index + 1
      } else {
        runs.append(index..<index + 1)
      }
    }
    return runs
  }

  /// Five at most, evenly apart, with the first and the last.
  private static func marks(_ count: Int) -> [Int] {
    count <= 5 ? Array(0..<count) : (0...4).map { $0 * (count - 1) / 4 }
  }
}
