// GatewaySettings
