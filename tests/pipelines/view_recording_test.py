#!/usr/bin/python3
"""pipelines/view --record: clips of events, with and without encoding again, a bounded folder, a full disk, and kill -9."""

import json
import os
import random
import resource
import signal
import subprocess
import time

import media
import numpy
from camera import Camera
from cases import main
from viewing import FILTER, SQUARE, ViewCase, until

KILLS = 10
ONE_CLIP = ("--before", "1", "--after", "1")
H264 = ("-c:v", "libx264", "-g", "25", "-bf", "2")
LARGE = ("-c:v", "libx264", "-g", "25", "-b:v", "4M", "-minrate", "4M", "-maxrate", "4M", "-bufsize", "4M", "-x264-params",
         "nal-hrd=cbr")  # 500 kB per second


class RecordingCase(ViewCase):
    def setUp(self):
        super().setUp()
        self.record = self.folder / "record"

    def recording(self, clip, *words, **options):
        return self.view(clip, "--loop", "--record", self.record, "--rules", self.rules_file(), *ONE_CLIP, *words, **options)

    def entries(self):
        """The descriptions in the folder, by name."""
        return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(self.record.glob("*.json"))}

    def finished(self, view, count):
        """Waits for clips. Returns the page's entries that have one, the newest first."""
        return until(lambda: (lambda found: found if len(found) >= count else None)(
            [entry for entry in view.events() if entry["clip"] is True]), what=f"{count} clips")

    def expect_whole(self, name):
        """A clip is playable to its end. Returns its length in seconds."""
        path = self.record / f"{name}.mp4"
        self.assertEqual(media.run("ffmpeg", "-v", "error", "-xerror", "-i", path, "-f", "null", "-"), "")
        times = media.times(path)
        self.assertLess(times[0], 0.2, "a clip starts at once")
        return times[-1] - times[0]


class Recording(RecordingCase):
    def test_record_of_an_event_is_a_clip_around_it_with_thumbnail_and_json(self):
        view = self.recording(self.square(20, "in.mp4", H264))
        entry = self.finished(view, 2)[-2]
        self.assertEqual([event["event"] for event in entry["events"]][:1], ["crossing"])
        self.assertEqual(entry, self.entries()[entry["name"]])
        length = self.expect_whole(entry["name"])
        self.assertTrue(1.9 < length < 5, length)
        self.assertEqual(media.stream(self.record / f"{entry['name']}.jpg", "width", "height"), {"width": "320", "height": "240"})
        for kind, start in (("mp4", b"ftyp"), ("jpg", b"\xff\xd8")):
            status, headers, body = view.ask(f"/events/{entry['name']}.{kind}")
            self.assertEqual((status, start in body[:12]), (200, True))
            self.assertIn(headers["Content-Type"], ("video/mp4", "image/jpeg"))
        part = view.ask(f"/events/{entry['name']}.mp4", headers={"Range": "bytes=4-7"})
        self.assertEqual((part[0], part[2]), (206, b"ftyp"), "players jump in a clip")

    def test_record_the_event_is_in_its_clip(self):
        """The square crosses x = 150 in the clip, about `before` seconds after its start."""
        view = self.recording(self.square(20, "in.mp4", H264))
        entry = self.finished(view, 2)[-2]
        pictures = media.frames(self.record / f"{entry['name']}.mp4", "gray")
        middles = numpy.array([numpy.flatnonzero((picture > 127).any(0)).mean() for picture in pictures])
        self.assertTrue((numpy.diff(numpy.sign(middles - 150)) != 0).any())

    def test_record_of_h264_and_h265_copies_the_packets(self):
        def packets(path):
            text = media.run("ffprobe", "-v", "error", "-select_streams", "v:0", "-show_packets", "-show_entries", "packet=data_hash",
                             "-show_data_hash", "md5", "-of", "csv=p=0", path)
            return [line.strip(",") for line in text.split()]

        for name, codec in (("h264", H264), ("h265", ("-c:v", "libx265", "-x265-params", "keyint=25:log-level=error"))):
            with self.subTest(name):
                self.record = self.folder / name
                clip = self.square(20, f"{name}.mp4", codec)
                view = self.recording(clip)
                entry = self.finished(view, 1)[-1]
                view.stop()
                copied = packets(self.record / f"{entry['name']}.mp4")
                self.assertGreater(len(copied), 25)
                self.assertGreater(len(set(copied) & set(packets(clip))), len(copied) * 0.9)
                self.expect_whole(entry["name"])

    def test_record_of_a_network_camera_copies_its_packets(self):
        line = {"width": 320, "height": 240, "lines": [{"id": "gate", "points": [[160, 0], [160, 240]]}]}
        view = self.view(Camera(self).address, "--record", self.record, "--rules", self.rules_file(line), *ONE_CLIP)
        entry = self.finished(view, 1)[-1]
        self.expect_whole(entry["name"])
        packets = media.probe(self.record / f"{entry['name']}.mp4", "packet=flags")["packets"]
        keys = [at for at, packet in enumerate(packets) if "K" in packet["flags"]]
        self.assertEqual({b - a for a, b in zip(keys, keys[1:])}, {10}, "the key frames of the camera")

    def test_record_of_raw_video_encodes_it(self):
        line = {"width": 320, "height": 240, "lines": [{"id": "gate", "points": [[160, 0], [160, 240]]}]}
        view = self.view("test", "--record", self.record, "--rules", self.rules_file(line), *ONE_CLIP)
        self.expect_whole(self.finished(view, 1)[-1]["name"])

    def test_record_of_frames_without_timestamps_encodes_them(self):
        view = self.recording(self.square(20, "in.h264", ("-c:v", "libx264", "-bf", "0")))
        self.expect_whole(self.finished(view, 1)[-1]["name"])

    def test_record_when_the_size_changes_begins_another_clip(self):
        parts = [self.clip(f"{width}.h264", SQUARE.format(4).replace("320x240", f"{width}x240"), "-c:v", "libx264", "-bf", "0",
                           "-pix_fmt", "yuv420p") for width in (320, 400)]
        clip = self.folder / "in.h264"
        clip.write_bytes(b"".join(part.read_bytes() for part in parts))
        view = self.view(clip, "--loop", "--record", self.record, *ONE_CLIP, "--rules", self.rules_file(
            {"units": "fractions", "lines": [{"id": "gate", "points": [[0.5, 0], [0.5, 1]], "object-retention": 5}]}))
        sizes = set()
        for entry in self.finished(view, 4):
            self.expect_whole(entry["name"])
            sizes.add(media.stream(self.record / f"{entry['name']}.mp4", "width")["width"])
        self.assertEqual(sizes, {"320", "400"})

    def test_record_of_other_codecs_encodes_them(self):
        view = self.recording(self.square(20))
        entry = self.finished(view, 1)[-1]
        self.expect_whole(entry["name"])
        self.assertEqual(media.stream(self.record / f"{entry['name']}.mp4", "codec_name")["codec_name"], "h264")

    def test_record_limit_removes_the_oldest_clips(self):
        view = self.recording(self.square(20, "in.mp4", LARGE), "--record-limit", "3")
        first = self.finished(view, 1)[-1]["name"]
        until(lambda: first not in self.entries(), what="the removal of the first clip")
        size = sum(path.stat().st_size for path in self.record.iterdir())
        self.assertLess(size, 3.1e6)
        self.assertFalse(list(self.record.glob(first + ".*")))
        self.assertNotIn(first, [entry["name"] for entry in view.events()])
        self.assertEqual(view.ask(f"/events/{first}.mp4")[0], 404)

    def test_record_when_the_program_ends_finishes_the_clip(self):
        view = self.recording(self.square(20, "in.mp4", H264), "--after", "60")
        until(lambda: view.events(), what="an event")
        self.assertEqual(view.stop(signal.SIGINT), 0)
        entry, = self.entries().values()
        self.assertIs(entry["clip"], True)
        self.expect_whole(entry["name"])

    def test_record_again_shows_earlier_events_and_refuses_a_second_program(self):
        clip = self.square(20, "in.mp4", H264)
        first = self.recording(clip)
        names = {entry["name"] for entry in self.finished(first, 1)}
        self.assertIn("another program records into this folder",
                      media.run(media.script("view"), "test", "--listen", "localhost:0", "--record", self.record, status=2))
        first.stop()
        second = self.recording(clip)
        self.assertLessEqual(names, {entry["name"] for entry in second.events()})

    def test_record_with_strange_files_in_the_folder_leaves_them_alone(self):
        self.record.mkdir()
        (self.record / "notes.txt").write_text("mine")
        (self.record / "20260101T000000Z-000-0.json").write_text('{"name": "../../etc/passwd", "events": 3}')
        (self.record / "20260101T000001Z-000-0.jpg").write_text("no picture")
        view = self.recording(self.square(4, "in.mp4", H264))
        for entry in view.events():
            self.assertRegex(entry["name"], r"^\d{8}T\d{6}Z-\d{3}-\d+$")
        self.assertEqual((self.record / "notes.txt").read_text(), "mine")


class Kills(RecordingCase):
    def test_record_killed_again_and_again_keeps_whole_clips_and_names_the_missing_one(self):
        dice = random.Random(int(os.environ.get("REGIONS_SEED", "7")))
        clip = self.square(20, "in.mp4", H264)
        missing = set()
        for number in range(KILLS):
            view = self.recording(clip)
            said = view.said()
            for name in missing:
                self.assertIn(f"{name}: the clip of ", said)
            # The first kills come while clips are written, the last ones at any time.
            until(lambda: any(entry["clip"] is True for entry in view.events()) or dice.random() < 0.02, what="a clip")
            time.sleep(dice.random() * 2)
            view.stop(signal.SIGKILL)
            entries = self.entries()
            missing = {name for name, entry in entries.items() if entry["clip"] == "writing"
                       and not (self.record / f"{name}.mp4").exists()}
            self.assertLessEqual(len(missing), 1, f"kill {number}")
            for path in self.record.glob("*.mp4"):
                self.expect_whole(path.stem)
        view = self.recording(clip)
        self.assertEqual([path.name for path in self.record.iterdir() if path.name.endswith(".part")], [])
        for name in missing:
            self.assertIn(name, view.said())
            self.assertIn("ended before", self.entries()[name]["problem"])


def small_files():
    """A write fails as on a full disk. 60 kB are enough for the description and the thumbnail, and not for the clip."""
    os.environ["GCOV_PREFIX"] = os.devnull
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))


MOUNT = ["unshare", "-rm", "sh", "-ec"]


class FullDisk(RecordingCase):
    def test_record_with_a_file_size_limit_reports_it_and_goes_on(self):
        clip = self.square(20, "in.mp4", LARGE)
        view = self.recording(clip, preexec_fn=small_files)
        entry = until(lambda: next((entry for entry in view.events() if entry.get("problem")), None), what="a problem")
        self.assertRegex(entry["problem"], "File too large|Error while writing|large")
        self.assertIs(entry["clip"], False)
        self.assertEqual(list(self.record.glob("*.mp4")), [])
        # The next clip may be in progress.
        until(lambda: not any(path.name.endswith(".part") for path in self.record.iterdir()), what="the removal of the unfinished clip")
        self.assertEqual(view.get("/api/streams")["streams"][0]["state"], "playing")
        self.assertIn(entry["name"], view.said())
        self.assertEqual(view.said().count("view: "), 1, "one line, not one per clip")

    def test_record_when_the_disk_is_full_goes_on_and_records_again_with_room(self):
        if subprocess.run([*MOUNT, "mount -t tmpfs tmpfs /mnt"], capture_output=True, check=False).returncode:
            self.skipTest("no file system can be mounted by unshare -rm here")
        clip = self.square(20, "in.mp4", LARGE)
        self.record.mkdir()
        script = """
mount -t tmpfs -o size=8m tmpfs "$0"
head -c 8000000 /dev/zero >"$0/ballast" || true
"$@" 2>"$0/../errors" >"$0/../out" &
until grep -q "view: 2" "$0/../errors"; do sleep 0.1; done
ls "$0" >"$0/../full"
rm "$0/ballast"
until ls "$0" | grep -q mp4; do sleep 0.1; done
kill $!; wait $!
cp "$0"/*.mp4 "$0"/*.json "$0/.."
"""
        done = subprocess.run(
            [*MOUNT, script, str(self.record), *map(str, (media.script("view"), clip, "--loop", "--filter", FILTER, "--listen",
             "localhost:0", "--record", self.record, "--rules", self.rules_file(), *ONE_CLIP))],
            capture_output=True, text=True, timeout=200 * media.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("mp4", (self.folder / "full").read_text())
        self.record = self.folder
        clips = list(self.folder.glob("2*.mp4"))
        self.assertTrue(clips)
        for path in clips:
            self.expect_whole(path.stem)


if __name__ == "__main__":
    main()
