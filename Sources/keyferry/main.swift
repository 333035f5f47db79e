import Glibc
import KeyTool

exit(KeyferryCommand.run(arguments: Array(CommandLine.arguments.dropFirst())))
