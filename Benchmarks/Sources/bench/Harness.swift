/// One row of the table: a work that several contenders do, measured in turns in one run.
struct Work {
  var name: String
  /// What is counted: keys, or what a work without keys is about.
  var unit: String
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
  /// How many units it handles, where that is not the work's `count`.
  var count: Int?
  /// Does the work once.
  var takeTurn: () throws -> Turn

  static func ours(_ name: String = "Keyferry", run: @escaping () throws -> Int) -> Contender {
    Contender(name: name, role: .ours, takeTurn: { Turn(handled: try run()) })
  }

  static func yardstick(_ name: String, reach: Double? = nil, run: @escaping () throws -> Int) -> Contender {
    Contender(name: name, role: .yardstick(reach: reach), takeTurn: { Turn(handled: try run()) })
  }

  static func missing(_ name: String, _ role: Role, because reason: String) -> Contender {
    Contender(name: name, role: role, missing: reason, takeTurn: { Turn(handled: 0) })
  }

  /// The same with another number of units than the work's.
  func handling(_ count: Int) -> Contender {
    var contender = self
    contender.count = count
    return contender
  }
}

/// What a contender did in one run.
struct Turn {
  /// How many units, which must be as many as it was asked for.
  var handled: Int
  /// What it took by its own clock; otherwise the harness measures.
  var time: Duration?
  /// The most memory that a process of its own held, in bytes.
  var peakMemory: Int?
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
    var measurements = work.contenders.map { Measurement(work, $0) }
    let clock = ContinuousClock()
    let start = clock.now
    for round in 0...runs {
      if round > 3, clock.now - start > budget { break }
      for (index, contender) in work.contenders.enumerated() where measurements[index].missing == nil {
        let began = clock.now
        let turn: Turn
        do {
          turn = try contender.takeTurn()
        } catch {
          guard contender.role != .ours else { throw HarnessError(description: "\(work.name): \(error)") }
          measurements[index].missing = "\(error)"
          continue
        }
        let time = turn.time ?? clock.now - began
        let count = contender.count ?? work.count
        guard turn.handled == count else {
          throw HarnessError(description: "\(work.name): \(contender.name) handled \(turn.handled) of \(count)")
        }
        // The first round warms up: pages, caches, lazily made tables.
        if round > 0 { measurements[index].add(time.nanoseconds / Double(max(count, 1)), turn.peakMemory) }
      }
    }
    return measurements.comparedWithOurs()
  }
}

/// What one contender took, in nanoseconds a unit.
struct Measurement: Encodable {
  var work: String
  var unit: String
  var count: Int
  var contender: String
  var isOurs: Bool
  var runs = 0
  var median: Double?
  var fastest: Double?
  /// The most memory of a process of its own, in bytes.
  var peakMemory: Int?
  /// How many times ours is faster, medians compared; above 1 is good for us.
  var ratio: Double?
  var reach: Double?
  var isReached: Bool?
  var missing: String?

  private var times: [Double] = []

  private enum CodingKeys: CodingKey {
    case work, unit, count, contender, isOurs, runs, median, fastest, peakMemory, ratio, reach, isReached, missing
  }

  init(_ work: Work, _ contender: Contender) {
    self.work = work.name
    unit = work.unit
    count = contender.count ?? work.count
    self.contender = contender.name
    isOurs = contender.role == .ours
    if case .yardstick(let wanted) = contender.role { reach = wanted }
    missing = contender.missing
  }

  mutating func add(_ time: Double, _ memory: Int?) {
    times.append(time)
    times.sort()
    runs = times.count
    median = (times[(runs - 1) / 2] + times[runs / 2]) / 2
    fastest = times.first
    if let memory { peakMemory = max(memory, peakMemory ?? 0) }
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
