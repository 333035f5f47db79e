import Foundation

// bench [--quick] [--keys N] [--only TEXT] [--json FILE] [--markdown FILE]
// bench --take-turns N PROGRAM ARGUMENT…
//
// One table: each work, who did it, the median of nanoseconds a key, and how many times faster ours is.

func fail(_ text: String) -> Never {
  FileHandle.standardError.write(Data("bench: \(text)\n".utf8))
  exit(64)
}

// A yardstick that ended early is an error to report, not a signal to die of.
signal(SIGPIPE, SIG_IGN)

var isQuick = false
var counts: [Int]?
var only: String?
var jsonPath: String?
var markdownPath: String?
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
  case "--markdown": markdownPath = value()
  case "--take-turns":
    guard let count = Int(value()), !arguments.isEmpty else { fail("--take-turns N PROGRAM ARGUMENT…") }
    do { try takeTurns(handling: count, Array(arguments)) } catch { fail("\(error)") }
    exit(0)
  default: fail("unknown option \(argument); there are --quick, --keys N, --only TEXT, --json FILE, --markdown FILE")
  }
}

let harness = Harness(runs: isQuick ? 5 : 9, budget: .seconds(isQuick ? 4 : 60))
var report = Report(isQuick: isQuick)
print(report.heading)
print(Table.headLine)
let sizes = counts ?? (isQuick ? [100_000] : [1_000_000, 10_000_000])
for count in sizes {
  for prepare in catalog where count == sizes[0] || !prepare.isOfOneSize {
    // Made only when it is wanted, and gone before the next: ten million keys of each would not fit.
    guard only.map({ prepare.name.contains($0) }) ?? true else { continue }
    do {
      let measurements = try harness.measure(try prepare.work(count))
      print(Table.lines(measurements))
      report.measurements += measurements
    } catch {
      fail("\(error)")
    }
  }
}
report.notePeakMemory()
print("most memory held: \(report.peakMemory >> 20) MiB")
if let jsonPath { try report.write(to: jsonPath) }
if let markdownPath { try report.markdown.write(toFile: markdownPath, atomically: true, encoding: .utf8) }
