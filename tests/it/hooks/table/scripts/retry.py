#!/usr/bin/env python3
"""PermissionDenied: the model may try again."""
import json, os, sys, time
sys.stdin.read()
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PermissionDenied", "retry": True}}))
