import BundleTrust
import Foundation
import GatewayTesting
import Testing

/// Whatever a command says, and however much of it, none of what its configuration keeps secret is in it.
@Suite struct SecretLogTests {
  private static let words = ["sEcReT-of-the-door-0001", "sEcReT-of-the-header-0002", "sEcReT-of-the-path-0003"]
  private static let revision = "sEcReT-that-seals-tokens-of-revisions-0004"

  private static let configuration = """
    state: state
    sources:
      - name: north
        protocol: index
        location: http://127.0.0.1:9
        options: {index: i.txt}
        trust: operator
        origin: US
        http: {retries: 0, connect: 1 s, headers: {Authorization: {file: header, prefix: "Bearer "}}}
      - {name: drop, protocol: files, location: drop, trust: operator, origin: US}
    series: [{name: US, sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]}]
    publication: {folder: public}
    server:
      listen: 127.0.0.1:0
      response-key: {file: response.pem}
      uploads: {origin: US, answer-after: 0 s, token: {file: token}, revision-key: {env: REVISION}}
    """

  @Test(.timeLimit(.minutes(1))) func noCommandTellsThem() throws {
    let shell = try #require(Tool(named: "bash"))
    let program = try #require(Workshop.program)
    try Workshop.run { workshop in
      try workshop.makeSigner()
      let response = SigningKey.generate().pemRepresentation
      for (name, text) in [("token", Self.words[0]), ("header", Self.words[1]), ("response.pem", response)] {
        try workshop.write(text, name)
      }
      for name in ["token", "header", "response.pem", "310-v1.key.pem"] {
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path(name))
      }
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "drop"), withIntermediateDirectories: true)
      try workshop.write("no keys", "drop/\(Self.words[2]).zip")
      try workshop.write(Self.configuration, "gateway.yaml")
      let secrets =
        try Self.words.prefix(2) + [Self.revision]
        + [response, workshop.text("310-v1.key.pem")].flatMap { pem in
          pem.split(separator: "\n").filter { !$0.hasPrefix("-") && $0.utf8.count > 20 }.map(String.init)
        }
      #expect(secrets.count >= 7)

      // Each once well and once badly used; the services for as long as it takes to ask them something.
      let script = """
        export REVISION=\(Self.revision)
        for command in check "check --json" pull publish "preview US" status "status --json" events "events --json" \\
          "quarantine list" "quarantine retry" "pause --source drop --reason x" "resume --source drop --reason x" \\
          clock "clock accept" "store check" "store backup -o copy.store" "reread drop" registration "registration US" \\
          "recall --source drop --dry-run" "disclose 00" "erase 00 --reason x" "explain 00" "convert" "inspect token" \\
          "sign gateway.yaml" "pull nobody" "publish nobody"; do
          case $command in
            convert|inspect*|sign*) "$0" $command ;;
            *) "$0" $command --config gateway.yaml ;;
          esac
        done
        for service in run serve; do
          "$0" $service --config gateway.yaml --log-level debug >service.log 2>&1 & process=$!
          for wait in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            port=$(sed -n 's/.* listening host=[^ ]* port=\\([0-9]*\\).*/\\1/p' service.log)
            [ -n "$port" ] && break
            sleep 0.2
          done
          for token in \(Self.words[0]) wrong; do
            curl --silent --max-time 5 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \\
              -d '{"temporaryExposureKeys":[]}' "http://127.0.0.1:$port/v1/publish"
          done
          curl --silent --max-time 5 "http://127.0.0.1:$port/metrics" "http://127.0.0.1:$port/"
          kill -TERM $process; wait $process
          cat service.log
        done
        """
      let outcome = try shell.run(["-c", script, program], in: workshop.folder)
      let said = outcome.text + outcome.errors
      // They did run, and answered.
      #expect(said.contains("request") && said.contains("keyferry_http_requests_total"))
      for secret in secrets { #expect(!said.contains(secret), "a secret of \(secret.utf8.count) bytes was told") }
    }
  }
}
