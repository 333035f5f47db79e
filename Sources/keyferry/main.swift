import CArguments
import Glibc
import KeyTool

// As the system handed them over. Swift itself reads them from /proc, and sees none where that is not mounted.
let stated = (0..<keyferry_argument_count()).compactMap { keyferry_argument($0) }.map { KeyferryCommand.text(of: $0) }
let arguments = stated.isEmpty ? CommandLine.arguments : stated
exit(await KeyferryCommand.run(arguments: Array(arguments.dropFirst())))
