package import ArgumentParser
package import Containers
internal import KeyIntake

/// How far a command looks into folders and archives, and whether it goes on behind what it cannot read.
package struct ContainerOptions: ParsableArguments {
  @Flag(
    inversion: .prefixedNo,
    help: ArgumentHelp(
      "Leave out what cannot be read, list it and go on; the exit code is then 1. It is what inspect, verify and outputs "
        + "into a folder do; into one file it is to be asked for."))
  package var keepGoing: Bool?

  @Option(help: ArgumentHelp("How deep archives may stand in each other.", valueName: "count"))
  package var maxDepth: Int = ContainerLimits().depth

  @Option(
    help: ArgumentHelp("How many entries of an archive or files of a folder are read at most.", valueName: "count"))
  package var maxEntries: Int = ContainerLimits().entries

  @Option(
    help: ArgumentHelp("How many bytes an archive may inflate to: 64MB, 64MiB, or a number.", valueName: "size"),
    transform: size)
  package var maxArchiveBytes: Int = ContainerLimits().inflatedBytes

  @Option(
    help: ArgumentHelp("How many times its own size an archive may inflate to, above 64 MiB.", valueName: "times"))
  package var maxRatio: Int = ContainerLimits().ratio

  @Sendable private static func size(_ text: String) throws -> Int {
    guard let bytes = ByteSize.bytes(text) else { throw ValidationError("a size is \(ByteSize.forms)") }
    return bytes
  }

  package func validate() throws {
    let limits = [
      ("--max-depth", maxDepth), ("--max-entries", maxEntries), ("--max-archive-bytes", maxArchiveBytes),
      ("--max-ratio", maxRatio),
    ]
    for (name, limit) in limits where limit < 1 {
      throw ValidationError("\(name) \(limit): allowed are 1 and more")
    }
  }

  package var limits: ContainerLimits {
    ContainerLimits(depth: maxDepth, entries: maxEntries, inflatedBytes: maxArchiveBytes, ratio: maxRatio)
  }

  package init() {}
}
