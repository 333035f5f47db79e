import BundleTrust
import Foundation
import GatewayTesting
import Testing

/// A series whose key lies elsewhere: `sign: [{command: …}]`.
@Suite(.enabled(if: Tool(named: "openssl") != nil, "needs openssl")) struct SigningCommandTests {
  private static let noon = "2020-12-01T12:00:00Z"

  /// What is published of a gateway that has pulled some keys and signs like this.
  private func withGateway(
    sign script: String, timeout: String = "10 s", _ body: (Workshop) throws -> Void
  ) throws {
    try Workshop.run { workshop in
      try workshop.makeSigner("204")
      try workshop.makeSigner("999")
      try workshop.write("#!/bin/sh\n\(script)\n", "sign")
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: workshop.path("sign"))
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "in"), withIntermediateDirectories: false)
      try workshop.write(Sample.csv, "in/a.csv")
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: workshop.path("in/a.csv"))
      try workshop.write(
        """
        state: state
        sources:
          - {name: drop, protocol: files, location: in, trust: operator, origin: NL, speaks-for: [NL]}
        series:
          - name: NL
            region: "204"
            sign:
              - {command: [sign, "an argument"], public-key: ring/204-v1.pem, timeout: \(timeout), id: "204", version: v1}
        publication: {folder: public}
        """, "gateway.yaml")
      try body(workshop)
    }
  }

  private static let key = "204-v1.key.pem"

  @Test func whatItSignsIsPublished() throws {
    try withGateway(sign: "test \"$1\" = 'an argument' && exec openssl pkeyutl -sign -inkey \(Self.key)") { workshop in
      let check = try workshop.keyferry("check")
      #expect(check.status == 0, "\(check.text)")
      #expect(try workshop.keyferry("pull", "--now", "2020-12-01T08:00:00Z").status != 2)
      let publish = try workshop.keyferry("publish", "--now", Self.noon)
      #expect(publish.status == 0, "\(publish.text)\(publish.errors)")
      let bundles = try workshop.files.filter { $0.hasPrefix("public/NL/") && $0.hasSuffix(".zip") }
      #expect(!bundles.isEmpty)
      let verify = try workshop.keyferry(["verify", "--trust", "ring/204-v1.pem"] + bundles)
      #expect(verify.status == 0, "\(verify.text)")
      // The key lay in no file that Keyferry opened: it was told the public half alone.
      #expect(try workshop.keyferry("registration").status == 0)
    }
  }

  struct Fault: Sendable, CustomTestStringConvertible {
    var script: String
    var reason: String
    var timeout = "10 s"
    var testDescription: String { reason }
  }

  @Test(arguments: [
    Fault(script: "echo 'the token is locked' >&2; exit 3", reason: "it ended with 3: the token is locked"),
    Fault(script: "exit 0", reason: "it ended with 0 and wrote nothing"),
    Fault(script: "exec openssl pkeyutl -sign -inkey 999-v1.key.pem", reason: "does not verify by the public key"),
    Fault(
      script: "head -c 64 /dev/zero | tr '\\0' '\\1'", reason: "64 bytes, r and s side by side, expected them in DER"),
    Fault(script: "echo signed", reason: "7 bytes that are no signature in DER"),
    Fault(
      script: "openssl pkeyutl -sign -inkey \(key); echo", reason: "no canonical DER"),
    Fault(script: "cat /dev/zero", reason: "it writes more than 1024 bytes"),
    Fault(script: "sleep 60 & echo $! > child; wait", reason: "it has not ended within 1 s", timeout: "1 s"),
    Fault(
      script: "exec 1>&- 2>&-; echo $$ > child; exec sleep 60", reason: "it has not ended within 1 s", timeout: "1 s"),
    Fault(script: "kill -9 $$", reason: "it was ended by signal 9"),
    // A digest that was signed before: not this one.
    Fault(
      script: "head -c 32 /dev/zero > d; exec openssl pkeyutl -sign -inkey \(key) -in d",
      reason: "does not verify by the public key"),
    Fault(script: "yes >&2", reason: "it has not ended within 1 s, and was ended: y", timeout: "1 s"),
  ])
  func whatItDoesNotSignIsNot(_ fault: Fault) throws {
    try withGateway(sign: fault.script, timeout: fault.timeout) { workshop in
      let check = try workshop.keyferry("check")
      #expect(check.status == 2 && check.text.contains("series.NL.sign"), "\(check.text)")
      #expect(check.text.contains(fault.reason), "\(check.text)")
      #expect(try workshop.keyferry("pull", "--now", "2020-12-01T08:00:00Z").status != 2)
      let publish = try workshop.keyferry("publish", "--now", Self.noon)
      #expect(publish.status == 2, "\(publish.text)\(publish.errors)")
      #expect((publish.text + publish.errors).contains(fault.reason), "\(publish.text)\(publish.errors)")
      #expect(try !workshop.files.contains { $0.hasPrefix("public/NL/") && $0.hasSuffix(".zip") })
      // What it had started is gone, too.
      if let child = try? workshop.text("child"), let id = Int32(child.trimmingCharacters(in: .whitespacesAndNewlines))
      {
        // Where nobody waits for an orphan, it stays as one that has ended.
        let state = (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)) ?? ""
        #expect(state.isEmpty || state.contains(") Z "), "\(state)")
      }

      // Once it signs, the same window is published.
      try workshop.write("#!/bin/sh\nexec openssl pkeyutl -sign -inkey \(Self.key)\n", "sign")
      let again = try workshop.keyferry("publish", "--now", Self.noon)
      #expect(again.status == 0, "\(again.text)\(again.errors)")
      #expect(try workshop.files.contains { $0.hasPrefix("public/NL/") && $0.hasSuffix(".zip") })
    }
  }

  /// It has nothing of what this process has open: the store least of all.
  @Test func itInheritsNoFile() throws {
    try withGateway(
      sign: "readlink /proc/$$/fd/* > descriptors; exec openssl pkeyutl -sign -inkey \(Self.key)"
    ) { workshop in
      #expect(try workshop.keyferry("pull", "--now", "2020-12-01T08:00:00Z").status != 2)
      #expect(try workshop.keyferry("publish", "--now", Self.noon).status == 0)
      let open = try workshop.text("descriptors")
      #expect(open.contains("pipe:") && !open.contains("state"), "\(open)")
    }
  }

  @Test(arguments: [
    ("command: nowhere", ": there is no such program"),
    ("command: gateway.yaml", " is no program: chmod +x it"),
    ("command: sign, key: {file: 204-v1.key.pem}", "allowed one of key and command"),
    ("command: []", "allowed a program's path"),
  ])
  func whatTheFileSays(_ setting: String, _ reason: String) throws {
    try withGateway(sign: "exit 0") { workshop in
      let text = try workshop.text("gateway.yaml").replacing("command: [sign, \"an argument\"]", with: setting)
      try workshop.write(text, "gateway.yaml")
      let check = try workshop.keyferry("check")
      #expect(check.status == 2 && check.text.contains(reason), "\(check.text)")
    }
  }

  @Test func thePublicKeyIsNeeded() throws {
    try withGateway(sign: "exit 0") { workshop in
      let text = try workshop.text("gateway.yaml").replacing("public-key: ring/204-v1.pem, ", with: "")
      try workshop.write(text, "gateway.yaml")
      let check = try workshop.keyferry("check")
      #expect(check.status == 2 && check.text.contains("public-key"), "\(check.text)")
    }
  }

  // MARK: The examples

  private static let examples = PackageFolder.root.appending(path: "interop/deploy/signing")
  private static let library = ["/usr/lib/softhsm/libsofthsm2.so", "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so"]
    .first { FileManager.default.fileExists(atPath: $0) }

  @Test func theExamplesAreScripts() throws {
    let shell = try #require(Tool(named: "sh"))
    for name in ["pkcs11-sign", "aws-kms-sign"] {
      let path = Self.examples.appending(path: name).path()
      #expect(FileManager.default.isExecutableFile(atPath: path), "\(name)")
      #expect(try shell.run(["-n", path], in: PackageFolder.root).status == 0, "\(name)")
    }
  }

  /// `aws kms sign`, as its reference describes it: what it takes, what it prints, and how it fails.
  private static let documented = """
    #!/bin/sh
    set -eu
    test "$1 $2" = "kms sign" || exit 252
    shift 2
    while [ $# -gt 0 ]; do
      case $1 in
        --key-id) key=$2 ;;
        --message) message=$2 ;;
        --message-type) type=$2 ;;
        --signing-algorithm) algorithm=$2 ;;
        --query) query=$2 ;;
        --output) output=$2 ;;
        *) echo "Unknown options: $1" >&2; exit 252 ;;
      esac
      shift 2
    done
    test "$query $output" = "Signature text"
    test "$type $algorithm" = "DIGEST ECDSA_SHA_256"
    case $message in fileb://*) ;; *) exit 252 ;; esac
    cat "${message#fileb://}" > digest
    test "$(wc -c < digest)" = 32
    if test "$key" != alias/keyferry-nl; then
      printf '\\nAn error occurred (NotFoundException) when calling the Sign operation: Alias %s is not found.\\n' "$key" >&2
      exit 254
    fi
    openssl pkeyutl -sign -inkey \(key) -in digest | openssl base64 -A
    echo
    """

  /// The service behind it: the key is there alone.
  private static let keyManagementService = """
    import base64, http.server, json, os, subprocess

    class Service(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_): pass

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.headers["X-Amz-Target"] == "TrentService.Sign" and "Authorization" in self.headers
            assert asked["MessageType"] == "DIGEST" and asked["SigningAlgorithm"] == "ECDSA_SHA_256", asked
            digest = base64.b64decode(asked["Message"])
            assert len(digest) == 32
            if asked["KeyId"] == "alias/keyferry-nl":
                made = subprocess.run(
                    ["openssl", "pkeyutl", "-sign", "-inkey", "\(key)"], input=digest, capture_output=True, check=True)
                self.answer(200, {
                    "KeyId": "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
                    "Signature": base64.b64encode(made.stdout).decode(), "SigningAlgorithm": "ECDSA_SHA_256"})
            else:
                self.answer(400, {"__type": "NotFoundException", "message": f"Alias {asked['KeyId']} is not found."})

        def answer(self, status, value):
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    with open("port.part", "w") as file: file.write(str(server.server_port))
    os.rename("port.part", "port")
    server.serve_forever()
    """

  @Test func aKeyInAServiceAsDocumented() throws {
    try withGateway(sign: "exit 0") { workshop in try signsByAService(workshop, aws: Self.documented) }
  }

  /// Amazon's own program in front of a service that is played.
  @Test(.enabled(if: realAWS != nil && Tool(named: "python3") != nil, "needs aws, of Debian's package awscli"))
  func aKeyInAService() throws {
    let (aws, python) = try (#require(Self.realAWS), #require(Tool(named: "python3")))
    try withGateway(sign: "exit 0") { workshop in
      try workshop.write(Self.keyManagementService, "service.py")
      let service = Process()
      service.executableURL = URL(filePath: python.path)
      service.arguments = ["service.py"]
      service.currentDirectoryURL = workshop.folder
      try service.run()
      defer {
        // It has the signals blocked that the thread has which started it.
        kill(service.processIdentifier, SIGKILL)
        service.waitUntilExit()
      }
      for _ in 0..<300 where !workshop.exists("port") { Thread.sleep(forTimeInterval: 0.1) }
      let port = try workshop.text("port")
      try signsByAService(
        workshop,
        aws: """
          #!/bin/sh
          export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_SECRET_ACCESS_KEY=example AWS_DEFAULT_REGION=eu-central-1
          export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_MAX_ATTEMPTS=1
          exec \(aws.path) --endpoint-url http://127.0.0.1:\(port) "$@"
          """)
    }
  }

  private static let realAWS = Tool(named: "aws").flatMap { aws in
    // A name that leads nowhere, as version managers leave, is none.
    (try? aws.run(["--version"]))?.status == 0 ? aws : nil
  }

  /// The example signs what is published by the program `aws`, and says why it does not.
  private func signsByAService(_ workshop: Workshop, aws: String) throws {
    try FileManager.default.createDirectory(
      at: workshop.folder.appending(path: "bin"), withIntermediateDirectories: false)
    try workshop.write(aws, "bin/aws")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: workshop.path("bin/aws"))
    let script = { (alias: String) in
      """
      #!/bin/sh
      PATH=\(workshop.path("bin")):$PATH exec \(Self.examples.appending(path: "aws-kms-sign").path()) alias/\(alias)

      """
    }
    try workshop.write(script("another"), "sign")
    let none = try workshop.keyferry("check")
    #expect(none.status == 2 && none.text.contains("(NotFoundException)"), "\(none.text)")
    #expect(none.text.contains("Alias alias/another is not found."), "\(none.text)")

    try workshop.write(script("keyferry-nl"), "sign")
    let check = try workshop.keyferry("check")
    #expect(check.status == 0, "\(check.text)")
    #expect(try workshop.keyferry("pull", "--now", "2020-12-01T08:00:00Z").status != 2)
    let publish = try workshop.keyferry("publish", "--now", Self.noon)
    #expect(publish.status == 0, "\(publish.text)\(publish.errors)")
    let bundles = try workshop.files.filter { $0.hasPrefix("public/NL/") && $0.hasSuffix(".zip") }
    let verify = try workshop.keyferry(["verify", "--trust", "ring/204-v1.pem"] + bundles)
    #expect(!bundles.isEmpty && verify.status == 0, "\(verify.text)")
  }

  /// A real device's interface, in software.
  @Test(
    .enabled(
      if: Self.library != nil && Tool(named: "pkcs11-tool") != nil && Tool(named: "softhsm2-util") != nil,
      "needs Debian's packages softhsm2 and opensc"))
  func aKeyInADevice() throws {
    let library = try #require(Self.library)
    try withGateway(sign: "exit 0") { workshop in
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "tokens"), withIntermediateDirectories: false)
      try workshop.write(
        "directories.tokendir = \(workshop.path("tokens"))\nobjectstore.backend = file\nlog.level = ERROR\n",
        "softhsm2.conf")
      let setup = """
        set -eu
        export SOFTHSM2_CONF=\(workshop.path("softhsm2.conf")) KEYFERRY_PKCS11_PIN=5678
        softhsm2-util --init-token --free --label keyferry --so-pin 1234 --pin 5678
        tool() { pkcs11-tool --module \(library) --token-label keyferry "$@"; }
        tool --login --pin env:KEYFERRY_PKCS11_PIN --keypairgen --key-type EC:prime256v1 --id 01
        tool --read-object --type pubkey --id 01 | openssl pkey -pubin -inform DER > device.pem
        """
      let shell = try #require(Tool(named: "sh"))
      let made = try shell.run(["-c", setup], in: workshop.folder)
      #expect(made.status == 0, "\(made.text)\(made.errors)")
      try workshop.write(
        """
        #!/bin/sh
        export SOFTHSM2_CONF=\(workshop.path("softhsm2.conf")) KEYFERRY_PKCS11_MODULE=\(library)
        export KEYFERRY_PKCS11_TOKEN=keyferry KEYFERRY_PKCS11_PIN=5678
        exec \(Self.examples.appending(path: "pkcs11-sign").path()) 01
        """, "sign")
      let text = try workshop.text("gateway.yaml").replacing("ring/204-v1.pem", with: "device.pem")
      try workshop.write(text, "gateway.yaml")
      let check = try workshop.keyferry("check")
      #expect(check.status == 0, "\(check.text)")
      #expect(try workshop.keyferry("pull", "--now", "2020-12-01T08:00:00Z").status != 2)
      let publish = try workshop.keyferry("publish", "--now", Self.noon)
      #expect(publish.status == 0, "\(publish.text)\(publish.errors)")
      let bundles = try workshop.files.filter { $0.hasPrefix("public/NL/") && $0.hasSuffix(".zip") }
      let verify = try workshop.keyferry(["verify", "--trust", "device.pem"] + bundles)
      #expect(!bundles.isEmpty && verify.status == 0, "\(verify.text)")
    }
  }
}
