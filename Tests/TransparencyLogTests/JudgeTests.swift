import Foundation
import GatewayTesting
import Testing
import TransparencyLog

/// Programs that are not ours say the same of our logs. `interop/log` has them.
@Suite struct JudgeTests {
  private static let folder = PackageFolder.root.appending(path: "interop/log")

  private static let go: Tool? = {
    let hasModule = FileManager.default.fileExists(atPath: "/usr/share/gocode/src/golang.org/x/mod/sumdb/tlog")
    return hasModule ? Tool(named: "go") : nil
  }()
  private static let howToGetGo: Comment = "needs Go and its module: apt-get install golang-go golang-golang-x-mod-dev"

  private static let python: Tool? = {
    let name = ProcessInfo.processInfo.environment["KEYFERRY_PYTHON"] ?? "python3"
    let tool = name.contains("/") ? Tool(path: name) : Tool(named: name)
    return (try? tool?.run(["-c", "import pymerkle"]).status) == 0 ? tool : nil
  }()
  private static let howToGetPymerkle: Comment =
    "needs pymerkle: pip install pymerkle, and KEYFERRY_PYTHON for another python than python3"

  private static let openSSL = Tool(named: "openssl")

  @Test(.enabled(if: go != nil, howToGetGo)) func goAgrees() async throws {
    let env = try #require(Tool(named: "env"))
    try await Workbench.run { bench in
      let build = try env.run(
        [
          "GO111MODULE=off", "GOPATH=/usr/share/gocode", "GOCACHE=\(bench.root.path())cache", "GOFLAGS=", "go", "build",
          "-o", bench.root.path() + "judge", Self.folder.appending(path: "judge.go").path(),
        ])
      #expect(build.status == 0, "\(build.errors)")
      let judge = Tool(path: bench.root.path() + "judge")
      let writer = try await bench.create()
      var kept: [String] = []
      // The long list reaches tiles of the third level.
      let end = LongList.size(3000, long: 66_000)
      for (size, next) in [(0, 1), (1, 7), (7, 256), (256, 257), (257, 700), (700, 1000), (1000, end)] {
        let place = bench.root.path() + "checkpoint-\(size)"
        try Data(writer.checkpoint.bytes).write(to: URL(filePath: place))
        kept.append(place)
        try await writer.append(numbers(size..<next))
        if size == 700 {
          let proof = bench.root.path() + "500.tlog-proof"
          let bytes = try await writer.proof(of: 500, entry: Array("500".utf8)).bytes
          try Data(bytes).write(to: URL(filePath: proof))
          kept.append(proof)
        }
        guard next < end else { continue }
        let verdict = try judge.run([bench.place, "\(writer.verifier)"] + kept)
        #expect(verdict.status == 0, "\(next): \(verdict.text)")
        let proofs = kept.count { $0.hasSuffix("proof") }
        #expect(verdict.text == "\(next) entries, \(kept.count - proofs) checkpoints, \(proofs) proofs\n")
      }
      let verdict = try judge.run([bench.place, "\(writer.verifier)"] + kept)
      #expect(verdict.text == "\(end) entries, 7 checkpoints, 1 proofs\n")
      // It finds what is wrong.
      let bundle = try #require(try bench.content("tile/entries/010"))
      try bench.write(Array(bundle.dropLast()) + [0x21], "tile/entries/010")
      #expect(try judge.run([bench.place, "\(writer.verifier)"]).status == 1)
    }
  }

  @Test(.enabled(if: python != nil, howToGetPymerkle)) func pymerkleAgrees() throws {
    let python = try #require(Self.python)
    let sizes = [1, 2, 3, 7, 8, 255, 256, 257, 1000]
    let lines = (0..<1000).map { "\($0)\n" }.joined()
    let answer = try python.run(
      [Self.folder.appending(path: "roots.py").path()] + sizes.map(String.init), input: Array(lines.utf8))
    #expect(answer.status == 0, "\(answer.errors)")
    var edge = RightEdge()
    var ours = ""
    for size in sizes {
      for number in edge.size..<size { edge.append(.leaf(Array("\(number)".utf8))) }
      ours += "\(size) \(edge.root.base64)\n"
    }
    #expect(answer.text == ours)
  }

  @Test(.enabled(if: openSSL != nil, "needs openssl: apt-get install openssl")) func openSSLAgrees() async throws {
    let script = Tool(path: Self.folder.appending(path: "openssl-verify").path())
    try await Workbench.run { bench in
      let writer = try await bench.create()
      try await writer.append(numbers(0..<3))
      let place = bench.place + "/checkpoint"
      let verdict = try script.run([place, "\(writer.verifier)"])
      #expect(verdict.status == 0 && verdict.text.contains("Verified Successfully"), "\(verdict.text)\(verdict.errors)")
      let other = try NoteSigner.generate(name: Workbench.name).verifier
      #expect(try script.run([place, "\(other)"]).status != 0)
    }
  }
}
