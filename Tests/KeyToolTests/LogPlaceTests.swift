import ArgumentParser
import Testing

@testable import FileCommands
@testable import KeyTool

@Suite("The log that a command writes")
struct LogPlaceTests {
  @Test("what stands behind the log is all there is where the configuration says which log") func arguments() throws {
    let words = ["--by", "ada", "--reason", "test keys"]
    let folders = try LogCommand.Withdraw.parse(["public/log", "--state", "state", "NL/1.zip", "NL/2.zip"] + words)
    #expect(try folders.writing.behind(folders.paths, "paths") == ["NL/1.zip", "NL/2.zip"])
    let configured = try LogCommand.Withdraw.parse(["NL/1.zip", "NL/2.zip", "--config", "gateway.yaml"] + words)
    #expect(try configured.writing.behind(configured.paths, "paths") == ["NL/1.zip", "NL/2.zip"])
    let one = try LogCommand.Add.parse(["--config", "gateway.yaml", "NL/1.zip"])
    #expect(try one.writing.behind(one.bundles, "bundles") == ["NL/1.zip"])
    for nothing in [["--config", "gateway.yaml"], ["public/log", "--state", "state"]] {
      #expect(throws: (any Error).self) { try LogCommand.Withdraw.parse(nothing + words) }
    }
    #expect(throws: (any Error).self) { try LogCommand.Adopt.parse(["public/log", "--config", "gateway.yaml"]) }
  }
}
