#!/usr/bin/env python3
"""Do the validator of agentskills.io and ours agree on skills that others published?

Usage: tests/interop/skills.py BIN_DIR FOLDER [--venv FOLDER]
  BIN_DIR: where subagentd and subagent lie. FOLDER: skills, at any depth, e.g. clones of repositories. --venv: where the package
  skills-ref 0.1.1 is kept between runs; without it, it is installed into a temporary folder.
Each folder with a SKILL.md is judged by both. Prints those of which one says that it is valid and the other that it is not, with what
each says; exit status 1 when there is one, or when there are fewer than 100.
"""
import argparse, collections, json, pathlib, subprocess, sys, tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent / "hooks"))
from house import House

PACKAGE = "skills-ref==0.1.1"
FEWEST = 100
# Prints what the other validator says of each folder that it reads of, as a line of JSON.
OTHER = """
import json, pathlib, sys
from skills_ref import validate
for line in sys.stdin:
    try:
        said = validate(pathlib.Path(line.rstrip("\\n")))
    except Exception as error:
        said = [f"{type(error).__name__}: {error}"]
    print(json.dumps(said), flush=True)
"""


def others(folders, venv):
    python = venv / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    if subprocess.run([python, "-c", "import skills_ref"], capture_output=True).returncode != 0:
        subprocess.run([venv / "bin/pip", "install", "--quiet", PACKAGE], check=True)
    lines = "".join(f"{folder}\n" for folder in folders)
    done = subprocess.run([python, "-c", OTHER], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(folders, programs):
    with House(programs, files={"README.md": "A folder to work in.\n"}) as house:
        for folder in folders:
            done = house.companion("skills", "validate", str(folder), "--format", "json", check=False)
            try:
                said = json.loads(done.stdout)
            except json.JSONDecodeError:
                raise RuntimeError(f"{folder}: {done.stdout}{done.stderr}") from None
            yield said["valid"], [problem["message"] for problem in said["problems"] if problem["severity"] == "error"]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("programs")
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--venv", type=pathlib.Path)
    options = options.parse_args()
    folders = sorted(file.parent.resolve() for file in options.folder.rglob("SKILL.md"))
    with tempfile.TemporaryDirectory() as temporary:
        said = others(folders, options.venv or pathlib.Path(temporary) / "venv")
    counts, n_different = collections.Counter(), 0
    for folder, theirs, (is_valid, mistakes) in zip(folders, said, ours(folders, options.programs), strict=True):
        counts[is_valid] += 1
        if is_valid == (not theirs):
            continue
        n_different += 1
        print(f"DIFFERENT: {folder.relative_to(options.folder.resolve())}\n    theirs: {theirs}\n    ours: {mistakes}")
    print(f"{len(folders)} skills: {counts[True]} valid, {counts[False]} not; {n_different} judged differently")
    return 1 if n_different or len(folders) < FEWEST else 0


if __name__ == "__main__":
    sys.exit(main())
