public import Hummingbird
internal import NIOCore

/// What the server knows of a request beside the request itself.
public struct GatewayRequestContext: RequestContext {
  public var coreContext: CoreRequestContextStorage
  let channel: any Channel

  public init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }
}
