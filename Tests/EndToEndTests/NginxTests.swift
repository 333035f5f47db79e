import Foundation
import GatewayTesting
import Testing

private let nginx =
  Tool(named: "nginx") ?? ["/usr/sbin/nginx"].first(where: FileManager.default.isExecutableFile).map { Tool(path: $0) }

/// nginx with the file that ships, in front of a gateway that runs as the page says.
@Suite(
  "The configuration of nginx that ships",
  .enabled(
    if: nginx != nil && Tool(named: "curl") != nil && Tool(named: "openssl") != nil,
    "needs openssl, curl and Debian's package nginx-light"))
struct NginxTests {
  @Test(.timeLimit(.minutes(2))) func endsTLSAndKeepsWhatPhonesFetch() async throws {
    try await Neighbourhood.visit { place in
      // Below those that systems give to clients.
      let (port, behind) = (Int.random(in: 20_000..<26_000), Int.random(in: 26_000...32_000))
      try place.gateway("nl", origin: "NL")
      let settings = try String(contentsOfFile: place.path("nl/gateway.yaml"), encoding: .utf8)
      try place.write(
        settings.replacing(
          "127.0.0.1:0\"}",
          with: "127.0.0.1:\(behind)\", url: \"https://keys.example.org\", proxies: [127.0.0.1], rate: 5/min}"),
        "nl/gateway.yaml")
      try place.drop(40, seed: 1, in: "nl", as: "a.csv")
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", "2020-12-01T10:00:00Z")
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      let archive = try #require(try place.index(of: "nl").first)
      let published = try Data(contentsOf: place.folder.appending(path: "nl/public/\(archive)"))

      try await place.running("nl") { process, _ in
        try await proxied(behind, port: port, in: place) {
          let index = try ask("/all/index.txt", port: port, in: place)
          #expect(index.status == 200 && index.version == "2" && index.text.contains(archive), "\(index.text)")
          #expect(try ask("/\(archive)", port: port, in: place).body == published)
          // What is for operators alone is not passed on, though the gateway would answer it here.
          #expect(try ask("/metrics", port: port, in: place).status == 404)
          // Whoever writes other addresses is one client all the same.
          let statuses = try (0..<10).map {
            try ask("/all/index.txt?\($0)", ["-H", "X-Forwarded-For: 192.0.2.\($0)"], port: port, in: place).status
          }
          #expect(statuses.contains(429), "\(statuses)")

          // A second phone is answered by nginx alone.
          process.terminate()
          process.waitUntilExit()
          #expect(try ask("/\(archive)", port: port, in: place).body == published)
          #expect(try ask("/all/index.txt", port: port, in: place).text == index.text)
          #expect(try ask("/all/other.txt", port: port, in: place).status == 502)
        }
      }
    }
  }

  private struct Answer {
    var status: Int
    /// Of HTTP.
    var version: String
    var body: Data
    var text: String { String(decoding: body, as: UTF8.self) }
  }

  private func ask(_ path: String, _ options: [String] = [], port: Int, in place: Neighbourhood) throws -> Answer {
    let outcome = try #require(Tool(named: "curl")).run(
      [
        "--silent", "--insecure", "--max-time", "20", "--resolve", "keys.example.org:\(port):127.0.0.1",
        "--output", "answer", "--write-out", "%{http_code} %{http_version}", "https://keys.example.org:\(port)\(path)",
      ] + options, in: place.folder)
    let words = outcome.text.split(separator: " ")
    let body = (try? Data(contentsOf: place.folder.appending(path: "answer"))) ?? Data()
    return Answer(status: words.first.flatMap { Int($0) } ?? -1, version: words.last.map(String.init) ?? "", body: body)
  }

  /// Runs nginx with the file that ships, but for addresses and places of the machine.
  private func proxied(_ gateway: Int, port: Int, in place: Neighbourhood, _ body: () async throws -> Void) async throws
  {
    let nginx = try #require(nginx)
    let folder = place.path("nginx")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let made = try #require(Tool(named: "openssl")).run([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
      "/CN=keys.example.org", "-keyout", "\(folder)/tls.key", "-out", "\(folder)/tls.pem",
    ])
    try #require(made.status == 0, "\(made.errors)")
    var server = try String(
      contentsOf: PackageFolder.root.appending(path: "interop/deploy/nginx.conf"), encoding: .utf8)
    for (old, new) in [
      ("/var/cache/nginx/keyferry", "\(folder)/cache"), ("listen 443 ssl", "listen 127.0.0.1:\(port) ssl"),
      ("/etc/letsencrypt/live/keys.example.org/fullchain.pem", "\(folder)/tls.pem"),
      ("/etc/letsencrypt/live/keys.example.org/privkey.pem", "\(folder)/tls.key"),
      ("http://127.0.0.1:8080", "http://127.0.0.1:\(gateway)"),
    ] {
      try #require(server.contains(old), "\(old)")
      server = server.replacing(old, with: new)
    }
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: "\n")
    try place.write(
      """
      daemon off;
      worker_processes 1;
      pid \(folder)/nginx.pid;
      error_log \(folder)/nginx.log;
      events {}
      http {
      access_log off;
      \(temporary)
      \(server)
      }
      """, "nginx/nginx.conf")
    let arguments = ["-p", folder, "-c", "\(folder)/nginx.conf", "-e", "\(folder)/nginx.log"]
    let tested = try nginx.run(["-t"] + arguments, in: place.folder)
    try #require(tested.status == 0, "\(tested.errors)")
    let process = Process()
    process.executableURL = URL(filePath: nginx.path)
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    for _ in 0..<100 where try ask("/metrics", port: port, in: place).status != 404 {
      try await Task.sleep(for: .milliseconds(100))
    }
    try await body()
  }
}
