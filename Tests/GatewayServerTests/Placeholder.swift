// GatewayServerTests
