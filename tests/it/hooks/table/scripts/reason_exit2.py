#!/usr/bin/env python3
"""Exit 2 with a reason of its own in JSON and other words on stderr: its own counts."""
import json, os, sys, time
sys.stdin.read()
print(json.dumps({"decision": "block", "reason": "reason of its own: 6F6F"}), flush=True)
print("words of stderr: 6A6A", file=sys.stderr)
sys.exit(2)
