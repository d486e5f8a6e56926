#!/usr/bin/env python3
"""allow_exit.py CODE: allow in JSON on stdout, words on stderr, then that exit code."""
import json, os, sys, time
sys.stdin.read()
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}), flush=True)
print("stderr words: 6E6E", file=sys.stderr)
sys.exit(int(sys.argv[1]))
