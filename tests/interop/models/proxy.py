#!/usr/bin/env python3
"""Do whole runs go through a server that speaks every provider's API and is nobody's of ours: LiteLLM's proxy?

Usage: proxy.py BIN_DIR, in an environment with requirements.txt.
The proxy (proxy.yaml) listens on loopback and reaches nobody but a server here: between each of its endpoints, at which
this daemon speaks another provider's form, and that server's it translates there and back, with streaming and tool calls.
Prints a line a case; exits 1 when one that ran failed.
"""
import json, os, pathlib, shutil, signal, socket, subprocess, sys, tempfile, time, urllib.error, urllib.request

from daemon import Daemon, knows_kind
from provider import Provider
from replies import Call, Reply
from scenarios import AGENTS, FILES

# As proxy.yaml has it.
KEY = "sk-of-nobody-7f3a91c2"
# It imports hundreds of modules first.
START_SECONDS = 180
# The address that it serves each kind at.
BASES = {"gemini": "", "openai": "/v1", "openai-responses": "/v1", "anthropic": ""}
# Where it answers its own mock with the whole at once, or with an error, whoever asks for a stream.
NO_MOCKED_STREAM = ("anthropic", "openai-responses")


class Proxy:
    """Ends, with all that it started, with the block."""

    def __init__(self, upstream):
        self.upstream = upstream

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="interop-proxy-")
        shutil.copy(pathlib.Path(__file__).with_name("proxy.yaml"), self.folder)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        nobody = "http://127.0.0.1:9"
        environment = {
            "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": self.folder,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "PYTHONDONTWRITEBYTECODE": "1",
            "UPSTREAM": self.upstream,
            # Whatever else it would like to ask is refused on this machine.
            "HTTP_PROXY": nobody, "HTTPS_PROXY": nobody, "ALL_PROXY": nobody, "NO_PROXY": "127.0.0.1",
        }
        with open(f"{self.folder}/log", "wb") as log:
            self.process = subprocess.Popen(
                [pathlib.Path(sys.executable).parent / "litellm", "--config", "proxy.yaml", "--host", "127.0.0.1",
                 "--port", str(port), "--telemetry", "False"],
                cwd=self.folder, env=environment, stdout=log, stderr=log, start_new_session=True,
            )
        try:
            self.wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait(self):
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"{self.base}/health/liveliness", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                if self.process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"the proxy did not start: {self.log()}")
                time.sleep(0.2)

    def log(self):
        return pathlib.Path(self.folder, "log").read_text(errors="replace")[-4000:]

    def __exit__(self, *_):
        # A group of its own; it has not been waited for, so the number is still its own.
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


READS = [Call("call_a", "read_file", {"path": "a.txt"}), Call("call_b", "read_file", {"path": "deeper/b.rs", "limit": 5})]


def answer(body):
    """What the models behind the proxy say: it follows from what they are told, so what gets lost on the way shows."""
    if body["model"] == "talker":
        return Reply(text="Grüße, — 🦀", prompt=40, cached=0, output=4, thinking=0)
    text = lambda content: content if isinstance(content, str) else "".join(part["text"] for part in content)
    results = [text(message["content"]) for message in body["messages"] if message["role"] == "tool"]
    if not results:
        return Reply(text="I look at both.", calls=READS, mixed=False, prompt=100, cached=0, output=20, thinking=0)
    calls = [call["function"] for message in body["messages"] for call in message.get("tool_calls") or []]
    asked = [[call["name"], json.loads(call["arguments"])] for call in calls]
    told = {"asked": asked, "results": results, "tools": sorted(tool["function"]["name"] for tool in body["tools"])}
    result = json.dumps(told, ensure_ascii=False)
    return Reply(calls=[Call("call_c", "complete_task", {"result": result})], prompt=150, cached=0, output=30, thinking=0)


def wrong(ended, expected):
    """What is not as it should be, of a run's events and record."""
    events, record = ended
    seen = {name: record.get(name) for name in expected}
    retried = [event["data"]["message"] for event in events if event["type"] == "model.retrying"]
    failed = [event["data"]["error"] for event in events if event["type"] == "tool.state" and "error" in event["data"]]
    if seen == expected and not retried and not failed:
        return None
    return f"  record: {seen}\n  wanted: {expected}\n  tried again: {retried}\n  failed calls: {failed}\n" \
           f"  error: {record.get('error')}"


def tokens(prompt, output):
    return {"promptTokens": prompt, "cachedTokens": 0, "outputTokens": output, "thoughtTokens": 0}


def cases(kind):
    """Name, model, agent, and what the record of the run has then."""
    results = [FILES["a.txt"].decode(), FILES["deeper/b.rs"].decode()]
    told = {
        "asked": [[call.name, call.arguments] for call in READS],
        # There a result is an object, and the proxy hands all of it on.
        "results": [json.dumps({"output": result}) for result in results] if kind == "gemini" else results,
        "tools": ["complete_task", "glob", "grep", "list_directory", "read_file"],
    }
    # The proxy's end of a stream of Gemini's says 0 of everything, whatever it was told itself; the daemon estimates then.
    used = lambda prompt, output: {} if kind == "gemini" else {"usage": tokens(prompt, output)}
    # What it counts of its own mock is its own affair.
    yield "mocked text", "mocked", "talker", {"reason": "GOAL", "result": "Grüße, I am mocked."}
    yield "text", "talker", "talker", {"reason": "GOAL", "result": "Grüße, — 🦀", **used(40, 4)}
    result = json.dumps(told, ensure_ascii=False)
    yield "two calls, their results, and the end", "reader", "reader", {
        "reason": "GOAL", "result": result, "toolCalls": 3, **used(250, 50),
    }


def main(programs):
    failed = False
    with Provider("openai") as upstream, Proxy(f"{upstream.base_url}/v1") as proxy:
        upstream.play(answer)
        for kind, path in BASES.items():
            if not knows_kind(programs, kind):
                for name, *_ in cases(kind):
                    print(f"skipped: litellm, {kind}, {name} (no such provider yet)")
                continue
            entry = {"kind": kind, "baseUrl": proxy.base + path, "key": {"env": "INTEROP_KEY"}}
            with Daemon(programs, {"mine": entry}, AGENTS, FILES, KEY) as daemon:
                for name, model, agent, expected in cases(kind):
                    if kind in NO_MOCKED_STREAM and model == "mocked":
                        print(f"skipped: litellm, {kind}, {name} (the proxy does not stream it)")
                        continue
                    try:
                        problem = wrong(daemon.run(agent, f"mine/{model}", "Look at both."), expected)
                    except Exception as error:
                        problem = f"  {error!r}"
                    failed |= problem is not None
                    print(f"ran: litellm, {kind}, {name}" + (" FAILED" if problem else ""))
                    if problem:
                        print(problem[:3000], file=sys.stderr)
        if failed:
            print(proxy.log(), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
