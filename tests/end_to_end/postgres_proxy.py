"""A forwarder between a client and a server, which cuts what the server says as a test wants it."""

import socket
import threading
from collections.abc import Callable, Iterator


class Proxy:
    """Forwards one connection. `pieces` gives the sizes in which the server's bytes go on, or () for as they come; once
    `hold_at` of them have, nothing does until `go_on` is called."""

    def __init__(self, port: int, pieces: Callable[[], Iterator[int]] | None = None, hold_at: int | None = None):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.server_port, self.pieces, self.hold_at = port, pieces, hold_at
        self.held, self.released = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.server_port))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        upward = threading.Thread(target=self.upward, args=(client, server))
        upward.start()
        try:
            self.downward(server, client)
        except OSError:
            pass
        client.close()
        upward.join()
        server.close()
        self.listener.close()

    def upward(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def downward(self, server: socket.socket, client: socket.socket) -> None:
        sizes = self.pieces() if self.pieces else iter(())
        forwarded = 0
        while data := server.recv(65536):
            while data:
                size = next(sizes, len(data))
                if self.hold_at is not None:
                    if forwarded >= self.hold_at:
                        self.held.set()
                        self.released.wait()
                        self.hold_at = None
                    else:
                        size = min(size, self.hold_at - forwarded)
                client.sendall(data[:size])
                forwarded += min(size, len(data))
                data = data[size:]
        client.shutdown(socket.SHUT_WR)

    def go_on(self) -> None:
        self.released.set()

    def close(self) -> None:
        self.go_on()
        self.listener.close()
        self.thread.join(timeout=10)
