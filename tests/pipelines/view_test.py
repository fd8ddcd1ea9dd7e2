#!/usr/bin/python3
"""pipelines/view without a browser: pictures and regions in step, many and slow viewers, zones, properties, sources that end or
change, and requests that the server refuses."""

import asyncio
import contextlib
import io
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import time

import aiohttp
import jsonschema
import media
import numpy
from camera import Camera
from cases import main
from gstreamer import Gst  # after cases, which sets the path
from PIL import Image
from viewing import FILTER, GATE, SIZE, SQUARE, VIEW, WAIT, Socket, ViewCase, until, with_session

ROUNDS = 300  # of random requests
ZONE = {"id": "all", "points": [[0, 0], [320, 0], [320, 240], [0, 240]]}
PROPERTIES = "/api/streams/0/properties"
RULES = "/api/streams/0/rules"
# view, with a fault in a thread of GStreamer.
FAULTY = f"""
import runpy, sys
sys.path.insert(0, "{media.ROOT}/pipelines")
import script
from viewer.stream import Stream
def broken(*_):
    raise RuntimeError("thrown by the test")
Stream.take_size = broken
runpy.run_path("{VIEW}", run_name="__main__")
"""


def box_of(jpeg):
    """Left, top, width and height of the bright area of a picture."""
    bright = numpy.asarray(Image.open(io.BytesIO(jpeg)).convert("L")) > 127
    columns, rows = numpy.flatnonzero(bright.any(0)), numpy.flatnonzero(bright.any(1))
    return columns[0], rows[0], len(columns), len(rows)


def seconds_of(view):
    """Processor time of the program."""
    with open(f"/proc/{view.process.pid}/stat", encoding="ascii") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


class Pictures(ViewCase):
    def watch(self, view, count, number=0):
        async def run(session):
            async with Socket(session, view, number) as page:
                return await page.pictures(count)

        return with_session(run)

    def expect_in_step(self, pictures):
        self.assertGreater(len({frame["pts"] for frame, _ in pictures}), len(pictures) - 2)
        for frame, jpeg in pictures:
            (_, _, *box, _area), = frame["regions"]
            self.assertLessEqual(numpy.abs(numpy.subtract(box, box_of(jpeg))).max(), 2, frame)

    def test_live_pictures_of_a_moving_square_have_the_regions_of_the_same_frame(self):
        pictures = self.watch(self.view(self.square(), "--loop"), 50)
        self.expect_in_step(pictures)
        self.assertGreater(numpy.ptp([frame["regions"][0][2] for frame, _ in pictures]), 50, "the square moves")
        for frame, jpeg in pictures:
            pixels = numpy.asarray(Image.open(io.BytesIO(jpeg)).convert("L"))
            self.assertEqual(pixels.shape, (frame["height"], frame["width"]))
            self.assertLessEqual(numpy.median(pixels), 2)
            self.assertGreaterEqual(numpy.percentile(pixels, 99.9), 252, "the picture has the full range")

    def test_live_runs_are_sent_only_if_a_viewer_wants_them(self):
        view = self.view(self.square(), "--loop")

        async def run(session):
            async with Socket(session, view) as page:
                plain = await page.pictures(3)
                await page.say("want", what="pictures", runs=True)
                return plain, await page.pictures(8)

        plain, more = with_session(run)
        self.assertFalse(any("runs" in frame for frame, _ in plain))
        frame = more[-1][0]
        area = frame["regions"][0][-1]
        self.assertEqual(sum(frame["runs"][3::4]), area)

    def test_live_several_sources_are_independent(self):
        clip = self.square()
        view = self.view(clip, "test", "--loop", filter="cclabel output=none")
        for number, name in ((0, str(clip)), (1, "test")):
            self.assertEqual(view.get("/api/streams")["streams"][number]["name"], name)
            self.assertEqual(len(self.watch(view, 5, number)), 5)

    def test_live_small_and_odd_pictures_are_shown(self):
        for size in ("17x15", "1x1", "321x2"):
            with self.subTest(size):
                clip = self.clip(f"{size}.mkv", f"color=white:size={size}:rate=25:duration=4,format=bgr0", "-c:v", "ffv1", "-pix_fmt", "bgr0")
                view = self.view(clip, "--loop")
                frame, jpeg = self.watch(view, 3)[-1]
                self.assertEqual("{}x{}".format(*Image.open(io.BytesIO(jpeg)).size), size)
                self.assertEqual("{width}x{height}".format(**frame), size)
                self.assertEqual(view.stop(), 0)

    def test_live_frames_without_timestamps_are_shown_in_step(self):
        clip = self.clip("in.h264", SQUARE.format(8), "-c:v", "libx264", "-bf", "0", "-pix_fmt", "yuv420p")
        self.expect_in_step(self.watch(self.view(clip, "--loop"), 20))

    def test_mjpeg_without_a_page_is_a_stream_of_pictures(self):
        view = self.view(self.square(), "--loop")

        async def run(session):
            async with session.get(f"http://127.0.0.1:{view.port}/streams/0/mjpeg") as answer:
                reader = aiohttp.MultipartReader.from_response(answer)
                return [bytes(await (await reader.next()).read()) for _ in range(5)]

        self.assertEqual({Image.open(io.BytesIO(jpeg)).size for jpeg in with_session(run)}, {SIZE})


class Viewers(ViewCase):
    def test_live_twenty_viewers_all_see_moving_pictures(self):
        view = self.view(self.square(), "--loop")

        async def one(session):
            async with Socket(session, view) as page:
                return [frame["pts"] for frame, _ in await page.pictures(15)]

        async def run(session):
            return await asyncio.gather(*(one(session) for _ in range(20)))

        for times in with_session(run):
            self.assertEqual(len(set(times)), 15)

    def test_live_a_viewer_that_does_not_answer_gets_two_pictures_and_delays_no_other(self):
        view = self.view(self.square(), "--loop")

        async def run(session):
            async with Socket(session, view) as silent, Socket(session, view) as page:
                first = await silent.pictures(2, is_answered=False)
                shown = await page.pictures(40)
                with self.assertRaises(asyncio.TimeoutError):
                    while (await silent.socket.receive(timeout=1)).type == aiohttp.WSMsgType.TEXT:
                        pass
                await silent.say("shown", count=1)
                later, = await silent.pictures(1)
                return first, shown, later

        first, shown, later = with_session(run)
        self.assertGreater(float(later[0]["pts"]), float(shown[20][0]["pts"]), "the newest picture, not an old one")

    def test_live_a_hidden_page_costs_no_encoding_and_shows_new_pictures_when_it_is_visible_again(self):
        view = self.view(self.square(20), "--loop")

        async def run(session):
            async with Socket(session, view) as page:
                first = await page.pictures(2, is_answered=False)
                await asyncio.sleep(3 * media.PATIENCE)
                began = seconds_of(view)
                await asyncio.sleep(2)
                cost = (seconds_of(view) - began) / 2
                await page.say("shown", count=1)
                await page.say("shown", count=1)
                return first, cost, await page.pictures(20)

        first, cost, later = with_session(run)
        self.assertLess(cost, 0.5 * media.PATIENCE)
        self.assertGreater(later[0][0]["time"] - first[0][0]["time"], 3)
        times = [frame["time"] for frame, _ in later]
        self.assertEqual(times, sorted(set(times)))

    def test_live_a_viewer_that_reads_nothing_is_dropped_and_needs_no_memory(self):
        view = self.view(self.clip("in.mkv", "testsrc2=size=1280x720:rate=25:duration=4", "-c:v", "mjpeg"), "--loop")
        stalled = socket.create_connection(("127.0.0.1", view.port))
        self.addCleanup(stalled.close)
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled.sendall(f"GET /streams/0/mjpeg HTTP/1.1\r\nHost: localhost:{view.port}\r\n\r\n".encode())

        async def run(session):
            async with Socket(session, view) as page:
                await page.pictures(20)
                before = view.memory()
                await page.pictures(150)
                return view.memory() - before

        # 150 frames of 720p are 200 MB. A new start of the clip needs some memory, too.
        self.assertLess(with_session(run), 100 << 20)

    def test_live_more_viewers_than_the_limit_are_refused_until_one_leaves(self):
        view = self.view(self.square(), "--loop")

        async def run(session):
            pages = [await Socket(session, view).__aenter__() for _ in range(100)]
            with self.assertRaises(aiohttp.WSServerHandshakeError) as refused:
                await Socket(session, view).__aenter__()
            self.assertEqual(refused.exception.status, 503)
            await pages.pop().socket.close()
            async with Socket(session, view) as page:
                return len(await page.pictures(2))

        async def unlimited(_session):
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
                return await run(session)

        self.assertEqual(with_session(unlimited), 2)

    def test_live_hundreds_of_idle_connections_stop_no_viewer(self):
        view = self.view(self.square(), "--loop")

        async def run(session):
            async with Socket(session, view) as page:
                await page.pictures(2)
                with contextlib.ExitStack() as idle:
                    for _ in range(500):
                        idle.enter_context(socket.create_connection(("127.0.0.1", view.port)))
                    await page.pictures(20)
                    self.assertLess(len(os.listdir(f"/proc/{view.process.pid}/fd")), 500, "files that the program has open")
                await page.pictures(20)

        with_session(run)
        until(lambda: view.ask("/")[0] == 200)
        self.assertNotIn("Traceback", view.said())

    def test_view_without_viewers_encodes_nothing(self):
        view = self.view(self.square(), "--loop")
        view.wait_for("playing")

        began = seconds_of(view)
        time.sleep(2)
        self.assertLess((seconds_of(view) - began) / 2, 0.5 * media.PATIENCE)


class Sources(ViewCase):
    def test_view_a_source_that_ends_is_reported_and_the_page_stays(self):
        view = self.view(self.square(1))
        view.wait_for("ended")
        self.assertEqual(view.ask("/")[0], 200)
        self.assertEqual(view.stop(), 0)

    def test_view_a_damaged_source_is_reported_with_the_reason(self):
        clip = self.folder / "text.mkv"
        clip.write_text("no picture\n" * 100)
        view = self.view(clip)
        view.wait_for("failed: ")

    def test_view_without_the_video_encoder_and_webrtc_shows_jpeg_pictures(self):
        plugins = self.folder / "plugins"
        plugins.mkdir()
        for path in pathlib.Path(Gst.Registry.get().find_plugin("coreelements").get_filename()).parent.glob("*.so"):
            if not re.search("x264|webrtc|nice|dtls|srtp", path.name):
                (plugins / path.name).symlink_to(path)
        view = self.view(self.square(), "--loop", env=os.environ | {
            "GST_PLUGIN_SYSTEM_PATH_1_0": str(plugins), "GST_REGISTRY_1_0": str(self.folder / "registry.bin")})
        about = view.get("/api/streams")
        self.assertFalse(about["webrtc"])
        self.assertIn("GStreamer has no webrtcbin: install gstreamer1.0-plugins-bad", about["no-webrtc"])

        async def run(session):
            async with Socket(session, view) as page:
                return len(await page.pictures(5))

        self.assertEqual(with_session(run), 5)

    def test_view_a_camera_that_returns_plays_again(self):
        camera = Camera(self)
        view = self.view(camera.address)
        view.wait_for("playing")
        camera.stop()
        view.wait_for("stopped, trying again")
        Camera(self, camera.port)
        view.wait_for("playing")

    def test_view_a_source_that_changes_size_stays_in_step(self):
        """Two raw H.264 streams one after the other are a source whose size changes."""
        parts = [self.clip(f"{width}.h264", f"color=black:s={width}x240:r=25:d=3,drawbox=x=40:y=60:w=50:h=30:color=white:t=fill",
                           "-c:v", "libx264", "-bf", "0", "-pix_fmt", "yuv420p") for width in (320, 400)]
        clip = self.folder / "in.h264"
        clip.write_bytes(b"".join(part.read_bytes() for part in parts))
        view = self.view(clip, "--loop")

        async def run(session):
            async with Socket(session, view) as page:
                seen = set()
                for _ in range(60):
                    for frame, jpeg in await page.pictures(5):
                        width, _ = Image.open(io.BytesIO(jpeg)).size
                        self.assertEqual(frame["width"], width)
                        self.assertLessEqual(numpy.abs(numpy.subtract(frame["regions"][0][2:6], box_of(jpeg))).max(), 2)
                        seen.add(width)
                    if len(seen) == 2:
                        break
                return seen

        self.assertEqual(with_session(run), {320, 400})

    def test_view_wrong_arguments_end_the_program_with_the_reason(self):
        clip = self.square(1)
        bad = self.folder / "bad.json"
        bad.write_text('{"zones": [{"id": "z", "points": [[0, 0]]}]}')
        short = self.folder / "token"
        short.write_text("short\n")
        for words, message in (
                ((clip, "--filter", "cclabel !"), "gst_parse_error|link|syntax"),
                ((clip, "--filter", "nothing"), 'no element "nothing"'),
                ((self.folder / "fifo",), "not a regular file"),
                ((clip, "--rules", bad), "bad.json: .*zone 'z': ring 1 has 1 different points"),
                ((clip, "--rules", self.folder), "Is a directory"),
                ((clip, "--rules", bad, "--rules", bad), "2 files of rules for 1 sources"),
                ((clip, "--listen", "localhost:99999"), "expected HOST or HOST:PORT"),
                ((clip, "--listen", "192.0.2.77:0"), "192.0.2.77:0: .*(assign requested address|could not bind)"),
                ((clip, "--token-file", short), "expected a token of at least 16 letters and digits"),
                ((clip, "--token-file", self.folder / "none"), "No such file"),
                ((clip, "--origin", "view.example"), "expected http://HOST"),
                ((clip, "--before", "nan"), "--before nan: expected a number from 0 to 60"),
                ((clip, "--record", "/proc/none"), "the folder /proc/none cannot be made")):
            with self.subTest(words):
                os.path.exists(self.folder / "fifo") or os.mkfifo(self.folder / "fifo")
                text = media.run(VIEW, *words, status=2)
                self.assertRegex(text, message)
                self.assertNotIn("Traceback", text)

    def test_view_a_port_that_is_taken_ends_the_program(self):
        view = self.view(self.square())
        self.assertIn("in use", media.run(VIEW, "test", "--listen", f"localhost:{view.port}", status=2))


class Rules(ViewCase):
    def test_rules_put_by_a_page_are_used_and_saved_as_regionevents_reads_them(self):
        file = self.folder / "rules.json"
        view = self.view(self.square(), "--loop", "--rules", file)
        self.assertEqual(view.get(RULES), {})
        rules = GATE | {"zones": [ZONE]}
        self.assertEqual(view.ask(RULES, rules)[0], 200)
        self.assertEqual(json.loads(file.read_text(encoding="utf-8")), rules)
        jsonschema.validate(rules, json.loads((media.ROOT / "docs" / "rules.schema.json").read_text(encoding="utf-8")))
        until(lambda: any("line" in entry["events"][0] for entry in view.events()), what="a crossing")
        self.assertEqual(view.stop(), 0)
        self.assertEqual(self.view(self.square(), "--rules", file).get(RULES), rules)

    def test_rules_that_regionevents_refuses_change_nothing(self):
        file = self.rules_file()
        view = self.view(self.square(), "--loop", "--rules", file)
        view.wait_for("playing")
        secret = self.folder / "secret"
        secret.write_text('{"zones": []}')
        for rules, message in (({"zones": [{"id": "z", "points": [[0, 0]]}]}, "zone 'z'"),
                               ({"zones": [ZONE | {"unknown": 1}]}, "unknown key 'unknown'"),
                               (json.dumps(str(secret)), "expected an object or a list"), ("3", "expected an object or a list"),
                               ('{"zones": [], "zones": []}', "a key is repeated"), ('{"zones": NaN}', "NaN"),
                               ("{", "expected JSON"), (b"\xff\xfe", "expected JSON"), ("[" * 100000, "expected JSON"),
                               ('{"zones": [{"id": "\\ud800", "points": []}]}', "not valid Unicode")):
            with self.subTest(message):
                status, _, body = view.ask(RULES, rules)
                self.assertEqual(status, 400)
                self.assertIn(message, json.loads(body)["problem"])
                self.assertEqual(view.get(RULES), GATE)
        self.assertEqual(view.ask(RULES, " " * (1 << 21))[0], 413)
        self.assertEqual(json.loads(file.read_text(encoding="utf-8")), GATE)

    def test_rules_in_a_folder_that_cannot_be_written_are_used_and_the_page_is_told(self):
        view = self.view(self.square(), "--loop", "--rules", "/proc/rules.json")
        status, _, body = view.ask(RULES, GATE)
        self.assertEqual(status, 400)
        self.assertIn("used, but not saved: cannot write into the folder /proc", json.loads(body)["problem"])


class Properties(ViewCase):
    def test_properties_are_those_that_change_while_playing_and_name_no_file(self):
        view = self.view(self.square(), "--loop", filter="graphcutbg output=none ! cclabel source=mask output=none")
        found = {(each["element"], one["name"]) for each in view.get(PROPERTIES) for one in each["properties"]}
        self.assertIn(("graphcutbg", "lambda"), found)
        self.assertIn(("cclabel", "click-seeds"), found)
        for element, name in (("graphcutbg", "model-location"), ("graphcutbg", "background-image"), ("graphcutbg", "preset"),
                              ("cclabel", "output"), ("cclabel", "name"), ("cclabel", "max-regions"), ("cclabel", "parent")):
            self.assertNotIn((element, name), found)

    def test_properties_set_by_a_page_change_the_regions_and_last_over_a_new_start(self):
        view = self.view(self.square(1), "--loop")

        def totals():
            async def run(session):
                async with Socket(session, view) as page:
                    return {frame["total"] for frame, _ in await page.pictures(5)}

            return with_session(run)

        self.assertEqual(totals(), {1})
        self.assertEqual(view.ask(PROPERTIES, {"element": 0, "name": "min-area", "value": "5000"})[0], 200)
        until(lambda: totals() == {0})
        time.sleep(1.5)  # the clip is played again
        self.assertEqual(totals(), {0})
        self.assertIn("5000", [one["value"] for one in view.get(PROPERTIES)[0]["properties"] if one["name"] == "min-area"])

    def test_properties_a_value_that_the_element_cannot_use_is_reported_and_not_kept(self):
        view = self.view(self.square(1), "--loop", filter="graphcutbg output=replace")
        view.wait_for("playing")
        for name, value, message in (("replace-with", "image", "requires replace-image"), ("left", "65535", "the picture ends at 320")):
            self.assertEqual(view.ask(PROPERTIES, {"element": 0, "name": name, "value": value})[0], 200)
            until(lambda: message in (view.get("/api/streams")["streams"][0]["warning"] or ""), what=message)
        time.sleep(2)  # the clip is played again
        view.wait_for("playing")

        async def run(session):
            async with Socket(session, view) as page:
                return await page.pictures(30)

        with_session(run)
        values = {one["name"]: one["value"] for one in view.get(PROPERTIES)[0]["properties"]}
        self.assertEqual((values["replace-with"], values["left"]), ("blur", "0"))

    def test_properties_with_wrong_values_are_refused_with_the_reason(self):
        view = self.view(self.square(), "--loop")
        for wanted, message in (
                ({"element": 0, "name": "threshold", "value": "7"}, "expected a number from 0 to 1"),
                ({"element": 0, "name": "threshold", "value": "nan"}, "expected a number from 0 to 1"),
                ({"element": 0, "name": "connectivity", "value": "5"}, "expected one of"),
                ({"element": 0, "name": "seeds", "value": "<1,/etc/passwd>"}, "expected a list of numbers"),
                ({"element": 0, "name": "output", "value": "labels"}, "not on the list"),
                ({"element": 0, "name": "name", "value": "x"}, "not on the list"),
                ({"element": 0, "name": "none", "value": "x"}, "not on the list"),
                ({"element": 1, "name": "threshold", "value": "1"}, "unknown element 1"),
                ({"element": -1, "name": "threshold", "value": "1"}, "unknown element -1"),
                ({"element": True, "name": "threshold", "value": "1"}, "expected the number of an element"),
                ({"element": 0, "name": "threshold", "value": 1}, "expected the number of an element"),
                ({"element": 0, "name": "threshold"}, "expected the number of an element"), ([], "expected the number")):
            with self.subTest(wanted):
                status, _, body = view.ask(PROPERTIES, wanted)
                self.assertEqual(status, 400)
                self.assertIn(message, json.loads(body)["problem"])
        self.assertEqual(view.ask("/api/streams/9/properties", {"element": 0, "name": "threshold", "value": "1"})[0], 404)

    def test_click_with_click_seeds_selects_the_region_at_the_point(self):
        clip = self.clip("in.mkv", "color=black:s=320x240:r=25:d=8,drawbox=x=20:y=20:w=40:h=40:color=white:t=fill,"
                         "drawbox=x=200:y=120:w=60:h=50:color=white:t=fill", "-c:v", "ffv1", "-pix_fmt", "yuv420p")
        view = self.view(clip, "--loop", filter="cclabel threshold=0.5 track=true click-seeds=true output=none")

        async def run(session):
            async with Socket(session, view) as page:
                before = (await page.pictures(3))[-1][0]["total"]
                await page.say("click", x=230.5, y=140, button=1)
                selected = (await page.pictures(10))[-1][0]
                await page.say("click", x=0, y=0, button=2)
                return before, selected, (await page.pictures(10))[-1][0]["total"]

        before, selected, after = with_session(run)
        self.assertEqual((before, selected["total"], after), (2, 1, 2))
        self.assertEqual(selected["regions"][0][2:6], [200, 120, 60, 50])


class Safety(ViewCase):
    def test_requests_of_other_hosts_and_origins_are_refused(self):
        view = self.view(self.square(), "--loop")
        here = f"localhost:{view.port}"
        for path, headers, status in (
                ("/", {}, 200), ("/", {"Host": "evil.example"}, 403), ("/", {"Host": f"evil.example:{view.port}"}, 403),
                ("/", {"Host": "localhost.evil.example"}, 403), ("/", {"Host": "LOCALHOST"}, 200), ("/", {"Host": "["}, 403), ("/", {"Host": ""}, 403),
                ("/", {"Host": "127.0.0.1"}, 200), ("/", {"Host": f"[::1]:{view.port}"}, 200), ("/", {"Host": "8.8.8.8"}, 403),
                ("/api/events", {"Origin": f"http://{here}"}, 200), ("/api/events", {"Origin": "http://evil.example"}, 403),
                ("/api/events", {"Origin": "null"}, 403), ("/api/events", {"Origin": f"http://localhost:{view.port + 1}"}, 403),
                ("/streams/0/live", {"Origin": "http://evil.example"}, 403)):
            with self.subTest(path=path, headers=headers):
                self.assertEqual(view.ask(path, headers=headers)[0], status)
        self.assertEqual(view.ask(RULES, GATE, headers={"Origin": "http://evil.example"})[0], 403)
        self.assertEqual(view.get(RULES), {})

    def test_requests_for_files_that_are_not_listed_are_refused(self):
        record = self.folder / "record"
        record.mkdir()
        for name in ("secret.mp4", "20260101T000000Z-000-0.mp4.bak"):
            (record / name).write_text("secret")
        (record / "20260101T000000Z-000-1.json").write_text("{")
        (record / "20260101T000000Z-000-1.mp4").symlink_to("secret.mp4")
        view = self.view(self.square(), "--loop", "--record", record)
        for path in ("/../view", "/..%2fview", "/events/secret.mp4", "/events/..%2f..%2fetc%2fpasswd", "/page.py", "/server.py",
                     "/viewer/server.py", "/events/20260101T000000Z-000-0.mp4", "/events/20260101T000000Z-000-1.mp4",
                     "/events/20260101T000000Z-000-1.json", "/events/20260101T000000Z-000-1.mp4%00.jpg", "/%2e%2e/%2e%2e/etc/passwd",
                     "/streams/9/mjpeg", "/streams/-1/live", "/streams/99999999999999999999/live", "/api"):
            with self.subTest(path):
                status, _, body = view.ask(path)
                self.assertEqual(status, 404)
                self.assertNotIn(b"secret", body)

    def test_answers_forbid_other_sites_to_use_them(self):
        view = self.view(self.square(), "--loop")
        for path in ("/", "/page.js", "/api/events", "/none"):
            headers = view.ask(path)[1]
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")

    def test_other_addresses_need_the_token_that_was_printed(self):
        view = self.view(self.square(), "--loop", host="0.0.0.0")
        self.assertRegex(view.token, "^[0-9a-f]{32}$")
        here = {"Host": f"192.0.2.5:{view.port}"}
        for path in ("/", "/page.js", "/api/events", "/streams/0/live", "/streams/0/mjpeg", "/none", "/?token=", "/?token=wrong"):
            self.assertEqual(view.ask(path, headers=here)[0], 401, path)
        self.assertEqual(view.ask("/api/events", headers=here | {"Cookie": f"regions-view-{view.port}="})[0], 401)
        for strange in ("Bearer \xff", "Bearer", "Bearer  ", "Basic QQ=="):
            self.assertEqual(view.ask("/api/events", headers=here | {"Authorization": strange})[0], 401)
        self.assertEqual(view.ask("/", headers={"Host": "evil.example", "Authorization": f"Bearer {view.token}"})[0], 403)
        self.assertEqual(view.ask("/api/events", headers=here | {"Authorization": f"Bearer {view.token}"})[0], 200)
        status, headers, _ = view.ask(f"/?token={view.token}", headers=here)
        self.assertEqual((status, headers["Location"]), (302, "/"))
        self.assertRegex(headers["Set-Cookie"], "HttpOnly.*SameSite=Strict")
        cookie = headers["Set-Cookie"].split(";")[0]
        self.assertEqual(view.ask("/", headers=here | {"Cookie": cookie})[0], 200)

    def test_a_reverse_proxy_needs_its_origin_and_the_token(self):
        token = self.folder / "token"
        token.write_text("0123456789abcdef0123\n")
        view = self.view(self.square(), "--loop", "--token-file", token, "--origin", "https://view.example")
        there = {"Host": "view.example", "Origin": "https://view.example", "X-Forwarded-Proto": "https"}
        self.assertEqual(view.ask("/", headers=there)[0], 401)
        self.assertEqual(view.ask("/", headers=there | {"Authorization": "Bearer 0123456789abcdef0123"})[0], 200)
        self.assertIn("Secure", view.ask("/?token=0123456789abcdef0123", headers=there)[1]["Set-Cookie"])
        self.assertEqual(view.ask("/", headers=there | {"Origin": "https://other.example"})[0], 403)

    def test_messages_that_are_no_commands_end_the_connection_only(self):
        view = self.view(self.square(), "--loop")

        async def say(session, text):
            async with session.ws_connect(f"ws://127.0.0.1:{view.port}/streams/0/live") as page:
                await (page.send_bytes if isinstance(text, bytes) else page.send_str)(text)
                while (message := await page.receive(timeout=20)).type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                    pass
                return page.close_code, message.type

        for text in ("", "{", "[]", "3", "null", '"do"', '{"do": 3}', '{"do": "none"}', '{"do": "shown"}', '{"do": "shown", "count": 1e9}',
                     '{"do": "shown", "count": true}', '{"do": "shown", "count": -1}', '{"do": "click", "x": 1, "y": 1, "button": 9}',
                     '{"do": "click", "x": NaN, "y": 1, "button": 1}', '{"do": "click", "x": "1", "y": 1, "button": 1}',
                     '{"do": "want", "what": "all", "runs": true}', '{"do": "want", "what": ["video"], "runs": true}',
                     '{"do": "want", "what": "pictures", "runs": 1}', '{"do": {}}', '{"do": "shown", "count": 1, "more": 1}',
                     '{"do": "answer", "sdp": 3}', '{"do": "candidate", "line": 1, "candidate": "\\u0000"}', b"\0\1", "[" * 60000,
                     "x" * 70000):
            with self.subTest(text[:60]):
                code, _ = with_session(lambda session, text=text: say(session, text))
                self.assertIn(code, (1008, 1009))
        self.assertEqual(view.ask("/")[0], 200)

    def test_random_requests_and_messages_are_answered_and_the_program_goes_on(self):
        """Fuzzing: parts of valid requests are replaced, repeated and removed."""
        seed = int(os.environ.get("REGIONS_SEED", "7"))
        dice = random.Random(seed)
        view = self.view(self.square(), "--loop", "--rules", self.rules_file())
        texts = [json.dumps(GATE), '{"element": 0, "name": "threshold", "value": "0.5"}', '{"do": "click", "x": 1, "y": 2, "button": 1}',
                 '{"do": "want", "what": "video", "runs": true}', '{"do": "answer", "sdp": "v=0\\r\\nm=video 9 UDP 96\\r\\n"}',
                 '{"do": "candidate", "line": 0, "candidate": "candidate:1 1 UDP 1 127.0.0.1 9 typ host"}']

        def damaged():
            text = bytearray(dice.choice(texts).encode())
            for _ in range(dice.randrange(4)):
                at = dice.randrange(len(text) + 1)
                text[at:at + dice.randrange(6)] = dice.choice((bytes([dice.randrange(256)]), b"9" * 30, b'"', b"[", b"{}", b"\\u0000", b""))
            return bytes(text)

        async def run(session):
            for _ in range(ROUNDS):
                async with session.ws_connect(f"ws://127.0.0.1:{view.port}/streams/0/live") as page:
                    for _ in range(dice.randrange(1, 4)):
                        try:
                            await page.send_str(damaged().decode("utf-8", "replace"))
                        except ConnectionError:
                            break

        for _ in range(ROUNDS):
            status, _, _ = view.ask(dice.choice((RULES, PROPERTIES)), damaged())
            self.assertIn(status, (200, 400), f"seed {seed}")
        with_session(run)
        for _ in range(ROUNDS):  # not even HTTP
            with socket.create_connection(("127.0.0.1", view.port)) as raw:
                raw.sendall(dice.randbytes(dice.randrange(1, 200)) + b"\r\n\r\n")
        self.assertEqual(view.ask("/")[0], 200)
        self.assertNotIn("Traceback", view.said())
        self.assertNotIn("internal error", view.said())

    def test_fault_of_the_program_ends_it_with_status_1(self):
        program = [sys.executable, "-c", FAULTY, self.square(), "--filter", FILTER, "--listen", "localhost:0"]
        said = subprocess.run(program, capture_output=True, text=True, timeout=WAIT, check=False)
        self.assertEqual(said.returncode, 1, said.stderr)
        self.assertIn("view: internal error of this program (the input is not the cause): RuntimeError: thrown by the test",
                      said.stderr)

    def test_interrupted_program_ends_all_connections_and_exits_with_0(self):
        view = self.view(self.square(), "--loop")

        async def run(session):
            async with Socket(session, view) as page:
                await page.pictures(2)
                view.process.send_signal(signal.SIGINT)
                while await page.next():
                    await page.say("shown", count=1)
                return page.socket.close_code

        self.assertEqual(with_session(run), 1001)
        self.assertEqual(view.stop(), 0)


if __name__ == "__main__":
    main()
