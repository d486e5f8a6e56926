"""A provider on loopback: takes down what it is asked, and answers with the streams it was told, in small pieces."""
import dataclasses, http.server, json, threading

from replies import event_stream

# So small that every line, and most characters that are not ASCII, come in several.
PIECE = 7
# A daemon that keeps a connection open must not keep the end of the test.
IDLE_SECONDS = 30


@dataclasses.dataclass
class Asked:
    path: str
    """With the query."""
    headers: dict
    """Names in lower case."""
    body: dict


class Provider:
    """Serves one kind. Ends with the block."""

    def __init__(self, kind):
        self.kind, self.asked, self.replies = kind, [], []
        self.lock = threading.Lock()
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = IDLE_SECONDS

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                with provider.lock:
                    provider.asked.append(Asked(self.path, headers, body))
                    reply = provider.reply(body)
                if reply is None:
                    # Final for every client, so that nothing is tried again.
                    return self.answer(400, "application/json", b'{"error": {"message": "nobody expected this request"}}')
                self.answer(200, "text/event-stream", event_stream(provider.kind, reply))

            def answer(self, status, kind, body):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for at in range(0, len(body), PIECE):
                    piece = body[at:at + PIECE]
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                # A client that has hung up is none of ours; anything else shows in what it makes of the answer.
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def play(self, replies):
        """From now on these are the answers, and what was asked is forgotten. A function makes one of a body."""
        with self.lock:
            self.asked, self.replies = [], replies if callable(replies) else list(replies)

    def reply(self, body):
        if callable(self.replies):
            return self.replies(body)
        return self.replies.pop(0) if self.replies else None

    def take(self):
        """What was asked since."""
        with self.lock:
            return self.asked
