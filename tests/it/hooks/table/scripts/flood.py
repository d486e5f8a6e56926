#!/usr/bin/env python3
"""flood.py BYTES: that many bytes on stdout, a valid "allow" among them at the end."""
import json, os, sys, time
sys.stdin.read()
left = int(sys.argv[1])
block = b" " * 65536
out = sys.stdout.buffer
try:
    while left > 0:
        out.write(block[:min(left, len(block))])
        left -= len(block)
    out.write(b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}')
    out.flush()
except BrokenPipeError:
    os._exit(0)
