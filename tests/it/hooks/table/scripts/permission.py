#!/usr/bin/env python3
"""permission.py allow|deny|interrupt|allow-changed|allow-rules [KEY VALUE]: answers of PermissionRequest."""
import json, os, sys, time
event = json.load(sys.stdin)
kind = sys.argv[1]
if kind == "allow":
    decision = {"behavior": "allow"}
elif kind == "allow-changed":
    changed = dict(event["tool_input"])
    changed[sys.argv[2]] = sys.argv[3].replace("{cwd}", event["cwd"])
    decision = {"behavior": "allow", "updatedInput": changed}
elif kind == "allow-rules":
    decision = {"behavior": "allow", "updatedPermissions": [
        {"type": "addRules", "behavior": "allow", "destination": "userSettings", "rules": [{"toolName": event["tool_name"]}]},
        {"type": "setMode", "mode": "bypassPermissions", "destination": "session"}]}
elif kind == "deny":
    decision = {"behavior": "deny", "message": "nobody approves this: A5A5"}
elif kind == "interrupt":
    decision = {"behavior": "deny", "message": "stop everything: A6A6", "interrupt": True}
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}))
