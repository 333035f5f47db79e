import CArguments
import Glibc
import KeyTool

// As the system handed them over. Swift itself reads them from /proc, and sees none where that is not mounted.
let stated = (0..<keyferry_argument_count()).compactMap { keyferry_argument($0) }.map { KeyferryCommand.text(of: $0) }
let arguments = stated.isEmpty ? CommandLine.arguments : stated
let status = await KeyferryCommand.run(arguments: Array(arguments.dropFirst()))
// Everything is written and closed. What libraries take down at the end of a process, a thread of ours may still be in.
fflush(nil)
_exit(status)
