#!/usr/bin/env python3
"""Reads agents' files of other products: those of a folder, and a thousand that are made up here from a seed.

Usage: tests/interop/agents.py BIN_DIR FOLDER [SEED]
  BIN_DIR: where subagentd and subagent lie. FOLDER: Claude Code's subagents, *.md.
Each file of the folder must load with the name, description, model and tools that a reader of its own, a few lines of this
script, finds in it; of all files together at least 99 of 100 must load, and the rest say why. All of them are then
brought in, written out again, and must say the same. Exit status 1 when something does not hold.
"""
import json, os, pathlib, random, re, subprocess, sys, tempfile

bin_dir, folder = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)
chance = random.Random(seed)
files = sorted(folder.glob("*.md"))
if not files:
    sys.exit(f"no *.md in {folder}")
faults = []

# What Claude Code's tools are called here (spec 05); others are no tools of this daemon.
TOOLS = {"Read": "read_file", "Write": "write_file", "Edit": "edit_file", "Bash": "run_shell_command", "Glob": "glob",
         "Grep": "grep", "WebFetch": "web_fetch", "WebSearch": "web_search"}
# Come along with others, or by themselves; and what nobody answers in this daemon.
BESIDE = {"complete_task", "shell_output", "kill_shell", "web_search"}


def fields_of(text):
    """The front matter as people read it: `key: rest of line`, with folded lines below."""
    lines, fields, key = text.split("---\n", 2)[1].splitlines(), {}, None
    for line in lines:
        if match := re.match(r"([A-Za-z_-]+):\s*(.*)$", line):
            key = match[1]
            fields[key] = "" if match[2] in (">", ">-", "|") else match[2]
        elif key and line.strip():
            fields[key] = f"{fields[key]} {line.strip()}".strip()
    def plain(value):
        if value.startswith('"') and value.endswith('"'):
            return re.sub(r"\\(.)", lambda it: {"n": "\n"}.get(it[1], it[1]), value[1:-1])
        return value
    return {key: plain(value) for key, value in fields.items()}


def made_up(number):
    """A file as people write them: its product, name and text."""
    product = chance.choice(["claude", "gemini", "opencode"])
    name, front = f"agent-{number}", []
    describe = chance.choice(["Reviews code.", "Use when: the user asks about tests", "*Always* use this", "@team helper",
                              "Finds bugs # and mends them", "'quoted' words", "Prüft Übersetzungen · 日本語", "`ls` and more"])
    if product != "opencode":
        front.append(f"name: {chance.choice([name, name, name.upper(), name.replace('-', ' ')])}")
    front.append(f"description: {describe}")
    if product == "claude":
        front += chance.choice([[], ["tools: Read, Grep, Glob"], ["tools: [Read, Bash(git:*)]"], ["tools: Read Grep"],
                                ["tools:", "  - Read", "  - mcp__github__get_issue"], ["tools: []"], ['tools: "*"']])
        front += chance.choice([[], ["model: sonnet"], ["model: inherit"], ["color: magenta"], ["maxTurns: '7'"],
                                ["permissionMode: plan"], ["skills: [a]"]])
    elif product == "gemini":
        front += ["kind: local"] + chance.choice([[], ["tools: [read_file, grep_search]"], ["tools: ['*']"], ["tools: [mcp_*]"]])
        front += chance.choice([[], ["max_turns: 5"], ["timeout_mins: 3"], ["temperature: 0.2"], ["display_name: The One"]])
    else:
        front += ["mode: subagent"] + chance.choice([[], ["tools:", "  write: false", "  bash: false"], ["permission:", "  edit: deny"],
                                                     ["steps: 9"], ["temperature: 0.1"]])
    chance.shuffle(front) if not any(line.startswith(" ") for line in front) else None
    fence = chance.choice(["---", "---", "---  "])
    text = "\n".join([fence, *front, fence, "", chance.choice(["You help.", "Cost: ${price} — {{x}}", "# Role\n\nBe kind."]), ""])
    end = chance.choice(["\n", "\n", "\r\n"])
    data = text.replace("\n", end).encode(chance.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"]))
    # One in three hundred is none, and must say so.
    if number % 300 == 299:
        data = chance.choice([b"just prose\n", b"\x00\x01\x02" * 50, b"---\nname: x\n", b""])
    return product, name, data


with tempfile.TemporaryDirectory() as home:
    work = pathlib.Path(home, "work")
    places = {"claude": ".claude/agents", "gemini": ".gemini/agents", "opencode": ".opencode/agent"}
    for place in places.values():
        (work / place).mkdir(parents=True)
    (work / ".claude/agents/corpus").mkdir()
    for file in files:
        (work / ".claude/agents/corpus" / file.name).write_bytes(file.read_bytes())
    for number in range(1000):
        product, name, data = made_up(number)
        (work / places[product] / f"{name}.md").write_bytes(data)
    environment = {
        "PATH": os.environ["PATH"], "HOME": home, "XDG_RUNTIME_DIR": home,
        "XDG_STATE_HOME": f"{home}/state", "XDG_CONFIG_HOME": f"{home}/config",
    }

    def rpc(method, params):
        command = [bin_dir / "subagent", "rpc", method, json.dumps(params)]
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise RuntimeError(f"{method} {json.dumps(params)[:300]}: {done.stderr}")
        return json.loads(done.stdout)

    try:
        everything = {"workspace": str(work), "includeHidden": True, "includeInvalid": True}
        listed = [it for it in rpc("agents/list", everything)["agents"] if it["scope"] == "project"]
        states = {state: sum(it["state"] == state for it in listed) for state in ("ok", "repaired", "rejected")}
        share = (states["ok"] + states["repaired"]) / len(listed)
        print(f"seed {seed}: {len(listed)} files, {states}, {share:.2%} load")
        if share < 0.99 or len(listed) < 500:
            faults.append(f"only {share:.2%} of {len(listed)} load")
        for agent in listed:
            if agent["state"] == "rejected" and not agent.get("problems"):
                faults.append(f"{agent['path']} is rejected and does not say why")

        by_path = {it["path"]: it for it in listed}
        for file in files:
            agent = by_path[str(work / ".claude/agents/corpus" / file.name)]
            wanted = fields_of(file.read_text())
            got = rpc("agents/get", {"name": agent["name"], "workspace": str(work)})
            def check(what, is_so, seen):
                if not is_so:
                    faults.append(f"{file.name}: {what} is {seen!r}, and the file has {wanted.get(what)!r}")
            check("state", agent["state"] != "rejected", agent.get("problems", []))
            check("name", agent["name"] == wanted["name"], agent["name"])
            check("description", " ".join(got["description"].split()) == " ".join(wanted["description"].split()), got["description"])
            check("model", got["model"] == wanted.get("model", "inherit"), got["model"])
            tools = set(got["tools"]) - BESIDE
            named = [tool.strip() for tool in wanted.get("tools", "").strip("[]").split(",") if tool.strip()]
            if "tools" in wanted:
                known = {TOOLS[tool] for tool in named if tool in TOOLS} - BESIDE
                agents = "Agent" in named
                is_so = known <= tools if agents else tools == known
                check("tools", is_so, sorted(tools))
            else:
                check("tools", {"write_file", "run_shell_command"} <= tools, sorted(tools))
            for problem in agent.get("problems", []) if agent["state"] == "repaired" else []:
                if problem["code"] == "BAD_YAML" and not (problem.get("line") and problem.get("fix")):
                    faults.append(f"{file.name} is repaired, and {problem['message']!r} names no line or fix")

        imported = rpc("agents/import", {"paths": [str(work)], "scope": "user", "onConflict": "namespace"})
        outcomes = {}
        for file in imported["files"]:
            outcomes[file["outcome"]] = outcomes.get(file["outcome"], 0) + 1
            if file["outcome"] not in ("written", "rejected"):
                faults.append(f"{file['source']}: {file['outcome']}")
            if file["outcome"] == "rejected" and not file.get("problems"):
                faults.append(f"{file['source']} was rejected and does not say why")
        print(f"imported: {outcomes}")
        written = [it for it in imported["files"] if it["outcome"] == "written"]
        for file in chance.sample(written, min(60, len(written))):
            own = rpc("agents/get", {"name": file["name"], "scope": "user"})
            there = rpc("agents/export", {"names": [file["name"]], "format": file["format"]})["files"][0]
            where = pathlib.Path(home, "back", places[file["format"]])
            where.mkdir(parents=True, exist_ok=True)
            (where / there["fileName"]).write_text(there["text"])
            again = rpc("agents/import", {"paths": [str(where / there["fileName"])], "scope": "user", "dryRun": True})["files"][0]
            if again["outcome"] == "rejected":
                faults.append(f"{file['source']}: written out again it does not load: {again['problems']}")
            lost = there.get("lost", [])
            if not lost and again["outcome"] != "unchanged":
                faults.append(f"{file['source']}: written out and brought in again it is {again['outcome']}")
            if own["description"] not in there["text"] and not lost and "\n" not in own["description"] and "'" not in own["description"]:
                faults.append(f"{file['source']}: the description got lost")
    finally:
        subprocess.run([bin_dir / "subagent", "stop"], cwd=work, env=environment, capture_output=True, timeout=60)

for fault in faults[:40]:
    print(f"NOT OK  {fault}")
print("ok" if not faults else f"{len(faults)} faults (seed {seed})")
sys.exit(bool(faults))
