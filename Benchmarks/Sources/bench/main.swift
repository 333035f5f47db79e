import Foundation

// bench [--quick] [--keys N] [--only TEXT] [--json FILE]
//
// One table: each work, who did it, the median of nanoseconds a key, and how many times faster ours is.

func fail(_ text: String) -> Never {
  FileHandle.standardError.write(Data("bench: \(text)\n".utf8))
  exit(64)
}

var isQuick = false
var counts: [Int]?
var only: String?
var jsonPath: String?
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
  func value() -> String { arguments.popFirst() ?? { fail("\(argument) needs a value") }() }
  switch argument {
  case "--quick": isQuick = true
  case "--keys":
    let text = value()
    guard let count = Int(text), count > 0 else { fail("--keys \(text), allowed is a number from 1") }
    counts = [count]
  case "--only": only = value()
  case "--json": jsonPath = value()
  default: fail("unknown option \(argument); there are --quick, --keys N, --only TEXT, --json FILE")
  }
}

let harness = Harness(runs: isQuick ? 5 : 9, budget: .seconds(isQuick ? 4 : 60))
var report = Report(isQuick: isQuick)
print(report.heading)
print(Table.head)
for count in counts ?? (isQuick ? [100_000] : [1_000_000, 10_000_000]) {
  for prepare in catalog {
    // Made only when it is wanted, and gone before the next: ten million keys of each would not fit.
    guard only.map({ prepare.name.contains($0) }) ?? true else { continue }
    let measurements = try harness.measure(try prepare.work(count))
    print(Table.lines(measurements))
    report.measurements += measurements
  }
}
report.notePeakMemory()
print("most memory held: \(report.peakMemory >> 20) MiB")
if let jsonPath { try report.write(to: jsonPath) }
