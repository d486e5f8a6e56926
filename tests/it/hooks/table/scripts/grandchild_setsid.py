#!/usr/bin/env python3
"""Leaves a grandchild behind that has made itself a session of its own and holds the pipe."""
import json, os, sys, time
sys.stdin.read()
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "983"])
time.sleep(0.2)
