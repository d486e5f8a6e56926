#!/usr/bin/env python3
"""continue_false.py REASON: ends the run."""
import json, os, sys, time
sys.stdin.read()
print(json.dumps({"continue": False, "stopReason": sys.argv[1]}))
