import ExposureKeys
import GatewayServer
import GatewaySettings
import KeyPeers
import KeyPublishing
import Testing
import TransparencyLog

/// What is wrong, and where it is said to be.
@Suite struct FaultTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var text: String
    /// A line each.
    var faults: String
    var testDescription: String { name }
  }

  static let cases: [Case] = [
    Case(
      name: "units and ranges",
      text: """
        state: /s
        retention: {keys: 14, evidence: 36 hours, quarantine: 11 years}
        own-origins: [NL, nl, "x y", N]
        sources:
          - name: a
            protocol: index
            location: https://a.example
            trust: operator
            every: 5 s
            origin: Netherlands, The
            relay: maybe
            limits: {document: 1 TB}
            http: {connect: 1 hour, retries: -1, connections: many, http2: yes, allowed-hosts: ["https://b.example"]}
        """,
      faults: """
        2:13: error: retention.keys: "14", allowed 1 day...60 days, written with a unit: 90 s, 5 min, 2 hours, 14 days
        2:23: error: retention.evidence: "36 hours", allowed whole days: 14 days
        2:43: error: retention.quarantine: "11 years", allowed 0 s...3650 days, written with a unit: 90 s, 5 min, 2 hours, 14 days
        3:19: error: own-origins.1: NL is named twice
        3:23: error: own-origins.2: "x y", allowed a region's code: DE, US-VA
        3:30: error: own-origins.3: "N", allowed a region's code: DE, US-VA
        9:5: error: sources.a.every: 5 s, allowed 10 s...7 days
        10:5: error: sources.a.origin: "Netherlands, The", allowed a region's code: DE, US-VA
        11:5: error: sources.a.relay: "maybe", allowed true, false, or whose keys it carries: [DE, US-VA]
        12:14: error: sources.a.limits.document: "1 TB", allowed 1 KiB...4 GiB, written with a unit: 500 KB, 64 MB, 64 MiB, 1 GB
        13:12: error: sources.a.http.connect: 1 hour, allowed 1 s...5 min
        13:29: error: sources.a.http.retries: -1, allowed 0...10
        13:42: error: sources.a.http.connections: "many", allowed a whole number
        13:61: error: sources.a.http.http2: "yes", allowed true, false
        13:89: error: sources.a.http.allowed-hosts.0: "https://b.example", allowed the name of a host: cdn.example.org, cdn.example.org:8443
        """),
    Case(
      name: "names that nobody knows",
      text: """
        state: /s
        source: []
        sources:
          - {name: a, protocol: index, location: "https://a.example", trust: operator, evry: 1 hour, colour: red, origin: DE}
        server: {listn: x, uploads: {regons: x}}
        """,
      faults: """
        2:1: error: source: no such setting, did you mean sources
        4:80: error: sources.a.evry: no such setting, did you mean every
        4:94: error: sources.a.colour: no such setting
        5:1: error: server: there is nothing to serve, publication.folder or publication.s3 is missing
        5:10: error: server.listn: no such setting, did you mean listen
        5:20: warning: server.uploads: behind a proxy on this machine all phones share one address and 30 uploads a minute; \
        name it in server.proxies, or state rate here, and limit clients at the proxy
        5:20: error: server.uploads: origin is missing: the region whose keys come in by this door; add a line such as \
        origin: DE
        5:20: error: server.uploads.token: missing, allowed {file: PATH} or {env: NAME}
        5:30: error: server.uploads.regons: no such setting, did you mean regions
        """),
    Case(
      name: "sources lack what they need",
      text: """
        sources:
          - {}
          - name: /etc
            protocol: ftp
            location: [x]
            trust: keys/missing.pem
          - index
        """,
      faults: """
         error: state: missing, allowed a folder
        2:5: error: sources.0.location: missing, allowed an address: https://keys.example.org, or a folder for files
        2:5: error: sources.0.name: missing, allowed letters, digits, hyphens, dots
        2:5: error: sources.0.protocol: missing, allowed index, list, calendar, covid-green, coronamelder, \
        corona-warn-app, dp3t, immuni, efgs, sample-app, files
        2:5: error: sources.0.trust: missing, allowed a ring of public keys (PEM, folder, JSON), host, origins, \
        operator; add a line such as trust: keys/de.pem
        3:5: error: sources.1.name: "/etc", allowed 1...64 letters, digits, "-", "."
        4:5: error: sources.1.protocol: "ftp", allowed index, list, calendar, covid-green, coronamelder, \
        corona-warn-app, dp3t, immuni, efgs, sample-app, files
        5:5: error: sources.1.location: allowed a text
        6:5: error: sources.1.trust: /etc/k/keys/missing.pem: cannot open: no such file or directory
        7:5: error: sources.2: allowed a mapping of settings
        """),
    Case(
      name: "whom to trust",
      text: """
        state: /s
        sources:
          - {name: a, protocol: sample-app, location: "https://a.example", trust: keys/de.pem, origin: DE}
          - {name: b, protocol: efgs, location: "https://b.example", trust: keys/de.pem, speaks-for: [DE]}
          - {name: c, protocol: efgs, location: "https://c.example", trust: host, speaks-for: [DE]}
          - {name: d, protocol: index, location: "https://d.example", trust: origins, origin: DE}
          - {name: e, protocol: index, location: "https://e.example", trust: keys/bad.pem, origin: DE}
          - {name: f, protocol: index, location: "http://f.example", trust: keys/old.json, origin: DE}
        """,
      faults: """
        3:68: error: sources.a.trust: "keys/de.pem", allowed host, operator; what comes by this protocol bears no \
        signature of a ring
        4:5: warning: sources.b.http: without client-certificate and client-key, no gateway of this kind lets us in
        4:62: error: sources.b.trust: "keys/de.pem", allowed origins, host, operator; what comes by this protocol bears \
        no signature of a ring
        5:5: warning: sources.c.http: without client-certificate and client-key, no gateway of this kind lets us in
        5:62: warning: sources.c.trust: who is trusted vouches for all that is passed on; trust: origins has \
        each origin's own signature verified
        6:63: error: sources.d.trust: "origins", allowed a ring of public keys (PEM, folder, JSON), host, operator
        7:63: error: sources.e.trust: /etc/k/keys/bad.pem: no PEM block, expected -----BEGIN PUBLIC KEY-----
        8:32: warning: sources.f.location: plain HTTP: anyone on the way can read and change what comes
        8:62: warning: sources.f.trust: /etc/k/keys/old.json: none of its keys is valid now
        """),
    Case(
      name: "sources beside each other",
      text: """
        state: /s
        own-origins: [NL]
        sources:
          - {name: a, protocol: index, location: "https://a.example/", trust: operator, options: {index: x}, origin: DE}
          - {name: A, protocol: index, location: "https://a.example", trust: operator, options: {index: x}, origin: DE}
          - {name: b, protocol: index, location: "https://a.example", trust: operator, options: {index: y}, origin: DE}
          - {name: c, protocol: files, location: in, trust: operator, relay: true, origin: DE, http: {retries: 1}}
          - {name: d, protocol: files, location: other, trust: operator, origin: DE, speaks-for: [AT, NL]}
          - {name: e, protocol: files, location: third, trust: operator, relay: true, speaks-for: [AT]}
        """,
      faults: """
        5:6: error: sources.A.name: line 4 has a source of that name
        5:32: error: sources.A.location: the source a pulls the same, by the same protocol and options
        7:76: error: sources.c.origin: a relay's keys have no origin; leave out origin, or relay
        7:88: error: sources.c.http: files are read from a folder, without HTTP
        8:78: error: sources.d.speaks-for: lacks DE, which is the source's own origin
        8:78: warning: sources.d.speaks-for: names NL of own-origins: keys of these that it brings are rejected, as own keys that come back (own-key-returned); where it is the server of NL itself, write origin: NL, and elsewhere leave NL out of speaks-for
        9:79: warning: sources.e.speaks-for: has no effect: a relay's keys have no origin
        """),
    Case(
      name: "a relay that does not list an own origin",
      text: """
        state: /s
        own-origins: [DE]
        sources:
          - {name: a, protocol: files, location: in, trust: operator, relay: [NL]}
          - {name: b, protocol: files, location: other, trust: operator, relay: [NL, DE]}
          - {name: c, protocol: files, location: third, trust: operator, relay: true}
        """,
      faults: """
        4:63: warning: sources.a.relay: does not list DE of own-origins: own keys that this relay returns count as \
        another origin's until they are revoked; add DE to the list
        """),
    Case(
      name: "secrets and the files that hold them",
      text: """
        state: /s
        sources:
          - name: a
            protocol: index
            location: https://user@a.example
            trust: operator
            http:
              client-key: keys/a.key
              headers:
                Authorization: Bearer abc
                X-Token: {file: short, env: TOKEN}
                Accept: {file: missing}
                Cookie: {file: short}
                "X Y": 1
                accept: zip
                X-Empty: {env: EMPTY}
        """,
      faults: """
        5:5: error: sources.a.location: a user and a password do not belong into an address; see http.headers
        7:5: error: sources.a.http.client-certificate: missing: a client certificate and its key go together
        8:7: error: sources.a.http.client-key: a secret is never written here, allowed {file: PATH} or {env: NAME}
        10:9: error: sources.a.http.headers.Authorization: a secret is never written here, allowed {file: PATH, \
        prefix: "Bearer "} or {env: NAME}
        11:9: error: sources.a.http.headers.X-Token: allowed one of {file: PATH} or {env: NAME}
        12:18: error: sources.a.http.headers.Accept: miss... (7 characters that do not look like a path): cannot open: no such file or directory
        13:18: warning: sources.a.http.headers.Cookie: mode 0660: its group may write it; chmod g-w it
        14:9: error: sources.a.http.headers.X Y: allowed the name of a header: Authorization
        16:9: error: sources.a.http.headers.X-Empty: the secret is empty
        """),
    Case(
      name: "policies",
      text: """
        state: /s
        policies: [policies/broken.yaml, policies/mine.yaml, ./policies/default.yaml, policies/missing.yaml]
        sources:
          - {name: a, protocol: files, location: a, trust: operator, reading: mine}
          - {name: b, protocol: files, location: b, trust: operator, reading: policies/broken.yaml, origin: DE}
          - {name: c, protocol: files, location: c, trust: operator, reading: efsg, origin: DE}
        """,
      faults: """
        2:54: error: policies.2: another policy is called default already
        2:79: error: policies.3: /etc/k/policies/missing.yaml: cannot open: no such file or directory
        6:62: error: sources.c.reading: "efsg", allowed default, corona-warn-app, coronamelder, efgs, \
        google-key-server, immuni, koronavilkku, nhs, radar-covid, smittestopp, swisscovid, mine, or the path of a \
        file: ./mine.yaml
        /etc/k/policies/broken.yaml:3:3: error: publishing.hold-minutes: "soon", allowed a whole number
        """),
    Case(
      name: "series",
      text: """
        state: /s
        series:
          - name: N_L
            every: 7 hours
            rollups: [week]
            empty-windows: maybe
            sign: []
          - name: NL
            every: 2 days
            include: [NL]
            exclude: [NL]
            minimum: {keys: 200, too-few: drop}
            split: {keys: 100, bytes: 1 GB}
            listed: 90 days
            sign:
              - {key: {file: rsa.key}, id: "204", version: v1}
              - {key: {file: a.key}, id: "2 4", version: v1, android: a-b}
              - {id: "204"}
              - {key: {file: open.key}, id: "204", version: v1, from: yesterday}
          - {name: nl, minimum: {too-few: pad}}
        """,
      faults: """
        2:1: error: series: there is nowhere to publish, publication.folder or publication.s3 is missing
        3:5: error: series.N_L.name: "N_L", allowed 1...64 letters, digits, "-"
        4:5: error: series.N_L.every: 7 hours, allowed what divides a day: 30 min, 2 hours, 1 day
        5:15: error: series.N_L.rollups.0: "week", allowed day, since, key-day
        6:5: error: series.N_L.empty-windows: "maybe", allowed publish, skip
        9:5: error: series.NL.every: 2 days, allowed 1 min...1 day
        11:5: error: series.NL.exclude: NL is included and excluded
        12:5: error: series.NL.minimum: 200 keys, allowed 0...100, as split says
        12:26: error: series.NL.minimum.too-few: "drop", allowed pad, wait
        13:24: error: series.NL.split.bytes: "1 GB", allowed 1 KiB...16 MiB
        14:5: error: series.NL.listed: 90 days, allowed 1 day...60 days
        16:10: error: series.NL.sign.0.key: /etc/k/rsa.key: line 1: the content of the block is not base64
        17:30: error: series.NL.sign.1.id: "2 4", allowed are letters, digits, "_", "."
        18:9: error: series.NL.sign.2.key: missing, allowed {file: PATH} or {env: NAME}
        18:9: error: series.NL.sign.2.version: missing, allowed the key's version as registered: v1
        19:16: warning: series.NL.sign.3.key: mode 0644: everyone on this machine may open it; chmod o= it
        19:57: error: series.NL.sign.3.from: "yesterday", allowed a time in UTC: 2020-06-01T00:00:00Z
        20:5: error: series.nl.sign: missing, allowed a list of signing keys
        20:6: error: series.nl.name: line 8 has a series of that name, in any case
        20:16: warning: series.nl.minimum: pads to no number of keys; state keys: 100
        """),
    Case(
      name: "series of the same keys",
      text: """
        state: /s
        publication: {folder: /p}
        series:
          - name: A
            sign:
              - {key: {file: a.key}, id: "204", version: v1, app: one}
              - {key: {file: b.key}, id: "204", version: v1, app: one, from: 2020-12-01}
          - name: B
            sign:
              - {key: {file: a.key}, id: "204", version: v2, app: two}
          - name: C
            sign:
              - {key: {file: b.key}, id: "204", version: v2, app: two}
          - name: D
            sign: [{key: {env: TOKEN}, id: "204", version: v2, app: three}]
        """,
      faults: """
        7:30: error: series.A.sign.1.id: line 6 gives id 204, version v1 to another key
        10:10: warning: series.B.sign.0.key: the series A signs with the same key for another app; phones trust a \
        key for one app
        13:10: warning: series.C.sign.0.key: the series A signs with the same key for another app; phones trust a \
        key for one app
        13:30: error: series.C.sign.0.id: line 10 gives id 204, version v2 to another key
        15:13: error: series.D.sign.0.key: no PEM block, expected PRIVATE KEY or EC PRIVATE KEY
        """),
    Case(
      name: "the address of operators",
      text: """
        state: /s
        publication: {folder: /p}
        series: [{name: NL, sign: [{key: {file: a.key}, id: "204", version: v1}]}]
        server: {listen: "127.0.0.1:9091", metrics-clients: [10.0.0.1]}
        operators: {listen: "127.0.0.1:9091", clients: [everybody], port: 1}
        """,
      faults: """
        5:1: warning: operators: the metrics are here, so server.metrics-clients has no effect: say it in operators.clients
        5:13: error: operators.listen: the same as server.listen: operators need an address apart from it
        5:49: error: operators.clients.0: "everybody", allowed an address or a block of them: 127.0.0.1, 10.0.0.0/8, "fd00::/8"
        5:61: error: operators.port: no such setting
        """),
    Case(
      name: "operators without an address",
      text: "state: /s\noperators: {clients: [10.0.0.1]}",
      faults: "2:1: error: operators.listen: missing, allowed an address and a port: 127.0.0.1:9091"),
    Case(
      name: "the server",
      text: """
        state: /s
        publication: {folder: /p}
        series: [{name: NL, sign: [{key: {file: a.key}, id: "204", version: v1}]}]
        server:
          listen: 8080
          url: keys.example.org
          certificate: token
          layouts: [google, goggle]
          default-series: DE
          travel: travel
          roaming: {NL: NL, Germany: NL, DE: DE}
          exposure-configuration: list.json
          rate: 600
          uploads: {origin: NL, token: {file: short}}
        """,
      faults: """
        4:1: error: server.key: missing: a certificate and its key go together
        5:3: error: server.listen: "8080", allowed an address and a port: 127.0.0.1:8080, "[::1]:8080"
        6:3: error: server.url: "keys.example.org", allowed an address: https://keys.example.org
        7:3: error: server.certificate: /etc/k/token: the file has no PEM block, allowed -----BEGIN CERTIFICATE-----
        8:21: error: server.layouts.1: "goggle", allowed apple, corona-warn-app, dp3t, google, immuni
        9:3: error: server.default-series: no series "DE", allowed NL
        10:3: error: server.travel: no series "travel", allowed NL
        11:21: error: server.roaming.Germany: must be a country's two letters: DE; codes of Corona-Warn-App and Immuni, \
        such as EUR, belong in server.countries
        11:34: error: server.roaming.DE: no series "DE", allowed NL
        12:3: error: server.exposure-configuration: the file is no JSON object
        13:3: error: server.rate: "600", allowed none, 1/min...1000000/min
        14:3: warning: server.uploads: behind a proxy on this machine all phones share one address and 30 uploads a minute; \
        name it in server.proxies, or state rate here, and limit clients at the proxy
        14:25: error: server.uploads.token: a token is 16...4096 letters, digits and marks; openssl rand -hex 32 \
        makes one
        14:33: warning: server.uploads.token: mode 0660: its group may write it; chmod g-w it
        """),
    Case(
      name: "a door for Google's app without a key for its revision tokens",
      text: """
        state: /s
        publication: {folder: /p}
        series: [{name: NL, sign: [{key: {file: a.key}, id: "204", version: v1}]}]
        server:
          rate: none
          uploads:
            - {name: a, origin: NL, rate: none, certificates: [{issuer: i, audience: a, key-set: jwks.json}]}
            - {name: b, path: /b, origin: NL, rate: none, protocols: [publish-v1alpha1],
               certificates: [{issuer: i, audience: a, key-set: jwks.json}]}
            - {name: c, path: /c, origin: NL, rate: none, token: {env: TOKEN}}
        """,
      faults: """
        7:7: error: server.uploads.a.revision-key: missing: phones with Google's app fail each upload whose answer has no \
        revision token, and this key seals them; openssl rand -hex 32 makes one, state it as {file: secrets/revision.key}
        """),
    Case(
      name: "countries of layouts",
      text: """
        state: /s
        publication: {folder: /p}
        series: [{name: NL, sign: [{key: {file: a.key}, id: "204", version: v1}]}]
        server:
          layouts: [corona-warn-app]
          rate: none
          roaming: {NL: NL}
          countries:
            corona-warn-app: {EUR: NL, de: NL, DE: DE}
            immuni: {NL: NL}
            google: {NL: NL}
        """,
      faults: """
        7:3: warning: server.roaming: has no effect without the layout google or dp3t; countries of other layouts are in \
        server.countries
        9:32: error: server.countries.corona-warn-app.de: must be a code in capital letters: DE, EUR
        9:40: error: server.countries.corona-warn-app.DE: no series "DE", allowed NL
        10:5: warning: server.countries.immuni: has no effect: server.layouts leaves out the layout immuni
        11:5: error: server.countries.google: no such setting
        """),
    Case(
      name: "doors for uploads",
      text: """
        state: s
        publication: {folder: /p}
        series: [{name: NL, sign: [{key: {file: a.key}, id: "204", version: v1}]}]
        server:
          dp3t-configuration: list.json
          proxies: [10.0.0.0/33, proxy.example.org]
          proxy-field: via
          uploads:
            origin: NL
            series: [DE]
            rate: 30/min
            answer-after: 1 s
            clients: {a: {file: short}}
            certificates:
              - {issuer: i, audience: a}
              - {issuer: j, keys: {k: a.key}, key-set: list.json}
            codes: {url: "https://v.example.org/c", rate: none}
            dp3t: {keys: [keys/bad.pem]}
            revision-key: {env: TOKEN}
        """,
      faults: """
        5:3: error: server.dp3t-configuration: the document is not a JSON object
        6:13: error: server.proxies.0: "10.0.0.0/33", allowed an address or a block of them: 127.0.0.1, 10.0.0.0/8, \
        "fd00::/8"
        6:26: error: server.proxies.1: "proxy.example.org", allowed an address or a block of them: 127.0.0.1, \
        10.0.0.0/8, "fd00::/8"
        7:3: error: server.proxy-field: "via", allowed x-forwarded-for, forwarded
        7:3: warning: server.proxy-field: has no effect without proxies
        10:14: error: server.uploads.series.0: no series "DE", allowed NL
        12:5: error: server.uploads.answer-after: 1 s, allowed more than codes.time-out, 1 s: otherwise the time of an \
        answer tells real uploads
        13:15: error: server.uploads.clients.a: a token is 16...4096 letters, digits and marks; openssl rand -hex 32 \
        makes one
        13:19: warning: server.uploads.clients.a: mode 0660: its group may write it; chmod g-w it
        15:9: error: server.uploads.certificates.i: without a key; state keys: {KID: FILE}, or key-set: a JWK set
        16:9: error: server.uploads.certificates.j.audience: missing, allowed what the claim aud says
        16:28: error: server.uploads.certificates.j.keys.k: /etc/k/a.key: a private key, expected PUBLIC KEY: take the \
        public half with openssl pkey -pubout
        16:39: error: server.uploads.certificates.j.key-set: the file is no JWK set with a key on P-256 that has a kid
        17:45: error: server.uploads.codes.rate: none, allowed a rate: 600/min
        18:5: error: server.uploads.dp3t.next-day-key: missing, allowed {file: PATH} or {env: NAME}
        18:19: error: server.uploads.dp3t.keys.0: /etc/k/keys/bad.pem: neither a PEM block nor base64
        19:5: error: server.uploads.revision-key: at least 32 characters; openssl rand -hex 32 makes one
        """),
    Case(
      name: "folders",
      text: """
        state: /srv/keyferry
        publication: {folder: /srv/./keyferry/../keyferry/public/}
        series: [{name: NL, sign: [{key: {file: a.key}, id: "204", version: v1}]}]
        server:
          listen: 0.0.0.0:80
          uploads: {token: {env: TOKEN}}
        """,
      faults: """
        2:15: error: publication.folder: /srv/keyferry/public, allowed a folder apart from state, /srv/keyferry
        6:3: error: server.uploads: origin is missing: the region whose keys come in by this door; add a line such as \
        origin: DE
        6:13: warning: server.uploads.token: the token comes over plain HTTP; state certificate and key, or listen \
        on 127.0.0.1
        """),
    Case(
      name: "keys that are no keys, and variables that are not set",
      text: """
        state: /s
        publication: {folder: /p}
        series:
          - name: NL
            sign:
              - {key: {file: keys/de.pem}, id: "204", version: v1}
              - {key: {env: NLKEY}, id: "204", version: v2, from: 2020-12-31}
              - {key: {env: lower-case}, id: "204", version: v3, from: 2020-12-31}
        sources:
          - {name: a, protocol: index, location: "https://a.example", trust: operator, origin: DE,
             http: {client-certificate: roots.pem, client-key: {file: token}}}
        """,
      faults: """
        6:10: error: series.NL.sign.0.key: /etc/k/keys/de.pem: line 1: a public key, expected its private half, \
        PRIVATE KEY or EC PRIVATE KEY
        7:16: error: series.NL.sign.1.key: the environment has no variable NLKEY
        8:16: error: series.NL.sign.2.key: the environment has no variable of that name
        11:44: error: sources.a.http.client-key: /etc/k/token: no PEM block with a private key
        """),
    Case(
      name: "codes that ISO 3166 does not have",
      text: """
        state: /s
        own-origins: [nl, UK, QQ]
        publication: {folder: /p}
        sources:
          - {name: a, protocol: files, location: in, trust: operator, origin: EL, speaks-for: [EL, Bavaria], regions: ["262", "999"]}
        series:
          - name: NL
            include: [netherlands, "204", NLD, "US-", UK-ENG, nl, US-VA, GB-SCT, EU, XK, XX-1, AA, bavaria, "262"]
            exclude: [QL, DE-BAVA]
            origins: [England]
            sign: [{key: {file: a.key}, id: "204", version: v1}]
        server:
          listen: "127.0.0.1:8080"
          uploads: {origin: DEU, regions: [DEU, UK, ZZ, NL], rate: none, token: {env: TOKEN}}
        """,
      faults: """
        2:19: warning: own-origins.1: "UK" is no region's code of ISO 3166; the United Kingdom's is GB
        5:63: warning: sources.a.origin: "EL" is no region's code of ISO 3166; Greece's is GR
        5:88: warning: sources.a.speaks-for.0: "EL" is no region's code of ISO 3166; Greece's is GR; fine where its keys \
        name it so
        5:92: warning: sources.a.speaks-for.1: "Bavaria" is no region's code of ISO 3166: two letters such as DE, or \
        US-VA; fine where its keys name it so
        5:119: warning: sources.a.regions.1: "999" is no region's code of ISO 3166: two letters such as DE, or US-VA; \
        fine where its keys name it so
        8:15: warning: series.NL.include.0: "netherlands" is no region's code of ISO 3166: two letters such as DE, or US-VA
        8:28: warning: series.NL.include.1: "204" is no region's code of ISO 3166: two letters such as DE, or US-VA
        8:35: warning: series.NL.include.2: "NLD" is no region's code of ISO 3166: two letters such as DE, or US-VA
        8:40: warning: series.NL.include.3: "US-" is no region's code of ISO 3166: two letters such as DE, or US-VA
        8:47: warning: series.NL.include.4: "UK-ENG" is no region's code of ISO 3166; the United Kingdom's is GB
        9:15: warning: series.NL.exclude.0: "QL" is no region's code of ISO 3166: two letters such as DE, or US-VA
        9:19: warning: series.NL.exclude.1: "DE-BAVA" is no region's code of ISO 3166: two letters such as DE, or US-VA
        10:15: warning: series.NL.origins.0: "England" is no region's code of ISO 3166: two letters such as DE, or US-VA
        14:13: warning: server.uploads.origin: "DEU" is no region's code of ISO 3166: two letters such as DE, or US-VA
        14:36: warning: server.uploads.regions.0: "DEU" is no region's code of ISO 3166: two letters such as DE, or US-VA
        14:41: warning: server.uploads.regions.1: "UK" is no region's code of ISO 3166; the United Kingdom's is GB
        """),
  ]

  /// Whom a source speaks for is written down, for every kind of it.
  @Test func anyMustBeWritten() {
    func faults(_ source: String) -> [String] {
      Fixture.faults("state: /s\nsources:\n  - {name: a, location: in, trust: operator, \(source)}\n")
    }
    let told = faults("protocol: files")
    #expect(told.count == 1 && told[0].contains("warning: sources.a.speaks-for: missing: "), "\(told)")
    #expect(told.first?.contains("speaks-for: [DE, IT], or write what holds until then, speaks-for: any") == true)
    #expect(faults("protocol: files, origin: DE").isEmpty)
    #expect(faults("protocol: files, relay: true").isEmpty)
    #expect(faults("protocol: files, speaks-for: [DE]").isEmpty)
    #expect(faults("protocol: files, reading: policies/mine.yaml").isEmpty)
    #expect(faults("protocol: files, speaks-for: any").allSatisfy { $0.contains("whatever origin its keys name") })
  }

  @Test(arguments: cases) func everyFaultIsToldWithItsPlace(given: Case) {
    let faults = Fixture.faults(given.text)
    #expect(faults == given.faults.split(separator: "\n").map(String.init))
  }

  // MARK: The schedule of signing keys

  /// Keys with these bounds, judged at 2020-12-01.
  @Test(arguments: [
    ([("", "")], []),
    ([("2020-01-01", "2021-06-01")], []),
    (
      [("2020-01-01", "2020-12-31")],
      ["5:3: warning: series.A.sign: the last key ends at 2020-12-31T00:00:00Z; add the next one"]
    ),
    (
      [("2020-01-01", "2020-12-01")],
      [
        "5:3: warning: series.A.sign: no key signs now, the last one ended at 2020-12-01T00:00:00Z; nothing is published"
      ]
    ),
    (
      [("2021-01-01", "")],
      ["5:3: warning: series.A.sign: the first key begins at 2021-01-01T00:00:00Z; nothing is published before"]
    ),
    (
      [("2020-06-01", "2020-06-01")],
      [
        "5:3: warning: series.A.sign: no key signs now, the last one ended at 2020-06-01T00:00:00Z; nothing is published",
        "6:68: error: series.A.sign.0.until: 2020-06-01T00:00:00Z, allowed a time after from, 2020-06-01T00:00:00Z",
      ]
    ),
    ([("", "2021-01-01"), ("2020-12-31", "")], []),
    ([("2020-12-31", ""), ("", "2021-01-01")], []),
    ([("", "2021-01-01"), ("2021-01-01", "")], []),
    (
      [("", "2021-01-01"), ("2021-01-02", "")],
      [
        "7:50: error: series.A.sign.1.from: no key signs from 2021-01-01T00:00:00Z until 2021-01-02T00:00:00Z; let the keys overlap"
      ]
    ),
    // A gap that is over is history.
    ([("", "2020-06-01"), ("2020-07-01", "")], []),
    // The first covers the gap between the others.
    ([("", ""), ("2021-01-01", "2021-02-01"), ("2021-03-01", "2021-04-01")], []),
    (
      [("", ""), ("", "2021-06-01")],
      ["7:7: error: series.A.sign.1.from: another key of this series begins from ever: state from"]
    ),
    (
      [("2020-06-01", ""), ("2020-06-01T00:00:00Z", "")],
      [
        "7:50: error: series.A.sign.1.from: another key of this series begins at 2020-06-01T00:00:00Z"
      ]
    ),
  ])
  func schedules(bounds: [(String, String)], faults: [String]) {
    var text = "state: /s\npublication: {folder: /p}\nseries:\n- name: A\n  sign:\n"
    for (index, (from, until)) in bounds.enumerated() {
      text += "    - {key: {file: \(["a", "b", "open"][index]).key}, id: \"1\", version: v\(index)"
      text += (from.isEmpty ? "" : ", from: \(from)") + (until.isEmpty ? "" : ", until: \(until)") + "}\n"
    }
    #expect(Fixture.faults(text).filter { !$0.contains("mode 0644") } == faults)
  }

  @Test func optionsAreJudgedByTheirProtocol() {
    let text = """
      state: /s
      sources:
        - name: a.b
          protocol: immuni
          location: https://a.example
          options: {country: XX, more: 1}
          trust: operator
          origin: IT
      """
    let faults = Fixture.faults(text) { source in
      #expect(source.name == "a.b" && source.options == ["country": "XX", "more": "1"])
      return ["country: \"XX\", allowed IT", "series: missing", "are too many"]
    }
    #expect(
      faults == [
        "6:5: error: sources.a.b.options: are too many", "6:5: error: sources.a.b.options.series: missing",
        "6:15: error: sources.a.b.options.country: \"XX\", allowed IT",
      ])
  }

  @Test("What a source lacks is told at the source, whether it has the section or not")
  func optionsThatAreMissing() {
    let text = """
      state: /s
      sources:
        - {name: a, protocol: files, location: in, trust: operator, origin: DE}
        - name: w
          protocol: index
          location: https://a.example
          trust: operator
          origin: IT
      """
    let faults = Fixture.faults(text) { $0.name == "w" ? ["index: missing", "are too few"] : [] }
    #expect(
      faults == [
        "4:5: error: sources.w.options: are too few", "4:5: error: sources.w.options.index: missing",
      ])
  }

  /// An empty reason is none.
  @Test(arguments: [
    (
      "default", "origin: DE",
      "keys that name no region are for everywhere by the policy default (regions.none-named: all)"
    ),
    ("default", "origin: DE, rehearsal: true", ""), ("efgs", "origin: DE", ""), ("mine", "origin: DE", ""),
    ("ignored", "relay: true", "every key is for everywhere by the policy ignored (regions.named: ignored)"),
  ])
  func aSeriesOfTravellersWithTheKeysOfEverybody(
    _ given: (policy: String, source: String, reason: String)
  ) throws {
    var files = Fixture.files
    files.texts["/etc/k/policies/ignored.yaml"] = "name: ignored\npublishing: {regions: {named: ignored}}\n"
    func warnings(_ sources: String) throws -> [GatewayFault] {
      try Fixture.parse(
        """
        state: /s
        publication: {folder: /p}
        policies: [policies/mine.yaml, policies/ignored.yaml]
        \(sources)
        series:
          - name: T
            sign: [{key: {file: a.key}, id: "1", version: v1}]
            travellers-only: true
            publishing: \(given.policy)
        """, files: files
      ).warnings.filter { $0.place == "series.T.travellers-only" }
    }
    let told = try warnings("sources: [{name: a, protocol: files, location: in, trust: operator, \(given.source)}]")
    #expect(told.count == (given.reason.isEmpty ? 0 : 1), "\(told)")
    #expect(told.allSatisfy { $0.severity == .warning && $0.line == 8 && $0.reason.hasPrefix(given.reason) }, "\(told)")
    // Doors name regions for each of their keys.
    #expect(try warnings("") == [])
  }

  @Test func warningsDoNotRefuse() throws {
    let (plan, warnings) = try Fixture.parse(
      "state: /s\nsources: [{name: a, protocol: efgs, location: \"https://a.example\", trust: host, speaks-for: [DE]}]"
    )
    #expect(plan.sources.count == 1)
    #expect(warnings.map(\.severity) == [.warning, .warning])
    #expect(warnings.first?.description.hasPrefix("/etc/k/gateway.yaml:2:") == true)
  }

  @Test("Two doors for one address are refused, and so are doors for which nothing lets in")
  func severalDoors() {
    func faults(_ doors: String) -> [String] {
      Fixture.faults(
        """
        state: /s
        series:
          - {name: NL, include: [NL], sign: [{key: {file: a.key}, id: "1", version: v1}]}
          - {name: DE, include: [DE], sign: [{key: {file: b.key}, id: "2", version: v1}]}
        publication: {folder: /p}
        server:
          layouts: [google]
          uploads:
            - {name: nl, origin: NL, rate: none, token: {env: TOKEN}}
        \(doors)
        """
      ).filter { $0.contains("server.uploads") }
    }
    #expect(
      faults("    - {name: de, origin: DE, rate: none, path: /de, token: {env: TOKEN}}") == [])
    #expect(
      faults(
        "    - {name: de, origin: DE, rate: none, protocols: [sample-app], token: {env: TOKEN}}")
        == [])
    for (door, fault) in [
      (
        "{name: de, origin: DE, rate: none, token: {env: TOKEN}}",
        "its door publish stands at /v1/publish, where the one of nl stands already: state a path, other protocols"
      ),
      (
        "{name: de, origin: NL, rate: none, protocols: [sample-app], token: {env: TOKEN}}",
        "its door sample-app stands at /apple/{series}/keys for the series nl, where the one of nl stands already: state a "
          + "path, other protocols, or series that are not the other's"
      ),
      (
        "{name: NL, origin: DE, rate: none, path: /de, token: {env: TOKEN}}",
        "line 9 has doors of that name, in any case"
      ),
      (
        "{origin: DE, rate: none, path: /de, token: {env: TOKEN}}",
        "missing, allowed letters, digits, - _ ."
      ),
      (
        "{name: de, origin: DE, rate: none, path: /de, protocols: [dp3t-v2], token: {env: TOKEN}}",
        "nothing is stated that lets in at dp3t-v2: state dp3t"
      ),
      (
        "{name: de, origin: DE, rate: none, path: /de, protocols: [google], token: {env: TOKEN}}",
        "\"google\", allowed sample-app, publish, publish-v1alpha1, dp3t, dp3t-next-day, dp3t-v2"
      ),
      (
        "{name: de, origin: DE, rate: none, path: \"/d e\", token: {env: TOKEN}}",
        "\"/d e\", allowed a path of letters, digits, - _ .: /va"
      ),
    ] {
      let told = faults("    - \(door)")
      #expect(told.contains { $0.hasSuffix(fault) && $0.contains(": error: ") }, "\(door): \(told)")
    }
  }

  @Test("A mirror shows what a source of the protocol index has verified by a key, and nothing else")
  func mirrors() throws {
    func faults(_ series: String, retention: String = "") -> [String] {
      Fixture.faults(
        """
        state: /s
        \(retention)
        sources:
          - {name: nl, protocol: index, location: "https://nl.example", trust: keys/nl, origin: NL}
          - {name: us, protocol: index, location: "https://us.example", trust: operator, origin: US}
          - {name: it, protocol: immuni, location: "https://it.example", trust: keys/nl, origin: IT}
        series:
          - \(series)
          - {name: NL, sign: [{key: {file: a.key}, id: "1", version: v1}]}
        publication: {folder: /p}
        """)
    }
    #expect(faults("{name: NL-original, mirror: nl, title: Nederland, every: 4 hours, grace: 2 days}") == [])
    for (series, fault) in [
      ("{name: O, mirror: fr}", "series.O.mirror: no source \"fr\", allowed nl, us"),
      ("{name: O, mirror: it}", "series.O.mirror: the source it speaks immuni, allowed one with protocol: index"),
      (
        "{name: O, mirror: us}",
        "series.O.mirror: the source us is trusted as operator, allowed trust: the public keys of its origin, since apps "
          + "are shown what these have signed"
      ),
      ("{name: nl, mirror: nl}", "series.nl.name: another series has that name, in any case"),
      ("{name: O, mirror: nl, include: [NL]}", "series.O.include: no such setting"),
      ("{mirror: nl}", "name: missing, allowed letters, digits, hyphens"),
    ] {
      #expect(faults(series).contains { $0.hasSuffix(fault) }, "\(series): \(faults(series))")
    }
    #expect(
      faults("{name: O, mirror: nl}", retention: "retention: {evidence: 0 days}").contains {
        $0.contains("retention.evidence keeps them for 0 days")
      })
  }

  /// What is listed can be made again only while the store has its keys.
  @Test func keysThatGoBeforeTheirBundles() {
    func faults(_ keys: Int64, listed: Int64, log: String = "log: {name: a}") -> [String] {
      Fixture.faults(
        """
        state: /s
        retention: {keys: \(keys) days}
        publication: {folder: /p}
        \(log)
        series:
          - {name: NL, listed: \(listed) days, sign: [{key: {file: a.key}, id: "1", version: v1}]}
        """
      ).filter { $0.contains("audit rebuild") }
    }
    #expect(
      faults(27, listed: 14) == [
        "4:1: warning: log: series NL is listed for 14 days, and retention.keys keeps keys for 27 days: keyferry audit "
          + "rebuild could not make its oldest bundles again; write retention: {keys: 28 days}"
      ])
    #expect(faults(28, listed: 14) == [] && faults(20, listed: 6) == [] && faults(19, listed: 6) != [])
    #expect(faults(60, listed: 50).first?.hasSuffix("; list it for at most 46 days") == true)
    #expect(faults(14, listed: 14, log: "") == [])
  }

  @Test func logsThatCannotBe() {
    #expect(
      Fixture.faults(
        """
        state: /s
        publication: {folder: /p}
        log: {name: "https://keys.example.org/log", folder: a/b, state: /p/log, key: x}
        """
      ) == [
        "3:1: error: log: attestation-key is missing: who names one of the log's private keys names both",
        "3:7: error: log.name: \"https://keys.example.org/log\", allowed 1...255 bytes without spaces and +, https:// and "
          + "a slash at the end: keys.example.org/log",
        "3:45: error: log.folder: \"a/b\", allowed 1...64 letters, digits, \"-\", \"_\"",
      ])
    #expect(
      Fixture.faults("state: /s\nlog: {name: a}\n")
        == ["2:1: error: log: there is nothing to log, publication.folder is missing"])
    #expect(
      Fixture.faults("state: /s\npublication: {folder: /p}\nlog: {name: a, state: /p/x}\n") == [
        "3:16: error: log.state: /p/x, allowed a folder apart from publication.folder, /p: the private key would be seen"
      ])
    #expect(
      Fixture.faults("state: /s\npublication: {folder: /p}\nlog: {name: a, state: /s}\n")
        == ["3:16: error: log.state: /s, allowed a folder of its own: /s/log"])
    #expect(
      Fixture.faults(
        """
        state: /s
        publication: {folder: /p}
        series: [{name: Log, sign: [{key: {file: a.key}, id: "204", version: v1}]}]
        log: {name: keys.example.org/log}
        server: {url: "https://keys.example.org/nl/"}
        """
      ).filter { $0.contains(": log.") } == [
        "4:1: error: log.folder: log, allowed a folder that is no series: Log is one",
        "4:7: warning: log.name: keys.example.org/log, and the log is served at keys.example.org/nl/log: others look for a "
          + "log under its name; where it is new, write keys.example.org/nl/log",
      ])
  }

  @Test func theKeysOfALogAreSecretsLikeOthers() throws {
    let log = try NoteSigner.generate(name: "keys.example.org/log")
    let others = [
      try NoteSigner.generate(name: "other.example/log"),
      try NoteSigner.generate(name: "keys.example.org/log", kind: .witness),
    ]
    let attester = AttestationSigner.generate()
    var files = Fixture.files
    files.texts["/etc/k/log"] = log.disclosed + "\n"
    files.texts["/etc/k/attest"] = attester.disclosed
    for (number, other) in others.enumerated() { files.texts["/etc/k/other-\(number)"] = other.disclosed }
    let text = """
      state: /s
      publication: {folder: /p}
      series: [{name: NL, region: "204", sign: [{key: {file: a.key}, id: "204", version: v1}]}]
      log: {name: keys.example.org/log, key: {file: log}, attestation-key: {file: attest}}
      """
    let settings = try #require(try Fixture.parse(text, files: files).plan.log)
    #expect(settings.keys == LogKeys(log: .given(log), attestations: .given(attester)))
    var shown = "\(settings) \(String(reflecting: settings))"
    dump(settings, to: &shown)
    for secret in [log.disclosed, attester.disclosed.split(separator: "\n")[1].description] {
      #expect(!shown.contains(secret) && !shown.contains(secret.suffix(20)))
    }
    for (change, expected) in [
      (
        "key: {file: other-0}", "log.key: the key is of the log other.example/log, and log.name is keys.example.org/log"
      ),
      ("key: {file: other-1}", "log.key: the key of a witness (type 4), allowed is that of a log (type 1)"),
      ("key: {file: attest}", "log.key: the private key of a log is PRIVATE+KEY+NAME+HEX+BASE64, this is none"),
      ("key: {env: NOTHING}", "log.key: the environment has no variable NOTHING"),
      ("key: PRIVATE+KEY+x", "log.key: a secret is never written here"),
    ] {
      let fault = #expect(throws: GatewayFaults.self) {
        try Fixture.parse(text.replacing("key: {file: log}", with: change), files: files)
      }
      let said = "\(fault?.all ?? [])"
      #expect(said.contains(expected), "\(said)")
      for secret in others.map(\.disclosed) { #expect(!said.contains(secret)) }
    }
    let odd = #expect(throws: GatewayFaults.self) {
      try Fixture.parse(text.replacing("{file: attest}", with: "{file: log}"), files: files)
    }
    let said = "\(odd?.all ?? [])"
    #expect(said.contains("log.attestation-key: the secret: it is no private Ed25519 key in PEM"), "\(said)")
  }
}
