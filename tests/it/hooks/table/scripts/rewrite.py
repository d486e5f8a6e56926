#!/usr/bin/env python3
"""rewrite.py KEY VALUE: changes one argument; {cwd} in VALUE is the event's cwd. Always, whatever stands there."""
import json, os, sys, time
event = json.load(sys.stdin)
changed = dict(event["tool_input"])
changed[sys.argv[1]] = sys.argv[2].replace("{cwd}", event["cwd"])
print(json.dumps({"hookSpecificOutput": {"hookEventName": event["hook_event_name"], "updatedInput": changed}}))
