#!/usr/bin/env python3
"""args_show.py FOLDER ARGS...: keeps its arguments, to see whether a shell came between."""
import json, os, sys, time
sys.stdin.read()
json.dump(sys.argv[2:], open(f"{sys.argv[1]}/args.json", "w"))
