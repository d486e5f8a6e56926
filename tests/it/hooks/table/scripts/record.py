#!/usr/bin/env python3
"""record.py FOLDER [NAME]: keeps the line of stdin as FOLDER/NAME-N.json (NAME: the event), N from 1. Says nothing."""
import json, os, sys, time
raw = sys.stdin.buffer.read()
name = sys.argv[2] if len(sys.argv) > 2 else json.loads(raw)["hook_event_name"]
n = 1
while True:
    try:
        fd = os.open(f"{sys.argv[1]}/{name}-{n}.json", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        break
    except FileExistsError:
        n += 1
os.write(fd, raw)
os.close(fd)
