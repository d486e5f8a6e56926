#!/usr/bin/env python3
"""Does a flood delay other clients, and do guarded places delay the start?

Usage: tests/interop/beside_floods.py BIN_DIR [GIB]
An agent's command puts out GIB (4) GiB, while 1,000 connections a second come by TCP without a token; a client asks for the
daemon's status all the while. Then a daemon is started beside 50 files that it keeps from agents, and beside none.
Prints figures; exits 1 when a status took more than 100 ms (p99), or 50 places more than 5 ms. For a daemon that was built with --release.
"""
import json, os, pathlib, signal, socket, subprocess, sys, tempfile, threading, time

BIN = pathlib.Path(sys.argv[1]).resolve()
GIB = float(sys.argv[2]) if len(sys.argv) > 2 else 4
RATE = 1_000
STARTS = 21
AGENT = "---\nkind: agent\nname: flooder\ndescription: Floods.\ntools: ['*']\n---\nFlood.\n"


def part(name, arguments):
    content = {"role": "model", "parts": [{"functionCall": {"name": name, "args": arguments}}]}
    return json.dumps({"method": "generateContentStream", "response": [{"candidates": [{"content": content, "finishReason": "STOP"}]}]})


class Wire:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lines, self.id = self.socket.makefile("rb"), 0

    def call(self, method, **params):
        self.id += 1
        request = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        while True:
            message = json.loads(self.lines.readline())
            if message.get("id") == self.id:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message["result"]


class Daemon:
    def __init__(self, home, *arguments):
        self.path = f"{home}/run/subagentd/subagentd.sock"
        os.makedirs(f"{home}/run", mode=0o700, exist_ok=True)
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_RUNTIME_DIR": f"{home}/run"}
        began = time.monotonic()
        self.process = subprocess.Popen([BIN / "subagentd", *arguments], env=environment, stderr=subprocess.DEVNULL)
        while True:
            try:
                self.wire = Wire(self.path)
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() - began > 30:
                    sys.exit("the daemon does not start")
                time.sleep(0.0005)
        self.wire.call("ping")
        self.took = time.monotonic() - began

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def knock(port, over, seen):
    """Connects, asks without a token, reads the refusal; as often as the clock says."""
    request = f"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 2\r\n\r\n{{}}".encode()
    began = time.monotonic()
    while not over.is_set():
        if seen["sent"] > (time.monotonic() - began) * RATE:
            time.sleep(0.001)
            continue
        seen["sent"] += 1
        connection = socket.socket()
        connection.settimeout(5)
        try:
            connection.connect(("127.0.0.1", port))
            connection.sendall(request)
            seen["refused"] += connection.recv(64).startswith((b"HTTP/1.1 401", b"HTTP/1.1 503"))
        except OSError:
            seen["cut"] += 1
        finally:
            connection.close()
    seen["rate"] = seen["sent"] / (time.monotonic() - began)


def floods():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        agents, work, recording = pathlib.Path(home, ".config/subagentd/agents"), pathlib.Path(home, "work"), pathlib.Path(home, "said.jsonl")
        agents.mkdir(parents=True)
        work.mkdir()
        (agents / "flooder.md").write_text(AGENT)
        command = {"command": f"head -c {int(GIB * (1 << 30))} /dev/zero"}
        recording.write_text(part("run_shell_command", command) + "\n" + part("complete_task", {"result": "done"}) + "\n")
        free = socket.socket()
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        daemon = Daemon(home, "--listen", f"127.0.0.1:{port}")
        over, seen = threading.Event(), {"sent": 0, "refused": 0, "cut": 0, "rate": 0}
        knocking = threading.Thread(target=knock, args=(port, over, seen))
        try:
            other = Wire(daemon.path)
            approval = {"autoApprove": ["low", "medium"], "headless": True}
            run = daemon.wire.call("run/start", workspace=str(work), agent="flooder", prompt="go", model=f"replay:{recording}", approval=approval)
            knocking.start()
            took, began, ended = [], time.monotonic(), None
            while time.monotonic() - began < 300:
                at = time.monotonic()
                other.call("daemon/status")
                took.append((time.monotonic() - at) * 1000)
                time.sleep(0.005)
                if len(took) % 20 == 0:
                    ended = daemon.wire.call("run/wait", runId=run["runId"], timeoutMs=0)["run"].get("reason")
                    if ended:
                        break
            lasted = time.monotonic() - began
        finally:
            over.set()
            if knocking.ident:
                knocking.join()
            daemon.stop()
        took.sort()
        p99 = took[int(len(took) * 0.99)]
        print(f"{GIB:g} GiB in {lasted:.1f} s ({ended}), {seen['rate']:.0f} connections a second ({seen['refused']} refused, {seen['cut']} cut): "
              f"daemon/status of another client p50 {took[len(took) // 2]:.1f} ms, p99 {p99:.1f} ms, at most {took[-1]:.1f} ms of {len(took)}")
        return ended == "GOAL" and p99 <= 100 and seen["refused"] > 0


def starts():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as plain, tempfile.TemporaryDirectory(dir="/var/tmp") as guarded:
        agents, named = pathlib.Path(guarded, ".config/subagentd/agents"), pathlib.Path(guarded, "elsewhere")
        agents.mkdir(parents=True)
        pathlib.Path(plain, ".config/subagentd/agents").mkdir(parents=True)
        named.mkdir()
        for n in range(50):
            (named / f"{n}.md").write_text(AGENT.replace("flooder", f"flooder{n}"))
            (agents / f"{n}.md").symlink_to(named / f"{n}.md")
            # As many agents without a link to be followed.
            pathlib.Path(plain, f".config/subagentd/agents/{n}.md").write_text(AGENT.replace("flooder", f"flooder{n}"))
        took = {plain: [], guarded: []}
        for _ in range(STARTS):
            for home in took:
                daemon = Daemon(home)
                took[home].append(daemon.took * 1000)
                daemon.stop()
        # The shortest: the others waited for what else the machine did.
        least = [min(took[home]) for home in (plain, guarded)]
    print(f"start: {least[0]:.1f} ms, with 50 places more that are kept from agents {least[1]:.1f} ms")
    return least[1] - least[0] <= 5


sys.exit(0 if all([floods(), starts()]) else 1)
