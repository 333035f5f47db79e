/// How many keys are left after each step on the way to an alarm, and which rule lost the others.
package struct FunnelPicture: Hashable, Sendable {
  package struct Step: Hashable, Sendable {
    package var name: String
    package let count: Int
    /// The rule that lost the keys between the step before and this one.
    package var losingRule: String?

    package init(name: String, count: Int, losingRule: String? = nil) {
      self.name = name
      self.count = max(count, 0)
      self.losingRule = losingRule
    }
  }

  /// What it is of: `google, germany.zip`.
  package var name: String
  package var steps: [Step]

  package init(name: String, steps: [Step]) {
    self.name = name
    self.steps = steps
  }

  private static let left = 122
  private static let room = PictureCanvas.width - left - 60
  private static let stepHeight = 44

  package var picture: DevicePicture {
    var canvas = PictureCanvas()
    canvas.text(name, x: 0, y: 16, kind: "ink")
    let most = max(steps.map(\.count).max() ?? 0, 1)
    var y = 30
    for (index, step) in steps.enumerated() {
      let width = Self.width(step.count, of: most)
      let before = index > 0 ? steps[index - 1].count : step.count
      canvas.text(step.name, x: Self.left - 8, y: y + 15, .end, kind: "ink")
      canvas.rectangle("bar", x: Self.left, y: y, width: width, height: 20, title: "\(step.name): \(step.count)")
      let lost = before > step.count ? before - step.count : 0
      if lost > 0 {
        canvas.rectangle(
          "lost", x: Self.left + width, y: y, width: max(Self.width(before, of: most) - width, 1), height: 20,
          title: "\(lost) lost")
        canvas.text(Self.words(lost, step.losingRule), x: Self.left, y: y + 34)
      }
      canvas.text("\(step.count)", x: Self.left + max(Self.width(before, of: most), width) + 8, y: y + 15, kind: "ink")
      y += Self.stepHeight
    }
    let title = "\(name): \(steps.first?.count ?? 0) keys at first, \(steps.last?.count ?? 0) in the end"
    return DevicePicture(svg: canvas.svg(title, height: y), table: table)
  }

  private var table: PictureTable {
    PictureTable(
      columns: ["step", "keys", "lost", "first rule that lost them"],
      rows: steps.enumerated().map { index, step in
        let lost = index > 0 ? max(steps[index - 1].count - step.count, 0) : 0
        return [step.name, "\(step.count)", "\(lost)", lost > 0 ? step.losingRule ?? "" : ""]
      })
  }

  private static func words(_ lost: Int, _ rule: String?) -> String {
    "\(lost) lost" + (rule.map { ": \($0)" } ?? "")
  }

  /// A step with a key is seen, however many others there are.
  private static func width(_ count: Int, of most: Int) -> Int {
    count <= 0 ? 0 : max(1, Int((Double(count) / Double(most) * Double(room)).rounded()))
  }
}
