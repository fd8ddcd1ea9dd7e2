"""A server of S3 for tests: moto in a process of its own, and a wire to it that can be cut."""

import contextlib
import os
import socket
import subprocess
import sys
import threading

SERVE = """import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("%s:%d" % server.get_host_and_port(), flush=True)
sys.stdin.read()
"""


class Server:
    """Plays until stop(); programs with its `environment` find it."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.address = self.process.stdout.readline().strip()
        self.environment = environment(self.address)

    def stop(self):
        self.process.communicate()


def environment(address):
    return {"AWS_ENDPOINT_URL": f"http://{address}", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull}


class Wire:
    """Passes on what programs send to a server, until a request begins with the bytes `stop_at`: a little of its body
    is passed on, `stopped` is set, and then that request stands still."""

    def __init__(self, server, stop_at):
        self.server, self.stop_at, self.stopped = server, stop_at, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            host, port = self.server.address.split(":")
            server = socket.create_connection((host, int(port)))
            threading.Thread(target=self.pass_on, args=(client, server, self.stop_at), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, None), daemon=True).start()

    def pass_on(self, one, other, stop_at):
        with one, contextlib.suppress(OSError):  # the other end is gone
            while data := one.recv(2**16):
                other.sendall(data)
                if stop_at and data.startswith(stop_at):
                    other.sendall(one.recv(100))  # of the body, which a client sends when it is told to go on
                    self.stopped.set()
                    return
            other.shutdown(socket.SHUT_WR)
