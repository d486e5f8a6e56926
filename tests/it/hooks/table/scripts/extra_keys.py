#!/usr/bin/env python3
"""Valid JSON with keys that nobody knows beside context, as published hooks print (`metrics`, `feedback`)."""
import json, sys
event = json.load(sys.stdin)
print(json.dumps({"metrics": {"hits": 1}, "feedback": "ok", "hookSpecificOutput": {
    "hookEventName": event["hook_event_name"], "additionalContext": "known beside unknown: H1H1", "unknownToo": [1]}}))
