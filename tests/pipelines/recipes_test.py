#!/usr/bin/python3
"""The recipes of docs/events.md: Kafka, Prometheus and ONVIF. A recipe whose program is not installed is skipped with its
name."""

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest
import urllib.request
import xml.etree.ElementTree

import media
from cases import Case, kill_session, main

sys.path.insert(0, str(media.ROOT / "tests"))
from documents import blocks_of  # noqa: E402

BLOCKS = [block for block in blocks_of((media.ROOT / "docs" / "events.md").read_text(encoding="utf-8"))
          if block.section == "Recipes"]
FILTER = "cclabel threshold=0.5 track=true output=none"
CAMERA = "rtsp://camera.example/stream"
# A square that crosses a line and a zone again and again.
SQUARE = "color=black:s=160x120:r=25:d=4[b];color=white:s=16x16:r=25:d=4[w];[b][w]overlay=x='72+60*sin(t*4)':y=50"
RULES = {"zones": [{"id": "right side", "points": [[80, 0], [160, 0], [160, 120], [80, 120]], "occupancy": True}],
         "lines": [{"id": "gate", "points": [[60, 0], [60, 120]]}]}


def recipe(program):
    """The command of a recipe that contains this program."""
    text, = [block.text for block in BLOCKS if block.language == "sh" and program in block.text]
    return text.replace("\\\n", "")


class Recipes(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "rules.json").write_text(json.dumps(RULES), encoding="utf-8")
        os.symlink(media.ROOT / "pipelines", self.folder / "pipelines")
        self.clip_path = self.clip("in.mkv", SQUARE, "-c:v", "ffv1", "-pix_fmt", "gray")

    def command(self, program, **changes):
        """The command of a recipe, for a clip in which cclabel finds the objects."""
        line = recipe(program).replace(CAMERA, f"{self.clip_path} --filter '{FILTER}'")
        for old, new in changes.items():
            line = re.sub(old, new, line)
        return line

    def start(self, line, **options):
        process = subprocess.Popen(["bash", "-c", line], cwd=self.folder, text=True, start_new_session=True, **options)
        self.addCleanup(process.wait)
        self.addCleanup(kill_session, process.pid)
        return process

    def printed(self):
        text = media.run(media.script("events"), self.clip_path, "--rules", self.folder / "rules.json", "--filter", FILTER)
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def test_kafka_recipe_publishes_every_event(self):
        if not shutil.which("kcat"):
            self.skipTest("kcat is not installed: pipelines/setup --tests installs it")
        expected = self.printed()
        self.assertGreater(len(expected), 10)
        # A consumer whose library starts a broker for tests, and logs its address.
        log = self.folder / "broker.log"
        with open(log, "wb") as errors:
            consumer = self.start(f"exec kcat -C -q -b none -X test.mock.num.brokers=1 -X allow.auto.create.topics=true -d mock -t events -o beginning"
                                  f" -c {len(expected)}", stdout=subprocess.PIPE, stderr=errors)
        address = None
        while not address and consumer.poll() is None:
            time.sleep(0.05)
            address = re.search(r"bootstrap\.servers=(127\.0\.0\.1:\d+)\n", log.read_text(encoding="utf-8"))
        media.run("bash", "-c", self.command("kcat", **{"localhost:9092": address[1]}), cwd=self.folder)
        received, _ = consumer.communicate(timeout=60 * media.PATIENCE)
        self.assertEqual([json.loads(line) for line in received.splitlines()], expected)

    def test_prometheus_recipe_counts_every_event(self):
        if not importlib.util.find_spec("prometheus_client"):
            self.skipTest("python3-prometheus-client is not installed: pipelines/setup --tests installs it")
        exporter, = [block for block in BLOCKS if block.file == "exporter.py"]
        (self.folder / "exporter.py").write_text(exporter.text, encoding="utf-8")
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        # After the clip, the pipe stays open as with a camera.
        line = self.command("exporter.py", **{r"^(.*) \|": r"{ \1; sleep 600; } |"})
        self.start(line, env=os.environ | {"PORT": str(port)})
        expected, counts = self.printed(), {}
        for _ in range(600):
            counts = self.metrics(port)
            if sum(value for name, value in counts.items() if name.startswith("regions_events_total")) == len(expected):
                break
            time.sleep(0.1)
        for event in expected:
            name = ('regions_events_total{event="%s",rule="%s",side="%s"}'
                    % (event["event"], event.get("zone") or event["line"], event.get("side", "")))
            counts[name] -= 1
        self.assertEqual({value for name, value in counts.items() if name.startswith("regions_events_total")}, {0})
        self.assertEqual(counts['regions_occupancy{zone="right side"}'],
                         [event["count"] for event in expected if event["event"] == "occupancy"][-1])

    @staticmethod
    def metrics(port):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")}

    def test_onvif_recipe_writes_an_object_in_each_frame(self):
        for element in ("relationmeta2onvifmeta", "onvifmetadataextractor"):
            if subprocess.run(["gst-inspect-1.0", "--exists", element], check=False).returncode:
                self.skipTest(f"the element {element} of gst-plugins-rs is not installed; Debian has no package of it")
        line = recipe("relationmeta2onvifmeta").replace("in.mp4", str(self.clip_path)).replace(
            "graphcutbg output=none ! cclabel source=mask track=true", "cclabel threshold=0.5 track=true")
        media.run("bash", "-c", line, cwd=self.folder)
        text = (self.folder / "objects.xml").read_text(encoding="utf-8")
        frames = re.findall(r"<\?xml.*?</\S*MetadataStream>", text, re.S)
        self.assertEqual(len(frames), 100)
        for frame in frames:
            root = xml.etree.ElementTree.fromstring(frame)
            self.assertEqual(len(root.findall(".//{http://www.onvif.org/ver10/schema}Object")), 1, frame)


class Documents(unittest.TestCase):
    def test_each_recipe_has_a_test(self):
        self.assertEqual(len([block for block in BLOCKS if block.language == "sh"]), 3)


if __name__ == "__main__":
    main()
