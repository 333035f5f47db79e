import Foundation
import GatewayTesting
import Testing

/// Who follows the page about deploying has a published bundle, and then a gateway that runs.
@Suite struct DeployingTests {
  private static let folder = PackageFolder.root.appending(path: "interop/deploy")

  /// What only root and systemd do: packages and groups. The service is started as its unit says, by its user's means.
  private static let machine = """
    apt-get() { [[ $1 == install ]]; }
    systemd-sysusers() { :; }
    chgrp() { [[ $1 == -R ]] && shift; [[ $1 == keyferry-config ]] && shift && ls -d "$@" > /dev/null; }
    install() {
      local kept=()
      while (( $# )); do
        if [[ $1 == -g ]]; then [[ $2 == keyferry-config ]] || return 1; shift 2; else kept+=("$1"); shift; fi
      done
      command install "${kept[@]}"
    }
    systemctl() {
      [[ $* == "enable --now keyferry" ]] || return 1
      (cd "$root/var/lib" && mkdir -p $(sed -n 's/^StateDirectory=//p' "$root/examples/keyferry.service"))
      $(sed -n 's/^ExecStart=.*bin.//p' "$root/examples/keyferry.service") > "$root/log" 2>&1 &
    }
    """

  @Test(.enabled(if: Tool(named: "openssl") != nil && Tool(named: "curl") != nil, "needs openssl and curl"))
  func thePageLeadsToAPublishedBundle() throws {
    let page = try String(contentsOf: Self.folder.appending(path: "README.md"), encoding: .utf8)
    let session = PageSession(page, prompt: "# ")
    #expect(session.steps.count >= 25)
    // The page goes on to a bundle by these; nobody shall take them out of it unseen.
    for words in ["keyferry check", "keyferry publish", "keyferry verify", "systemctl enable --now keyferry"] {
      #expect(session.steps.contains { $0.command.hasPrefix(words) }, "\(words)")
    }
    try Workshop.run { workshop in
      let root =
        workshop.folder.path().hasSuffix("/") ? String(workshop.folder.path().dropLast()) : workshop.folder.path()
      let places = [
        ("/usr/share/doc/keyferry/examples", "\(root)/examples"), ("/etc/keyferry", "\(root)/etc/keyferry"),
        ("/var/lib", "\(root)/var/lib"), ("127.0.0.1:8080", "127.0.0.1:\(try PageSession.freePort())"),
        ("127.0.0.1:9091", "127.0.0.1:\(try PageSession.freePort())"),
      ]
      let files = FileManager.default
      try files.copyItem(at: Self.folder, to: workshop.folder.appending(path: "examples"))
      for place in ["etc", "var/lib"] {
        try files.createDirectory(at: workshop.folder.appending(path: place), withIntermediateDirectories: true)
      }
      for name in ["gateway.yaml", "keyferry.service"] {
        let text = try workshop.text("examples/\(name)")
        try workshop.write(places.reduce(text) { $0.replacing($1.0, with: $1.1) }, "examples/\(name)")
      }
      try session.run(in: workshop, preparation: "root='\(root)'\n\(Self.machine)", replacing: places)
    }
  }

  /// Everything that the example names lies beside it, or is made by the page.
  @Test func thePageMakesEveryFileOfTheExample() throws {
    let page = try String(contentsOf: Self.folder.appending(path: "README.md"), encoding: .utf8)
    let example = try String(contentsOf: Self.folder.appending(path: "gateway.yaml"), encoding: .utf8)
    let names = example.matches(of: #/\b(?:keys|policies|secrets|tls)/[a-z0-9./-]*[a-z0-9]/#).map { String($0.output) }
    #expect(Set(names).count >= 8)
    for name in names { #expect(page.contains(name), "\(name)") }
  }
}
