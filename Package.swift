// swift-tools-version: 6.2
//
// The module graph is the pipeline, and each target's dependency list is its permission list:
// a rule cannot do I/O, because its target can import nothing that does.

import PackageDescription

var strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: Context.environment["CI"] == nil ? .warning : .error),
]
// CI needs no debug information. SwiftPM adds `-g` for the driver, and the front end obeys the flag that it gets last.
if Context.environment["CI"] != nil { strict.append(.unsafeFlags(["-Xfrontend", "-gnone"])) }

/// Packages that only the gateway and the program need are used where this trait is on, and resolved only then. It is on by
/// default; who depends on Keyferry for its formats, signatures or client turns it off with `traits: []`. A dependency of a
/// target that is no part of those products has this condition; code needs none. `Tests/FormatsAlone` looks after it.
let gateway = TargetDependencyCondition.when(traits: ["Gateway"])

/// The store in PostgreSQL, and with it the system's libpq. On by default; who needs the embedded store alone builds the program
/// without libpq by `swift build --product keyferry --traits Gateway`.
let postgres = TargetDependencyCondition.when(traits: ["PostgreSQL"])

/// Commit and date of what is built; whatever else the environment says is left out.
let build = (Context.environment["KEYFERRY_BUILD"] ?? "").filter {
  $0.isASCII && ($0.isLetter || $0.isNumber || " -.".contains($0))
}

let package = Package(
  name: "keyferry",
  // Where the libraries are meant to compile beside Linux: what KeyFormats holds in place (InlineArray) is of these systems. The
  // gateway and its program are for Linux alone. `Tests/ExampleTests/PlatformTests.swift` looks after the libraries' imports.
  platforms: [.macOS(.v26), .iOS(.v26), .tvOS(.v26), .watchOS(.v26), .visionOS(.v26)],
  products: [
    .library(name: "ExposureKeys", targets: ["ExposureKeys"]),
    .library(name: "KeyFormats", targets: ["KeyFormats"]),
    .library(name: "BundleTrust", targets: ["BundleTrust"]),
    .library(name: "KeyFiles", targets: ["KeyFiles"]),
    .library(name: "KeyferryClient", targets: ["KeyferryClient"]),
    .executable(name: "keyferry", targets: ["keyferry"]),
    // For the package in Benchmarks/ alone: it changes without notice.
    .library(
      name: "_KeyferryInternals",
      targets: [
        "KeyIntake", "KeyConversion", "KeyInspection", "KeyPeers", "KeyReceiving", "KeyPublishing", "GatewayTesting",
        "KeyFormats", "BundleTrust", "KeyNormalization", "KeyStorage", "SQLiteDriver", "PostgresDriver",
        "TransparencyLog",
      ]),
  ],
  traits: [
    .default(enabledTraits: ["Gateway", "PostgreSQL"]),
    .trait(name: "Gateway", description: "The gateway and the program, with the packages that they need"),
    .trait(
      name: "PostgreSQL", description: "The store in PostgreSQL, with the system's libpq", enabledTraits: ["Gateway"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    // Without what would bring the whole of Foundation, and with it ten megabytes.
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    // What is a diagnosis key? Values, units, claims, batches, bundles. Imports nothing but the C library's memory, not
    // even Foundation.
    .target(name: "ExposureKeys", swiftSettings: strict),

    // The system's zlib: deflate, CRC-32, and inflate, which ours is compared with.
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

    // The system's libarchive: tar, bzip2, xz and zstd. The formats do not need it.
    .systemLibrary(name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"])]),

    // The system's libcrypto: the signatures of a federation's batches (CMS) and their certificates.
    .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

    // Where does what blocks go? Threads of their own.
    .target(name: "WorkThreads", swiftSettings: strict),

    // How does each file format spell keys? One folder a format, both directions, plus the ZIP container.
    .target(name: "KeyFormats", dependencies: ["ExposureKeys", "WorkThreads", "CZlib"], swiftSettings: strict),

    // Whose signature is this, and how do we make ours?
    .target(
      name: "BundleTrust",
      dependencies: [
        "ExposureKeys", .product(name: "Crypto", package: "swift-crypto"),
        .target(name: "CLibcrypto", condition: gateway),
      ],
      swiftSettings: strict),

    // The short way for programs of others: a file by its URL, its keys in a loop, its signatures against a ring.
    .target(name: "KeyFiles", dependencies: ["ExposureKeys", "KeyFormats", "BundleTrust"], swiftSettings: strict),

    // Do we admit this claim, and what do we believe about a key, given all claims? Pure: rules, policies, the fold.
    .target(name: "KeyNormalization", dependencies: ["ExposureKeys", "BundleTrust"], swiftSettings: strict),

    // How is a policy written down? YAML, and the policies that ship.
    .target(
      name: "PolicyFiles",
      dependencies: [
        "ExposureKeys", "KeyNormalization", "CTexts", .product(name: "Yams", package: "Yams", condition: gateway),
      ],
      exclude: ["Policies"], swiftSettings: strict),

    // Which files does the program carry? The compiler embeds them.
    .target(name: "CTexts"),

    // What does the gateway need from a store? The contract, and the store in memory.
    .target(name: "KeyStorage", dependencies: ["ExposureKeys", "KeyNormalization"], swiftSettings: strict),

    // The embedded store: one SQLite file.
    .target(
      name: "SQLiteDriver",
      dependencies: [
        "KeyStorage", "KeyNormalization", "ExposureKeys", "CPartialFiles",
        .product(name: "GRDB", package: "GRDB.swift", condition: gateway),
        .product(name: "GRDBSQLite", package: "GRDB.swift", condition: gateway),
      ],
      swiftSettings: strict),

    // The system's libpq: PostgreSQL.
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

    // A store that several machines share: a schema of a PostgreSQL database.
    .target(
      name: "PostgresDriver",
      dependencies: ["KeyStorage", "KeyNormalization", "ExposureKeys", "WorkThreads", "CPostgres"],
      swiftSettings: strict),

    // Can what was published be taken back in secret? The Merkle log, its notes, proofs and files.
    .target(
      name: "TransparencyLog", dependencies: ["ExposureKeys", .product(name: "Crypto", package: "swift-crypto")],
      swiftSettings: strict),

    // Which files has the process begun? Removed when a signal ends it, in C, because a signal may come at any instruction.
    .target(name: "CPartialFiles"),

    // What has come, is it whole, and who stands behind it? Files, documents, and the one way in.
    .target(
      name: "KeyIntake",
      dependencies: ["ExposureKeys", "KeyFormats", "BundleTrust", "KeyNormalization", "CPartialFiles"],
      swiftSettings: strict),

    // Which documents lie in there? Folders, archives, compressed files and pipes, for the commands.
    .target(
      name: "Containers", dependencies: ["KeyArchive", "KeyIntake", "KeyFormats", "CArchive", "CZlib"],
      swiftSettings: strict),

    // Which files were ever seen, where and when? Bytes by their digest, and a catalogue that only grows.
    .target(
      name: "KeyArchive", dependencies: ["ExposureKeys", "KeyIntake", "KeyFormats", "BundleTrust", "TransparencyLog"],
      swiftSettings: strict),

    // What does a file become? Convert, reconcile files, sign again.
    .target(
      name: "KeyConversion",
      dependencies: ["KeyIntake", "ExposureKeys", "KeyFormats", "BundleTrust", "KeyNormalization"],
      swiftSettings: strict),

    // What is in a file, and what would each kind of phone do with it?
    .target(
      name: "KeyInspection", dependencies: ["KeyIntake", "ExposureKeys", "KeyFormats", "BundleTrust"],
      swiftSettings: strict),

    // How does a peer speak? Pure machines, one file a protocol.
    .target(
      name: "KeyPeers",
      dependencies: ["ExposureKeys", "KeyFormats", "BundleTrust", "KeyNormalization"],
      swiftSettings: strict),

    // How does anything come in? Conversations with peers, quarantine, what is known of sources.
    .target(
      name: "KeyReceiving",
      dependencies: [
        "KeyPeers", "KeyIntake", "KeyStorage", "ExposureKeys", "KeyFormats", "BundleTrust", "KeyNormalization",
      ],
      swiftSettings: strict),

    // What goes out, in which files, signed by whom? Select, fold, prepare, encode, sign, stage.
    .target(
      name: "KeyPublishing",
      dependencies: [
        "KeyConversion", "KeyIntake", "KeyInspection", "KeyStorage", "ExposureKeys", "KeyFormats",
        "BundleTrust", "KeyNormalization", "TransparencyLog", "CPrograms",
      ],
      swiftSettings: strict),

    // Starts a program that signs, in C, because Swift does not see what gives it no descriptor but three.
    .target(name: "CPrograms"),

    // What does the operator want? `gateway.yaml`, checked as a whole.
    .target(
      name: "GatewaySettings",
      dependencies: [
        "Federation", "KeyPeers", "KeyReceiving", "KeyPublishing", "KeyIntake", "GatewayServer", "BundleTrust",
        "ExposureKeys",
        "KeyFormats", "KeyNormalization", "PolicyFiles", "TransparencyLog", "S3Objects", "S3Publications",
      ],
      swiftSettings: strict),

    // What went wrong on the way? The errors of the libraries for HTTP and TLS, in words of ours.
    .target(
      name: "NetworkFaults",
      dependencies: [
        .product(name: "AsyncHTTPClient", package: "async-http-client", condition: gateway),
        .product(name: "NIOCore", package: "swift-nio", condition: gateway),
        .product(name: "NIOHTTP1", package: "swift-nio", condition: gateway),
        .product(name: "NIOPosix", package: "swift-nio", condition: gateway),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: gateway),
      ],
      swiftSettings: strict),

    // How do bytes come from a peer? HTTP with time-outs, limits, retries and a budget for each host.
    .target(
      name: "PeerTransport",
      dependencies: [
        "NetworkFaults", "KeyPeers", "KeyIntake", "BundleTrust", "ExposureKeys", "KeyFormats", "CZlib",
        .product(name: "AsyncHTTPClient", package: "async-http-client", condition: gateway),
        .product(name: "NIOCore", package: "swift-nio", condition: gateway),
        .product(name: "NIOHTTP1", package: "swift-nio", condition: gateway),
        .product(name: "NIOPosix", package: "swift-nio", condition: gateway),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: gateway),
        .product(name: "Logging", package: "swift-log", condition: gateway),
      ],
      swiftSettings: strict),

    // The system's libxml2, for what a bucket answers.
    .systemLibrary(name: "CLibxml2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),

    // How does an object store speak? Signatures, requests, answers, and where credentials come from. It knows no bundle.
    .target(
      name: "S3Objects",
      dependencies: [
        "CLibxml2", "NetworkFaults", "ExposureKeys", "BundleTrust", "KeyIntake",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "AsyncHTTPClient", package: "async-http-client", condition: gateway),
        .product(name: "NIOCore", package: "swift-nio", condition: gateway),
        .product(name: "NIOHTTP1", package: "swift-nio", condition: gateway),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: gateway),
      ],
      swiftSettings: strict),

    // How is a bucket published into, and served from? The folder of published files as objects, and a copy of them.
    .target(
      name: "S3Publications",
      dependencies: ["S3Objects", "KeyPublishing", "KeyIntake", "BundleTrust", "TransparencyLog"], swiftSettings: strict
    ),

    // What is counted? One value with a property for each metric, and the text that Prometheus reads.
    .target(
      name: "ProgramMetrics",
      dependencies: [
        "ExposureKeys", .product(name: "CoreMetrics", package: "swift-metrics", condition: gateway),
      ],
      swiftSettings: strict),

    // How do apps get their bundles? HTTP routes, one file a layout, and a page for people.
    .target(
      name: "GatewayServer",
      dependencies: [
        "NetworkFaults", "ProgramMetrics", "KeyPublishing", "KeyInspection", "KeyIntake", "BundleTrust", "CZlib",
        "CTexts",
        "ExposureKeys",
        "KeyFormats", "TransparencyLog",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "HTTPTypes", package: "swift-http-types", condition: gateway),
        .product(name: "Hummingbird", package: "hummingbird", condition: gateway),
        .product(name: "HummingbirdCore", package: "hummingbird", condition: gateway),
        .product(name: "HummingbirdHTTP2", package: "hummingbird", condition: gateway),
        .product(name: "CoreMetrics", package: "swift-metrics", condition: gateway),
        .product(name: "Tracing", package: "swift-distributed-tracing", condition: gateway),
        .product(name: "Logging", package: "swift-log", condition: gateway),
        .product(name: "NIOCore", package: "swift-nio", condition: gateway),
        .product(name: "NIOHTTP1", package: "swift-nio", condition: gateway),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: gateway),
        .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: gateway),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: gateway),
        .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras", condition: gateway),
        .product(name: "NIOHTTPTypesHTTP2", package: "swift-nio-extras", condition: gateway),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: gateway),
      ],
      swiftSettings: strict),

    // How do two gateways exchange keys? A folder a protocol: whom it trusts, its addresses, its batches, its callbacks, and how
    // own keys are handed over.
    .target(
      name: "Federation",
      dependencies: [
        "GatewayServer", "ProgramMetrics", "PeerTransport", "KeyPeers", "KeyReceiving", "KeyPublishing", "KeyIntake",
        "KeyStorage", "KeyNormalization", "KeyFormats", "BundleTrust", "ExposureKeys",
        .product(name: "HTTPTypes", package: "swift-http-types", condition: gateway),
        .product(name: "Hummingbird", package: "hummingbird", condition: gateway),
        .product(name: "Logging", package: "swift-log", condition: gateway),
        .product(name: "NIOCore", package: "swift-nio", condition: gateway),
      ],
      swiftSettings: strict),

    // What an app calls: the method shapes of the sample app's server, over URLSession.
    .target(name: "KeyferryClient", swiftSettings: strict),

    // The services, their schedule, reload and end. Embeddable: it knows no command line.
    .target(
      name: "GatewayDaemon",
      dependencies: [
        "Federation", "GatewaySettings", "GatewayServer", "PeerTransport", "KeyPeers", "KeyReceiving", "KeyPublishing",
        "KeyStorage", "SQLiteDriver", "KeyIntake", "KeyNormalization", "BundleTrust", "ExposureKeys", "TransparencyLog",
        "S3Publications", "ProgramMetrics", "WorkThreads", .target(name: "PostgresDriver", condition: postgres),
        .product(name: "Tracing", package: "swift-distributed-tracing", condition: gateway),
        .product(name: "Logging", package: "swift-log", condition: gateway),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: gateway),
        .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: gateway),
      ],
      swiftSettings: strict),

    // What does a phone make of keys and sightings? Pure.
    .target(name: "KeyDevice", dependencies: ["ExposureKeys", "CLibcrypto"], swiftSettings: strict),

    // How are tables for analysis written into an SQLite database?
    .target(
      name: "SQLiteTables",
      dependencies: [
        "ExposureKeys", .product(name: "GRDBSQLite", package: "GRDB.swift", condition: gateway),
      ],
      swiftSettings: strict),

    // Whom has a phone met? Logs of phones and receivers as sightings. It writes nothing, and names no identifier.
    .target(
      name: "Sightings",
      dependencies: [
        "KeyDevice", "ExposureKeys", "KeyFormats",
        .product(name: "GRDBSQLite", package: "GRDB.swift", condition: gateway),
      ],
      swiftSettings: strict),

    // The commands that work on files. They can open no store and know no gateway, since neither can be imported here.
    .target(
      name: "FileCommands",
      dependencies: [
        "Containers", "KeyIntake", "KeyConversion", "KeyInspection", "KeyArchive", "KeyPeers", "PeerTransport",
        "ExposureKeys", "KeyFormats", "BundleTrust", "KeyNormalization", "PolicyFiles", "SQLiteTables",
        "TransparencyLog", "WorkThreads", "CPartialFiles", "CBuild", "KeyDevice", "Sightings",
        .product(name: "Logging", package: "swift-log", condition: gateway),
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: gateway),
      ],
      swiftSettings: strict),

    // The commands of the gateway, and the program's list of commands.
    .target(
      name: "KeyTool",
      dependencies: [
        "FileCommands", "Federation", "GatewaySettings", "GatewayDaemon", "GatewayServer", "KeyReceiving",
        "KeyPublishing",
        "KeyStorage", "S3Publications", "ProgramMetrics", "Containers", "KeyIntake", "KeyInspection", "KeyArchive",
        "KeyPeers",
        "PeerTransport", "ExposureKeys", "KeyFormats", "BundleTrust", "KeyNormalization", "PolicyFiles",
        "TransparencyLog",
        "WorkThreads", "CPartialFiles",
        .product(name: "Logging", package: "swift-log", condition: gateway),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: gateway),
        .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: gateway),
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: gateway),
      ],
      swiftSettings: strict),

    // Which commit is the program of? Told to C alone, so that another commit recompiles one file. `make release` says it:
    // `KEYFERRY_BUILD="3f2a1bc9 2026-11-23"`.
    .target(
      name: "CBuild",
      cSettings: build.isEmpty ? [] : [.define("KEYFERRY_BUILD", to: "\"\(build)\"")]),

    // What was the program started with? Kept by C, because Swift asks /proc.
    .target(name: "CArguments"),

    // Assemble and run.
    .executableTarget(
      name: "keyferry", dependencies: ["KeyTool", "CArguments"], swiftSettings: strict,
      // With the first two the linker's tables are read-only before the first line runs (full RELRO). Without the list of its own
      // symbols, which nothing looks up in a program, a start takes three quarters of the time.
      linkerSettings: [
        .unsafeFlags(
          ["relro", "now"].flatMap { ["-Xlinker", "-z", "-Xlinker", $0] } + ["-Xlinker", "--no-export-dynamic"])
      ]),

    // Vector reader, recipes, random keys, the generated protobuf code as a reference. Only Tests depend on it.
    .target(
      name: "GatewayTesting",
      dependencies: [
        "ExposureKeys", "KeyFormats", "BundleTrust", "KeyStorage", "SQLiteDriver", "CZlib", "S3Objects",
        "TransparencyLog", .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "SwiftProtobuf", package: "swift-protobuf", condition: gateway),
      ],
      swiftSettings: strict),

    // The gateway, its peers, its phones, its disk and its clock in one process, driven from a seed.
    .target(
      name: "GatewaySimulation",
      dependencies: [
        "GatewayDaemon", "GatewayServer", "PeerTransport", "KeyPeers", "KeyReceiving", "KeyPublishing", "KeyStorage",
        "SQLiteDriver", "KeyConversion", "KeyIntake", "KeyNormalization", "KeyFormats", "BundleTrust", "ExposureKeys",
        "TransparencyLog", "GatewayTesting",
      ],
      swiftSettings: strict),
    // Runs many seeds of it.
    .executableTarget(
      name: "simulate",
      dependencies: [
        "GatewaySimulation",
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: gateway),
      ],
      path: "Tests/Simulate", swiftSettings: strict),

    // Writes the vectors under interop/ and sample dumps for the demo.
    .executableTarget(
      name: "recipes", dependencies: ["GatewayTesting", "KeyFormats", "ExposureKeys"], path: "interop/recipes",
      swiftSettings: strict),

    .testTarget(
      name: "TransparencyLogTests",
      dependencies: ["TransparencyLog", "GatewayTesting", .product(name: "Crypto", package: "swift-crypto")],
      swiftSettings: strict),
    .testTarget(name: "ExposureKeysTests", dependencies: ["ExposureKeys"], swiftSettings: strict),
    .testTarget(
      name: "KeyFormatsTests", dependencies: ["ExposureKeys", "KeyFormats", "GatewayTesting"], swiftSettings: strict),
    .testTarget(
      name: "BundleTrustTests",
      dependencies: ["BundleTrust", "ExposureKeys", .product(name: "Crypto", package: "swift-crypto")],
      swiftSettings: strict),
    .testTarget(
      name: "KeyNormalizationTests",
      dependencies: [
        "KeyNormalization", "KeyPublishing", "PolicyFiles", "GatewayTesting", "BundleTrust", "ExposureKeys",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "PolicyFilesTests",
      dependencies: ["PolicyFiles", "KeyNormalization", "BundleTrust", "ExposureKeys", "GatewayTesting"],
      swiftSettings: strict),
    .testTarget(
      name: "GatewayTests",
      dependencies: [
        "KeyIntake", "KeyConversion", "KeyInspection", "KeyPeers", "KeyReceiving", "KeyPublishing", "GatewayTesting",
        "ExposureKeys", "KeyFormats", "BundleTrust", "KeyNormalization", "KeyStorage",
        "PolicyFiles", "TransparencyLog", "S3Objects", "S3Publications", "Federation",
      ],
      swiftSettings: strict),
    // Buckets: signatures, answers, credentials; one contract for every place that is published into.
    .testTarget(
      name: "BucketTests",
      dependencies: [
        "S3Objects", "S3Publications", "NetworkFaults", "KeyPublishing", "KeyStorage", "KeyIntake", "BundleTrust",
        "ExposureKeys", "GatewayTesting", "TransparencyLog",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: strict),
    // One contract, every store.
    .testTarget(
      name: "StorageTests",
      dependencies: [
        "KeyStorage", "SQLiteDriver", "KeyNormalization",
        .product(name: "GRDB", package: "GRDB.swift", condition: gateway),
        .product(name: "GRDBSQLite", package: "GRDB.swift", condition: gateway), "BundleTrust",
        "ExposureKeys", "GatewayTesting", .target(name: "PostgresDriver", condition: postgres),
      ],
      swiftSettings: strict),
    // Phones and apps: the originals' frozen answers, laws, and what a funnel counts.
    .testTarget(
      name: "KeyDeviceTests", dependencies: ["KeyDevice", "ExposureKeys", "GatewayTesting"], swiftSettings: strict),
    .testTarget(
      name: "SightingsTests",
      dependencies: [
        "Sightings", "KeyDevice", "KeyFormats", "ExposureKeys",
        .product(name: "GRDBSQLite", package: "GRDB.swift", condition: gateway),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "GatewaySettingsTests",
      dependencies: [
        "Federation", "GatewaySettings", "GatewayServer", "KeyIntake", "KeyPeers", "KeyReceiving", "KeyPublishing",
        "KeyStorage", "BundleTrust", "S3Objects", "S3Publications", "ExposureKeys",
        "KeyNormalization", "PolicyFiles", "GatewayTesting", "TransparencyLog",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "PeerTransportTests",
      dependencies: [
        "PeerTransport", "KeyPeers", "KeyIntake", "BundleTrust", "ExposureKeys", "KeyFormats", "KeyNormalization",
        "KeyStorage", "GatewayTesting",
        .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: gateway),
        .product(name: "NIOCore", package: "swift-nio", condition: gateway),
        .product(name: "NIOHTTP1", package: "swift-nio", condition: gateway),
        .product(name: "NIOPosix", package: "swift-nio", condition: gateway),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: gateway),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "GatewayServerTests",
      dependencies: [
        "Federation", "GatewayServer", "GatewayDaemon", "GatewaySettings", "KeyferryClient", "KeyConversion",
        "KeyIntake", "ProgramMetrics",
        "KeyInspection", "KeyNormalization", "KeyReceiving", "KeyPublishing", "KeyStorage", "BundleTrust",
        "ExposureKeys",
        "KeyFormats", "GatewayTesting", "PolicyFiles",
        .product(name: "AsyncHTTPClient", package: "async-http-client", condition: gateway),
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "HTTPTypes", package: "swift-http-types", condition: gateway),
        .product(name: "Hummingbird", package: "hummingbird", condition: gateway),
        .product(name: "HummingbirdTesting", package: "hummingbird", condition: gateway),
        .product(name: "CoreMetrics", package: "swift-metrics", condition: gateway),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing", condition: gateway),
        .product(name: "Tracing", package: "swift-distributed-tracing", condition: gateway),
        .product(name: "Logging", package: "swift-log", condition: gateway),
        .product(name: "NIOCore", package: "swift-nio", condition: gateway),
        .product(name: "NIOHTTP1", package: "swift-nio", condition: gateway),
        .product(name: "NIOPosix", package: "swift-nio", condition: gateway),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: gateway),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: gateway),
      ],
      swiftSettings: strict),
    // Several gateways, servers and apps on one machine: pull, publish, serve, download.
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "keyferry", "KeyTool", "KeyIntake", "KeyConversion", "KeyInspection", "KeyPeers", "KeyReceiving",
        "KeyPublishing", "GatewayServer", "GatewaySettings", "KeyferryClient", "KeyStorage",
        "SQLiteDriver",
        "PeerTransport", "BundleTrust", "ExposureKeys", "KeyFormats", "KeyNormalization", "PolicyFiles",
        "GatewayTesting", "GatewayDaemon", "TransparencyLog", "ProgramMetrics",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "SimulationTests",
      dependencies: [
        "Federation", "GatewaySimulation", "GatewayServer", "KeyPeers", "KeyReceiving", "KeyPublishing", "KeyStorage",
        "SQLiteDriver", "KeyIntake", "KeyNormalization", "KeyFormats", "BundleTrust", "ExposureKeys", "GatewayTesting",
        .target(name: "PostgresDriver", condition: postgres),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "keyferry", "recipes", "KeyTool", "FileCommands", "Containers", "KeyArchive", "KeyIntake", "KeyConversion",
        "KeyInspection",
        "KeyPeers",
        "KeyReceiving",
        "KeyPublishing", "KeyFormats", "BundleTrust", "ExposureKeys", "GatewayTesting",
        "PolicyFiles", "KeyNormalization", "KeyStorage", "SQLiteDriver", "TransparencyLog",
      ],
      swiftSettings: strict),
    // What the commands say about a report.
    .testTarget(
      name: "KeyToolTests",
      dependencies: [
        "KeyTool", "FileCommands", "KeyIntake", "KeyConversion", "KeyInspection", "KeyReceiving", "KeyPublishing",
        "GatewayTesting",
        "ExposureKeys", "KeyFormats", "BundleTrust", "KeyNormalization", "KeyStorage",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "VectorTests",
      dependencies: [
        "KeyIntake", "KeyConversion", "KeyInspection", "KeyPeers", "KeyReceiving", "KeyPublishing", "GatewayTesting",
        "ExposureKeys", "KeyFormats", "BundleTrust",
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: strict),
    // The examples of the documentation. They see what other packages see: the public products, and no more.
    .testTarget(
      name: "ExampleTests", dependencies: ["ExposureKeys", "KeyFormats", "BundleTrust", "KeyFiles"],
      packageAccess: false,
      swiftSettings: strict),
    .testTarget(
      name: "GatewayTestingTests", dependencies: ["GatewayTesting", "ExposureKeys", "KeyFormats", "recipes"],
      swiftSettings: strict),
  ]
)
