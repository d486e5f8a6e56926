#!/usr/bin/env python3
"""stop_thrice.py FOLDER: rejects three final answers, then lets go."""
import json, os, sys, time
sys.stdin.read()
path = f"{sys.argv[1]}/stops"
n = int(open(path).read()) + 1 if os.path.exists(path) else 1
open(path, "w").write(str(n))
if n <= 3:
    print(json.dumps({"decision": "block", "reason": f"not good enough, attempt {n}: A3A3"}))
