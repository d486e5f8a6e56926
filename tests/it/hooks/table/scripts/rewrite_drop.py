#!/usr/bin/env python3
"""rewrite_drop.py KEY: removes one argument (so that the call is no longer valid)."""
import json, os, sys, time
event = json.load(sys.stdin)
changed = {k: v for k, v in event["tool_input"].items() if k != sys.argv[1]}
print(json.dumps({"hookSpecificOutput": {"hookEventName": event["hook_event_name"], "updatedInput": changed}}))
