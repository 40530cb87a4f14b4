"""A server that only sends: `replay.py PORT` learns from the PostgreSQL server at PORT what it answers to a query, and
from then on answers the same query by itself, out of memory. So a reader's time is hardly the server's. Prints its own
port."""

import socket
import sys
import threading

SYNC = b"S\0\0\0\4"
answers: dict[bytes, bytes] = {}


def until_ready(server: socket.socket) -> bytes:
    """What the server says, up to and with its ReadyForQuery."""
    said = bytearray()
    at = 0
    while True:
        while len(said) >= at + 5:
            length = 1 + int.from_bytes(said[at + 1 : at + 5])
            if len(said) < at + length:
                break
            at += length
            if said[at - length] == ord("Z"):
                return bytes(said)
        data = server.recv(1 << 20)
        if not data:
            return bytes(said)
        said += data


def serve(client: socket.socket, port: int) -> None:
    with client, socket.create_connection(("127.0.0.1", port)) as server:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.sendall(client.recv(65536))
        client.sendall(until_ready(server))
        asked = b""
        while data := client.recv(65536):
            asked += data
            if not asked.endswith(SYNC):
                continue
            if asked not in answers:
                server.sendall(asked)
                answers[asked] = until_ready(server)
            client.sendall(answers[asked])
            asked = b""


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client, int(sys.argv[1])), daemon=True).start()


if __name__ == "__main__":
    main()
