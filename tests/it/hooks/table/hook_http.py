#!/usr/bin/env python3
"""A hook server on 127.0.0.1: prints its port, then serves until it is ended. hook_http.py FOLDER

POST /ok: {} · /deny: a PreToolUse deny · /error: 500 with a deny in it · /redirect: 307 to /deny · /slow: 20 s, then a deny ·
/text: plain text · /page: a page of HTML · /wrong: JSON of a wrong shape · /context: context for the event. FOLDER/http-N.json: path, headers and body."""
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder, seen = sys.argv[1], [0]
DENY = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                                          "permissionDecisionReason": "a server says no: F1F1"}})

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        seen[0] += 1
        with open(f"{folder}/http-{seen[0]}.json", "w") as out:
            json.dump({"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body}, out)
        code, answer, extra = {
            "/ok": (200, "{}", {}), "/deny": (200, DENY, {}), "/error": (500, DENY, {}),
            "/redirect": (307, "", {"Location": "/deny"}), "/slow": (200, DENY, {}), "/text": (200, "just words", {"content-type": "text/plain"}),
            "/page": (200, "<!DOCTYPE html><title>Sign in</title>", {"content-type": "text/html; charset=utf-8"}),
            "/wrong": (200, '{"decision": 7}', {}),
            "/context": (200, json.dumps({"hookSpecificOutput": {"hookEventName": json.loads(body)["hook_event_name"],
                                          "additionalContext": "context by HTTP: F2F2"}}), {}),
        }[self.path]
        if self.path == "/slow":
            time.sleep(20)
        self.send_response(code)
        extra.setdefault("content-type", "application/json")
        self.send_header("content-length", str(len(answer.encode())))
        for k, v in extra.items():
            self.send_header(k, v)
        self.end_headers()
        try:
            self.wfile.write(answer.encode())
        except OSError:
            pass
    def do_GET(self):
        self.send_error(405)
    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
