internal import ArgumentParser
internal import FoundationEssentials
internal import GatewayServer
internal import Logging

/// How a service writes what happens.
struct LogOptions: ParsableArguments {
  @Option(help: "How log lines look.")
  var logFormat = LogStyle.text

  @Option(help: "The least level that is logged.")
  var logLevel = LogLevel.info

  /// Once in a process, before anything is said.
  func bootstrap() {
    logFormat.format.bootstrap(
      level: logLevel.level, journal: ProcessInfo.processInfo.environment["JOURNAL_STREAM"])
    var logger = Logger(label: "keyferry")
    // What a command says is not left out, whatever else is.
    logger.logLevel = min(logLevel.level, .notice)
    Console.speaks(by: logger, isForPrograms: logFormat == .json)
  }
}

enum LogStyle: String, ExpressibleByArgument, CaseIterable {
  case json, text

  var format: LogFormat {
    switch self {
    case .json: .json
    case .text: .text
    }
  }
}

enum LogLevel: String, ExpressibleByArgument, CaseIterable {
  case debug, info, warning, error

  var level: Logger.Level { Logger.Level(rawValue: rawValue) ?? .info }
}
