#!/usr/bin/python3
"""regions-transcode, judged by what ffmpeg and SciPy read from its outputs: what is kept, what is
written beside, and what happens to bad inputs and under interruption."""

import json
import os
import pathlib
import pty
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

import media
import numpy
from scipy import ndimage
from scripts_test import in_raster_order

PROGRAM = media.ROOT / "pipelines" / "transcode" / "regions-transcode"
BALLS = "testsrc2=size=320x240:rate=25:duration=2"
SOUND = ("-f", "lavfi", "-i", "sine=duration=2:frequency=500")
UNTOUCHED = "cclabel output=none"
DRAWN = "cclabel min-area=100 output=none ! regionoverlay"


def sound_sum(path):
    """The checksum of all sound packets as they are in the file."""
    return media.run("ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-c", "copy", "-f", "md5", "-")


def sound_times(path):
    text = media.run("ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries",
                     "packet=pts_time", "-of", "default=nw=1:nk=1", path)
    return [float(line) for line in text.split()]


class Transcode(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def clip(self, name, source=BALLS, *options):
        return media.make(self.folder / name, source, *options)

    def transcode(self, *arguments, status=0, chain=UNTOUCHED, **options):
        return media.run(PROGRAM, "-o", self.out, "--filter", chain, *arguments, status=status, **options)

    def written(self):
        return sorted(path.name for path in self.out.iterdir()) if self.out.exists() else []

    def expect_same_times(self, clip, out):
        self.assertGreater(len(media.times(clip)), 10)
        numpy.testing.assert_allclose(media.times(out), media.times(clip), atol=1.1e-3)

    def test_sound_times_and_sidecars(self):
        clip = self.clip("in.mp4", BALLS, *SOUND, "-pix_fmt", "yuv420p", "-c:a", "aac")
        self.assertGreater(len(sound_times(clip)), 80)
        self.transcode(clip, "--json", "--labels", chain=DRAWN)
        out = self.out / "in.mp4"
        self.assertEqual(self.written(), ["in.jsonl", "in.labels.mkv", "in.mp4"])
        self.assertEqual(media.stream(out, "codec_name", "width", "height"),
                         {"codec_name": "h264", "width": "320", "height": "240"})
        self.expect_same_times(clip, out)
        self.assertEqual(sound_sum(out), sound_sum(clip))
        numpy.testing.assert_allclose(sound_times(out), sound_times(clip), atol=1e-3)
        # The sidecar says what the metadata says, as another program reads it.
        rows = [json.loads(line) for line in (self.out / "in.jsonl").read_text().splitlines()]
        table = [json.loads(line) for line in media.run(
            media.script("table"), clip, "min-area=100").splitlines()]
        numpy.testing.assert_allclose([row.pop("time") for row in rows], media.times(clip), atol=1e-3)
        for row in table:
            del row["time"]
        self.assertEqual(rows, table)
        # The label video holds the labels, byte for byte.
        labels = self.out / "in.labels.mkv"
        self.expect_same_times(clip, labels)
        pictures, maps = media.frames(clip, "gray"), media.frames(labels, "gray16le")
        self.assertEqual(len(maps), 50)
        for row, labelled in zip(rows, maps):
            self.assertEqual(labelled.max(), row["regions-total"])
            self.assertEqual(numpy.bincount(labelled.flat)[1:].tolist(),
                             [region["area"] for region in row["regions"]])
        changed = abs(media.frames(out, "gray").astype(int) - pictures) > 60
        self.assertGreater(changed.mean(), 0.005)

    def test_labels_are_exact(self):
        noise = self.clip("noise.mkv", "nullsrc=size=97x61:rate=10:duration=1,format=gray,"
                          "geq=lum='random(1)*255'", "-c:v", "ffv1")
        self.transcode(noise, "--labels", "--profile", "lossless",
                       chain="cclabel connectivity=4 output=none")
        pictures = media.frames(noise, "gray")
        for picture, labels in zip(pictures, media.frames(self.out / "noise.labels.mkv", "gray16le"),
                                   strict=True):
            numpy.testing.assert_array_equal(
                labels, in_raster_order(ndimage.label(picture >= 128)[0]))
        numpy.testing.assert_array_equal(media.frames(self.out / "noise.mkv", "gray"), pictures)

    def test_lossless_keeps_every_byte(self):
        for name, options in {
                "plain": ("-pix_fmt", "yuv420p"), "deep": ("-pix_fmt", "yuv420p10le"),
                "odd": ("-vf", "scale=321:241", "-pix_fmt", "yuv420p"),
                "wide": ("-pix_fmt", "yuv422p")}.items():
            with self.subTest(name):
                clip = self.clip(name + ".mkv", BALLS, *SOUND, *options, "-c:v", "ffv1", "-c:a",
                                 "pcm_s16le")
                self.transcode(clip, "--profile", "lossless")
                out = self.out / (name + ".mkv")
                form = media.stream(clip, "pix_fmt")["pix_fmt"]
                self.assertEqual(media.stream(out, "codec_name", "pix_fmt"),
                                 {"codec_name": "ffv1", "pix_fmt": form})
                sums = [media.run("ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-pix_fmt", form,
                                  "-f", "md5", "-") for path in (clip, out)]
                self.assertEqual(*sums)
                self.assertEqual(sound_sum(out), sound_sum(clip))
                self.expect_same_times(clip, out)

    def test_colours(self):
        for matrix, primaries, curve, span in (("bt709", "bt709", "bt709", "tv"),
                                               ("smpte170m", "smpte170m", "smpte170m", "tv"),
                                               ("bt709", "bt709", "bt709", "pc")):
            with self.subTest(f"{matrix} {span}"):
                clip = self.clip("color.mkv", BALLS, "-vf", "scale=out_range=" + span, "-pix_fmt",
                                 "yuv420p", "-c:v", "libx264", "-colorspace", matrix,
                                 "-color_primaries", primaries, "-color_trc", curve, "-color_range",
                                 span)
                self.transcode(clip, "--force")
                names = ("color_space", "color_primaries", "color_transfer", "color_range")
                self.assertEqual(media.stream(self.out / "color.mp4", *names),
                                 media.stream(clip, *names))
                before, after = (media.frames(path, "rgb24").astype(int)
                                 for path in (clip, self.out / "color.mp4"))
                self.assertLess(abs(before - after).mean(), 4)

    def test_rotation(self):
        plain = self.clip("plain.mp4", BALLS, "-pix_fmt", "yuv420p")
        for turn in (90, 180, 270):
            clip = self.folder / f"turned{turn}.mp4"
            media.run("ffmpeg", "-v", "error", "-y", "-i", plain, "-c", "copy", "-metadata:s:v",
                      f"rotate={turn}", clip)
            self.transcode(clip)
            # ffmpeg turns what it decodes; frames() takes the size before that.
            raw = subprocess.run(["ffmpeg", "-v", "error", "-i", clip, "-f", "rawvideo", "-pix_fmt",
                                  "gray", "-"], capture_output=True, check=True).stdout
            after = media.frames(self.out / clip.name, "gray").astype(int)
            self.assertEqual(after.shape[1:], (240, 320) if turn == 180 else (320, 240))
            before = numpy.frombuffer(raw, numpy.uint8).reshape(after.shape)
            self.assertLess(abs(before - after).mean(), 4, f"turned by {turn} degrees")

    def test_containers_and_awkward_clips(self):
        aac = ("-c:a", "aac", "-pix_fmt", "yuv420p")
        clips = {
            "webm": ("a.mp4", (BALLS, *SOUND, *aac), "vp9", "opus"),
            "mkv": ("b.avi", (BALLS, *SOUND, "-c:v", "mpeg4", "-c:a", "mp3"), "h264", "mp3"),
            "mp4": ("c.mkv", (BALLS, *SOUND, "-c:a", "pcm_s16le", "-pix_fmt", "yuv420p"), "h264", "aac"),
        }
        for profile, (name, options, picture, sound) in clips.items():
            with self.subTest(profile):
                clip = self.clip(name, *options)
                text = self.transcode(clip, "--profile", profile)
                out = self.out / (clip.stem + "." + profile)
                self.expect_same_times(clip, out)
                codecs = media.run("ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of",
                                   "default=nw=1:nk=1", out).split()
                self.assertEqual(codecs, [picture, sound])
                if profile == "mkv":
                    self.assertEqual(sound_sum(out), sound_sum(clip))
                else:
                    self.assertIn("files cannot hold it", text)
        uneven = self.clip("uneven.mkv", BALLS, "-vf", "select='not(mod(n,3))+not(mod(n,5))'", "-vsync",
                           "vfr", "-pix_fmt", "yuv420p")
        odd = self.clip("odd.mkv", "testsrc=size=31x21:rate=30000/1001:duration=1", "-c:v", "ffv1")
        late = self.folder / "late.mkv"
        media.run("ffmpeg", "-v", "error", "-itsoffset", "0.5", "-f", "lavfi", "-i", BALLS, *SOUND,
                  "-pix_fmt", "yuv420p", late)
        quiet = self.clip("quiet.mp4", BALLS, *SOUND, *aac)
        self.transcode(uneven, odd, late)
        for clip in (uneven, odd, late):
            with self.subTest(clip.name):
                self.expect_same_times(clip, self.out / (clip.stem + ".mp4"))
        self.assertEqual(media.stream(self.out / "odd.mp4", "width", "height"),
                         {"width": "32", "height": "22"})
        self.transcode(quiet, "--no-sound")
        self.assertEqual(sound_times(self.out / "quiet.mp4"), [])

    def test_bad_inputs_leave_the_others_alone(self):
        good = self.clip("good.mp4", BALLS, "-pix_fmt", "yuv420p")
        also = self.clip("also.mkv", BALLS, "-pix_fmt", "yuv420p")
        (self.folder / "empty.mp4").write_bytes(b"")
        (self.folder / "text.avi").write_text("this is no video\n" * 100)
        (self.folder / "cut.mp4").write_bytes(good.read_bytes()[:20000])
        self.clip("sound.wav", "sine=duration=1")
        bad = {"missing.mp4": "No such file", "empty.mp4": "the file is empty", "text.avi": "",
               "cut.mp4": "", "sound.wav": "holds no video"}
        text = self.transcode(good, *(self.folder / name for name in bad), also, "-j", "2", status=1)
        for name, reason in bad.items():
            self.assertRegex(text, f"regions-transcode: .*{name}: .*{reason}")
        self.assertIn("5 of 7 inputs failed", text)
        self.assertNotIn("Traceback", text)
        self.assertEqual(self.written(), ["also.mp4", "good.mp4"])
        for clip in (good, also):
            self.expect_same_times(clip, self.out / (clip.stem + ".mp4"))

    def test_damage_in_the_middle(self):
        whole = self.clip("whole.avi", BALLS, "-c:v", "mjpeg")
        data = bytearray(whole.read_bytes())
        middle = len(data) // 2
        data[middle:middle + 3000] = bytes(3000)
        damaged = self.folder / "damaged.avi"
        damaged.write_bytes(data)
        self.transcode(damaged)
        self.assertGreaterEqual(len(media.times(self.out / "damaged.mp4")), 45)
        ended = self.folder / "ended.avi"
        ended.write_bytes(whole.read_bytes()[:len(data) // 4])
        text = self.transcode(ended, status=1)
        self.assertRegex(text, r"ended.avi: ends after 0\.\d s of 2\.0 s")

    def test_refusals(self):
        clip = self.clip("in.mp4", BALLS, "-pix_fmt", "yuv420p")
        twin = self.folder / "twin" / "in.mkv"
        twin.parent.mkdir()
        self.clip("twin/in.mkv", BALLS, "-pix_fmt", "yuv420p")
        for arguments, chain, reason in (
                ([clip], "cclabel ! nonsense", 'no element "nonsense"'),
                ([clip], "cclabel ! fakesink", "one way in and one way out"),
                ([clip], "cclabel color=3", "color"),
                ([clip, twin], UNTOUCHED, f"{clip} and {twin} would both be written to"),
                ([clip, "-o", self.folder], UNTOUCHED, "which is an input"),
                ([clip, "-o", clip], UNTOUCHED, "cannot make the folder"),
                ([clip, "-j", "0"], UNTOUCHED, "-j wants a number from 1 on")):
            with self.subTest(reason):
                self.assertIn(reason, self.transcode(*arguments, chain=chain, status=2))
                self.assertEqual(self.written(), [])
        # What only shows with a frame at hand.
        for chain, option, reason in (("identity", "--json", "frame 0 has no regions"),
                                      ("identity", "--labels", "frame 0 has no label map")):
            self.assertIn(reason, self.transcode(clip, option, chain=chain, status=1))
            self.assertEqual(self.written(), [])

    def test_a_full_disk(self):
        """A limit on the size of files stands in for it: the write fails, as it does there."""
        clip = self.clip("in.mkv", "nullsrc=size=320x240:rate=25:duration=4,geq=random(1)*255:128:128",
                         "-c:v", "ffv1")
        small = self.clip("small.mkv", "color=size=64x48:rate=25:duration=1", "-c:v", "ffv1")
        size = 500_000
        text = self.transcode(clip, small, "--profile", "lossless", status=1, preexec_fn=lambda:
                              resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        self.assertRegex(text, "in.mkv: .*(writing|File too large)")
        self.assertEqual(self.written(), ["small.mkv"])

    def start(self, *arguments):
        """A run over the long clip, and its first line: it works on frames by then."""
        self.out.mkdir()
        work = subprocess.Popen([str(word) for word in (
            PROGRAM, "-o", self.out, "--filter", DRAWN, "--json", media.CLIP, *arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return work, work.stdout.readline()

    def test_interrupted_and_run_again(self):
        first = self.clip("first.mp4", BALLS, *SOUND, "-pix_fmt", "yuv420p", "-c:a", "aac")
        self.transcode(first, "--json", chain=DRAWN)
        stamp = (self.out / "first.mp4").stat().st_mtime_ns
        (self.out / "first.mp4").rename(self.folder / "keep.mp4")
        (self.out / "first.jsonl").unlink()
        self.out.rmdir()
        work, line = self.start()
        work.send_signal(signal.SIGINT)
        text = line + work.communicate(timeout=100)[0]
        self.assertEqual(work.returncode, 130, text)
        self.assertIn("interrupted; what is finished stays", text)
        self.assertEqual(self.written(), [])
        (self.folder / "keep.mp4").rename(self.out / "first.mp4")
        text = self.transcode(first, media.CLIP, chain=DRAWN)
        self.assertIn("first.mp4: skipped", text)
        self.assertEqual((self.out / "first.mp4").stat().st_mtime_ns, stamp)
        self.expect_same_times(media.CLIP, self.out / "vtest.mp4")
        self.assertEqual(len(media.times(self.out / "vtest.mp4")), 795)

    def test_killed(self):
        """The jobs notice that nobody listens, and leave nothing."""
        work, line = self.start()
        self.assertIn("frame", line)
        work.kill()
        work.communicate(timeout=100)  # the jobs hold the other end of this pipe until they end
        self.assertEqual(self.written(), [])

    def test_progress_on_a_terminal(self):
        clip = self.clip("in.mp4", BALLS, "-pix_fmt", "yuv420p")
        reader, writer = pty.openpty()
        work = subprocess.Popen([str(PROGRAM), "-o", str(self.out), "--filter", UNTOUCHED, str(clip)],
                                stdout=writer, stderr=writer)
        os.close(writer)
        shown = b""
        try:
            while more := os.read(reader, 4096):
                shown += more
        except OSError:  # how a terminal tells its end
            pass
        os.close(reader)
        self.assertEqual(work.wait(), 0, shown)
        self.assertRegex(shown.decode(), r"\r\x1b\[Kin.mp4: frame \d+ of about 50, \d+ %, \d+ frames/s,"
                         r" \d:\d\d left")
        self.assertRegex(shown.decode(), r"in.mp4: 50 frames in [\d.]+ s \(\d+ a second, [\d.]+ times its"
                         r" speed\); wrote .*out/in.mp4")

    def test_jobs_are_spread_over_devices(self):
        text = media.run(media.script("with-plugin"), sys.executable, "-c", """
import sys; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/..']
import importlib.machinery, importlib.util
loader = importlib.machinery.SourceFileLoader('program', sys.argv[1] + '/regions-transcode')
program = importlib.util.module_from_spec(importlib.util.spec_from_loader('program', loader))
loader.exec_module(program)
import job
def ids(line, device):
    bin = job.make_filter(line, device, True)
    return [bin.get_by_name(name).get_property('cuda-device-id') for name in 'ab']
print([program.device_for(slot, 3) for slot in range(5)], program.device_for(4, 1))
print(ids('cclabel name=a ! videoconvert ! regionoverlay name=b', 2))
print(ids('cclabel name=a cuda-device-id=1 ! regionoverlay name=b', 2))
""", PROGRAM.parent)
        self.assertEqual(re.findall(r"\[.*\].*", text), ["[0, 1, 2, 0, 1] -1", "[2, 2]", "[1, -1]"])


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
