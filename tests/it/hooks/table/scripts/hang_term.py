#!/usr/bin/env python3
"""Ignores SIGTERM and sleeps."""
import json, os, sys, time
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stdin.read()
time.sleep(984)
