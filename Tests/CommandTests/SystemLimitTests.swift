import Foundation
import GatewayTesting
import Testing

/// What the system does not give is said in a sentence, with the exit code 2.
@Suite struct SystemLimitTests {
  private static let gateway = """
    state: state
    sources: [{name: north, protocol: index, location: "http://127.0.0.1:9", options: {index: i.txt}, trust: operator, origin: US,
      http: {retries: 0, connect: 1 s}}]
    series: [{name: US, sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]}]
    publication: {folder: public}
    """

  @Test("Too few threads are a sentence and no signal", .timeLimit(.minutes(5)))
  func threads() throws {
    guard geteuid() == 0, let setpriv = Tool(named: "setpriv"), Tool(named: "prlimit") != nil else {
      print("left out: a limit of threads is tried as root with setpriv and prlimit")
      return
    }
    let program = try #require(Workshop.program, "the program keyferry was not built")
    try Workshop.run { workshop in
      try workshop.makeSigner()
      try workshop.write(Self.gateway, "gateway.yaml")
      // Users of whom nobody else is.
      let user = 2_000_000_000 + Int(getpid())
      for name in ["", "310-v1.key.pem"] { chown(workshop.path(name), uid_t(user), gid_t(user)) }
      var refused = 0
      for threads in 1...30 {
        let outcome = try setpriv.run(
          [
            "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "prlimit", "--nproc=\(threads)", program, "pull",
            "--config", "gateway.yaml",
          ], in: workshop.folder)
        // The source cannot be reached.
        #expect([1, 2].contains(outcome.status), "\(threads): \(outcome.status) \(outcome.errors)")
        guard outcome.errors.contains("threads; it needs") else { continue }
        refused += 1
        #expect(outcome.status == 2)
        let lines = outcome.errors.split(separator: "\n")
        #expect(lines.count == 2 && lines[0].contains(/keyferry: the process can start \d+ threads; it needs \d+$/))
        #expect(lines.last?.contains("ulimit -u") == true, "\(outcome.errors)")
      }
      #expect(refused > 10)
    }
  }

  @Test(
    "An address that another program has is one sentence", .timeLimit(.minutes(1)), arguments: ["server", "operators"])
  func takenAddress(place: String) throws {
    let (descriptor, port) = try #require(Self.listener())
    defer { close(descriptor) }
    try Workshop.run { workshop in
      try workshop.makeSigner()
      let (server, operators) = place == "server" ? (port, 0) : (0, port)
      try workshop.write(
        Self.gateway + "\nserver: {listen: 127.0.0.1:\(server)}\noperators: {listen: 127.0.0.1:\(operators)}\n",
        "gateway.yaml")
      // Log lines of the services that had begun stand beside it.
      let outcome = try Tool(path: #require(Workshop.program)).run(
        ["run", "--config", "gateway.yaml"], in: workshop.folder)
      #expect(outcome.status == 2)
      let errors = outcome.errors.split(separator: "\n").filter { $0.contains(" error ") || $0.contains(" warning ") }
      #expect(errors.count == 1, "\(outcome.errors)")
      #expect(
        errors.first?.hasSuffix(
          "\(place).listen: another program listens at 127.0.0.1:\(port); stop it, or set another port") == true,
        "\(outcome.errors)")
      #expect(!outcome.errors.contains("Cancellation"))
    }
  }

  /// Listens at a port of the system's choice.
  private static func listener() -> (descriptor: Int32, port: Int)? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    return isBound ? (descriptor, Int(UInt16(bigEndian: address.sin_port))) : nil
  }
}
