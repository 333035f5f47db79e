"""A bare Debian 12, made with debootstrap, for what is shown on a new machine. Needs root and the mirror that apt is configured with."""
import os, pathlib, re, shutil, subprocess, sys


def fail(text, status=1):
    print(f"{pathlib.Path(sys.argv[0]).name}: {text}", file=sys.stderr)
    sys.exit(status)


def run(*command, **options):
    """What the command prints; where it fails, all ends."""
    status, text = tried(*command, **options)
    if status != 0: fail(f"{' '.join(map(str, command))}: ends with {status}\n{text[-3000:]}")
    return text


def tried(*command, **options):
    """The status of the command, and what it prints."""
    done = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **options)
    return done.returncode, done.stdout.decode(errors="replace")


def mirror():
    """Where apt gets Debian 12 from on this machine; debootstrap's own choice where it gets none."""
    done = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Codename: bookworm", "Origin: Debian"],
        capture_output=True, text=True)
    return done.stdout.split()[:1]


def need():
    """Ends with 2 where no bare Debian can be made here."""
    if os.geteuid() != 0: fail("not run: debootstrap and chroot need root", 2)
    for tool, hint in (("debootstrap", "debootstrap"), ("chroot", "coreutils"), ("dpkg-deb", "dpkg")):
        if not shutil.which(tool): fail(f"not run: {tool} is not there; run: apt-get install {hint}", 2)


class Bare:
    """The machine: `with Bare(folder) as bare`. What is mounted in it is taken away at the end."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "bare"
        self.mounted = []

    def __enter__(self):
        status, text = tried("debootstrap", "--variant=minbase", "bookworm", self.path, *mirror())
        if status != 0: fail("not run: debootstrap makes no Debian here: " + text[-1000:], 2)
        run("mount", "-t", "proc", "proc", self.path / "proc")
        self.mounted.append(self.path / "proc")
        # As a machine that was installed has them: terminals, memory as a file system, and a name for itself.
        run("mount", "-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=0620", "devpts", self.path / "dev/pts")
        self.mounted.append(self.path / "dev/pts")
        (self.path / "dev/shm").mkdir(exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", self.path / "dev/shm")
        self.mounted.append(self.path / "dev/shm")
        (self.path / "dev/ptmx").unlink(missing_ok=True)
        (self.path / "dev/ptmx").symlink_to("pts/ptmx")
        (self.path / "etc/hosts").write_text("127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n")
        return self

    def __exit__(self, *_):
        # Behind this the folder is removed, and nothing of this machine may lie in it then.
        left = [place for place in reversed(self.mounted)
                if tried("umount", place)[0] != 0 and tried("umount", "--lazy", place)[0] != 0]
        if left: os._exit(3)

    def lend(self, folder):
        """The machine sees a folder of this one under the same name, and cannot change it."""
        place = self.path / str(folder).lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", "-o", "ro", folder, place)
        self.mounted.append(place)

    def root(self, *command):
        # This machine's folder for what is passing is not there.
        return run("chroot", self.path, "env", "--unset=TMPDIR", "DEBIAN_FRONTEND=noninteractive", *command)

    def install(self, *packages):
        self.root("apt-get", "install", "--yes", "--no-install-recommends", *packages)

    def shell(self, user, script):
        """The status of a script in the user's own shell, and what it prints."""
        (self.path / "tmp/script").write_text(script)
        return tried("chroot", self.path, "su", "--login", user, "--command", "bash /tmp/script")
