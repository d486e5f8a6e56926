#!/usr/bin/env python3
"""10,000 clients at once: whoever is let in is answered, the others are told, and control is heard all the while.

Usage: tests/interop/flood.py BIN_DIR. Prints what became of them; exits 1 when something is amiss.
"""
import collections, json, os, resource, socket, subprocess, sys, tempfile, time

CONNECTIONS = 10_000
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
LIST = b'{"jsonrpc":"2.0","id":1,"method":"session/list"}\n'


def ask(connection, request):
    try:
        connection.sendall(request)
    except OSError:
        pass  # refused already; the reason is still to be read
    answer = b""
    while not answer.endswith(b"\n"):
        try:
            more = connection.recv(65536)
        except ConnectionResetError:
            more = b""
        if not more:
            break
        answer += more
    message = json.loads(answer) if answer else {}
    return "answered" if "result" in message else message.get("error", {}).get("data", {}).get("kind", "nothing")


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory() as home:
        path = f"{home}/run/subagentd.sock"
        daemon = subprocess.Popen(
            [f"{sys.argv[1]}/subagentd", "--socket", path, "--state-dir", f"{home}/state"],
            env={**os.environ, "HOME": home, "XDG_CONFIG_HOME": f"{home}/config"}, stderr=subprocess.DEVNULL,
        )
        try:
            while not os.path.exists(path):
                time.sleep(0.02)
            first = socket.socket(socket.AF_UNIX)
            first.connect(path)
            opened, pings = [], collections.Counter()
            for _ in range(CONNECTIONS):
                connection = socket.socket(socket.AF_UNIX)
                connection.settimeout(30)
                connection.connect(path)
                opened.append(connection)
                pings[ask(connection, PING)] += 1
            lists = collections.Counter(ask(connection, LIST) for connection in opened[:4200])
            print("pings", dict(pings), "lists of the first 4,200", dict(lists))
            alive = ask(first, PING) == "answered" and ask(first, LIST) == "answered"
            for connection in opened:
                connection.close()
            time.sleep(1)
            after = socket.socket(socket.AF_UNIX)
            after.connect(path)
            alive = alive and ask(after, LIST) == "answered"
            fair = pings["answered"] >= 4096 and pings["answered"] + pings["OVERLOADED"] == CONNECTIONS
            controlled = lists["OVERLOADED"] > 0 and set(lists) <= {"answered", "OVERLOADED", "nothing"}
            print("alive" if alive else "not alive", daemon.poll())
            return 0 if alive and fair and controlled and daemon.poll() is None else 1
        finally:
            daemon.terminate()
            daemon.wait(30)


sys.exit(main())
