// swift-tools-version: 6.2
//
// The module graph is the pipeline, and each target's dependency list is its permission list:
// a rule cannot do I/O, because its target can import nothing that does.

import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: Context.environment["CI"] == nil ? .warning : .error),
]

let package = Package(
  name: "keyferry",
  products: [
    .library(name: "ExposureKeys", targets: ["ExposureKeys"]),
    .library(name: "KeyFormats", targets: ["KeyFormats"]),
    .library(name: "BundleTrust", targets: ["BundleTrust"]),
    .executable(name: "keyferry", targets: ["keyferry"]),
    // For the package in Benchmarks/ alone: it changes without notice.
    .library(
      name: "_KeyferryInternals",
      targets: ["Gateway", "GatewayTesting", "KeyFormats", "BundleTrust", "KeyNormalization"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
  ],
  targets: [
    // What is a diagnosis key? Values, units, claims, batches, bundles. Imports nothing, not even Foundation.
    .target(name: "ExposureKeys", swiftSettings: strict),

    // The system's zlib: inflate, deflate, CRC-32.
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

    // How does each file format spell keys? One folder a format, both directions, plus the ZIP container.
    .target(name: "KeyFormats", dependencies: ["ExposureKeys", "CZlib"], swiftSettings: strict),

    // Whose signature is this, and how do we make ours?
    .target(
      name: "BundleTrust",
      dependencies: ["ExposureKeys", .product(name: "Crypto", package: "swift-crypto")],
      swiftSettings: strict),

    // Do we admit this claim, and what do we believe about a key, given all claims? Pure: rules, policies, the fold.
    .target(name: "KeyNormalization", dependencies: ["ExposureKeys"], swiftSettings: strict),

    // How is a policy written down? YAML, and the policies that ship.
    .target(
      name: "PolicyFiles",
      dependencies: ["ExposureKeys", "KeyNormalization", .product(name: "Yams", package: "Yams")],
      exclude: ["Policies", "embed"], swiftSettings: strict),

    // The pipelines: documents in, decode, verify, admit, fold, fit, encode, sign, seal, documents out.
    .target(
      name: "Gateway", dependencies: ["ExposureKeys", "KeyFormats", "BundleTrust", "KeyNormalization"],
      swiftSettings: strict),

    // The commands.
    .target(
      name: "KeyTool",
      dependencies: [
        "Gateway", "ExposureKeys", "KeyFormats", "BundleTrust", "KeyNormalization", "PolicyFiles",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: strict),

    // Assemble and run.
    .executableTarget(name: "keyferry", dependencies: ["KeyTool"], swiftSettings: strict),

    // Vector reader, recipes, random keys, the generated protobuf code as a reference. Only Tests depend on it.
    .target(
      name: "GatewayTesting",
      dependencies: [
        "ExposureKeys", "KeyFormats", "BundleTrust",
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ],
      swiftSettings: strict),

    // Writes the vectors under interop/ and sample dumps for the demo.
    .executableTarget(
      name: "recipes", dependencies: ["GatewayTesting", "KeyFormats", "ExposureKeys"], path: "interop/recipes",
      swiftSettings: strict),

    .testTarget(name: "ExposureKeysTests", dependencies: ["ExposureKeys"], swiftSettings: strict),
    .testTarget(
      name: "KeyFormatsTests", dependencies: ["ExposureKeys", "KeyFormats", "GatewayTesting"], swiftSettings: strict),
    .testTarget(
      name: "BundleTrustTests",
      dependencies: ["BundleTrust", "ExposureKeys", .product(name: "Crypto", package: "swift-crypto")],
      swiftSettings: strict),
    .testTarget(
      name: "KeyNormalizationTests", dependencies: ["KeyNormalization", "ExposureKeys"], swiftSettings: strict),
    .testTarget(
      name: "PolicyFilesTests", dependencies: ["PolicyFiles", "KeyNormalization", "ExposureKeys"],
      swiftSettings: strict),
    .testTarget(
      name: "GatewayTests",
      dependencies: [
        "Gateway", "GatewayTesting", "ExposureKeys", "KeyFormats", "BundleTrust", "KeyNormalization", "PolicyFiles",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "keyferry", "recipes", "KeyTool", "Gateway", "KeyFormats", "BundleTrust", "ExposureKeys", "GatewayTesting",
        "PolicyFiles", "KeyNormalization",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "VectorTests",
      dependencies: [
        "Gateway", "GatewayTesting", "ExposureKeys", "KeyFormats", "BundleTrust",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: strict),
    // The examples of the documentation. They see what other packages see: the public products, and no more.
    .testTarget(
      name: "ExampleTests", dependencies: ["ExposureKeys", "KeyFormats", "BundleTrust"], packageAccess: false,
      swiftSettings: strict),
    .testTarget(
      name: "GatewayTestingTests", dependencies: ["GatewayTesting", "ExposureKeys", "KeyFormats", "recipes"],
      swiftSettings: strict),
  ]
)
