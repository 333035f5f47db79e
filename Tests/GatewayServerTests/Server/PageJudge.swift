import Crypto
import Foundation
import GatewayTesting
import HummingbirdTesting
import Testing

/// What every page for people keeps to, whoever reads it.
enum PageJudge {
  /// What is wrong with the page; empty is nothing.
  static func faults(of response: TestResponse) throws -> [String] {
    var faults: [String] = []
    if response.code != 200 { faults.append("status \(response.code)") }
    if response["Content-Type"] != "text/html; charset=utf-8" { faults.append("it is no HTML") }
    return try faults + self.faults(of: response.text, policy: response["Content-Security-Policy"] ?? "")
  }

  static func faults(of page: String, policy: String) throws -> [String] {
    try needs(page, policy) + form(page) + ways(page)
  }

  /// No script, nothing from elsewhere; the policy lets this page's style take effect, and no other.
  private static func needs(_ page: String, _ policy: String) throws -> [String] {
    var faults = ["<script", "<link", "<img", "<iframe", "src=", " style=", "onload", "@import", "url("]
      .filter { page.contains($0) }.map { "it has \($0)" }
    let parts = page.components(separatedBy: "<style>")
    let style = parts.count == 2 ? parts[1].components(separatedBy: "</style>")[0] : ""
    let digest = Data(SHA256.hash(data: Data(style.utf8))).base64EncodedString()
    if !policy.contains("default-src 'none'") || !policy.contains("style-src 'sha256-\(digest)'") {
      faults.append("its policy allows another style, or more: \(policy)")
    }
    return faults
  }

  /// What HTML lets stand open is closed here, so that an XML parser can judge the rest.
  private static func form(_ page: String) throws -> [String] {
    var faults = page.hasPrefix("<!DOCTYPE html>\n<html lang=\"en\">") ? [] : ["it does not say its language"]
    let xml =
      page.replacing("<!DOCTYPE html>", with: "")
      .replacing(try Regex("<meta ([^>]*)>")) { "<meta \($0.output[1].substring ?? "")/>" }
      .replacing("<br>", with: "<br/>")
    let tool = try #require(Tool(named: "python3"), "python3 checks the page")
    let outcome = try tool.run(
      ["-c", "import sys,xml.dom.minidom; xml.dom.minidom.parse(sys.stdin)"], input: Array(xml.utf8))
    if outcome.status != 0 { faults.append("\(outcome.errors.suffix(300))") }
    return faults
  }

  /// A keyboard comes to what matters with its first step; each section says what it is; what is named is there, once.
  private static func ways(_ page: String) throws -> [String] {
    var faults: [String] = []
    let ids = page.matches(of: try Regex(" id=\"([^\"]*)\"")).compactMap { $0.output[1].substring }
    if Set(ids).count != ids.count { faults.append("two parts have one id") }
    for reference in page.matches(of: try Regex("(?:aria-labelledby=\"|href=\"#)([^\"]*)\"")) {
      let names = (reference.output[1].substring ?? "").split(separator: " ")
      faults += names.filter { !ids.contains($0) }.map { "nothing has the id \($0)" }
    }
    let body = page.components(separatedBy: "<body>").last ?? ""
    if !body.hasPrefix("\n<a class=\"skip\" href=\"#") { faults.append("no link leads past its head") }
    if body.components(separatedBy: "<h1>").count != 2 { faults.append("it has not one title") }
    for part in body.components(separatedBy: "<section").dropFirst()
    where !part.prefix(while: { $0 != ">" }).contains("aria-labelledby=\"") {
      faults.append("a section has no name: \(part.prefix(80))")
    }
    return faults
  }
}
