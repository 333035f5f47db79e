import Glibc
import KeyTool

exit(await KeyferryCommand.run(arguments: Array(CommandLine.arguments.dropFirst())))
