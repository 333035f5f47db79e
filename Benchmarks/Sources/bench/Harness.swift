/// One row of the table: a work that several contenders do, measured in turns in one run.
struct Work {
  var name: String
  /// What is counted: keys, or bytes for a work without keys.
  var unit = "key"
  /// How many units one run of a contender handles.
  var count: Int
  var contenders: [Contender]
}

/// One way to do a work.
struct Contender {
  enum Role: Equatable {
    case ours
    /// What ours is compared with; `reach` is how many times faster ours should be, where something is promised.
    case yardstick(reach: Double?)
  }

  var name: String
  var role: Role
  /// Why it cannot run here, for a yardstick that is not installed.
  var missing: String?
  /// Does the work once and returns how many units it handled, which must be the work's `count`.
  var run: () throws -> Int

  static func ours(_ name: String = "Keyferry", run: @escaping () throws -> Int) -> Contender {
    Contender(name: name, role: .ours, run: run)
  }

  static func yardstick(_ name: String, reach: Double? = nil, run: @escaping () throws -> Int) -> Contender {
    Contender(name: name, role: .yardstick(reach: reach), run: run)
  }

  static func missing(_ name: String, reach: Double? = nil, because reason: String) -> Contender {
    Contender(name: name, role: .yardstick(reach: reach), missing: reason, run: { 0 })
  }
}

struct HarnessError: Error, CustomStringConvertible {
  var description: String
}

/// Runs the contenders of a work in turns, so that a change of the machine's speed meets all of them.
struct Harness {
  var runs: Int
  /// The most time for one work; the slowest contender may cut the number of runs down to three.
  var budget: Duration

  func measure(_ work: Work) throws -> [Measurement] {
    var times = [[Double]](repeating: [], count: work.contenders.count)
    let clock = ContinuousClock()
    let start = clock.now
    for round in 0...runs {
      if round > 3, clock.now - start > budget { break }
      for (index, contender) in work.contenders.enumerated() where contender.missing == nil {
        let began = clock.now
        let handled = try contender.run()
        let time = clock.now - began
        guard handled == work.count else {
          throw HarnessError(description: "\(work.name): \(contender.name) handled \(handled) of \(work.count)")
        }
        // The first round warms up: pages, caches, lazily made tables.
        if round > 0 { times[index].append(time.nanoseconds / Double(max(work.count, 1))) }
      }
    }
    return zip(work.contenders, times).map { contender, times in Measurement(work, contender, times) }
      .comparedWithOurs()
  }
}

/// What one contender took, in nanoseconds a unit.
struct Measurement: Encodable {
  var work: String
  var unit: String
  var count: Int
  var contender: String
  var isOurs: Bool
  var runs: Int
  var median: Double?
  var fastest: Double?
  /// How many times ours is faster, medians compared; above 1 is good for us.
  var ratio: Double?
  var reach: Double?
  var isReached: Bool?
  var missing: String?

  init(_ work: Work, _ contender: Contender, _ times: [Double]) {
    self.work = work.name
    unit = work.unit
    count = work.count
    self.contender = contender.name
    isOurs = contender.role == .ours
    runs = times.count
    let sorted = times.sorted()
    median = sorted.isEmpty ? nil : (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    fastest = sorted.first
    if case .yardstick(let wanted) = contender.role { reach = wanted }
    missing = contender.missing
  }
}

extension [Measurement] {
  fileprivate func comparedWithOurs() -> [Measurement] {
    let ours = first(where: \.isOurs)?.median
    return map { measurement in
      var compared = measurement
      if !measurement.isOurs, let ours, let theirs = measurement.median {
        compared.ratio = theirs / ours
        compared.isReached = measurement.reach.map { theirs / ours >= $0 }
      }
      return compared
    }
  }
}

extension Duration {
  var nanoseconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
  }
}

/// Takes a value so that the optimizer cannot drop what made it.
@inline(never)
func blackHole<Value>(_ value: borrowing Value) {}
