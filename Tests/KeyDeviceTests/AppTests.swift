import ExposureKeys
import Foundation
import GatewayTesting
import Testing

@testable import KeyDevice

/// The apps' own cases, and examples worked by hand.
@Suite(.enabled(if: hasVectors, howToEnable))
struct AppTests {
  private let today = Day(daysSince1970: 18_600)

  private func window(_ node: Node, day: Day? = nil) -> ExposureWindow {
    ExposureWindow(
      day: day ?? Day(daysSince1970: today.daysSince1970 - Int64(node["ageInDays"].optionalInt ?? 0)),
      reportType: node["reportType"].int, infectiousness: Infectiousness(rawValue: node["infectiousness"].int) ?? .none,
      confidence: node["calibrationConfidence"].optionalInt ?? 0,
      scans: node["scanInstances"].list.map {
        ScanInstance(
          typicalAttenuation: $0["typicalAttenuation"].int, minimumAttenuation: $0["minAttenuation"].optionalInt ?? 0,
          secondsSinceLastScan: $0["secondsSinceLastScan"].int)
      })
  }

  @Test func coronaWarnJudgesAsTheApps() throws {
    let scores = try Node.file("scores.json")
    for (name, own, cases) in [
      ("cwa_2_configuration", CoronaWarnConfiguration.second, "cwa_2"),
      ("cwa_1_9_configuration", .first, "cwa_1_9"),
    ] {
      let text = try JSONSerialization.data(withJSONObject: scores[name].value)
      var configuration = try JSONDecoder().decode(CoronaWarnConfiguration.self, from: text)
      configuration.keptDays = own.keptDays
      #expect(configuration == own)
      for one in scores[cases].list {
        let note = Comment(rawValue: one["note"].text)
        if !one["window"].isNull {
          switch configuration.outcome(of: window(one["window"])) {
          case .dropped: #expect(one["result"].isNull, note)
          case .result(let result):
            #expect(abs(result.normalized - one["result"].double) < 1e-12, note)
            #expect(result.level == one["level"].int, note)
          }
          continue
        }
        let windows = one["windows"].list.map { window($0) }
        for (rounding, level) in [(CoronaWarnConfiguration.Rounding.iOS, "ios_level"), (.android, "android_level")] {
          let day = try #require(configuration.days(windows, rounding).values.first, note)
          #expect(day.level == one[level].int, note)
          let time = rounding == .iOS ? one["result"].double : one["android_result"].double
          #expect(abs(day.normalized - time) < 1e-12, note)
        }
      }
    }
  }

  @Test func firstAppsJudgeSummaries() throws {
    let scores = try Node.file("scores.json")
    for one in scores["cwa_1_0"].list {
      let score = SummaryRule.coronaWarn.score(
        maximum: one["maximum_risk_score"].int, minutes: one["attenuation_minutes"].ints, transmissionRisk: 0)
      #expect(score == one["result"].double)
    }
    for one in scores["nhs_1"].list {
      let rule = SummaryRule.weightedSeconds(threshold: 900)
      var score = rule.score(maximum: 0, minutes: one["minutes"].ints, transmissionRisk: one["transmission_risk"].int)
      if !one["with_factor"].bool { score /= SummaryRule.distanceFromLevel(one["transmission_risk"].int) }
      #expect(abs(score - one["result"].double) < 1e-9)
    }
    for one in scores["immuni"].list {
      let configuration = FirstConfiguration.immuni
      let score =
        configuration.attenuationScore(one["attenuation"].int) * configuration.durationScore(one["minutes"].double)
      #expect(score == one["result"].int)
      #expect(SummaryRule.maximumScore(20).isAlarm(Double(score)) == one["exposed"].bool)
    }
  }

  @Test func minutesOfADay() throws {
    for one in try Node.file("scores.json")["swisscovid"].list {
      let minutes = MinuteRule().minutes(ofSeconds: one["seconds_below_55_below_63_rest"].ints)
      #expect(minutes == one["result"].double)
      #expect((minutes >= 15) == one["exposed"].bool)
    }
  }

  @Test func coronaMelderSums() throws {
    for one in try Node.file("scores.json")["coronamelder"].list {
      let windows = one["windows"].list.map { window($0, day: Day(daysSince1970: Int64($0["day"].int))) }
      let day = try #require(DailySummary.summaries(of: windows, .coronaMelder).first)
      #expect(day.total.sum == one["result"].double)
      if !one["maximum"].isNull { #expect(day.total.maximum == one["maximum"].double) }
    }
  }

  @Test func cocoaNeedsAllConditions() throws {
    for one in try Node.file("scores.json")["cocoa_2"].list {
      let window = ExposureWindow(
        day: today, reportType: 1, infectiousness: .high,
        scans: one["scans_typical_seconds"].list.map {
          ScanInstance(
            typicalAttenuation: $0[0].int, minimumAttenuation: $0[0].int, secondsSinceLastScan: $0[1].int)
        })
      let verdict = WindowRule.conditions(.cocoa, .cocoa).judge([window], today: today)
      let day = try #require(verdict.days.first)
      #expect(abs(day.score - one["result"].double) < 1e-9)
      #expect(day.isAlarm == one["high"].bool)
    }
  }

  @Test func classesOfENExpress() throws {
    for one in try Node.file("scores.json")["en_express"].list {
      var day = DailySummary(day: today)
      for (type, sum) in one["day"]["sum"].members {
        var sums = DailySummary.Sums()
        sums.sum = sum.double
        sums.maximum = one["day"]["maximum"].double
        sums.weightedSeconds = one["day"]["weighted"].double
        day.byReportType[Int(type) ?? 0] = sums
      }
      let names = [
        "confirmedTestPerDaySum": 1, "clinicalDiagnosisPerDaySum": 2, "selfReportPerDaySum": 3, "recursivePerDaySum": 4,
      ]
      let classes = one["thresholds"].members.map { number, thresholds in
        var found = ExposureClass(number: Int(number) ?? 0)
        for (name, type) in names where !thresholds[name].isNull {
          found.sumByReportType[type] = thresholds[name].double
        }
        return found
      }.sorted { $0.number < $1.number }
      #expect(classes.first { $0.applies(to: day) }?.number ?? 0 == one["result"].int)
    }
  }

  @Test func distancesAreThoseOfTheOriginal() throws {
    for one in try Node.file("scores.json")["nhs_2"].list {
      let score = DistanceRule().score(
        of: one["scans_minimum_attenuation_seconds"].list.map {
          ScanInstance(typicalAttenuation: $0[0].int, minimumAttenuation: $0[0].int, secondsSinceLastScan: $0[1].int)
        })
      let expected = one["original_program"].double
      #expect(abs(score - expected) <= 1e-9 * expected)
      #expect((score >= 100) == one["exposed_if_high"].bool)
    }
  }
}
