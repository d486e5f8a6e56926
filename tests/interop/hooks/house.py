"""A daemon with a home of its own, and replays for a model. The home lies in the cache of whoever calls: of /tmp and /var/tmp
confined hooks and commands see an empty folder of their own."""
import json, os, pathlib, shutil, signal, subprocess, tempfile

# Runs here take seconds; a machine under load, or a hook that waits for a network, takes longer.
PATIENCE = 300

WORKER = """---
kind: agent
name: worker
description: Works.
completion: message
tools: [read_file, write_file, edit_file, run_shell_command, glob, grep, list_directory, helper]
---
You work.
"""
HELPER = """---
kind: agent
name: helper
description: Helps.
tools: [read_file]
---
You help.
"""
# Only hooks are in the way of what it does.
RULES = '[[rule]]\ntool = "*"\ndecision = "allow"\n'


class House:
    """`files`: in the workspace, which is a repository. `home_files`: in the home. It ends, and is gone, with the block."""

    def __init__(self, programs, files=None, home_files=None, settings=None, variables=None):
        self.programs = pathlib.Path(programs).resolve()
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
        cache.mkdir(parents=True, exist_ok=True)
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="interop-hooks-", dir=cache)).resolve()
        self.work = self.home / "work"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_RUNTIME_DIR": f"{self.home}/run", "LANG": "C.UTF-8",
            "XDG_STATE_HOME": f"{self.home}/state", "XDG_CONFIG_HOME": f"{self.home}/config",
            "XDG_CACHE_HOME": f"{self.home}/cache", "XDG_DATA_HOME": f"{self.home}/data", **(variables or {}),
        }
        self.work.mkdir()
        for name, text in (files or {}).items():
            self.put(self.work / name, text)
        for name, text in (home_files or {}).items():
            self.put(self.home / name, text)
        config = self.home / "config/subagentd"
        self.put(config / "agents/worker.md", WORKER)
        self.put(config / "agents/helper.md", HELPER)
        self.put(config / "policies/all.toml", RULES)
        self.put(config / "settings.json", json.dumps(settings or {}))
        os.mkdir(f"{self.home}/run", 0o700)
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
            identity = ["-c", "user.name=u", "-c", "user.email=u@example.com"]
            subprocess.run(["git", *identity, *command], cwd=self.work, env=self.environment, check=True)

    @staticmethod
    def put(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def __enter__(self):
        ready, write = os.pipe()
        with open(f"{self.home}/daemon.log", "wb") as log:
            self.process = subprocess.Popen([self.programs / "subagentd", "--ready-fd", str(write)], pass_fds=[write],
                                            stderr=log, env=self.environment)
        os.close(write)
        # It writes `ready` once it listens, or ends, which closes the pipe.
        with os.fdopen(ready) as pipe:
            if pipe.readline() != "ready\n":
                raise RuntimeError(f"the daemon did not start: {(self.home / 'daemon.log').read_text()}")
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def companion(self, *arguments, check=True):
        done = subprocess.run([self.programs / "subagent", *arguments], cwd=self.work, env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE)
        if check and done.returncode != 0:
            raise RuntimeError(f"{arguments}: {done.stderr}{done.stdout}")
        return done

    def rpc(self, method, **params):
        return json.loads(self.companion("rpc", method, json.dumps(params)).stdout)

    def acknowledge(self):
        """What the workspace brings along counts, as it is now."""
        files = self.rpc("workspace/open", workspace=str(self.work))["workspace"]["files"]
        seen = [{"path": file["path"], "digest": file["digest"]} for file in files]
        self.rpc("workspace/trust", workspace=str(self.work), trusted=True, files=seen)

    def replay(self, name, turns):
        """A recording of these turns: lists of (tool, arguments), or texts."""
        def line(turn):
            parts = [{"text": turn}] if isinstance(turn, str) else \
                [{"functionCall": {"name": tool, "args": arguments}} for tool, arguments in turn]
            content = {"role": "model", "parts": parts}
            chunk = {"candidates": [{"content": content, "finishReason": "STOP"}]}
            return json.dumps({"method": "generateContentStream", "response": [chunk]})
        path = self.home / f"{name}.jsonl"
        path.write_text("".join(line(turn) + "\n" for turn in turns))
        return f"replay:{path}"

    def run(self, model, prompt, *more):
        """A run to its end, whatever that is: its record. Nobody is there to be asked."""
        done = self.companion("run", "worker", "--model", model, "-p", prompt, "--headless", "--output-format", "json",
                              *more, check=False)
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError:
            raise RuntimeError(f"no record of the run: {done.stdout}{done.stderr}") from None

    def events(self, **filter):
        events, after = [], None
        while True:
            params = {"filter": filter, "limit": 1000} | ({"from": after} if after is not None else {})
            page = self.rpc("events/list", **params)["events"]
            events += page
            if len(page) < 1000:
                return events
            after = page[-1]["seq"]
