package import ArgumentParser
internal import ExposureKeys
internal import FoundationEssentials
internal import KeyDevice
internal import KeyFormats
internal import KeyIntake

package struct DeviceCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "device",
    abstract: "Play a phone: what bundles lead to, whom a log met, how apps judge.",
    discussion: """
      Phones are modelled after Google's published matcher, Apple's publication of July 2020, Apple's documentation for \
      iOS 12.5, 13.7 and later, and microG. The first line of each output says how exact the model is.

      Examples:
        keyferry device prove bundle.zip --phone google,apple,microg --app swisscovid
        keyferry device match exposure.db bundles/
      """,
    subcommands: [DeviceProve.self, DeviceMatch.self, DeviceScore.self, DeviceIdentifiers.self])

  @OptionGroup var loudness: LoudnessOptions

  package init() {}

  package func run() throws { throw ValidationError("a command is missing: prove, match, score or identifiers") }
}

extension PhoneModel: ExpressibleByArgument {}

/// How an app judges: one that is known, or a configuration in a file.
struct JudgementOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The app's configuration, JSON: Apple's, Google's, COCOA's, the Corona-Warn-App's or EN Express's.",
      valueName: "file"), completion: .file(extensions: ["json"]))
  var configuration: String?

  @Option(
    help: ArgumentHelp("Judge as this app: \(AppRules.all.map(\.name).joined(separator: ", ")).", valueName: "name"))
  var app: String?

  func validate() throws {
    guard (configuration == nil) != (app == nil) else {
      throw ValidationError("give --configuration FILE or --app NAME, one of them")
    }
    if let app, AppRules.named(app) == nil {
      throw ValidationError(
        "--app \(app) is not known; must be one of \(AppRules.all.map(\.name).joined(separator: ", "))")
    }
  }

  /// What is judged by, for people.
  var name: String {
    if let rules = app.flatMap(AppRules.named) { return "\(rules.summary); \(rules.source)" }
    return configuration ?? ""
  }

  /// - Returns: for phones that give windows, and for those of the first version.
  func judgements() throws -> (windows: AppRules.Judgement?, summary: AppRules.Judgement?) {
    if let rules = app.flatMap(AppRules.named) {
      if case .windows = rules.judgement { return (rules.judgement, nil) }
      return (nil, rules.judgement)
    }
    let document = try DeviceJSON.read(ConfigurationDocument.self, configuration ?? "")
    return (document.windows, document.summary)
  }

  /// What a phone is judged by: windows if it gives them and the app takes them.
  static func choose(
    _ judgements: (windows: AppRules.Judgement?, summary: AppRules.Judgement?), for model: PhoneModel
  ) -> AppRules.Judgement? {
    model.hasWindows ? judgements.windows ?? judgements.summary : judgements.summary ?? judgements.windows
  }
}

/// JSON that an app or a log has written.
enum DeviceJSON {
  private static let byteLimit = 64 << 20

  static func read<Document: Decodable>(_ type: Document.Type, _ path: String) throws -> Document {
    let bytes =
      path == "-"
      ? try SequentialSource(try StreamedFile.document(path, limit: byteLimit)).readAll(limit: byteLimit)
      : try FileSource.contents(of: path, limit: byteLimit)
    let name = path == "-" ? "standard input" : path
    func fault(_ context: DecodingError.Context, last: (any CodingKey)? = nil, _ reason: String) -> FormatError {
      let place = (context.codingPath + [last].compactMap(\.self)).map { key in
        key.intValue.map { "entry \($0 + 1)" } ?? TerminalText.harmless(key.stringValue)
      }.joined(separator: ", ")
      return FormatError(.malformed, place: place.isEmpty ? name : "\(name): \(place)", reason)
    }
    do {
      return try JSONDecoder().decode(type, from: Data(bytes))
    } catch DecodingError.typeMismatch(let type, let context) {
      throw fault(context, "another kind of value than expected (\(type))")
    } catch DecodingError.valueNotFound(_, let context) {
      throw fault(context, "null where a value is expected")
    } catch DecodingError.keyNotFound(let key, let context) {
      throw fault(context, last: key, "is missing")
    } catch DecodingError.dataCorrupted(let context) {
      throw fault(context, context.codingPath.isEmpty ? "this is no JSON" : context.debugDescription)
    }
  }
}

/// A number without what is not needed behind its point: `14.4`, `900`, `8.98`.
func shortNumber(_ value: Double) -> String {
  guard value.magnitude < 1e12 else { return "\(value)" }
  let scaled = (value * 1000).rounded()
  let (whole, part) = (Int(scaled.magnitude) / 1000, Int(scaled.magnitude) % 1000)
  let sign = scaled < 0 ? "-" : ""
  guard part > 0 else { return "\(sign)\(whole)" }
  var digits = String(part)
  digits = String(repeating: "0", count: 3 - digits.count) + digits
  while digits.last == "0" { digits.removeLast() }
  return "\(sign)\(whole).\(digits)"
}
