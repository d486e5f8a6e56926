#!/usr/bin/env python3
"""How good is `--model offline`? Questions with known answer files, asked through the real binaries.

Usage: offline_questions.py BIN_DIR SOURCES [QUESTIONS]

BIN_DIR holds `subagent` and `subagentd`; SOURCES is a folder with one folder a crate. Prints one line a question and
the shares of questions with a right file among the first five, ours against ranking by raw hits of the question's
words. Exits 1 below 70 % or when raw hits do as well.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FIRST = 5
ENOUGH = 0.7
STOP_WORDS = set(
    "a an and are as at be by can do does for from how i if in into is it its of on or out so than that the their then "
    "there they this to up was what when where which who why will with would you not no has have had been being one "
    "only after before while during each other same another more most should could did where's what's".split()
)


def files_of(report):
    """The report's files, best first, each once."""
    files = []
    for location in json.loads(report)["RelevantLocations"]:
        file = location["FilePath"].rsplit(":", 1)[0]
        if file not in files:
            files.append(file)
    return files


def by_raw_hits(folder, question):
    """The files in which the question's words occur most often."""
    words = {word for word in re.findall(r"[a-z0-9_]+", question.lower()) if word not in STOP_WORDS and len(word) > 1}
    hits = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.stat().st_size > 2_000_000:
            continue
        text = path.read_bytes().decode("utf-8", "replace").lower()
        hits.append((-sum(text.count(word) for word in words), str(path.relative_to(folder))))
    return [file for count, file in sorted(hits) if count < 0]


def main():
    binaries, sources = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    questions_file = Path(sys.argv[3]) if len(sys.argv) > 3 else Path(__file__).with_name("questions.json")
    questions = json.loads(questions_file.read_text())
    with tempfile.TemporaryDirectory() as home:
        environment = dict(
            os.environ, HOME=home, XDG_RUNTIME_DIR=home, XDG_STATE_HOME=f"{home}/state", XDG_CONFIG_HOME=f"{home}/config"
        )
        environment.pop("SUBAGENTD_SOCKET", None)
        os.chmod(home, 0o700)

        def subagent(*arguments, check=True):
            command = [str(binaries / "subagent"), *arguments]
            return subprocess.run(command, env=environment, capture_output=True, text=True, check=check, timeout=120)

        ours, raw = 0, 0
        try:
            for question in questions:
                folder = sources / question["crate"]
                ran = subagent(
                    "run", "codebase-investigator", "-p", question["question"], "--model", "offline",
                    "--workspace", str(folder),
                )
                found, baseline = files_of(ran.stdout), by_raw_hits(folder, question["question"])
                place = lambda ranked: next((n + 1 for n, it in enumerate(ranked) if it in question["answers"]), None)
                our_place, raw_place = place(found), place(baseline)
                ours += our_place is not None and our_place <= FIRST
                raw += raw_place is not None and raw_place <= FIRST
                print(f"{our_place or '-':>3} {raw_place or '-':>4}  {question['crate']}: {question['question']}")
        finally:
            subagent("stop", check=False)
    n = len(questions)
    print(f"a right file among the first {FIRST}: offline {ours}/{n} ({ours / n:.0%}), raw hits {raw}/{n} ({raw / n:.0%})")
    sys.exit(0 if ours / n >= ENOUGH and ours > raw else 1)


if __name__ == "__main__":
    main()
