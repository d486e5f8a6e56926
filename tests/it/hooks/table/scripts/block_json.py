#!/usr/bin/env python3
"""block_json.py REASON: top-level decision block, for events other than PreToolUse."""
import json, os, sys, time
sys.stdin.read()
print(json.dumps({"decision": "block", "reason": sys.argv[1]}))
