import ExposureKeys
import Foundation
import GatewayTesting
import Testing

@testable import KeyDevice

/// Random scenarios, judged here and by the model that was compared with the originals.
@Suite(.enabled(if: PythonModel.folder != nil, "python3 with cryptography, and the folder of real files, are needed"))
struct ThreeWayTests {
  @Test func modelsAgree() throws {
    var random = SeededRandom(for: "three ways")
    let scenarios = (0..<150).map { _ in Scenario(&random) }
    let folder = try #require(PythonModel.folder)
    let text = String(
      decoding: try JSONSerialization.data(withJSONObject: scenarios.map(input)), as: UTF8.self)
    let answers = try PythonModel.run(Self.program, text, folder).split(separator: "\n")
    try #require(answers.count == scenarios.count)
    var matched = 0
    for (scenario, answer) in zip(scenarios, answers) {
      let node = Node(try JSONSerialization.jsonObject(with: Data(answer.utf8)))
      for (key, broadcasts) in scenario.broadcasts() {
        matched += 1
        let expected = node[key.key.hex]
        #expect(google(key, broadcasts) == "\(expected["google"].text)")
        #expect(microg(key, broadcasts) == "\(expected["microg"].text)")
        #expect(apple(key, broadcasts) == "\(expected["apple"].text)")
      }
      let days = DailySummary.summaries(of: Array(scenario.windows(.google).joined()), Scenario.daily)
        .map { "\($0.day.daysSince1970):\(Int(($0.total.sum * 1000).rounded()))" }
      #expect(days.joined(separator: " ") == node["days"].text)
    }
    #expect(matched > 100)
  }

  private func google(_ key: ClaimedKey, _ broadcasts: [Broadcast]) -> String {
    let (start, period) = (Int64(key.rollingStartWord), Int(key.rollingPeriodWord))
    let aggregated = GoogleReception.receive(broadcasts, start: start, period: period, aggregates: true).sightings
    let exposures = FirstVersion.google(
      aggregated, start: start, transmissionRisk: Int(key.transmissionRiskWord), Scenario.first, now: Scenario.now)
    let all = GoogleReception.receive(broadcasts, start: start, period: period, aggregates: false).sightings
    let (type, infectiousness) = Phone(.google, now: Scenario.now).mapped(key, Scenario.mapping)
    let windows = ExposureWindows.google(all, reportType: type, infectiousness: infectiousness)
    return numbers(exposures.map { [$0.seconds, $0.attenuation, $0.score] + $0.bucketSeconds })
      + "|"
      + numbers(
        windows.map { window in
          [Int(window.day.daysSince1970), window.reportType, window.infectiousness.rawValue, window.confidence]
            + window.scans.flatMap { [$0.typicalAttenuation, $0.minimumAttenuation, $0.secondsSinceLastScan] }
        })
  }

  private func microg(_ key: ClaimedKey, _ broadcasts: [Broadcast]) -> String {
    let received = MicroGReception.receive(
      broadcasts, start: Int64(key.rollingStartWord), period: Int(key.rollingPeriodWord), receiver: MicroGReceiver())
    let merged = MergedExposure.merge(received.sightings)
    let exposures = FirstVersion.microg(
      merged, transmissionRisk: Int(key.transmissionRiskWord), Scenario.first, now: Scenario.now)
    return numbers(
      zip(merged, exposures).map { one, exposure in
        [Int(one.milliseconds / 1000), one.confidence, exposure.seconds / 60, exposure.attenuation, exposure.score]
          + exposure.bucketSeconds.map { $0 / 60 }
      })
  }

  private func apple(_ key: ClaimedKey, _ broadcasts: [Broadcast]) -> String {
    let observations = AppleReception.receive(broadcasts, period: Int(key.rollingPeriodWord), now: Scenario.now)
      .observations
    guard
      let found = FirstVersion.apple(
        observations, transmissionRisk: Int(key.transmissionRiskWord), Scenario.first, now: Scenario.now)
    else { return "" }
    return numbers([
      [Int(found.day.daysSince1970), found.exposure.attenuation, found.exposure.seconds] + found.durations
        + [found.fullScore, found.exposure.score] + found.reportedSeconds
    ])
  }

  private func numbers(_ rows: [[Int]]) -> String {
    rows.map { $0.map(String.init).joined(separator: ",") }.joined(separator: ";")
  }

  private func input(_ scenario: Scenario) -> [String: Any] {
    [
      "now": scenario.keys.isEmpty ? 0 : Scenario.now.secondsSince1970,
      "days": Scenario.mapping.days.map(\.rawValue), "missing": Scenario.mapping.whenOnsetMissing.rawValue,
      "report": Scenario.mapping.reportTypeWhenMissing,
      "keys": scenario.keys.map { key -> [String: Any] in
        [
          "tek": key.key.hex, "start": key.rollingStartWord, "period": key.rollingPeriodWord,
          "trl": key.transmissionRiskWord, "report": key.reportType.map(Int.init) ?? 0,
          "dsos": key.daysSinceOnset.map { Int($0) as Any } ?? NSNull(),
        ]
      },
      "sightings": scenario.sightings.map { one -> [Any] in
        [
          one.milliseconds / 1000, Hexadecimal.encode(one.identifier.bytes), Int(one.rssi ?? 0),
          Hexadecimal.encode(number: UInt64(one.encryptedMetadata ?? 0), width: 8),
          one.secondsSincePreviousScan.map { Int($0) } ?? 0,
        ]
      },
    ]
  }

  /// Reads scenarios as one line of JSON, and prints the model's answers, a line each.
  private static let program = """
    import json, sys
    from device_model import *
    V1 = dict(att=[0,2,3,4,5,6,7,8], days=list(range(1,9)), dur=list(range(8)), trl=list(range(1,9)), min=0, thr=[50,63])
    D = dict(thr=[55,63,73], att=[1.5,1,.5,.25], report=[1,.5,.25,0], inf=[1,2], min=0)
    def rows(l): return ";".join(",".join(str(int(x)) for x in r) for r in l)
    for s in json.load(sys.stdin):
        out, every = {}, []
        m = dict(days=s["days"], missing=s["missing"], report=s["report"])
        seen = [(t, bytes.fromhex(r), rssi, bytes.fromhex(a), t - p if p else 0) for t, r, rssi, a, p in s["sightings"]]
        for k in s["keys"]:
            hexa = k["tek"]; k = dict(k, tek=bytes.fromhex(hexa)); a = dict(google="", microg="", apple="")
            v = google_v1(k, seen, V1, s["now"] * 1000); w = google_windows(k, seen, m)
            # A phone gives no window of a person who was not infectious.
            every += [x for x in w if x["infectiousness"] > 0]
            a["google"] = rows([[r["duration"], r["attenuation"], r["score"]] + r["durations"] for r in (v["records"] if v else [])]) + "|" + rows(
                [[x["epoch"] // 86400, x["report"], x["infectiousness"], x["confidence"]] + [y for z in x["scans"] for y in (z["typical"], z["minimum"], z["seconds"])] for x in w])
            ids = rpis(k["tek"], k["start"], k["period"]); store = []
            for r in ids:
                own = []
                for t, q, rssi, e, _ in sorted(seen):
                    if q == r: microg_note(own, r, e, rssi, t * 1000)
                store += own
            # The order in which the database answers is taken as that of time.
            store.sort(key=lambda r: r[2])
            merged = microg_merge(microg_measured(k, [tuple(r) for r in store]))
            scored = microg_v1(merged, k, V1, s["now"] * 1000)
            a["microg"] = rows([[x[0] // 1000, x[1], y["minutes"], y["attenuation"], y["score"]] + y["durations"] for x, y in zip(merged, scored)])
            obs = [(r, e, t, (t - p if p and t - p <= 304 else 150), rssi, 0, 1) for t, r, rssi, e, p in sorted(seen) if r in ids]
            i = apple_info(k, obs, V1["att"], thr=(50, 63), now=s["now"])
            if i:
                q = apple_score(i, k, dict(days=V1["days"], dur=V1["dur"], trl=V1["trl"]), s["now"])
                a["apple"] = rows([[i["day"], i["attenuationValue"], i["duration"]] + i["durations"] + [q["full"], q["total"], q["duration"]] + q["durations"]])
            out[hexa] = a
        d = daily(every, D)
        out["days"] = " ".join("%d:%d" % (x, java_round(v[1] * 1000)) for x, v in sorted(d.items()))
        print(json.dumps(out))
    """
}

/// The model in Python, which was compared with the original programs.
private enum PythonModel {
  /// The folder of the model, if it can run.
  static let folder: String? = {
    guard let folder = RealData.folder?.appending(path: "device/tools").path() else { return nil }
    return (try? run("import device_model", "", folder)) == nil ? nil : folder
  }()

  static func run(_ program: String, _ input: String, _ folder: String) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-B", "-c", program]
    process.currentDirectoryURL = URL(filePath: folder)
    process.environment = ProcessInfo.processInfo.environment.merging(["PYTHONPATH": folder]) { $1 }
    let (given, answer) = (
      FileManager.default.temporaryDirectory.appending(path: "scenarios-\(UUID().uuidString)"), Pipe()
    )
    try Data(input.utf8).write(to: given)
    defer { try? FileManager.default.removeItem(at: given) }
    process.standardInput = try FileHandle(forReadingFrom: given)
    process.standardOutput = answer
    process.standardError = Pipe()
    try process.run()
    let bytes = try answer.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw CocoaError(.executableNotLoadable) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
