import ExposureKeys
import Foundation
import GatewayTesting

/// Makes the files of `interop/` and of the demo. They come from the reference code and from Foundation, never from the
/// codecs that are tested with them.
let usage = """
  usage: recipes vectors [FOLDER]             write every vector, by default to interop/vectors
         recipes corpus FOLDER                write the bytes of every small vector to FOLDER, for the fuzzer
         recipes sample FORMAT COUNT SEED [DAY]
                                              write COUNT sample keys of the fourteen days before DAY, by default
                                              2020-12-01, to standard output; FORMAT: \(Sample.names)
  """

switch CommandLine.arguments.dropFirst().first {
case "vectors":
  let folder = CommandLine.arguments.dropFirst(2).first.map { URL(filePath: $0) }
  try writeVectors(to: folder ?? Vector.folder)
  try writeDrawer(to: folder ?? Vector.folder)
case "corpus":
  guard let folder = CommandLine.arguments.dropFirst(2).first else { fail() }
  try writeCorpus(to: URL(filePath: folder))
case "sample":
  let arguments = Array(CommandLine.arguments.dropFirst(2))
  guard arguments.count == 3 || arguments.count == 4, let sample = Sample(rawValue: arguments[0]),
    let count = Int(arguments[1]), count >= 0, let seed = UInt64(arguments[2]),
    let day = arguments.count == 4 ? Day(arguments[3]) : RandomKeys.usualDay
  else { fail() }
  try FileHandle.standardOutput.write(contentsOf: sample.bytes(count, seed: seed, day: day))
default: fail()
}

func fail() -> Never {
  FileHandle.standardError.write(Data((usage + "\n").utf8))
  exit(64)
}
