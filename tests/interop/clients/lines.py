"""Python's own socket: one JSON value a line."""
import os, socket

with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(os.environ["SOCKET"])
    lines = connection.makefile("rw")
    print('{"jsonrpc":"2.0","id":1,"method":"daemon/status"}', file=lines, flush=True)
    print(lines.readline())
