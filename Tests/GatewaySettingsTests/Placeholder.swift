// GatewaySettingsTests
