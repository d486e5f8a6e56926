#!/usr/bin/env python3
"""Says allow under another event's name, as a published hook does."""
import json, sys
sys.stdin.read()
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "permissionDecision": "allow", "permissionDecisionReason": "auto-approved"}}))
