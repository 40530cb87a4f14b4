"""An HTTP server of the tests, on a thread of its own, which sends bodies in every way that there is, good and bad.

GET /WAY/SIZE   a body of SIZE bytes, byte i is i mod 251
    length, chunked, close    with Content-Length, in chunks, until the connection is closed
    drops, drops-chunked      byte by byte
    cut, cut-chunked          with the connection closed after three quarters
    gzip                      compressed, as Content-Encoding says, with the Content-Length of that
    redirect                  to length, with a body of its own
    missing                   status 404, with a body
    announced                 with Content-Length, but not a byte more than the head
"""

import gzip
import socket
import threading


def content(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


class Server:
    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.connections = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self, way: str, size: int) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/{way}/{size}"

    def accept(self) -> None:
        while True:
            try:
                peer = self.listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=[peer], daemon=True).start()

    def serve(self, peer: socket.socket) -> None:
        with peer, peer.makefile("rb") as requests:
            try:
                while request := requests.readline():
                    while requests.readline().strip():
                        pass
                    way, size = request.split()[1].decode().strip("/").split("/")
                    if not self.answer(peer, requests, way, int(size)):
                        return
            except OSError:
                pass  # a client that has seen enough

    def answer(self, peer: socket.socket, requests, way: str, size: int) -> bool:
        """Whether the connection stays."""
        body = content(size)
        head = [f"Content-Length: {size}"]
        status = "200 OK"
        if way.endswith("chunked"):
            head = ["Transfer-Encoding: chunked"]
            each = 1 if way == "drops-chunked" else 16_001
            pieces = [body[at : at + each] for at in range(0, size, each)]
            body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        elif way == "close":
            head = ["Connection: close"]
        elif way == "gzip":
            body = gzip.compress(body)
            head = [f"Content-Length: {len(body)}", "Content-Encoding: gzip"]
        elif way == "redirect":
            status, head = "302 Found", [*head, f"Location: /length/{size}"]
        elif way == "missing":
            status = "404 Not Found"
        if way.startswith("cut"):
            body = body[: len(body) * 3 // 4]
        peer.sendall("\r\n".join([f"HTTP/1.1 {status}", *head, "", ""]).encode())
        if way == "announced":
            requests.read()  # until the client hangs up
            return False
        each = 1 if way.startswith("drops") else max(len(body), 1)
        for at in range(0, len(body), each):
            peer.sendall(body[at : at + each])
        return way != "close" and not way.startswith("cut")
