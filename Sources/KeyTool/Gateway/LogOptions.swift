internal import ArgumentParser
internal import FileCommands
internal import FoundationEssentials
internal import GatewayServer
internal import Logging
internal import ProgramMetrics

/// How a service writes what happens.
struct LogOptions: ParsableArguments {
  @Option(help: "How log lines look.")
  var logFormat = LogStyle.text

  @Option(help: "The least level that is logged.")
  var logLevel = LogLevel.info

  @Flag(help: "Write the log as JSON: the same as --log-format json.")
  var json = false

  private var style: LogStyle { json ? .json : logFormat }
  /// `--quiet` leaves out what is only information, `--verbose` nothing.
  private var level: Logger.Level {
    if Loudness.isVerbose { return .debug }
    return Loudness.isQuiet ? max(logLevel.level, .warning) : logLevel.level
  }

  /// Once in a process, before anything is said: where log lines go, and what libraries report.
  func bootstrap() {
    style.format.bootstrap(
      level: level, journal: ProcessInfo.processInfo.environment["JOURNAL_STREAM"])
    LibraryMetrics.bootstrap()
    var logger = Logger(label: "keyferry")
    // What a command says is not left out, whatever else is.
    logger.logLevel = min(level, .notice)
    Console.speaks(by: logger, isForPrograms: style == .json)
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
