"""A daemon with a home of its own, and runs in it through the companion."""
import json, os, pathlib, shutil, signal, subprocess, tempfile

# Runs here take a second; a machine under load takes longer.
PATIENCE = 120


class Daemon:
    """Knows providers by entries as in the settings, and agents by name and text. Ends, and is gone, with the block."""

    def __init__(self, programs, providers, agents, files, key):
        self.programs, self.key = pathlib.Path(programs).resolve(), key
        self.home = tempfile.mkdtemp(prefix="interop-models-")
        self.work = pathlib.Path(self.home, "work")
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.home, "XDG_RUNTIME_DIR": f"{self.home}/run",
            "XDG_STATE_HOME": f"{self.home}/state", "XDG_CONFIG_HOME": f"{self.home}/config",
        }
        settings = {"providers": providers}
        self._write(f"{self.home}/config/subagentd/settings.json", json.dumps(settings).encode())
        for name, text in agents.items():
            self._write(f"{self.home}/config/subagentd/agents/{name}.md", text.encode())
        for name, content in files.items():
            self._write(self.work / name, content)
        os.mkdir(f"{self.home}/run", 0o700)

    @staticmethod
    def _write(path, content):
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def __enter__(self):
        ready, write = os.pipe()
        with open(f"{self.home}/daemon.log", "wb") as log:
            self.process = subprocess.Popen(
                [self.programs / "subagentd", "--ready-fd", str(write)], pass_fds=[write], stderr=log,
                env=self.environment | {"INTEROP_KEY": self.key},
            )
        os.close(write)
        # It writes `ready` once it listens, or ends, which closes the pipe.
        with os.fdopen(ready) as pipe:
            if pipe.readline() != "ready\n":
                raise RuntimeError(f"the daemon did not start: {pathlib.Path(self.home, 'daemon.log').read_text()}")
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def run(self, agent, model, prompt, session=None):
        """A run to its end: its events and, last, its record."""
        where = ["--session", session] if session else ["--new", "--workspace", self.work]
        done = subprocess.run(
            [self.programs / "subagent", "run", agent, "--model", model, "-p", prompt, "--no-spawn", "--headless",
             "--output-format", "stream-json", *where],
            cwd=self.work, env=self.environment, capture_output=True, text=True, timeout=PATIENCE,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if not lines:
            raise RuntimeError(f"`subagent run` said nothing, and {done.stderr}")
        return lines[:-1], lines[-1]


def knows_kind(programs, kind):
    """Whether this daemon has providers of the kind."""
    with tempfile.TemporaryDirectory() as home:
        settings = json.dumps({"probe": {"kind": kind}})
        done = subprocess.run(
            [pathlib.Path(programs, "subagentd"), "--check-config", "--set", f"providers={settings}"],
            env={"PATH": os.environ["PATH"], "HOME": home, "XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home,
                 "XDG_RUNTIME_DIR": home},
            capture_output=True, text=True,
        )
        if done.returncode != 0 and f'no provider of kind "{kind}"' not in done.stdout + done.stderr:
            raise RuntimeError(f"asked for the kind {kind}: {done.stdout}{done.stderr}")
        return done.returncode == 0
