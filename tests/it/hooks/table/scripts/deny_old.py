#!/usr/bin/env python3
"""The older form: top-level decision."""
import json, os, sys, time
sys.stdin.read()
print(json.dumps({"decision": "block", "reason": "old style no: 2C2C"}))
