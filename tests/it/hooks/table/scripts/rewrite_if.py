#!/usr/bin/env python3
"""rewrite_if.py KEY END VALUE: changes KEY to VALUE only if what stands there ends with END. Else says nothing."""
import json, os, sys, time
event = json.load(sys.stdin)
key, end, value = sys.argv[1:4]
if str(event["tool_input"].get(key, "")).endswith(end):
    changed = dict(event["tool_input"])
    changed[key] = value.replace("{cwd}", event["cwd"])
    print(json.dumps({"hookSpecificOutput": {"hookEventName": event["hook_event_name"], "updatedInput": changed}}))
