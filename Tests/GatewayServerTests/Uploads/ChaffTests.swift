import Foundation
import GatewaySettings
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import GatewayServer

/// Who watches the line sees when an answer comes and how long it is. Neither may tell whether somebody is ill.
@Suite("Real uploads and fake ones", .serialized)
struct ChaffTests {
  /// The chance that a real request shows a greater number than a fake one: one half says nothing.
  private func auc(_ real: [Double], _ fake: [Double]) -> Double {
    var wins = 0.0
    for left in real { for right in fake { wins += left > right ? 1 : left == right ? 0.5 : 0 } }
    return wins / Double(real.count * fake.count)
  }

  private typealias Answer = (isReal: Bool, seconds: Double, bytes: Int, code: Int)

  private struct Measurement {
    var time = 0.0
    var length = 0.0
    var codes: Set<Int> = []
  }

  private func measure(_ gateway: ConfiguredGateway, keepsPace: Bool, rounds: Int) async throws -> Measurement {
    let vector = try UploadVector("publish_confirmed")
    let real = vector.fields
    var fake = real
    fake[HTTPField.Name("X-Chaff")!] = "1"
    let body = ByteBuffer(string: vector.body)
    let app = try gateway.application(keepsPace: keepsPace).application()
    let answers = try await app.live { [fake] client in
      // Some phones at once, which mostly wait; half of them begin with a fake upload.
      let (port, phones) = (client.port, 4)
      return try await withThrowingTaskGroup(of: [Answer].self) { group in
        for phone in 0..<phones {
          group.addTask {
            let client = LiveClient(port: port)
            var answers: [Answer] = []
            for round in 0..<rounds * 2 / phones {
              let isReal = (round + phone) % 2 == 0
              let begin = ContinuousClock.now
              let response = try await client.execute(
                uri: "/v1/publish", method: .post, headers: isReal ? real : fake, body: body)
              answers.append(
                (isReal, (ContinuousClock.now - begin) / .seconds(1), response.bytes.count, response.code))
            }
            try await client.close()
            return answers
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
    }
    func numbers(_ isReal: Bool, _ number: (Answer) -> Double) -> [Double] {
      answers.filter { $0.isReal == isReal }.map(number)
    }
    return Measurement(
      time: auc(numbers(true) { $0.seconds }, numbers(false) { $0.seconds }),
      length: auc(numbers(true) { Double($0.bytes) }, numbers(false) { Double($0.bytes) }),
      codes: Set(answers.map(\.code)))
  }

  private static let doors = """
    origin: US-VA
        rate: none
        certificates: [{issuer: verify.example.org, audience: keys.example.org, key-set: keys.jwks}]
        revision-key: {file: revision}
    """

  /// `KEYFERRY_CHAFF_ROUNDS=1000` measures longer.
  private static let rounds = ProcessInfo.processInfo.environment["KEYFERRY_CHAFF_ROUNDS"].flatMap { Int($0) } ?? 60

  @Test("Neither the time of an answer nor its length tells a fake upload from a real one", .timeLimit(.minutes(30)))
  func apart() async throws {
    // Without revision tokens the same keys are taken again, so that each real upload is one.
    let gateway = try ConfiguredGateway(doors: Self.doors).withoutRevisionKey()
    #expect(gateway.plan.server?.uploads.first?.answerSeconds == 1)
    let unpaced = try await measure(gateway, keepsPace: false, rounds: Self.rounds)
    let paced = try await measure(gateway.pacing(0.2), keepsPace: true, rounds: Self.rounds)
    print(
      "fake and real uploads: AUC of time \(paced.time) (\(unpaced.time) without the pace), of length \(paced.length)")
    #expect(paced.codes == [200])
    // Of 60 and 60 equal ones, one in ten thousand measurements is further off.
    #expect((0.29...0.71).contains(paced.time), "\(paced.time)")
    #expect((0.29...0.71).contains(paced.length), "\(paced.length)")
  }

  @Test("A refusal comes at the pace of all, also where the body is not read", .timeLimit(.minutes(30)))
  func refusals() async throws {
    let app = try ConfiguredGateway().pacing(0.1).application(keepsPace: true)
    let good = try UploadVector("publish_confirmed")
    let json: HTTPFields = [.contentType: "application/json"]
    let large = [UInt8](repeating: 0x20, count: 70_000)
    let requests: [(name: String, path: String, fields: HTTPFields, body: [UInt8], status: Int)] = [
      ("taken", good.path, good.fields, Array(good.body.utf8), 200),
      ("another media type", good.path, [.contentType: "text/plain"], Array(good.body.utf8), 415),
      ("too large", good.path, json, large, 413),
      ("no JSON", good.path, json, [0x5B], 400),
      ("another series", "/apple/CA/keys", json, large, 404),
      ("without a token", "/apple/VA/keys", json, large, 401),
      ("DP-3T, another media type", "/v2/gaen/exposed", [.contentType: "text/plain"], large, 415),
    ]
    let rounds = Self.rounds / 3
    let times = try await withThrowingTaskGroup(of: (Int, [Double]).self) { group in
      for (number, request) in requests.enumerated() {
        group.addTask {
          var times: [Double] = []
          for round in 0..<rounds {
            let begin = ContinuousClock.now
            let response = try await app.ask(request.path, .post, headers: request.fields, body: request.body)
            times.append((ContinuousClock.now - begin) / .seconds(1))
            // Keys that were taken once are not taken again without their revision token.
            let isRepeated = request.status == 200 && round > 0
            #expect(response.code == (isRepeated ? 400 : request.status), "\(request.name)")
          }
          return (number, times)
        }
      }
      return try await group.reduce(into: [Int: [Double]]()) { $0[$1.0] = $1.1 }
    }
    for (number, request) in requests.enumerated() {
      let own = try #require(times[number])
      print("upload, \(request.name): AUC of time beside one that is taken \(auc(times[0] ?? [], own))")
      #expect(own.allSatisfy { $0 >= 0.1 }, "\(request.name): \(own.min() ?? 0) s")
      // Half of them, at least, in the first step and its chance; a busy machine is later.
      #expect(own.sorted()[rounds / 2] < 0.25, "\(request.name)")
    }
  }

  @Test("An answer comes at its time or a little later, and what takes longer at a multiple of it")
  func pace() async {
    let pace = AnswerPace(seconds: 0.05)
    for (work, steps) in [(0.0, 1.0), (0.02, 1), (0.12, 3)] {
      // Never early; of some tries on a busy machine one is not late.
      var earliest = Double.infinity
      for _ in 0..<10 where earliest >= steps + 0.4 {
        let arrival = ContinuousClock.now
        try? await Task.sleep(for: .seconds(work))
        await pace.wait(since: arrival)
        let time = (ContinuousClock.now - arrival) / .seconds(0.05)
        #expect(time >= steps, "\(work): \(time)")
        earliest = min(earliest, time)
      }
      #expect(earliest < steps + 0.4, "\(work): \(earliest)")
    }
  }

  @Test("Every answer has a length of one range, whatever it says")
  func lengths() {
    var random = SystemRandomNumberGenerator()
    for code in ["", "bad_request"] {
      for errors in [0, 40, 3000] {
        var response = PublishResponse(.ok, code, String(repeating: "e", count: errors))
        response.insertedExposures = 14
        response.revisionToken = String(repeating: "t", count: 980)
        for _ in 0..<20 { #expect((6144..<8192).contains(response.padded(using: &random).count)) }
      }
    }
    let long = PublishResponse(.badRequest, "bad_request", String(repeating: "e", count: 6000))
    #expect((8192..<10240).contains(long.padded(using: &random).count))
  }
}
