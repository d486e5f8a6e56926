"""Another WebSocket library over the Unix socket."""
import json, os
from websockets.sync.client import unix_connect

with unix_connect(os.environ["SOCKET"], uri="ws://localhost/rpc") as socket:
    for number in range(100):
        socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}))
    # Answers come when they are ready, not in the order of the questions.
    assert {json.loads(socket.recv(timeout=10))["id"] for _ in range(100)} == set(range(100))
    socket.send('{"jsonrpc":"2.0","id":1,"method":"daemon/status"}')
    print(socket.recv(timeout=10))
