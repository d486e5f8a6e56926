#!/usr/bin/env python3
"""PostToolUse: replaces what the model is told of the result."""
import json, os, sys, time
sys.stdin.read()
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": "scrubbed output: A2A2"}}))
