import ExposureKeys
import Foundation
import FoundationNetworking
import Testing

/// COVIDWISE: a PIN in place of a certificate, and an index of which iOS reads the newest fourteen lines.
@Suite("Seed: COVIDWISE") struct CovidwiseSeedTests {
  /// The app for iOS: the newest fourteen archives, each time, whatever it has.
  private struct ApplePhone {
    let line: Line
    var balance = Balance()

    mutating func visit() async throws {
      let text = String(
        decoding: try await line.download("\(line.gateway.address)/exposureKeyExport-US/index.txt"), as: UTF8.self)
      balance.beginAgain()
      for entry in text.split(separator: "\n").suffix(14) {
        let archive = try await line.download(
          "\(line.gateway.address)/\(entry)", fields: ["Content-Type": "application/json"])
        let (export, signature) = try unpacked(archive)
        balance.find(try Framework.apple.keys(export: export, signature: signature, signer: line.gateway.signer))
      }
    }
  }

  /// The one for Android: as Google's app, and it throws on names that it cannot read.
  private struct AndroidPhone {
    let line: Line
    var lastEntry: Substring?
    var balance = Balance()

    mutating func visit() async throws {
      let text = String(
        decoding: try await line.download("\(line.gateway.address)/exposureKeyExport-US/index.txt"), as: UTF8.self)
      let entries = text.split(separator: "\n")
      for entry in entries {
        guard entry.wholeMatch(of: #/exposureKeyExport-[A-Z]{2}/([0-9]+)-[0-9]+.zip/#) != nil else {
          throw PhoneFault("the name \(entry)")
        }
      }
      let start = entries.lastIndex { $0 == lastEntry }.map { $0 + 1 } ?? 0
      for entry in entries[start...] {
        let (export, signature) = try unpacked(try await line.download("\(line.gateway.address)/\(entry)"))
        balance.find(try Framework.google.keys(export: export, signature: signature, signer: line.gateway.signer))
      }
      lastEntry = entries.last ?? lastEntry
    }
  }

  private func post(_ keys: [FoundKey], pin: String, over line: Line) async throws -> Int {
    let body = try JSONSerialization.data(
      withJSONObject: [
        "temporaryExposureKeys": keys.map {
          [
            "key": $0.data.base64EncodedString(), "rollingStartNumber": $0.start, "rollingPeriod": $0.period,
            "transmissionRisk": $0.risk,
          ] as [String: Any]
        },
        "regions": ["US"], "appPackageName": "gov.vdh.exposurenotification", "platform": "ios",
        "deviceVerificationPayload": "", "pinToken": pin, "verificationPayload": "SML",
        "padding": Data((0..<1200).map { _ in UInt8.random(in: 0...255) }).base64EncodedString(),
      ] as [String: Any])
    let (_, answer) = try await line.post(body, to: "/v1alpha1/publish")
    return answer.statusCode
  }

  @Test("seventeen days of one archive each: both apps find every key once", .timeLimit(.minutes(2)))
  func days() async throws {
    let service = try #require(CodeService())
    defer { service.stop() }
    try await SeedGateway.run(
      """
      series:
        - {name: exposureKeyExport-US, include: [US], every: 1 day, listed: 14 days, names: "{start}-{number}.zip", sign: KEY}
      server:
        listen: "127.0.0.1:0"
        uploads:
          origin: US-VA
          regions: [US-VA, US]
          codes: {url: "http://127.0.0.1:\(service.port)/code"}
          rate: none
      """, from: "2020-12-01T09:00:00Z"
    ) { gateway in
      let line = Line(gateway: gateway)
      var android = AndroidPhone(line: line)
      var apple = ApplePhone(line: line)
      var posted: [[FoundKey]] = []
      for day in 0..<17 {
        let keys = Person(number: day).keys(before: gateway.today)
        let other = Person(number: 100 + day).keys(before: gateway.today)
        #expect(try await post(keys, pin: "1234-good", over: line) == 200)
        #expect(try await post(other, pin: "1234-bad", over: line) == 401)
        posted.append(keys)
        try await gateway.goOn(hours: 24, step: 6)
        try await android.visit()
        try await apple.visit()
        #expect(apple.balance.repeated == 0, "day \(day)")
      }
      android.balance.post(posted.flatMap(\.self))
      #expect(android.balance.faults == [])
      // What was published on the last fourteen days.
      apple.balance.post(posted.suffix(14).flatMap(\.self))
      #expect(apple.balance.faults == [])
    }
  }
}
