"""What every package of the program has in it, and the bytes that are the same whoever makes them, where, and when."""
import datetime, gzip, hashlib, io, os, pathlib, re, subprocess, sys, tarfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
here = pathlib.Path(__file__).resolve().parent


def fail(text, hint=None):
    print(f"keyferry: package: {text}", file=sys.stderr)
    if hint: print(f"keyferry: hint: {hint}", file=sys.stderr)
    sys.exit(2)


def output(*command, **options):
    """What a tool prints; what it says on standard error is shown where it fails."""
    options = {"cwd": root, **options}
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, **options)
    except FileNotFoundError:
        fail(f"{command[0]} is not there", f"apt-get install {PACKAGE_OF.get(command[0], command[0])}")
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


PACKAGE_OF = {"strip": "binutils", "readelf": "binutils", "ldd": "libc-bin", "dpkg-deb": "dpkg", "dpkg-shlibdeps": "dpkg-dev"}


def git(*command):
    """What git says of this tree; nothing where there is no repository."""
    if not (root / ".git").exists(): return ""
    done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def epoch():
    """The time that all files have: SOURCE_DATE_EPOCH, or else the commit's."""
    stated = os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct")
    if not re.fullmatch(r"[0-9]{1,11}", stated):
        fail("there is no commit whose time files could have", "set SOURCE_DATE_EPOCH to seconds since 1970")
    return int(stated)


class Program:
    """The built program, what it says of itself, and whether that is what the tree says."""

    def __init__(self, path, development=False):
        self.path = pathlib.Path(path).resolve()
        if not os.access(self.path, os.X_OK): fail(f"{path} is not there, or no program", "make release")
        text = output(self.path, "--version").decode().strip()
        stated = re.fullmatch(r"keyferry (\S+) \((development build|(\S+) \d{4}-\d\d-\d\d)\)", text)
        if not stated: fail(f"{path} --version says {text!r}, and no version with a commit")
        self.version, self.revision = stated.group(1), stated.group(3)
        self.epoch = epoch()
        self.day = datetime.datetime.fromtimestamp(self.epoch, datetime.timezone.utc).strftime("%Y-%m-%d")
        self.machine = output("uname", "-m").decode().strip()
        if not development: self.compare()

    def compare(self):
        """A package says which commit it is of: that must be the program's, and a tag's version the program's."""
        revision = output(here / "revision").decode().split(" ")[0].strip()
        if self.revision is None:
            fail("the program does not say its commit: it is a development build", "make release, or --development for a trial")
        if revision and revision != self.revision:
            fail(f"the program is of commit {self.revision}, and the tree is at {revision}", "make release")
        self.check_tag()

    def check_tag(self):
        for tag in git("tag", "--points-at", "HEAD").split():
            number = re.fullmatch(r"v(\d+\.\d+\.\d+\S*)", tag)
            if number and number.group(1) != self.version:
                fail(f"the tag is {tag}, and the program says {self.version}",
                     "set version in Sources/FileCommands/Terminal/Program.swift, commit it, and tag that commit")

    @property
    def is_release(self):
        """Built from the tag of its version, unchanged."""
        tags = git("tag", "--points-at", "HEAD").split()
        return f"v{self.version}" in tags and not (self.revision or "-dirty").endswith("-dirty")

    @property
    def label(self):
        """The version in names of files: with the commit, but for a release."""
        return self.version if self.is_release else f"{self.version}-{self.revision or 'development'}"

    @property
    def debian_version(self):
        """A commit before the tag of its version sorts before it, one after it behind it."""
        if self.is_release: return self.version
        date = self.day.replace("-", "")
        follows = git("tag", "--merged", "HEAD", "--list", f"v{self.version}") != ""
        revision = (self.revision or "development").replace("-", ".")
        return f"{self.version}{'+' if follows else '~'}git{date}.{revision}"


# MARK: Files


class Files:
    """Files by their paths in a package; folders are made for them."""

    def __init__(self): self.entries = {}

    def add(self, path, content, mode=0o644): self.entries[path] = (mode, content)

    def folder(self, path, mode=0o755, owner=0): self.entries[path] = (mode, None, owner)

    def under(self, prefix):
        """The same files in another folder."""
        moved = Files()
        moved.entries = {f"{prefix}{path}": entry for path, entry in self.entries.items()}
        return moved

    def sorted(self):
        """Each path with all folders above it, which are before it."""
        every = dict(self.entries)
        for path in self.entries:
            parts = path.split("/")
            for count in range(1, len(parts)): every.setdefault("/".join(parts[:count]), (0o755, None, 0))
        return sorted(every.items(), key=lambda item: item[0].split("/"))

    def tar(self, epoch, leading=""):
        """A tar in which nothing depends on who makes it, where, and when."""
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for path, entry in self.sorted():
                info = tarfile.TarInfo(leading + path)
                info.mode, info.mtime = entry[0], epoch
                if entry[1] is None:
                    info.type = tarfile.DIRTYPE
                    info.uid = info.gid = entry[2]
                    archive.addfile(info)
                else:
                    info.size = len(entry[1])
                    archive.addfile(info, io.BytesIO(entry[1]))
        return stream.getvalue()

    def write(self, folder):
        for path, entry in self.sorted():
            place = folder / path
            if entry[1] is None: place.mkdir(parents=True, exist_ok=True)
            else: place.write_bytes(entry[1])
            place.chmod(entry[0])


def gzipped(data, level=9):
    """Without name and time."""
    stream = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=level) as file: file.write(data)
    return stream.getvalue()


def write_whole(path, data):
    """Beside its place first, so that it is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    part.replace(path)


def sha256(data): return hashlib.sha256(data).hexdigest()


# MARK: What is in it


def stripped(program, work):
    """The program without what only a debugger reads."""
    target = work / "keyferry"
    output("strip", "--strip-all", "--remove-section=.comment", "--remove-section=.note", "-o", target, program.path)
    return target.read_bytes()


def pages(program, work):
    """The manual pages, by their names."""
    import importlib.machinery, importlib.util
    loader = importlib.machinery.SourceFileLoader("manual", str(here / "manual"))
    manual = importlib.util.module_from_spec(importlib.util.spec_from_loader("manual", loader))
    loader.exec_module(manual)
    manual.write(program.path, work / "man")
    return {page.name: page.read_bytes() for page in sorted((work / "man").iterdir())}


class Parts:
    """What comes into every package, made once."""

    def __init__(self, program, work):
        self.program = stripped(program, work)
        self.pages = pages(program, work)
        self.completions = {
            shell: output(program.path, "--generate-completion-script", shell) for shell in ("bash", "zsh", "fish")}
        # It is read by a shell that runs, and no program.
        self.completions["bash"] = self.completions["bash"].removeprefix(b"#!/bin/bash\n").lstrip(b"\n")
        output(
            sys.executable, root / "interop/licences", program.path.parent, work / "keyferry.spdx.json", work / "copyright",
            env={**os.environ, "SOURCE_DATE_EPOCH": str(program.epoch)})
        self.spdx = (work / "keyferry.spdx.json").read_bytes()
        self.copyright = (work / "copyright").read_bytes()


def tree(parts, bin="/usr/local/bin", zsh="site-functions"):
    """All files, relative to the folder that they are installed under.

    bin: where the service finds the program; zsh: where this system keeps completions of zsh."""
    files = Files()
    files.add("bin/keyferry", parts.program, 0o755)
    for name, page in parts.pages.items(): files.add(f"share/man/man1/{name}.gz", gzipped(page))
    files.add("share/bash-completion/completions/keyferry", parts.completions["bash"])
    files.add(f"share/zsh/{zsh}/_keyferry", parts.completions["zsh"])
    files.add("share/fish/vendor_completions.d/keyferry.fish", parts.completions["fish"])

    deploy = root / "interop/deploy"
    unit = (deploy / "keyferry.service").read_text()
    if "/usr/local/bin/keyferry" not in unit: fail("interop/deploy/keyferry.service does not start /usr/local/bin/keyferry")
    files.add("lib/systemd/system/keyferry.service", unit.replace("/usr/local/bin/keyferry", f"{bin}/keyferry").encode())
    files.add("lib/sysusers.d/keyferry.conf", (deploy / "keyferry.sysusers").read_bytes())

    documents = "share/doc/keyferry"
    for name in ("gateway.yaml", "nginx.conf", "nginx-federation.conf", "prometheus.yml", "alerts.yml", "grafana.json", "keys.csv"):
        files.add(f"{documents}/examples/{name}", (deploy / name).read_bytes())
    for program in sorted((deploy / "signing").glob("*-sign")):
        files.add(f"{documents}/examples/signing/{program.name}", program.read_bytes(), 0o755)
    for example in sorted((deploy / "replicas").iterdir()):
        files.add(f"{documents}/examples/replicas/{example.name}", example.read_bytes())
    for policy in sorted([*(deploy / "policies").glob("*.yaml"), *(root / "Sources/PolicyFiles/Policies").glob("*.yaml")]):
        files.add(f"{documents}/examples/policies/{policy.name}", policy.read_bytes())
    for name in ("health-authorities.json", "README.md"):
        files.add(f"{documents}/rings/{name}", (root / "interop/rings" / name).read_bytes())
    # The manual, with links that lead from page to page here.
    manual = root / "Sources/GatewayDaemon/GatewayDaemon.docc"
    for page in sorted(manual.glob("*.md")):
        text = re.sub(r"<doc:([A-Za-z0-9]+)>", r"[\1](\1.md)", page.read_text())
        files.add(f"{documents}/manual/{page.name}", text.encode())
    for name, page in (("README.md", root / "README.md"), ("Deploying.md", deploy / "README.md")):
        text = re.sub(r"\]\((?:\.\./\.\./)?Sources/GatewayDaemon/GatewayDaemon\.docc/", "](manual/", page.read_text())
        files.add(f"{documents}/{name}", text.replace("](interop/deploy/README.md)", "](Deploying.md)").encode())
    files.add(f"{documents}/SECURITY.md", (root / "SECURITY.md").read_bytes())
    files.add(f"{documents}/CHANGELOG.md.gz", gzipped((root / "CHANGELOG.md").read_bytes()))
    files.add(f"{documents}/keyferry.spdx.json", parts.spdx)
    files.add(f"{documents}/copyright", parts.copyright)
    return files
