import BundleTrust
import Federation
import GatewayServer
import GatewayTesting
import KeyIntake
import KeyNormalization
import KeyPeers
import KeyPublishing
import KeyReceiving
import KeyStorage
import ProgramMetrics
import S3Objects

@testable import GatewaySettings

/// Every setting of `gateway.yaml`: the page Configuration is made of it, and a test holds it against what is read.
enum SettingsTable {
  struct Row: Hashable, Sendable {
    /// With the sections around it; `[]` is each entry of a list, `*` any name: `sources[].http.headers.*`.
    var name: String
    var meaning: String
    /// Empty where the setting must be stated.
    var normally: String
    var allowed: String

    fileprivate init(_ name: String, _ meaning: String, _ normally: String, _ allowed: String) {
      self.name = name
      self.meaning = meaning
      self.normally = normally
      self.allowed = allowed
    }
  }

  struct Group: Sendable {
    var title: String
    var rows: [Row]
  }

  static let groups = [
    Group(title: "The gateway", rows: gateway), Group(title: "Sources", rows: sources),
    Group(title: "How a source is reached", rows: transport), Group(title: "Destinations", rows: destinations),
    Group(title: "Series", rows: series),
    Group(title: "Signing keys of a series", rows: signing), Group(title: "Server", rows: server),
    Group(title: "Federation gateway", rows: federation),
  ]

  /// A Markdown table a group.
  static var markdown: String {
    groups.map { group in
      let rows = group.rows.map { row in
        "| `\(row.name)` | \(row.meaning) | \(row.normally.isEmpty ? "*must be stated*" : row.normally) | \(row.allowed) |\n"
      }
      return "### \(group.title)\n\n| setting | meaning | default | allowed |\n|---|---|---|---|\n" + rows.joined()
    }.joined(separator: "\n")
  }

  private static let none = "none"
  private static let codes = "a list of codes: `[DE, US-VA]`"
  private static let secret = "`{file: PATH}` or `{env: NAME}`"
  private static let path = "a path, relative to the file's folder"

  private static let gateway: [Row] = {
    let retention = Retention()
    return [
      Row("state", "The folder of the store and of what is being fetched.", path),
      Row("store", "Where the store is.", "in the folder of `state`", "a section"),
      Row(
        "store.postgresql", "A PostgreSQL database that has the store, in place of the folder.", "none", "a section"),
      Row(
        "store.postgresql.connection",
        "How it is reached, as libpq reads it: `postgresql://keyferry@db.example.org/keyferry`. It may have the password.",
        secret),
      Row("store.postgresql.connection.file", "The file that holds it.", none, path),
      Row("store.postgresql.connection.env", "The variable that holds it.", none, "a name"),
      Row(
        "store.postgresql.schema", "The schema of the database that is the store's alone; made where it is not there.",
        "`\(DatabaseAccess.usualSchema)`", "small letters, digits, `_`"),
      Row(
        "store.postgresql.readers", "Connections that read at the same time, beside the one that writes.", "6",
        "\(Allowed.databaseReaders.lowerBound)...\(Allowed.databaseReaders.upperBound)"),
      Row(
        "store.postgresql.statement-limit", "How long one statement may take.", TimeSpan.text(60),
        Allowed.databaseSeconds.durations),
      Row(
        "store.postgresql.lock-limit", "How long is waited while somebody else writes.", TimeSpan.text(30),
        Allowed.databaseSeconds.durations),
      Row(
        "store.postgresql.idle-limit", "How long the server waits for this gateway inside a transaction.",
        TimeSpan.text(15),
        Allowed.databaseSeconds.durations),
      Row(
        "store.postgresql.replica", "What this process is called among those that share the database.",
        "the name of its machine", "1...63 letters, digits, `.`, `_`, `-`"),
      Row(
        "store.postgresql.lease",
        "For how long a replica takes a piece of work: so long after it was killed another one takes it over.",
        TimeSpan.text(15), Allowed.leaseSeconds.durations),
      Row(
        "own-origins",
        "The gateway's own origins. Their keys are taken from a source that has the origin itself (`origin: NL`), and are rejected from every other one, as own keys that come back.",
        none, codes),
      Row(
        "population",
        "Inhabitants of the own origins. \(BusyDay.keysPerThousand) keys of each thousand, at least \(BusyDay.fewestKeys), are no flood on any day: from each upload endpoint, and from each source of an own origin.",
        "\(BusyDay.keys(of: nil)) keys a day",
        "\(Allowed.population.lowerBound)...\(Allowed.population.upperBound)"),
      Row("retention", "How long things are kept.", "the defaults", "a section"),
      Row(
        "retention.keys",
        "How long keys are kept after their expiry. Each expires a day after its rolling start, whatever its period.",
        TimeSpan.text(retention.keyDays * 86_400),
        Allowed.keyDays.days),
      Row(
        "retention.evidence", "How long received bytes are kept as evidence.",
        TimeSpan.text(retention.evidenceDays * 86_400), Allowed.evidenceDays.days),
      Row(
        "retention.quarantine", "How long the bytes of refused documents are kept.",
        TimeSpan.text(retention.quarantineDays * 86_400), Allowed.evidenceDays.days),
      Row(
        "retention.evidence-bytes",
        "How much room received bytes take that are kept: the oldest evidence goes first, and the oldest bytes of refused "
          + "documents last. It is looked at once an hour.",
        ByteCount.text(retention.evidenceBytes), Allowed.evidenceBytes.byteCounts),
      Row("clock", "How far the system's clock may step without being doubted.", "the defaults", "a section"),
      Row(
        "clock.back", "How far it may fall behind the greatest time seen.", TimeSpan.text(ClockBounds().back),
        Allowed.clockBack.durations),
      Row(
        "clock.ahead", "How far it may run ahead of the time that has passed.", TimeSpan.text(ClockBounds().ahead),
        Allowed.clockAhead.durations),
      Row(
        "silence", "When it is an alarm that no source at all could be pulled: `/ready/publishing`.",
        TimeSpan.text(21_600), Allowed.silence.durations),
      Row(
        "behind",
        "When it is an alarm that a source answers and has had no new key: `/ready/publishing` and `keyferry status`. One "
          + "that never had any is left alone.", "never", "never, \(Allowed.behind.durations)"),
      Row("policies", "Policy files that can then be named by the name that they state.", none, "a list of paths"),
      Row("sources", "Where keys are pulled from.", none, "a list of sections"),
      Row("destinations", "Federation gateways that own keys are handed to.", none, "a list of sections"),
      Row("series", "What is published.", none, "a list of sections"),
      Row("publication", "Where bundles are published.", "nothing is published", "a section"),
      Row(
        "publication.folder",
        "The folder of the bundles, apart from `state`. With `publication.s3` it is the copy of the bucket that this machine "
          + "serves, and can be removed.", "with `s3`, `published` in `state`; else *must be stated*", path),
      Row(
        "publication.s3", "A bucket that bundles are published into, in place of a folder.",
        "the folder is published into",
        "a section"),
      Row(
        "publication.s3.endpoint", "Where the store is.", "that of AWS for the region",
        "`https://…`, scheme, host and port alone"),
      Row("publication.s3.bucket", "The bucket. It is not made.", "3...63 letters, digits, `-`, `.`, `_`"),
      Row(
        "publication.s3.prefix", "What stands before every name in the bucket.", "nothing",
        "names with slashes between them: `keys/eu`"),
      Row(
        "publication.s3.region", "The region, of which signatures are.",
        "with `endpoint`, `us-east-1`; else *must be stated*",
        "letters, digits, `-`"),
      Row(
        "publication.s3.addressing", "How the bucket stands in addresses: before the host, or first in the path.",
        "`path` with `endpoint`, else `virtual-host`", "`path`, `virtual-host`"),
      Row(
        "publication.s3.credentials", "Who publishes.",
        "looked for in the environment, a web identity, the shared files, the container and the instance", "a section"),
      Row(
        "publication.s3.credentials.profile", "A profile of the shared files.", "none", "letters, digits, `-`, `_`, `.`"
      ),
      Row(
        "publication.s3.credentials.access-key-id", "The ID of an access key.", "none",
        "3...128 letters, digits, `-`, `_`"),
      Row("publication.s3.credentials.secret-access-key", "Its secret.", "none", secret),
      Row("publication.s3.credentials.secret-access-key.file", "The file that holds it.", none, path),
      Row("publication.s3.credentials.secret-access-key.env", "The variable that holds it.", none, "a name"),
      Row("publication.s3.credentials.session-token", "The token of a key that ends.", "none", secret),
      Row("publication.s3.credentials.session-token.file", "The file that holds it.", none, path),
      Row("publication.s3.credentials.session-token.env", "The variable that holds it.", none, "a name"),
      Row("publication.s3.roots", "The certificates to trust instead of the system's.", "the system's", "a PEM file"),
      Row(
        "publication.s3.checksums", "Whether SHA-256 checksums go with every object; some stores know none.",
        "`sha256`",
        "`sha256`, `none`"),
      Row(
        "publication.s3.conditional-writes",
        "Whether the store keeps `If-None-Match` and `If-Match`. With `false` this gateway must be the only one that publishes "
          + "into the bucket.", "`true`", "`true`, `false`"),
      Row(
        "publication.s3.time-out",
        "For one request of the store, with all its repetitions. A store that accepts and does not answer holds a round up no longer.",
        TimeSpan.text(Bucket.usualSeconds), Allowed.storeSeconds.durations),
      Row("log", "A public log of what is published, which cannot be rewritten in secret.", "no log", "a section"),
      Row(
        "log.name", "Its name and that of its key: where it is served, without `https://`. It never changes.",
        "a name without spaces and `+`: `keys.example.org/log`"),
      Row(
        "log.folder", "The folder in `publication.folder`, or in the bucket, in which others see it.",
        "`\(EvidenceSettings.usualFolder)`", "letters, digits, `-`, `_`"),
      Row(
        "log.state",
        "The folder of its private keys and of what was signed, apart from `publication.folder`; `keyferry log init` makes "
          + "it. It is in no backup that is restored. With `store.postgresql` and a bucket it has the keys alone, the same on "
          + "each replica.", "`log` in `state`", path),
      Row(
        "log.key",
        "The log's private key, `PRIVATE+KEY+…` as `log init` makes it, where it is a secret like others: replicas need no folder "
          + "for it.", "`log.key` in `log.state`", secret),
      Row(
        "log.attestation-key", "The private key of attestations, PEM, likewise; one of the two is never named alone.",
        "`attest.key` in `log.state`", secret),
      Row(
        "log.witnesses",
        "Who else signs each checkpoint (C2SP tlog-witness); one that does not answer holds nothing up.",
        none, "a list of sections"),
      Row("log.witnesses[].key", "Its public key.", "`NAME+HEX+BASE64`, of type 4"),
      Row("log.witnesses[].url", "What stands before `/add-checkpoint`.", "`https://…` or `http://…`"),
      Row("server", "How publications are served.", "nothing is served", "a section"),
      Row(
        "operators",
        "An address of its own for operators: a page of how the gateway stands, `/metrics`, `/health`, `/ready` and "
          + "`/ready/publishing`, which the server then answers no more.", "these are at the server's address",
        "a section"),
      Row(
        "operators.listen", "Address and port, over plain HTTP. Phones and national back ends are not answered there.",
        "`HOST:PORT`; port 0 is any free one"),
      Row(
        "operators.clients",
        "Who is shown the page and the metrics. Whether the gateway works is told to anybody who reaches the address.",
        "`[127.0.0.0/8, \"::1\"]`", "a list of addresses and blocks: `[127.0.0.1, 10.0.0.0/8, \"fd00::/8\"]`"),
      Row(
        "federation", "This gateway is one for national back ends, in place of the European one.",
        "countries do not federate here", "a section"),
    ]
  }()

  private static let federation: [Row] = [
    Row(
      "federation.trust",
      "The trust anchor and the whitelist of the countries' certificates; `keyferry trust` makes it.",
      "a JSON file"),
    Row(
      "federation.certificates-from",
      "Who says which client certificate a country has shown: the connection itself, or a proxy of `server.proxies` in the "
        + "fields of `proxy-fields`.",
      FederationGatewaySettings.ClientCertificates.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")),
    Row(
      "federation.listen",
      "The federation's own address, apart from that of phones. With `certificates-from: tls` it must be stated.",
      "that of the server", "an address and a port: `0.0.0.0:8444`"),
    Row("federation.certificate", "The certificate at `federation.listen`.", "that of the server", "a PEM file"),
    Row("federation.key", "Its private key.", "that of the server", secret),
    Row("federation.key.file", "The file that holds the key.", none, path),
    Row("federation.key.env", "The variable that holds the key.", none, "a name"),
    Row(
      "federation.proxy-fields", "What the fields are called in which a proxy tells which certificate it has seen.",
      "the defaults", "a section"),
    Row(
      "federation.proxy-fields.certificate", "The whole certificate as PEM, percent-encoded.",
      "`\(CertificateFields().certificate)`", "a name"),
    Row(
      "federation.proxy-fields.digest", "SHA-256 of the certificate's DER, hexadecimal or base64.",
      "`\(CertificateFields().digest)`", "a name"),
    Row(
      "federation.proxy-fields.subject", "The certificate's subject: `CN=a,O=b,C=DE`.",
      "`\(CertificateFields().subject)`",
      "a name"),
    Row(
      "federation.callbacks", "How countries are called when there is a new download batch.", "nobody is called",
      "a section"),
    Row("federation.callbacks.certificate", "What the gateway shows to those whom it calls.", "a PEM file"),
    Row("federation.callbacks.key", "Its private key.", secret),
    Row("federation.callbacks.key.file", "The file that holds the key.", none, path),
    Row("federation.callbacks.key.env", "The variable that holds the key.", none, "a name"),
    Row(
      "federation.callbacks.private-networks",
      "Networks that are called although they are not the open internet's: where countries are connected by a network of their "
        + "own, and for tests.", none, "a list of addresses and blocks: `[10.0.0.0/8, \"fd00::/8\"]`"),
    Row(
      "federation.callbacks.authentication-certificates",
      "Whether a country's certificate for `AUTHENTICATION` counts for the server that is called, too, as the European gateway "
        + "had it.", "`false`", "`true`, `false`"),
    Row("federation.path", "What stands before every address.", "`/`", "a path: `/efgs`"),
    Row(
      "federation.policy", "The policy by which what countries upload is read for this gateway's own apps.", "`efgs`",
      "a policy's name or path"),
    Row("federation.upload-keys", "Keys of one upload at most.", "`5000`", Allowed.federationKeys.text),
    Row(
      "federation.batch-keys", "Keys of one download batch at most; an upload is never split.",
      "`5000`, or `upload-keys` where that is more", Allowed.federationKeys.text),
    Row(
      "federation.batch-every", "The time between two looks for uploads that wait for a download batch.", "`5 min`",
      Allowed.federationBatchSeconds.durations),
    Row(
      "federation.keep", "How many days before today can be downloaded.", "`2 days`", Allowed.federationDays.days),
    Row(
      "federation.tags", "For whom the tag of an upload may be used once, while the upload is kept.", "`country`",
      "`country`, `gateway`"),
    Row(
      "federation.statistics", "Whether everybody may read how much each country uploaded on each day.", "`false`",
      "`true`, `false`"),
    Row(
      "federation.rehearsal",
      "Countries whose uploads are verified, recorded and told as all others, and neither passed on nor published.",
      none,
      codes),
    Row(
      "federation.allow", "What is let through in signatures that is refused otherwise.", none,
      "a list of " + SignatureAllowances.names.map { "`\($0)`" }.joined(separator: ", ")),
  ]

  private static let sources: [Row] = {
    let source = SourceSettings(name: "", peer: .index, location: "", trust: .operator, reading: Policy(name: ""))
    return [
      Row("sources[].name", "What the operator calls it; unique.", "letters, digits, `-`, `.`"),
      Row(
        "sources[].protocol", "What the peer speaks.",
        PeerProtocol.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")),
      Row(
        "sources[].location", "Where it is.",
        "`https://…` or `http://…`; for `files` a folder, apart from the gateway's own"),
      Row("sources[].options", "What else the protocol needs.", none, "a section"),
      Row(
        "sources[].options.*", "As the protocol says.", none,
        "a line of text; \(secret) where the protocol calls it a secret"),
      Row(
        "sources[].trust",
        "Who must stand behind what it sends. A ring: one of its keys has signed each document. `host`: its host has "
          + "proved its name by TLS. `origins`: each origin has signed its keys. `operator`: whoever runs this gateway "
          + "vouches for it, and no proof is asked for.",
        "a PEM file, a folder of `ID-VERSION.pem`, a JSON ring; `host`; `origins`; `operator`; as the protocol allows"),
      Row(
        "sources[].federation-trust",
        "With `trust: origins`: the federation's anchor and its list of certificates, as `keyferry trust` makes it.",
        none,
        "a JSON file"),
      Row(
        "sources[].allow", "With `trust: origins`: what signatures may be like that are refused otherwise.", none,
        "a list of " + SignatureAllowances.names.map { "`\($0)`" }.joined(separator: ", ")),
      Row("sources[].reading", "The policy by which its keys are read.", "`default`", "a policy's name or path"),
      Row("sources[].origin", "The origin of its keys that name none.", none, "a code: `DE`"),
      Row(
        "sources[].relay",
        "It passes on others' keys and loses their origin; a list says whose. Where such an origin's own claim is known, "
          + "what the relay says about report type, risk and onset does not count.", "`\(source.isRelay)`",
        "`true`, `false`, a list of codes: `[DE, US-VA]`"),
      Row(
        "sources[].speaks-for",
        "The origins that it may speak for; its reading policy must allow them, too. A source without an origin speaks for "
          + "any that its keys name.", "its origin", "`any`, \(codes)"),
      Row(
        "sources[].regions",
        "The regions that its keys may name. Others are dropped, and a key that names no other is rejected.", "any",
        codes
      ),
      Row(
        "sources[].rehearsal", "Whether it is pulled, verified and told as any other, and nothing of it is published.",
        "`false`", "`true`, `false`"),
      Row("sources[].every", "The time between pulls.", TimeSpan.text(source.interval), Allowed.interval.durations),
      Row("sources[].limits", "What is refused for its size.", "the defaults", "a section"),
      Row(
        "sources[].limits.document", "A document may be this large.", ByteCount.text(source.documentByteLimit),
        Allowed.documentBytes.byteCounts),
    ]
  }()

  private static let transport: [Row] = {
    let transport = TransportSettings()
    return [
      Row("sources[].http", "How its server is reached; not for `files`.", "the defaults", "a section"),
      Row("sources[].http.headers", "Headers sent to its host, and to no other.", none, "a section"),
      Row(
        "sources[].http.headers.*", "The header's value.", none,
        "a text where it is no secret; `{file: PATH, prefix: \"Bearer \"}`, `{env: NAME}`"),
      Row(
        "sources[].http.headers.*.file", "The file that holds the secret; white space around it is dropped.", none, path
      ),
      Row("sources[].http.headers.*.env", "The variable of the environment that holds it.", none, "a name"),
      Row("sources[].http.headers.*.prefix", "What stands before the secret.", none, "a text"),
      Row("sources[].http.roots", "The certificates to trust instead of the system's.", "the system's", "a PEM file"),
      Row("sources[].http.client-certificate", "Our certificate, for peers that ask for one.", none, "a PEM file"),
      Row("sources[].http.client-key", "Its private key.", none, secret),
      Row("sources[].http.client-key.file", "The file that holds the key.", none, path),
      Row("sources[].http.client-key.env", "The variable that holds the key.", none, "a name"),
      Row(
        "sources[].http.allowed-hosts",
        "Hosts besides the location's that redirects and links may lead to, with their port where it is not the scheme's.",
        none,
        "a list of names"),
      Row(
        "sources[].http.http2", "Whether HTTP/2 is spoken where the peer can.", "`\(transport.http2)`",
        "`true`, `false`"),
      Row(
        "sources[].http.connect", "Until a connection must stand.", TimeSpan.text(transport.connectSeconds),
        Allowed.connectSeconds.durations),
      Row(
        "sources[].http.idle", "Until a body must make progress.", TimeSpan.text(transport.idleSeconds),
        Allowed.idleSeconds.durations),
      Row(
        "sources[].http.total", "For one response as a whole.", TimeSpan.text(transport.totalSeconds),
        Allowed.totalSeconds.durations),
      Row(
        "sources[].http.retries", "How often a failed request is tried again.", "\(transport.retries)",
        Allowed.retries.text),
      Row(
        "sources[].http.connections", "Connections to one host at a time.", "\(transport.connectionsPerHost)",
        Allowed.connections.text),
    ]
  }()

  private static let destinations: [Row] = {
    let one = DestinationSettings(
      name: "", location: "", origin: "", sources: [], publishing: Policy(name: ""),
      signer: PushSigner(subject: "", thumbprint: "") { canonical, _ in canonical })
    return [
      Row("destinations[].name", "What the operator calls it; no source has this name.", "letters, digits, `-`, `.`"),
      Row("destinations[].protocol", "What the gateway speaks.", "`efgs`"),
      Row("destinations[].location", "Where it is.", "`https://…`"),
      Row("destinations[].origin", "The own origin whose keys are handed over.", "a code: `DE`"),
      Row(
        "destinations[].sources",
        "The sources and doors whose claims may go there: those whose people have agreed. Nothing else goes, and nothing that a "
          + "federation gateway brought.", "a list of names"),
      Row(
        "destinations[].policy",
        "The policy that says when a key may go and which report types do. The key goes as it was said, not as apps are told.",
        "`efgs`", "a policy's name or path"),
      Row("destinations[].regions", "The countries that every key is for.", "those that its claims name", codes),
      Row("destinations[].signing", "Who signs batches.", "a section"),
      Row(
        "destinations[].signing.certificate",
        "The certificate, of the origin's country; the gateway's operator has it.",
        "a PEM file"),
      Row("destinations[].signing.key", "Its private key, RSA or P-256.", secret),
      Row("destinations[].signing.key.file", "The file that holds the key.", none, path),
      Row("destinations[].signing.key.env", "The variable that holds the key.", none, "a name"),
      Row("destinations[].certificate", "Our certificate for TLS.", none, "a PEM file"),
      Row("destinations[].key", "Its private key.", none, secret),
      Row("destinations[].key.file", "The file that holds the key.", none, path),
      Row("destinations[].key.env", "The variable that holds the key.", none, "a name"),
      Row("destinations[].roots", "The certificates to trust instead of the system's.", "the system's", "a PEM file"),
      Row("destinations[].every", "The time between pushes.", TimeSpan.text(one.interval), Allowed.interval.durations),
      Row(
        "destinations[].time-out", "For one batch and its answer.", TimeSpan.text(300), Allowed.totalSeconds.durations),
      Row(
        "destinations[].batch-keys", "Keys of one batch at most.", "\(one.batchKeys)", EFGSUpload.batchKeys.text),
      Row(
        "destinations[].maximum-age",
        "Keys that began more days ago are too old, counted from midnight (UTC). A gateway takes 15; a day is left for batches "
          + "that wait.", "\(one.maximumAgeDays) days", "1 day...15 days"),
      Row(
        "destinations[].format", "How batches are written.", "`\(one.format.rawValue)`",
        DestinationSettings.Format.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")),
      Row(
        "destinations[].symptoms-not-given",
        "What is said of symptoms where nobody said anything: 4000 less the key's age in days, or 2147483647.",
        "`\(one.missingOnset.rawValue)`",
        DestinationSettings.MissingOnset.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")),
      Row(
        "destinations[].rehearsal", "Whether everything is selected, signed and shown, and nothing is sent.",
        "`\(one.isRehearsal)`", "`true`, `false`"),
    ]
  }()

  private static let series: [Row] = {
    let series = SeriesSettings(
      name: "", selection: RegionSelection(), publishing: Policy(name: ""), identities: [])
    return [
      Row("series[].name", "Its name and its folder; unique in any case.", "letters, digits, `-`"),
      Row("series[].title", "Its name for people.", "the name", "a line of text"),
      Row(
        "series[].mirror",
        "The source whose archives this series shows byte for byte, as their origin has signed and named them. Besides, "
          + "it has `name`, `title`, `every` and `grace` alone.", none,
        "a source with `protocol: index` and keys as `trust`"),
      Row(
        "series[].include",
        "Keys for any of these regions: they name it, or it is their origin. By the default policy, keys that name no "
          + "region are for all.",
        "all keys", codes),
      Row("series[].exclude", "Not keys for these, unless they are for an included one as well.", none, codes),
      Row("series[].origins", "Only keys of these origins, whatever regions they are for.", "any", codes),
      Row(
        "series[].travellers-only", "Only keys for more than one region.", "`\(series.selection.travellersOnly)`",
        "`true`, `false`"),
      Row("series[].publishing", "The policy by which keys are published.", "`default`", "a policy's name or path"),
      Row(
        "series[].region", "What the header of a bundle says; by convention the mobile country code.", none,
        "a line of text"),
      Row(
        "series[].every", "The length of a window; divides a day.", TimeSpan.text(series.period),
        Allowed.period.durations),
      Row("series[].minimum", "What becomes of small windows.", "the defaults", "a section"),
      Row(
        "series[].minimum.keys", "Keys go out when there are this many, padding included.", "\(series.minimumKeys)",
        Allowed.minimumKeys.text),
      Row(
        "series[].minimum.too-few", "Fewer are padded, or wait for the next window.",
        series.pads ? "`pad`" : "`wait`", "`pad`, `wait`"),
      Row(
        "series[].empty-windows", "A window without keys gives a signed bundle without keys, or none.",
        series.publishesEmptyWindows ? "`publish`" : "`skip`", "`publish`, `skip`"),
      Row("series[].split", "When a window is split into several bundles.", "the defaults", "a section"),
      Row(
        "series[].split.keys", "No bundle of a window has more keys; what is rolled up stays one archive.",
        "\(series.maximumKeys)", Allowed.splitKeys.text),
      Row(
        "series[].split.bytes", "No archive of a window is larger.", ByteCount.text(series.maximumBytes),
        Allowed.splitBytes.byteCounts),
      Row(
        "series[].split.window",
        "New keys of one window, and likewise revised ones; others wait for the next. What publishing takes of temporary files is "
          + "bounded by it.", "\(series.mostKeys)", Allowed.windowKeys.text),
      Row(
        "series[].rollups", "Bundles made besides those of the windows.",
        series.makesDays ? (series.makesSince ? "`[day, since]`" : "`[day]`") : "`[]`",
        "a list of `day`, `since`, `key-day`"),
      Row(
        "series[].names",
        "How the files of windows are called, for apps that read names; the series' name is the folder.",
        "`\(series.namePattern)`", "`{start}`, `{number}` and perhaps `{end}`, with letters, digits, `-`, `_` between"),
      Row(
        "series[].editions",
        "How many archives a day, at most, apps made from Apple's sample are given: each holds what was published in a day "
          + "or a part of it, once that is over; with `none` these apps are given the windows.",
        "\(series.editionsPerDay)", "`none`, or a number that divides 24"),
      Row(
        "series[].listed", "How long indexes name a bundle.", TimeSpan.text(series.listedDays * 86_400),
        Allowed.listedDays.days),
      Row(
        "series[].grace", "How long a file stays after the last index that named it.",
        TimeSpan.text(series.graceSeconds), Allowed.graceSeconds.durations),
      Row(
        "series[].sign", "The keys that sign, each in its time; the one that began last signs.", "a list, at least one"),
    ]
  }()

  private static let signing: [Row] = [
    Row("series[].sign[].key", "The P-256 private key, PEM; or `command`.", secret),
    Row("series[].sign[].key.file", "The file that holds the key.", none, path),
    Row("series[].sign[].key.env", "The variable that holds the key.", none, "a name"),
    Row(
      "series[].sign[].command",
      "A program that signs, where the key lies elsewhere. It is given the 32 bytes of a "
        + "SHA-256 on standard input, and gives an ECDSA signature in DER.", none,
      "a program's path, or a list of it and its arguments"),
    Row(
      "series[].sign[].public-key", "With `command`: by it every signature is verified before it is used.", none,
      "a PEM file"),
    Row(
      "series[].sign[].timeout", "With `command`: how long it may take; then it is ended, and nothing is published.",
      TimeSpan.text(SigningCommand(words: []).limit), Allowed.signingSeconds.durations),
    Row("series[].sign[].id", "The key's id as registered.", "letters, digits, `_`, `.`"),
    Row("series[].sign[].version", "The key's version as registered.", "letters, digits, `_`, `.`"),
    Row("series[].sign[].app", "The iOS app that trusts the key.", none, "a bundle id"),
    Row("series[].sign[].android", "The Android app that trusts the key.", none, "a package name"),
    Row("series[].sign[].from", "When it begins to sign.", "from ever", "a time in UTC: `2020-06-01T00:00:00Z`"),
    Row("series[].sign[].until", "When it signs no more.", "for ever", "a time in UTC, after `from`"),
  ]

  private static let server: [Row] = {
    let server = ServerSettings()
    return [
      Row(
        "server.listen", "Address and port.", "`\(server.host):\(server.port)`", "`HOST:PORT`; port 0 is any free one"),
      Row("server.url", "How apps see the beginning of every address.", "what a request says", "`https://…`"),
      Row(
        "server.certificate",
        "Our certificate: HTTP/2 and HTTP/1.1 over TLS; without it the server speaks plain HTTP/1.1. A renewed file is "
          + "shown within half a minute.", none,
        "a PEM file"),
      Row("server.key", "Its private key.", none, secret),
      Row("server.key.file", "The file that holds the key.", none, path),
      Row("server.key.env", "The variable that holds the key.", none, "a name"),
      Row("server.response-key", "The P-256 key that signs the answers of the layout `dp3t`.", none, secret),
      Row("server.response-key.file", "The file that holds the key.", none, path),
      Row("server.response-key.env", "The variable that holds the key.", none, "a name"),
      Row("server.layouts", "What is served.", "all layouts", "a list of layouts"),
      Row("server.default-series", "The series for an app that asks for none.", "the first", "a series"),
      Row("server.travel", "The series of travellers, in the roaming map.", none, "a series"),
      Row(
        "server.roaming",
        "The series of each country, in the roaming map of Google's app and the countries of DP-3T's.",
        "none; in the roaming map, each series but `travel` is a country of its name", "a section"),
      Row("server.roaming.*", "A country by its two letters: `DE`.", none, "a series"),
      Row(
        "server.countries", "The series of each country, for the layouts whose addresses name a country.", none,
        "a section"),
      Row(
        "server.countries.corona-warn-app", "The countries of Corona-Warn-App.", "each series is a country of its name",
        "a section"),
      Row("server.countries.corona-warn-app.*", "A country by the code that apps ask for: `EUR`.", none, "a series"),
      Row("server.countries.immuni", "The countries of Immuni.", "each series is a country of its name", "a section"),
      Row("server.countries.immuni.*", "A country by the code that apps ask for: `DE`.", none, "a series"),
      Row("server.exposure-configuration", "The exposure configuration to serve.", "a default", "a JSON file"),
      Row(
        "server.dp3t-configuration",
        "What the layout `dp3t` tells apps at `/v1/config`: thresholds, factors and texts, in place of the defaults.",
        "the defaults", "a JSON file"),
      Row(
        "server.rate", "Requests a minute from one client.",
        server.requestsPerMinute.map { "`\($0)/min`" } ?? "`none`",
        "`none`, `\(Allowed.requestsPerMinute.lowerBound)/min`...`\(Allowed.requestsPerMinute.upperBound)/min`"),
      Row(
        "server.proxies",
        "Proxies in front of the server. What they say about the client is believed; the last hop that is none of them "
          + "is who asks.", none, "a list of addresses and blocks: `[127.0.0.1, 10.0.0.0/8, \"fd00::/8\"]`"),
      Row(
        "server.proxy-field", "The field in which they say it. They must write it, and not pass it on as it came.",
        "`\(server.proxies.field.rawValue)`",
        TrustedProxies.Field.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")),
      Row(
        "server.metrics-clients",
        "Who is answered at `/metrics`, and never through a proxy. What doors count there tells real uploads from fake ones.",
        "`[127.0.0.0/8, \"::1\"]`", "a list of addresses and blocks: `[127.0.0.1, 10.0.0.0/8, \"fd00::/8\"]`"),
      Row(
        "server.connections", "How many connections there may be, and how slow clients may be.", "the defaults",
        "a section"),
      Row(
        "server.connections.all",
        "Connections at a time; for a new one the one goes that waits longest for its client. The limit of open files "
          + "may allow fewer.", "`\(server.limits.connections)`", Allowed.serverConnections.text),
      Row(
        "server.connections.client",
        "Connections of one client, likewise; of one behind a proxy the requests that are answered at a time.",
        "`\(server.limits.clientConnections)`", Allowed.serverConnections.text),
      Row(
        "server.connections.head",
        "Until the head of a request must be whole, from its first byte or the connection's "
          + "beginning.", TimeSpan.text(server.limits.headSeconds), Allowed.headSeconds.durations),
      Row(
        "server.connections.least", "How much of a request's content must come in each second, from then on.",
        ByteCount.text(server.limits.contentBytesPerSecond), Allowed.contentBytesPerSecond.byteCounts),
      Row(
        "server.connections.idle", "For how long a connection may be silent between two requests, or within content.",
        TimeSpan.text(server.limits.idleSeconds), Allowed.idleSeconds.durations),
      Row(
        "server.connections.stalled", "Until a client must take more of a response.",
        TimeSpan.text(server.limits.stalledSeconds), Allowed.idleSeconds.durations),
      Row(
        "server.connections.ending",
        "For how long a gateway that is told to end still answers, while `/ready` says 503: a load balancer sends nothing "
          + "more before it is gone (lame-duck time).",
        TimeSpan.text(server.limits.endingSeconds), Allowed.endingSeconds.durations),
      Row(
        "server.cache", "Memory for files and responses, with what finds them.",
        ByteCount.text(server.limits.cacheBytes), Allowed.cacheBytes.byteCounts),
    ] + uploads
  }()

  private static let uploads: [Row] = {
    let codes = CodeServiceSettings(address: "")
    let certificates = CertificateSettings(issuer: "", audience: "")
    let dp3t = DP3TUploadSettings(keys: [], nextDayKey: Secret(""))
    let settings = UploadSettings(token: Secret(""))
    let rates = "`\(Allowed.requestsPerMinute.lowerBound)/min`...`\(Allowed.requestsPerMinute.upperBound)/min`"
    return [
      Row(
        "server.uploads", "The doors for uploads of one origin, or a list of such sections.", "closed",
        "a section, or a list of sections"),
      Row(
        "server.uploads.name",
        "What claims, `status`, `pause`, `recall` and metrics call them; must be stated in a list.",
        "`\(UploadSettings.usualName)`", "letters, digits, `-`, `_`, `.`"),
      Row(
        "server.uploads.path", "What stands before the address of each: `/va` makes `/va/v1/publish`.", "nothing",
        "a path: `/va`"),
      Row(
        "server.uploads.protocols", "Which doors are open, of those for which something is stated that lets in.", "all",
        "a list of \(UploadDoors.names.map { "`\($0)`" }.joined(separator: ", "))"),
      Row("server.uploads.origin", "The region whose keys come in by them: their own region.", "a code: `DE`"),
      Row(
        "server.uploads.reading",
        "The policy by which its keys are read; keys that expired more than 15 days ago and "
          + "keys from the future are never taken.", "`default`", "a policy's name or path"),
      Row(
        "server.uploads.regions",
        "The regions that its keys are for. Of a person who has not travelled they are for the origin alone.",
        "the origin", Self.codes),
      Row(
        "server.uploads.series", "The series at whose addresses keys are taken: `/apple/{series}/keys`.",
        "those that publish its keys", "a list of series"),
      Row(
        "server.uploads.rate", "Uploads a minute from one client; those that are refused are counted by themselves.",
        settings.requestsPerMinute.map { "`\($0)/min`" } ?? "`none`", "`none`, \(rates)"),
      Row(
        "server.uploads.answer-after",
        "When every request is answered, real or fake, taken or refused; 0 s is at once, and tells them apart.",
        "`1 s`, or a second more than `codes.time-out`", Allowed.answerSeconds.durations),
      Row(
        "server.uploads.token",
        "The bearer token that opens the doors, 16 characters or more; must be stated where nothing else opens them.",
        none, secret),
      Row("server.uploads.token.file", "The file that holds the token.", none, path),
      Row("server.uploads.token.env", "The variable that holds the token.", none, "a name"),
      Row("server.uploads.clients", "Bearer tokens of single clients.", none, "a section"),
      Row("server.uploads.clients.*", "A client's token, under its name.", none, secret),
      Row("server.uploads.clients.*.file", "The file that holds the token.", none, path),
      Row("server.uploads.clients.*.env", "The variable that holds the token.", none, "a name"),
      Row(
        "server.uploads.certificates", "Verification servers whose certificates let uploads in.", none,
        "a list of sections"),
      Row("server.uploads.certificates[].issuer", "What the claim `iss` says.", "a line of text"),
      Row("server.uploads.certificates[].audience", "What the claim `aud` says.", "a line of text"),
      Row(
        "server.uploads.certificates[].health-authority",
        "What `healthAuthorityID` of a request says, or its `appPackageName`.", "anything", "a line of text"),
      Row("server.uploads.certificates[].keys", "Its public keys.", none, "a section"),
      Row("server.uploads.certificates[].keys.*", "A P-256 key, under the `kid` of certificates.", none, "a PEM file"),
      Row(
        "server.uploads.certificates[].key-set", "Its public keys as a JWK set.", none,
        "a file, or an address: `https://…`"),
      Row(
        "server.uploads.certificates[].refresh", "When a set is fetched again.",
        TimeSpan.text(certificates.refreshSeconds), Allowed.keySetRefreshSeconds.durations),
      Row(
        "server.uploads.certificates[].roots",
        "The certificates to trust instead of the system's, where a set is fetched.",
        "the system's", "a PEM file"),
      Row("server.uploads.codes", "A service that says whether a code of a request is good.", none, "a section"),
      Row("server.uploads.codes.url", "Its address.", "`https://…`"),
      Row("server.uploads.codes.token", "The bearer token that it is shown.", none, secret),
      Row("server.uploads.codes.token.file", "The file that holds the token.", none, path),
      Row("server.uploads.codes.token.env", "The variable that holds the token.", none, "a name"),
      Row(
        "server.uploads.codes.roots", "The certificates to trust instead of the system's.", "the system's", "a PEM file"
      ),
      Row(
        "server.uploads.codes.member", "The member of a request that holds the code.", "`\(codes.member)`",
        "a line of text"),
      Row(
        "server.uploads.codes.time-out", "Until it must have answered.", TimeSpan.text(codes.timeoutSeconds),
        Allowed.codeTimeoutSeconds.durations),
      Row(
        "server.uploads.codes.rate", "Calls a minute, of all phones together.", "`\(codes.callsPerMinute)/min`", rates),
      Row("server.uploads.dp3t", "What lets the apps of DP-3T upload.", "their doors are closed", "a section"),
      Row(
        "server.uploads.dp3t.keys", "The public keys of whom signs the tokens of their diagnoses.",
        "a list of PEM files"),
      Row(
        "server.uploads.dp3t.next-day-key", "The P-256 key that signs the token for the key of the next day.", secret),
      Row("server.uploads.dp3t.next-day-key.file", "The file that holds the key.", none, path),
      Row("server.uploads.dp3t.next-day-key.env", "The variable that holds the key.", none, "a name"),
      Row(
        "server.uploads.dp3t.validity", "For how long a token may be valid at most.",
        TimeSpan.text(dp3t.validitySeconds), Allowed.dp3tValiditySeconds.durations),
      Row(
        "server.uploads.revision-key",
        "What seals the revision tokens, 32 characters or more; must be stated where `certificates` open the door "
          + "`publish`. Without it nobody can change what was said about a key.", none, secret),
      Row("server.uploads.revision-key.file", "The file that holds it.", none, path),
      Row("server.uploads.revision-key.env", "The variable that holds it.", none, "a name"),
      Row(
        "server.uploads.ignored-members", "Members of a publish request that are passed over, in any case.", none,
        "a list of names"),
    ]
  }()
}

extension SettingsTable.Row {
  /// A setting that must be stated.
  fileprivate init(_ name: String, _ meaning: String, _ allowed: String) {
    self.init(name, meaning, "", allowed)
  }
}

extension ClosedRange<Int> {
  fileprivate var text: String { "\(lowerBound)...\(upperBound)" }
}
