#!/usr/bin/env python3
"""Draws docs/terminal.svg from a real run: `docs/terminal.py FOLDER`, with the folder of `subagent` and `subagentd`.

An agent plays a recording in a home of its own. It asks before it changes a file, and the answer is typed into its
terminal. Nothing but Python's standard library is needed.
"""

import html
import json
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import fcntl

COLUMNS, ROWS = 92, 60
# Of a run that does nothing for so long, something is wrong.
PATIENCE = 30

AGENT = """---
kind: agent
name: fixer
description: Changes files.
tools: [read_file, edit_file]
---
You fix what you are asked to.
"""

CODE = '''def total(prices, discount):
    """The sum of the prices, less the discount in percent."""
    return sum(prices) * (1 - discount)
'''

FIXED = "    return sum(prices) * (1 - discount / 100)"

CALLS = [
    ("read_file", {"path": "shop.py"}),
    ("edit_file", {"path": "shop.py", "oldString": CODE.splitlines()[2], "newString": FIXED}),
    ("complete_task", {"result": "`total` took the discount for a fraction. It is a percentage, so it is divided by 100 now."}),
]


class Screen:
    """As much of a terminal as these programs use."""

    def __init__(self):
        self.rows = [[]]
        self.row = self.column = 0
        self.style = ""

    def write(self, text):
        for part in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|[\x00-\x1f]|[^\x00-\x1f]+", text):
            if part.startswith("\x1b["):
                self.control(part[2:-1], part[-1])
            elif part == "\n":
                self.row += 1
            elif part == "\r":
                self.column = 0
            elif part == "\b":
                self.column = max(0, self.column - 1)
            elif part[0] >= " ":
                for character in part:
                    self.put(character)
            self.line()

    def line(self):
        while len(self.rows) <= self.row:
            self.rows.append([])
        return self.rows[self.row]

    def put(self, character):
        if self.column >= COLUMNS:
            self.row, self.column = self.row + 1, 0
        line = self.line()
        line.extend([(" ", "")] * (self.column + 1 - len(line)))
        line[self.column] = (character, self.style)
        self.column += 1

    def control(self, arguments, letter):
        count = int(arguments) if arguments.isdigit() else 0
        if letter == "m":
            for code in arguments.split(";"):
                self.style = "" if code in ("", "0") else f"{self.style} {code}"
        elif letter == "A":
            self.row = max(0, self.row - max(1, count))
        elif letter == "B":
            self.row += max(1, count)
        elif letter == "C":
            self.column += max(1, count)
        elif letter == "D":
            self.column = max(0, self.column - max(1, count))
        elif letter == "G":
            self.column = max(1, count) - 1
        elif letter == "K" and count == 0:
            del self.line()[self.column:]
        elif letter == "K":
            self.line().clear()
        elif letter == "J" and count == 0:
            del self.line()[self.column:]
            del self.rows[self.row + 1:]

    def lines(self):
        lines = [list(row) for row in self.rows]
        while lines and not "".join(character for character, _ in lines[-1]).strip():
            lines.pop()
        return lines

    def text(self):
        return "\n".join("".join(character for character, _ in row) for row in self.rows)


def run(command, environment, folder, screen, keys):
    """Runs a command in a terminal; presses each key once its text stands on the screen and has stood there a moment."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe(command[0], command, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    keys, picture, last = list(keys), None, time.monotonic()
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.2)
        if ready:
            try:
                said = os.read(terminal, 65536)
            except OSError:
                break
            if not said:
                break
            screen.write(said.decode(errors="replace"))
            last = time.monotonic()
        elif keys and keys[0][0] in screen.text() and time.monotonic() - last > 1:
            _, key = keys.pop(0)
            picture = screen.lines()
            os.write(terminal, key.encode())
            last = time.monotonic()
        elif time.monotonic() - last > PATIENCE:
            sys.exit(f"nothing happens any more:\n{screen.text()}")
    os.waitpid(child, 0)
    return picture


PLAIN = "#d7dae0"
COLOURS = {"31": "#e06c75", "32": "#98c379", "33": "#e5c07b", "34": "#61afef", "35": "#c678dd", "36": "#56b6c2", "90": "#7f848e"}


def attributes(style):
    codes = style.split()
    colours = [COLOURS[code] for code in codes if code in COLOURS]
    found = [f'fill="{(colours or [PLAIN])[-1]}"']
    found += ['font-weight="bold"'] if "1" in codes else []
    return " ".join(found + (['opacity="0.65"'] if "2" in codes else []))


def drawn(lines):
    width, height = COLUMNS * 8.4 + 32, len(lines) * 19 + 62
    font = "font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, monospace\" font-size=\"14\""
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" {font}>',
        "<title>subagent run: an agent reads a file, proposes a change, asks, and goes on</title>",
        f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#21252b"/>',
    ]
    out += [f'<circle cx="{20 + 18 * at}" cy="20" r="6" fill="{colour}"/>' for at, colour in enumerate(("#e06c75", "#e5c07b", "#98c379"))]
    for number, line in enumerate(lines):
        y, at = 54 + number * 19, 0
        while at < len(line):
            style, end = line[at][1], at
            while end < len(line) and line[end][1] == style:
                end += 1
            text = "".join(character for character, _ in line[at:end])
            if text.strip():
                x, length = 16 + at * 8.4, (end - at) * 8.4
                out.append(
                    f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}" xml:space="preserve" {attributes(style)}>'
                    f"{html.escape(text)}</text>"
                )
            at = end
    return "\n".join(out + ["</svg>", ""])


def text_of(line):
    return "".join(character for character, _ in line)


def at_home(line, home):
    """The line with `~` for the home."""
    at = text_of(line).find(home)
    return line if at < 0 else at_home(line[:at] + [("~", line[at][1])] + line[at + len(home):], home)


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    # A short path, so that the lines that name it stay whole.
    home = pathlib.Path(tempfile.mkdtemp(prefix="", dir="/tmp"))
    work = home / "shop"
    agents = home / ".config/subagentd/agents"
    for folder in (work, agents, home / "run"):
        folder.mkdir(parents=True)
    (work / "shop.py").write_text(CODE)
    (agents / "fixer.md").write_text(AGENT)
    recording = home / "demo.jsonl"
    recording.write_text("".join(json.dumps(
        {"method": "generateContentStream", "response": [{"candidates": [{"content": {"role": "model", "parts": [
            {"functionCall": {"name": name, "args": arguments}}]}, "finishReason": "STOP"}]}]}) + "\n" for name, arguments in CALLS))
    (home / ".config/subagentd/settings.json").write_text(json.dumps({"models": {"default": f"replay:{recording}"}}))
    environment = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"), "TERM": "xterm-256color", "LANG": "C.UTF-8",
                   "PATH": f"{programs}:/usr/bin:/bin"}
    command = ["subagent", "run", "fixer", "-p", "A discount of 10 makes the total negative. Why?"]
    screen = Screen()
    subprocess.run(["subagent", "list"], env=environment, cwd=work, capture_output=True, check=True)
    try:
        screen.write("\x1b[32m$\x1b[0m subagent run fixer -p \"" + command[-1] + "\"\r\n")
        asked = run(command, environment, work, screen, [("+    return", "y")])
        if FIXED not in (work / "shop.py").read_text() or asked is None:
            sys.exit(f"the change was not made:\n{screen.text()}")
    finally:
        subprocess.run(["subagent", "stop"], env=environment, cwd=work, capture_output=True, check=False)
        shutil.rmtree(home, ignore_errors=True)
    # The question is gone once it is answered: the picture has it with its answer, and below it how the run went on.
    ended = screen.lines()
    answer = next(at for at, line in enumerate(ended) if text_of(line).startswith("✓ allowed"))
    asked[-1].append(("y", " 1"))
    lines = [at_home(line, str(home)) for line in asked + ended[answer:]]
    pathlib.Path(__file__).with_name("terminal.svg").write_text(drawn(lines))
    print("\n".join(map(text_of, lines)))


main()
