#!/usr/bin/env python3
"""The usual guard against endless loops: rejects once, and lets go when stop_hook_active is true."""
import json, os, sys, time
event = json.load(sys.stdin)
if not event["stop_hook_active"]:
    print(json.dumps({"decision": "block", "reason": "run the tests first: A4A4"}))
