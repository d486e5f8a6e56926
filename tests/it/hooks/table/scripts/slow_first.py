#!/usr/bin/env python3
"""slow_first.py FOLDER deny|nothing: the first time it marks FOLDER/begun and sleeps; later it answers at once."""
import json, os, sys, time
raw = sys.stdin.read()
n = 1
while os.path.exists(f"{sys.argv[1]}/slow-{n}.json"):
    n += 1
open(f"{sys.argv[1]}/slow-{n}.json", "w").write(raw)
if n == 1:
    open(f"{sys.argv[1]}/begun", "w").close()
    time.sleep(600)
if sys.argv[2] == "deny":
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                                             "permissionDecisionReason": "asked again, no: D1D1"}}))
