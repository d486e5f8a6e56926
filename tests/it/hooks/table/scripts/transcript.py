#!/usr/bin/env python3
"""transcript.py FOLDER: keeps a copy of the transcript as FOLDER/transcript, its mode and its place."""
import json, os, shutil, sys
event = json.load(sys.stdin)
path = event["transcript_path"]
shutil.copyfile(path, f"{sys.argv[1]}/transcript")
open(f"{sys.argv[1]}/transcript.mode", "w").write(oct(os.stat(path).st_mode & 0o777)[2:])
open(f"{sys.argv[1]}/transcript.place", "w").write(path)
