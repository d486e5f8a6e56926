#!/usr/bin/env python3
"""try_socket.py SOCKET FOLDER: tries to talk to the daemon; FOLDER/answer has what came back."""
import json, os, sys, time
import socket
sys.stdin.read()
try:
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(5)
    s.connect(sys.argv[1])
    s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"confirmation/list"}\n')
    answer = s.recv(65536).decode(errors="replace") or "closed"
except OSError as error:
    answer = f"no: {error}"
open(f"{sys.argv[2]}/answer", "w").write(answer)
