package import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import FileCommands
internal import FoundationEssentials
internal import GatewayDaemon
internal import GatewayServer
internal import GatewaySettings
internal import Glibc
internal import KeyArchive
internal import KeyConversion
internal import KeyFormats
internal import KeyIntake
internal import KeyPeers
internal import KeyPublishing
internal import KeyStorage
internal import PolicyFiles
internal import TransparencyLog

/// The program: a gateway that pulls, reconciles, publishes and serves keys, and the tools for key files.
package struct KeyferryCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: Program.name,
    abstract: "A gateway between regional servers of diagnosis keys, and a converter of their files.",
    discussion: """
      Files are recognised by their content. `-` is standard input or standard output. Results go to standard \
      output, everything else to standard error.

      Times are 2020-06-01 (its midnight), 2020-06-01T12:00:00Z, 2020-06-01T14:00:00+02:00, seconds since 1970, or a \
      distance from now: -2h, +1d, -30m, now. Without a zone they are UTC. Sizes are 64MB, 64MiB, or a number of bytes.

      With --color=auto, which is the default, a terminal shows severities and verdicts in colour, unless NO_COLOR is \
      set or TERM is dumb; always and never are the other words for it, in any command.

      -q in any command hides progress; losses, errors and verdicts are still printed. -v names the files, rings, policies, \
      keys and limits that are used.

      Exit codes:
        0   done
        1   done, but keys were rejected, documents were left out, a verification
            or a check failed, or a key is not known
        2   it could not be done
        64  the command line is wrong

      Shell completions: keyferry --generate-completion-script bash, or zsh, or fish
      """,
    version: "\(Program.nameAndVersion) (\(Program.build))",
    groupedSubcommands: [
      CommandGroup(
        name: "Key file",
        subcommands: [
          InspectCommand.self, VerifyCommand.self, ConvertCommand.self, SignCommand.self, DiffCommand.self,
          TablesCommand.self, FormatsCommand.self,
        ]),
      CommandGroup(
        name: "Research",
        subcommands: [ArchiveCommand.self, ReportCommand.self, MatchLogCommand.self, DeviceCommand.self]),
      CommandGroup(
        name: "Reconciling",
        subcommands: [NormalizeCommand.self, ExplainCommand.self, PolicyCommand.self]),
      CommandGroup(
        name: "Gateway set-up",
        subcommands: [InitCommand.self, CheckCommand.self, KeygenCommand.self, RegistrationCommand.self]),
      CommandGroup(
        name: "Gateway",
        subcommands: [
          RunCommand.self, ServeCommand.self, PullCommand.self, PreviewCommand.self, PublishCommand.self,
          StatusCommand.self, EventsCommand.self, StoreCommand.self, ClockCommand.self,
        ]),
      CommandGroup(
        name: "Intervention",
        subcommands: [
          QuarantineCommand.self, PauseCommand.self, ResumeCommand.self, DrainCommand.self, RecallCommand.self,
          RereadCommand.self,
          DiscloseCommand.self, EraseCommand.self,
        ]),
      CommandGroup(name: "Audit", subcommands: [LogCommand.self, AuditCommand.self]),
      CommandGroup(
        name: "Federation",
        subcommands: [
          PushCommand.self, TrustCommand.self, SignBatchCommand.self, VerifyBatchCommand.self, CallbacksCommand.self,
        ]),
    ])

  package init() {}

  /// The text of an argument, whose bytes may be no UTF-8.
  package static func text(of argument: UnsafePointer<CChar>) -> String {
    PathText.text(UnsafeBufferPointer(start: argument, count: Int(strlen(argument))).map { UInt8(bitPattern: $0) })
  }

  package func run() throws { throw ValidationError("a command is missing") }

  /// Runs the program with these arguments and returns its exit code. Commands that wait for nothing run where this is
  /// called, so that they start no threads.
  package nonisolated(nonsending) static func run(arguments: [String]) async -> Int32 {
    // A reader that closes its end is no reason to die without a word.
    signal(SIGPIPE, SIG_IGN)
    // The code that writes a file reports that it may not grow.
    signal(SIGXFSZ, SIG_IGN)
    Descriptors.occupyStandard()
    PartialFile.removeAllOnSignals()
    Descriptors.raise()
    var arguments = arguments
    /// What runs: its usage is shown where it refuses a value only then.
    var running: any ParsableCommand.Type = Self.self
    if let wrong = TerminalColor.take(from: &arguments) {
      let allowed = TerminalColor.Choice.allCases.map(\.rawValue).joined(separator: ", ")
      Console.refusal("--color takes one of \(allowed)\(wrong.isEmpty ? "" : ", not '\(wrong)'")")
      return ExitStatus.usage.rawValue
    }
    if let wrong = misread(in: arguments) {
      Console.refusal(PathText.onOneLine(wrong))
      return ExitStatus.usage.rawValue
    }
    do {
      if let inspection = Inspection(arguments: arguments) { return try inspection.run().rawValue }
      // The parser answers a question about a command that does not exist with the help of the program.
      if arguments.first == "help",
        let unknown = UnknownCommand.first(in: Array(arguments.dropFirst()), of: Self.self)
      {
        return refuse(unknown, arguments)
      }
      var command = try parse(arguments)
      running = type(of: command)
      if var command = command as? any AsyncParsableCommand {
        try Descriptors.requireThreads()
        try await command.run()
      } else {
        try command.run()
      }
      return ExitStatus.done.rawValue
    } catch let status as ExitCode {
      return status.rawValue
    } catch {
      if exitCode(for: error) == .validationFailure, let unknown = UnknownCommand.first(in: arguments, of: Self.self) {
        return refuse(unknown, arguments)
      }
      return report(error, of: running, calledWith: arguments)
    }
  }

  /// A word that the parser would take for options and that is a file: `*.zip` may have found one called `-h.zip`, and
  /// whoever named it would have turned a verification into a page of help.
  private static func misread(in arguments: [String]) -> String? {
    for word in arguments.prefix(while: { $0 != "--" }) where word.utf8.count > 1 && word.hasPrefix("-") {
      // The parser would repeat a whole private key.
      if word.contains("-----BEGIN") { return "PEM text was given where the name of its file is expected" }
      if FileIdentity(path: word) != nil {
        return
          "\(word) is a file here, and would be read as an option: write ./\(word), or -- before the names of files"
      }
      if word.hasPrefix("-h"), word != "-h" {
        return "unknown option '\(word)'; -h alone shows the help, and a file of that name is ./\(word)"
      }
    }
    return nil
  }

  /// The words that name a command, the program's first; `nil` where it is none of the program's.
  private static func words(for command: any ParsableCommand.Type, below parent: any ParsableCommand.Type = Self.self)
    -> [String]?
  {
    if command == parent { return [parent._commandName] }
    return parent.configuration.subcommands.lazy.compactMap { words(for: command, below: $0) }.first
      .map { [parent._commandName] + $0 }
  }

  /// What is wrong with the command line, and how the command is asked for that said so while it ran: the parser knows no more
  /// by then which one it was.
  private static func usageMessage(for error: any Error, of command: any ParsableCommand.Type) -> String {
    guard error is ValidationError, command != Self.self, let words = words(for: command) else {
      return fullMessage(for: error)
    }
    return """
      \(message(for: error))
      Usage: \(usageString(for: command))
        See '\(words.joined(separator: " ")) --help' for more information.
      """
  }

  private static func refuse(_ unknown: UnknownCommand, _ arguments: [String]) -> Int32 {
    Console.refusal(withoutSecrets("\(unknown)", arguments))
    return ExitStatus.usage.rawValue
  }

  /// Most of the time of a short command is the parser's, which learns all commands before it reads an argument. The one
  /// that is named is enough; what that cannot read (options of the whole program, faults) and its help are for all.
  private static func parse(_ arguments: [String]) throws -> any ParsableCommand {
    if let name = arguments.first,
      let named = configuration.subcommands.first(where: { $0.configuration.commandName == name }),
      named.configuration.subcommands.isEmpty, let command = try? named.parseAsRoot(Array(arguments.dropFirst())),
      type(of: command) == named
    {
      return command
    }
    return try parseAsRoot(arguments)
  }

  /// Says what went wrong, and returns the exit code.
  private static func report(
    _ error: any Error, of command: any ParsableCommand.Type = Self.self, calledWith arguments: [String] = []
  ) -> Int32 {
    guard let fault = error as? any ProgramFault else { return reportUsage(error, of: command, calledWith: arguments) }
    return Console.report(fault) { withoutSecrets($0, arguments) }.rawValue
  }

  private static func reportUsage(
    _ error: any Error, of command: any ParsableCommand.Type, calledWith arguments: [String]
  ) -> Int32 {
    let code = exitCode(for: error)
    let message = usageMessage(for: error, of: command)
    if code.isSuccess {
      // Help and version are results.
      do {
        // A script of completions is for a shell.
        let isScript = message.hasPrefix("#") || message.hasPrefix("function ")
        if isScript { try Console.document(line: message) } else { try Console.result(line: message) }
        return ExitStatus.done.rawValue
      } catch {
        return report(error)
      }
    }
    let shown = withoutSecrets(message, arguments)
    let text = withProgram(
      withForms(shown.hasPrefix("Error: ") ? lowerCased(shown.dropFirst("Error: ".count)) : shown))
    Console.refusal(text)
    return code == .validationFailure ? ExitStatus.usage.rawValue : ExitStatus.failed.rawValue
  }

  /// A message repeats what was given, which may be a secret in place of a name or of the path of its file.
  private static func withoutSecrets(_ message: String, _ arguments: [String]) -> String {
    arguments.reduce(message) { message, word in
      // A word may be an option with its value, and a value may be made of several: `--input=north=drop.zip,origin=NL`.
      let value = word.hasPrefix("--") ? word.drop { $0 != "=" }.dropFirst() : Substring(word)
      let parts = [value] + value.split { $0 == "=" || $0 == "," }
      return parts.reduce(message) { message, part in
        let part = String(part)
        guard PathText.mayBeSecret(part), FileIdentity(path: part) == nil else { return message }
        // As the parser says it, and as messages do.
        return [part, printableText(part)].reduce(message) { $0.replacing($1, with: PathText.shownAsMissing(part)) }
      }
    }
  }

  /// The parser says that a value is no time, and not what would be one.
  private static func withForms(_ message: String) -> String {
    let first = message.prefix { $0 != "\n" }
    guard first.contains(" is invalid for '"), first.hasSuffix("<time>'") else { return message }
    return first + "; \(Instant.forms)" + message.dropFirst(first.count)
  }

  /// Of a command that is parsed by itself the parser does not know what it is part of.
  private static func withProgram(_ message: String) -> String {
    message.replacing(/See '(?!keyferry[ '])([^']*) --help'/) { "See '\(Program.name) \($0.output.1) --help'" }
  }

  /// A sentence begins small behind the program's name; a name such as GET or PostgreSQL does not.
  private static func lowerCased(_ text: Substring) -> String {
    let word = text.prefix { $0.isLetter }
    return word.dropFirst().contains(where: \.isUppercase)
      ? String(text) : text.prefix(1).lowercased() + text.dropFirst()
  }
}
