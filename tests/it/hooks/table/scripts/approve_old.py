#!/usr/bin/env python3
"""The older form of yes."""
import json, os, sys, time
sys.stdin.read()
print(json.dumps({"decision": "approve", "reason": "old style yes: 2D2D"}))
