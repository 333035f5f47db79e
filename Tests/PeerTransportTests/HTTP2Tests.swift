import Foundation
import GatewayTesting
import KeyPeers
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import PeerTransport
import Testing

/// Says which version it was asked with; `/half` breaks off, `/endless` never ends.
private final class VersionTeller: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private var request: HTTPRequestHead?

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): request = head
    case .body: break
    case .end: if let request { respond(to: request, context) }
    }
  }

  private func respond(to request: HTTPRequestHead, _ context: ChannelHandlerContext) {
    let text = "\(request.version) \(request.headers.first(name: "x-api-key") ?? "none")"
    let length = request.uri == "/half" ? 1000 : text.utf8.count
    let headers: HTTPHeaders = request.uri == "/endless" ? [:] : ["content-length": "\(length)"]
    write(.head(HTTPResponseHead(version: request.version, status: .ok, headers: headers)), context)
    switch request.uri {
    case "/half":
      write(.body(.byteBuffer(ByteBuffer(string: text))), context)
      context.close(promise: nil)
    case "/endless": writeOn(context)
    default:
      write(.body(.byteBuffer(ByteBuffer(string: text))), context)
      write(.end(nil), context)
    }
  }

  private func writeOn(_ context: ChannelHandlerContext) {
    let piece = OutboundOut.body(.byteBuffer(ByteBuffer(repeating: 7, count: 64 << 10)))
    context.writeAndFlush(wrapOutboundOut(piece)).assumeIsolated().whenSuccess { self.writeOn(context) }
  }

  private func write(_ part: OutboundOut, _ context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(part), promise: nil)
  }
}

@Suite struct HTTP2Tests {
  private func withServer(_ body: (Bench, @escaping (inout TransportSettings) -> Void, String) async throws -> Void)
    async throws
  {
    let certificates = try TestCertificates.shared.get()
    let context = try certificates.serverContext(certificates.serverPEM, protocols: ["h2", "http/1.1"])
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
        }.flatMap {
          channel.configureCommonHTTPServerPipeline { stream in
            stream.eventLoop.makeCompletedFuture { try stream.pipeline.syncOperations.addHandler(VersionTeller()) }
          }
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(server.localAddress?.port)
    let trusting: (inout TransportSettings) -> Void = {
      $0.rootsPEM = certificates.rootPEM
      $0.headers = [.init("X-Api-Key", "secret")]
    }
    try await Bench.run { try await body($0, trusting, "https://127.0.0.1:\(port)") }
    try await server.close()
  }

  @Test(arguments: [(true, "HTTP/2.0 secret"), (false, "HTTP/1.1 secret")])
  func speaksHTTP2UnlessToldNotTo(http2: Bool, expected: String) async throws {
    try await withServer { bench, trusting, location in
      let transport = try bench.transport(location) {
        trusting(&$0)
        $0.http2 = http2
      }
      for _ in 0..<3 {
        let answer = try await transport.ask(PeerRequest(url: "whole"))
        #expect(String(decoding: answer.body, as: UTF8.self) == expected)
      }
    }
  }

  @Test func neverTakesAPartForTheWhole() async throws {
    try await withServer { bench, trusting, location in
      let transport = try bench.transport(location, trusting)
      let fault = try await fault {
        _ = try await transport.fetch(PeerRequest(url: "half"), into: bench.target, byteLimit: 5000)
      }
      #expect(fault.code == "connection-closed")
      #expect(try bench.files.isEmpty)
    }
  }

  @Test func endsAnEndlessStream() async throws {
    try await withServer { bench, trusting, location in
      let transport = try bench.transport(location, trusting)
      let fault = try await fault {
        _ = try await transport.fetch(PeerRequest(url: "endless"), into: bench.target, byteLimit: 1 << 20)
      }
      #expect(fault.code == "too-large")
      #expect(try bench.files.isEmpty)
      // The connection goes on for the others.
      #expect(try await transport.ask(PeerRequest(url: "whole")).head.status == 200)
    }
  }
}
