internal import Foundation

/// `moto_server`, a server of others that speaks as S3 does, as long as a test needs it. It keeps everything in memory.
package struct Moto: Sendable {
  /// Scheme, host and port.
  package let endpoint: String

  package static let howToEnable =
    "needs moto's server: pip install 'moto[server,s3]', and KEYFERRY_PYTHON for another python than python3"

  /// The Python that has it; `nil` where there is none of this name.
  package static let python: Tool? = {
    let name = ProcessInfo.processInfo.environment["KEYFERRY_PYTHON"] ?? "python3"
    return name.contains("/") ? Tool(path: name) : Tool(named: name)
  }()

  package static let isThere: Bool = {
    (try? python?.run(["-c", "import moto.server"], in: FileManager.default.temporaryDirectory).status) == 0
  }()

  /// Runs a server while `body` runs.
  package static func run<Result>(_ body: (Moto) async throws -> Result) async throws -> Result {
    guard let tool = python else { throw CocoaError(.fileNoSuchFile) }
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-moto-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let process = Process()
    process.executableURL = URL(filePath: tool.path)
    // The port is the system's choice, and it says which.
    let program = """
      import sys
      from werkzeug.serving import make_server
      from moto.server import DomainDispatcherApplication, create_backend_app
      server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True)
      open("port.part", "w").write(str(server.port))
      import os
      os.rename("port.part", "port")
      server.serve_forever()
      """
    process.arguments = ["-c", program]
    process.currentDirectoryURL = folder
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer {
      // It inherits from whoever runs the tests whether it hears anything gentler.
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    var port: String?
    for _ in 0..<600 where port == nil && process.isRunning {
      port = try? String(contentsOf: folder.appending(path: "port"), encoding: .utf8)
      if port == nil { try await Task.sleep(for: .milliseconds(50)) }
    }
    guard let port else { throw CocoaError(.executableLoad) }
    return try await body(Moto(endpoint: "http://127.0.0.1:\(port)"))
  }

  /// Asks as nobody in particular: who signs is not looked at.
  package func makeBucket(_ name: String) async throws {
    let outcome = try Tool(named: "curl")?.run(
      [
        "-sS", "-f", "-X", "PUT", "-H",
        "Authorization: AWS4-HMAC-SHA256 Credential=x/20200101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=x",
        "\(endpoint)/\(name)",
      ], in: FileManager.default.temporaryDirectory)
    guard outcome?.status == 0 else { throw CocoaError(.fileWriteUnknown) }
  }
}
