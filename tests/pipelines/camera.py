"""A camera in the network for tests: rtsp_server.py in a process of its own."""

import pathlib
import subprocess
import sys

SERVER = pathlib.Path(__file__).with_name("rtsp_server.py")


class Camera:
    """Plays until stop(); the test is skipped where there is no server to play with."""

    def __init__(self, test, port=0):
        self.server = subprocess.Popen([sys.executable, str(SERVER), str(port)],
                                       stdout=subprocess.PIPE, text=True)
        test.addCleanup(self.stop)
        self.address = self.server.stdout.readline().strip()
        if not self.address.startswith("rtsp://"):
            test.skipTest("no camera to try: " + self.address)
        self.port = int(self.address.split(":")[2].split("/")[0])

    def stop(self):
        """As when its plug is pulled: it says no goodbye."""
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()
