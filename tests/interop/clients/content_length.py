"""The framing of language servers, by hand: pretty-printed, with a character of four bytes, in two writes."""
import json, os, socket

body = json.dumps({"jsonrpc": "2.0", "id": "𝄞", "method": "daemon/status"}, indent=2, ensure_ascii=False).encode()
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(os.environ["SOCKET"])
    connection.sendall(b"Content-Length: %d\r\n" % len(body))
    connection.sendall(b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n" + body)
    stream = connection.makefile("rb")
    headers = {}
    while line := stream.readline().strip():
        name, value = line.split(b": ")
        headers[name] = value
    answer = json.loads(stream.read(int(headers[b"Content-Length"])))
    assert answer["id"] == "𝄞", answer
    print(json.dumps(answer, separators=(",", ":")))
