"""What a page of the documentation types and what it shows, and how it is typed where the package is all there is.

The rules are those of `Tests/CommandTests/PageSession.swift`, which types the same pages with what was built.
"""
import pathlib, re, socket

from bare import fail

root = pathlib.Path(__file__).resolve().parent.parent.parent
manual = root / "Sources/GatewayDaemon/GatewayDaemon.docc"
# Every page whose lines need nothing but the package, and the fewest lines that each has.
PAGES = {
    root / "README.md": 8,
    manual / "TutorialAuditor.md": 20,
    manual / "TutorialResearcher.md": 15,
    manual / "TutorialOperator.md": 20,
    manual / "TutorialAppDeveloper.md": 20,
}
# Before and after the status of each line that was typed.
BEFORE, AFTER = "\x1e", "\x1d"


def steps(page):
    """Each command of the page, with the lines that it prints."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", page, re.M | re.S):
        for line in block.split("\n")[:-1]:
            goes_on = found and (found[-1][0].endswith("\\") or
                                 "<<'END'" in found[-1][0] and not found[-1][0].endswith("\nEND"))
            if line.startswith("$ "): found.append((line[2:], []))
            elif line.startswith("> ") and goes_on: found[-1] = (found[-1][0] + "\n" + line[2:], [])
            else: found[-1][1].append(line)
    return found


def fits(lines, expected):
    """A line `…` stands for any lines, `…` in a line for any text."""
    pattern = "".join(
        r"(?:.*\n)*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n" for line in expected)
    return re.fullmatch(pattern, "".join(line + "\n" for line in lines)) is not None


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def here(text, port):
    """The line as it is typed here: at a port that is free, and a gateway that runs ends after a while."""
    text = text.replace("127.0.0.1:8080", f"127.0.0.1:{port}")
    text = text.replace("cd nl", "cd nl && sed -i 's/listen: 127[^ }]*/listen: \"127.0.0.1:0\"/' gateway.yaml")
    return re.sub(r"^keyferry run(?= |$)", "timeout --preserve-status 5 keyferry run", text)


def type_page(page, user, shell):
    """How many lines the page has; a line that fails, or prints something else, ends all.

    shell: runs a script as a user begins one, and returns what it printed."""
    typed = [(here(command, port), [here(line, port) for line in expected])
             for port in [free_port()] for command, expected in steps(page.read_text())]
    if len(typed) < PAGES[page]: fail(f"{page.name} has {len(typed)} lines to type, and not {PAGES[page]}")
    script = "exec 2>&1\ntrap 'kill $(jobs -p) 2> /dev/null' EXIT\n"
    script += "ended() { local status=$?; printf '\\036%d\\035' $status; return $status; }\n"
    script += f"cd && mkdir {page.stem} && cd {page.stem} || exit\n"
    for command, _ in typed: script += f"{command}\nended\n"
    text = shell(script)
    printed = text.split(AFTER)
    where = f"{page.name}, as {user}"
    if len(printed) != len(typed) + 1: fail(f"{where}: the shell ended: {text[-2000:]}")
    for index, (command, expected) in enumerate(typed):
        output, status = printed[index].split(BEFORE)
        is_asked = index + 1 < len(typed) and typed[index + 1][0] == "echo $?"
        if status != "0" and not is_asked: fail(f"{where}: $ {command}\nends with {status}\n{output}")
        if not fits(output.splitlines(), expected):
            fail(f"{where}: $ {command}\nprints\n{output}\nand not\n" + "\n".join(expected))
    return len(typed)


def type_pages(user, shell):
    """Types every page; a line about how many lines each has."""
    return ", ".join(f"{page.stem} {type_page(page, user, shell)}" for page in PAGES)
