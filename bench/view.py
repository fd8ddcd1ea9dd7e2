#!/usr/bin/python3
"""Measures pipelines/view: the delay of a frame until the page shows it, the CPU time of the page, and ten cameras at once.

    bench/view.py [--seconds 20] [--out bench/results/view.json]

Each case starts the program and opens its page in Chromium on the same machine:
latency   the time from a frame's capture to the painting of the frame, for 1920x1080 pixels at 30 frames/s, once as JPEG pictures
          and once by WebRTC. A live test picture takes the place of a camera.
cost      CPU time of the program with a viewer, beyond that of the same program without a viewer. Both encode video.
cameras   frames that reach ten viewers of ten cameras, 1280x720 pixels at 5 frames/s, with preset=motion.
Needs the elements in GStreamer's plugin path, Chromium and ffmpeg (pipelines/setup --tests).
"""
import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "tests", "pipelines")]
import measure
import viewing
from browser import Browser

MOTION = "graphcutbg preset=motion output=none ! cclabel source=mask min-area=100 track=true output=none"
# The size of the source `test`.
HD = "video/x-raw,format=I420,width=1920,height=1080,framerate=30/1 ! " + MOTION
SETTLE = 5  # seconds before a measurement
CAMERAS, CAMERA_RATE = 10, 5
# In the page: [running time in ns, wall clock in ms] of each frame, taken after the frame was painted.
SHOWN = """(() => {
  window.painted = [];
  const drawing = document.querySelector(".drawing");
  new MutationObserver(() => {
    const pts = drawing.dataset.pts;
    requestAnimationFrame(() => setTimeout(() => painted.push([pts, performance.timeOrigin + performance.now()])));
  }).observe(drawing, {attributes: true, attributeFilter: ["data-pts"]});
})()"""
BASE_TIME = re.compile(r"\bbase_time (\d+):(\d+):(\d+)\.(\d+)")


class Case(contextlib.ExitStack):
    """Stands for the test that viewing.View and browser.Browser expect."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.addCleanup = pathlib.Path(folder), self.callback

    @staticmethod
    def skipTest(reason):  # (the name of unittest)
        sys.exit(f"view.py: {reason}")


def clip(folder, size, rate, seconds):
    """A video of a square that moves over a picture with texture."""
    path = os.path.join(folder, f"{size}-{rate}.mkv")
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc=size={size}:rate={rate}:duration={seconds}[b];"
                    f"color=white:s=120x160:r={rate}:d={seconds}[w];[b][w]overlay=x='400+300*sin(t)':y='300+100*cos(t)'",
                    "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-g", "25", path], check=True)
    return path


def cpu_of(view):
    """CPU seconds of the program so far."""
    with open(f"/proc/{view.process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_share(view, seconds):
    """CPU time of the program divided by the time."""
    begin, before = time.monotonic(), cpu_of(view)
    time.sleep(seconds)
    return (cpu_of(view) - before) / (time.monotonic() - begin)


def choose(browser, transport):
    browser.run(f"document.querySelector('#transport').value = {json.dumps(transport)};"
                "document.querySelector('#transport').dispatchEvent(new Event('change'))")
    if transport == "video":
        browser.until("streams[0].peer?.connectionState === 'connected'")


def latency(folder, transport, seconds):
    log = os.path.join(folder, f"log-{transport}-%p")  # GStreamer replaces %p by the process id
    with Case(folder) as case:
        view = viewing.View(case, "test", filter=HD, env=os.environ | {
            "GST_DEBUG": "pipeline:5", "GST_DEBUG_FILE": log, "GST_DEBUG_NO_COLOR": "1"})
        browser = Browser(case)
        browser.go(view.address)
        browser.until("document.querySelector('.drawing')?.dataset.pts")
        choose(browser, transport)
        time.sleep(SETTLE)
        browser.run(SHOWN)
        time.sleep(seconds)
        painted = browser.run("painted")
    with open(log.replace("%p", str(view.process.pid)), encoding="utf-8", errors="replace") as file:
        hours, minutes, whole, part = map(int, next(match for match in map(BASE_TIME.search, file) if match).groups())
    # The pipeline's clock is CLOCK_MONOTONIC.
    start = (hours * 60 + minutes) * 60 + whole + part / 1e9 + time.time() - time.monotonic()
    late = sorted((at / 1e3 - start - int(pts) / 1e9) * 1e3 for pts, at in painted)
    return {"what": "latency", "transport": transport, "size": "1920x1080", "rate": 30, "filter": MOTION, "frames": len(late), "seconds": seconds,
            "median_ms": round(statistics.median(late), 1), "p95_ms": round(late[int(0.95 * len(late))], 1),
            "longest_ms": round(late[-1], 1)}


def cost(folder, transport, seconds):
    """--record keeps the encoder busy without viewers, too."""
    with Case(folder) as case:
        view = viewing.View(case, "test", "--record", os.path.join(folder, f"clips-{transport}"), filter=HD)
        view.wait_for("playing")
        time.sleep(SETTLE)
        without = cpu_share(view, seconds)
        browser = Browser(case)
        browser.go(view.address)
        browser.until("document.querySelector('.drawing')?.dataset.pts")
        choose(browser, transport)
        time.sleep(SETTLE)
        return {"what": "cost", "transport": transport, "size": "1920x1080", "rate": 30, "filter": MOTION, "seconds": seconds,
                "without_viewer": round(without, 3), "with_viewer": round(cpu_share(view, seconds), 3)}


async def count_pictures(view, number, end):
    """Pictures that a viewer of a camera receives, and answers, until a time."""
    async with viewing.aiohttp.ClientSession() as session, viewing.Socket(session, view, number) as socket:
        count = 0
        while time.monotonic() < end:
            count += len(await socket.pictures(1))
        return count


def cameras(folder, source, seconds):
    with Case(folder) as case:
        view = viewing.View(case, *[source] * CAMERAS, filter=MOTION)
        for number in range(CAMERAS):
            view.wait_for("playing", number)

        async def count():
            end = time.monotonic() + seconds
            return await asyncio.gather(*(count_pictures(view, number, end) for number in range(CAMERAS)))

        time.sleep(SETTLE)
        before = cpu_of(view)
        counts = asyncio.run(count())
        return {"what": "cameras", "cameras": CAMERAS, "size": "1280x720", "rate": CAMERA_RATE, "filter": MOTION, "seconds": seconds,
                "fewest_pictures": min(counts), "cpu": round((cpu_of(view) - before) / seconds, 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement")
    parser.add_argument("--out", default=os.path.join(HERE, "results", "view.json"))
    options = parser.parse_args()
    record = measure.new_record("view")
    record["figures"] = []
    with tempfile.TemporaryDirectory() as folder:
        small = clip(folder, "1280x720", CAMERA_RATE, 3 * options.seconds + 60)
        for measured in (*(lambda way=way, call=call: call(folder, way, options.seconds)
                           for call in (latency, cost) for way in ("pictures", "video")),
                         lambda: cameras(folder, small, options.seconds)):
            record["figures"].append(measured())
            print("view: " + json.dumps(record["figures"][-1]), flush=True)
    measure.write(record, options.out)


if __name__ == "__main__":
    main()
