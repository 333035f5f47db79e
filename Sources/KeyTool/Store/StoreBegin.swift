internal import ArgumentParser
internal import FileCommands
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyIntake
internal import KeyPublishing
internal import KeyStorage

extension StoreCommand {
  struct Begin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "begin", _superCommandName: "keyferry store",
      abstract: "Begin a new store beside series that are published already, after showing what is lost.",
      discussion: """
        Whatever opens the store to write refuses, with exit code 2, where there is none, or one that has published nothing, and the \
        publication folder or the bucket has series of the configuration: most likely a disk is not mounted, or state or \
        store.postgresql is wrong. Put that right, or restore a copy (keyferry store restore). Only where the store is lost for good \
        this begins a new one.

        Without --yes nothing changes. With it a store is made, and the word is kept as an event. What apps have seen is taken from what \
        is published, so no name gets other bytes and numbers go on. What only the lost store knew is lost: pauses, recalls, erasures, \
        what was held, and uploads that were not published. So nothing is published or pushed, whoever runs, until a second word, \
        --publish: pull, say pauses, recalls and erasures again, and then say that.

        The exit code is 1 when there is nothing to begin so: nothing is published, or the store knows what is; and with --publish when \
        no store waits for it.

        Examples:
          keyferry store begin --config gateway.yaml
          keyferry store begin --reason "disk of node 3 is lost" --yes --config gateway.yaml
          keyferry store begin --publish --yes --config gateway.yaml
        """)

    @Flag(
      help: "Say that pauses, recalls and erasures were said again: the store that has begun publishes from now on.")
    var publish = false

    @Flag(help: "Do it.")
    var yes = false

    @OptionGroup var said: OperatorOptions

    @OptionGroup var gateway: GatewayOptions

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      if publish { return try await endWaiting() }
      let plan = try gateway.plan(warnings: false)
      let (published, now) = (PublishedSeries(of: plan), gateway.clock())
      let loss =
        yes
        ? try await Stores.begin(
          at: plan.store, in: plan.stateFolder, beside: published, by: said.word, now: now,
          listeners: GatewayOptions.listeners(plan.log))
        : try await Stores.loss(at: plan.store, beside: published, now: now)
      guard let loss else {
        let waits = try? await Stores.reader(at: plan.store, now: now).read { try $0.beginning()?.waits }
        if waits == true {
          Console.note("the store has begun already, and publishes nothing yet")
          Console.hint(
            "once pauses, recalls and erasures were said again: keyferry store begin --publish --yes --config \(gateway.config)"
          )
        } else {
          Console.note("there is nothing to begin: no series is published that the store does not know")
        }
        return try exit(.rejected)
      }
      for line in loss.lines(isDone: yes) { try Console.result(line: line) }
      if yes {
        Console.hint(
          "keyferry pull --config \(gateway.config), then say pauses, recalls and erasures again, then keyferry store begin --publish --yes; "
            + "until then nothing is published or pushed")
      } else {
        Console.hint("the same command with --yes does it")
      }
    }

    private func endWaiting() async throws {
      let ledger = try await gateway.ledger(try gateway.operatorsPlan(), as: yes ? .operator : .reader)
      guard let beginning = try await ledger.read({ try $0.beginning() }), beginning.waits else {
        Console.note("nothing waits for this word: the store did not begin anew, or publishes already")
        return try exit(.rejected)
      }
      if yes { try await ledger.beginningEnded(by: said.word, at: gateway.clock()) }
      for name in beginning.series {
        try Console.result(
          line:
            "series \(name): \(yes ? "is" : "would be") published again, with what was said since \(beginning.since)")
      }
      if !yes { Console.hint("the same command with --yes does it") }
    }
  }
}

extension UnknownSeries {
  /// - Parameter isDone: whether the new store has begun, or would.
  fileprivate func lines(isDone: Bool) -> [String] {
    [isDone ? "a new store has begun in \(shownAddress)" : standing]
      + series.map { shown in
        let bundles =
          shown.bundles.map { "\(counted($0, "bundle")) in \(place)" } ?? "its manifest in \(place) cannot be read"
        return "series \(shown.series): \(bundles)"
      }
      + [
        "\(isDone ? "taken" : "would be taken") from there at the next round: what apps have seen",
        "\(isDone ? "lost" : "would be lost"): pauses, recalls, erasures, what was held, uploads that were not published, "
          + "and which documents were read",
      ]
  }
}
