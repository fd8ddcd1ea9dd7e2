#!/usr/bin/python3
"""Files in segments (regions-transcode --segments): equal to a run over the whole file, failures, workers, and recipes."""

import collections
import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest.mock

import media
from cases import FRAMES, KEYS, PROGRAM, SMALL, UNTOUCHED, StandInCase, TranscodeCase, main
from transcode import manifest, processes, progress, scheduling  # after cases, which sets the path


MOVING = "testsrc2=size=160x120:rate=25:duration=4"
TONE = ("-f", "lavfi", "-i", "sine=duration=4:frequency=500")
CHAINS = {"cclabel": "cclabel output=none ! regionoverlay",
          "slicsuperpixel": "slicsuperpixel superpixels=24 output=none"}
YUV = ("-pix_fmt", "yuv420p", "-g", "20")
# Names of clips, and how they are coded; all have key frames each second or oftener.
KINDS = {
    "mp4.mp4": (*TONE, *YUV, "-bf", "2", "-c:a", "aac"),
    "open.mkv": (*TONE, *YUV, "-bf", "2", "-x264-params", "open-gop=1:scenecut=0", "-c:a", "flac"),
    "hevc.mkv": (*YUV, "-c:v", "libx265", "-x265-params", "log-level=none:keyint=20:open-gop=1:bframes=3"),
    "mpeg.ts": (*TONE, *YUV, "-bf", "2", "-c:v", "mpeg2video", "-q:v", "5", "-c:a", "mp2"),
    "mpeg.mpg": (*TONE, *YUV, "-bf", "2", "-c:v", "mpeg2video", "-q:v", "5", "-c:a", "mp2"),
    "still.avi": (*TONE, "-c:v", "mjpeg", "-q:v", "3", "-pix_fmt", "yuvj420p", "-c:a", "mp3"),
    "plain.avi": (*YUV, "-c:v", "mpeg4", "-q:v", "3"),
    "odd #1?%d.webm": (*YUV, "-vf", "scale=161:121,select='not(mod(n,3))+not(mod(n,5))'", "-fps_mode", "vfr", "-c:v",
                 "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"),
    "lossless.mkv": ("-vf", "fps=30000/1001", "-pix_fmt", "yuv422p10le", "-c:v", "ffv1"),
}


def streams(path):
    """Everything that ffprobe reports of a file, except its size and bit rate."""
    found = json.loads(media.run("ffprobe", "-v", "error", "-show_streams", "-show_chapters", "-show_format", "-of",
                                 "json", path))
    for part in (found["format"], *found["streams"]):
        for name in ("size", "bit_rate", "filename"):
            part.pop(name, None)
    return found


class Equality(TranscodeCase):
    def both(self, clip, *arguments, chain, seconds="0.7", more=()):
        """Runs over the whole file and in segments. Returns the folder of the first run, the number of segments, and the
        output of the second run."""
        plain = self.folder / "plain"
        self.transcode(clip, "--force", *arguments, chain=chain, out=plain)
        text = self.transcode(clip, "--segments", seconds, "-j", "2", "--force", *arguments, *more, chain=chain)
        summary = json.loads((self.out / "summary.json").read_text())
        self.assertEqual(self.written(), sorted([*(path.name for path in plain.iterdir()
                                                   if not path.name.endswith(".json") or "coco" in path.name),
                                                 "job.json", "summary.json"]))
        return plain, summary["inputs"][str(clip)]["segments"], text

    def test_lossless_output_with_segments_equals_that_without_segments(self):
        """In the lossless profile: every pixel, all streams and times."""
        for name, options in KINDS.items():
            with self.subTest(name):
                clip = self.clip(name, MOVING, *options)
                plain, segments, text = self.both(clip, "--json", "--profile", "lossless", chain=CHAINS["cclabel"])
                if name == "mpeg.mpg":
                    self.assertIn("not cut into segments: a seek does not find its key frames", text)
                else:
                    self.assertGreater(segments, 2, text)
                out = clip.stem + ".mkv"
                self.assertEqual(media.pictures(self.out / out), media.pictures(plain / out))
                self.assertEqual(streams(self.out / out), streams(plain / out))
                self.assertEqual((self.out / (clip.stem + ".jsonl")).read_bytes(),
                                 (plain / (clip.stem + ".jsonl")).read_bytes())
                if "-c:a" in options:
                    self.assertEqual(media.sound_sum(self.out / out), media.sound_sum(plain / out))
                shutil.rmtree(plain)
                shutil.rmtree(self.out)

    def test_tables_labels_and_times_with_segments_equal_those_without_segments(self):
        """Tables, masks and labels byte for byte, and times of the usual profile."""
        clip = self.clip("in.mkv", MOVING, *KINDS["open.mkv"], "-metadata", "title=Here")
        for name, chain in CHAINS.items():
            with self.subTest(name):
                plain, segments, text = self.both(clip, "--json", "--labels", "--export", "csv", "--export", "coco-rle",
                                                  chain=chain)
                self.assertGreater(segments, 2, text)
                for kind in ("jsonl", "csv", "coco.json"):
                    self.assertEqual((self.out / f"in.{kind}").read_bytes(), (plain / f"in.{kind}").read_bytes(), kind)
                self.assertEqual(media.pictures(self.out / "in.labels.mkv"), media.pictures(plain / "in.labels.mkv"))
                self.assertEqual(media.times(self.out / "in.mp4"), media.times(plain / "in.mp4"))
                self.assertEqual(streams(self.out / "in.mp4"), streams(plain / "in.mp4"))

    def test_tracks_with_segments_and_warm_up_equal_those_without_segments(self):
        """With a second of warm-up, each region has one track through all segments, as in a run over the whole."""
        boxes = "nullsrc=size=160x120:rate=25:duration=4,format=gray,geq=lum='255*(between(X-mod(N*5\\,200)+20\\,0\\,12)" \
                "*between(Y\\,20\\,30)+between(X\\,100-N\\,112-N)*between(Y\\,60\\,75)+between(X\\,5\\,25)*between(Y\\,95\\,110))'"
        clip = self.clip("in.mkv", boxes, "-pix_fmt", "yuv420p", "-g", "20", "-crf", "4")
        plain, segments, text = self.both(clip, "--export", "mot", "--json", more=("--warm-up", "1"),
                                          chain="cclabel track=true min-area=20 output=none")
        self.assertGreater(segments, 2, text)
        written = (self.out / "in.mot.txt").read_text()
        self.assertGreater(len({line.split(",")[1] for line in written.splitlines()}), 2)
        self.assertEqual(written, (plain / "in.mot.txt").read_text())
        self.assertEqual(self.tables_of(self.out), self.tables_of(plain))

    def tables_of(self, folder):
        """The tables in the folder, in which a slow object moves. A run restarts to count `still` when an object has moved
        two pixels from its place, so the small counts of a slow object depend on the first frame of the run."""
        tables = [json.loads(line) for line in (folder / "in.jsonl").read_text().splitlines()]
        for table in tables:
            still = table["columns"].index("still")
            for region in table["regions"]:
                region[still] = max(region[still], 2)
        self.assertEqual(max(region[still] for region in tables[-1]["regions"]), len(tables) - 1)
        return tables


REFUSES_LONG = "identity error-after=30 ! " + UNTOUCHED  # what has more than 30 frames


class Runs(TranscodeCase):

    def segment(self, name, number):
        return json.loads((self.out / f"{name}.segments" / f"{number:04}.json").read_text())

    def test_segment_when_it_always_fails_is_quarantined_and_tried_again_by_the_next_run(self):
        """A segment that always fails holds up neither its file nor others, and is tried again by the next run."""
        bad = self.clip("bad.mp4", SMALL, *KEYS)
        good = self.clip("good.mp4", SMALL, "-pix_fmt", "yuv420p", "-g", "20")
        text = self.segments(bad, good, "--attempts", "2", chain=REFUSES_LONG, status=1)
        self.assertRegex(text, r"bad.mp4: segment 3 of 3: quarantined after 2 attempts: .*; finished segments are kept in \S+")
        self.assertEqual(self.written(), ["bad.mp4.segments", "good.jsonl", "good.mp4", "job.json", "summary.json"])
        told = self.summary()
        self.assertEqual(told["files"], {"done": 1, "quarantined": 1})
        self.assertRegex(self.status(1), r"bad.mp4: 2 done, 1 quarantined\n  segment 3 of 3 quarantined: ")
        self.assertEqual([told["inputs"][str(clip)]["attempts"] for clip in (bad, good)], [4, 4])
        self.assertEqual([self.segment("bad.mp4", number)["state"] for number in range(3)],
                         ["done", "done", "quarantined"])
        # A finished segment is done again only where its files are not as they were.
        with open(self.out / "bad.mp4.segments" / "0000.jsonl", "a", encoding="utf-8") as file:
            file.write("{}\n")
        text = self.segments(bad, good, "--attempts", "2", chain=REFUSES_LONG, status=1)
        self.assertIn("good.mp4: skipped", text)
        self.assertEqual([self.segment("bad.mp4", number)["attempts"] for number in range(3)], [2, 1, 4])
        self.assertEqual(self.summary()["files"], {"quarantined": 1, "skipped": 1})

    def test_status_with_failed_files_prints_each_reason(self):
        """Inputs that could not be cut, and inputs whose segments could not be joined."""
        text, whole = self.folder / "text.mp4", self.clip("in.mp4", SMALL, *KEYS)
        text.write_text("no video")
        damaged = self.clip("damaged.mkv", SMALL, *KEYS)
        with open(damaged, "rb+") as file:
            file.truncate(damaged.stat().st_size * 2 // 3)
        self.segments(text, whole, damaged, self.folder / "none.mp4", "--attempts", "1", chain=UNTOUCHED, status=1)
        told = self.status(1)
        self.assertRegex(told, r"text.mp4: quarantined after 1 attempts?: holds no video")
        self.assertIn("in.mp4: done\n", told)
        self.assertRegex(told, r"damaged.mkv: \d done; quarantined after 1 attempts?: .*cut off or damaged")
        self.assertIn("none.mp4: cannot be read: No such file", told)
        self.segments(text, "--plan", chain=UNTOUCHED, status=1)
        self.assertIn("text.mp4: waiting\n", self.status(1), "the result of an earlier job is not reported for this job")

    def test_segments_with_a_filter_that_changes_the_frame_count_fail_with_the_reason(self):
        text = self.segments(self.clip("in.mp4", SMALL, *KEYS), "--attempts", "1", status=1,
                        chain="videorate ! video/x-raw,framerate=10/1 ! " + UNTOUCHED)
        self.assertRegex(text, r"the filter made \d+ frames of \d+: it can not be cut; --exact transcodes files in one segment")

    def test_segments_of_input_without_whole_key_frames_are_refused_unless_exact_is_set(self):
        """A camera stream without whole key frames: the check finds that its seams differ."""
        clip = self.clip("in.mp4", SMALL, "-pix_fmt", "yuv420p", "-x264-params", "intra-refresh=1:keyint=20:scenecut=0")
        text = self.segments(clip, status=1, chain=UNTOUCHED)
        self.assertIn("its pictures depend on where decoding begins", text)
        self.segments(clip, "--exact", chain=UNTOUCHED)
        self.assertEqual(len(media.times(self.out / "in.mp4")), FRAMES)

    def test_outputs_of_planned_shared_and_joined_segments_equal_those_of_one_run(self):
        """As in a Slurm array: a plan, its shares at the same time, and a command that joins."""
        clip, short = self.clip("in.mp4", SMALL, *KEYS), self.clip("short.mp4", SMALL, "-pix_fmt", "yuv420p")
        self.segments(clip, short)
        names = ("in.mp4", "in.jsonl", "short.mp4", "short.jsonl")
        wanted = [(self.out / name).read_bytes() for name in names]
        for path in self.out.iterdir():
            path.unlink()
        self.assertIn("contains no valid job.json", self.status(2))
        self.assertIn("run the same command with --plan first", self.segments(clip, "--segment", "1/2", status=1))
        self.assertIn("in.mp4: 3 segments\n", self.segments(clip, short, "--plan"))
        self.assertEqual(self.written(), ["in.mp4.segments", "job.json", "short.mp4.segments"])
        self.assertIn("in.mp4: 3 waiting\n", self.status(1))
        command = [str(word) for word in (PROGRAM, "-o", self.out, "--filter", UNTOUCHED, clip, short, "--segments", "0.7",
                                          "--json", "--segment")]
        workers = [subprocess.Popen([*command, f"{number}/2"], stdout=subprocess.DEVNULL) for number in (1, 2)]
        self.assertEqual([worker.wait() for worker in workers], [0, 0])
        text = self.status(1)
        self.assertIn("in.mp4: 3 done\n", text)
        self.assertIn("short.mp4: 1 done\n0 of 2 files are done, and 4 of 4 segments of the other files; failed attempts: 0; the job is not running", text)
        text = self.segments(clip, short)
        self.assertEqual([(self.out / name).read_bytes() for name in names], wanted)
        self.assertEqual([each["attempts"] for each in self.summary()["inputs"].values()], [3, 1], "each once")
        self.assertIn("2 of 2 files", self.status(0))

    def test_output_folder_when_another_job_uses_it_is_refused(self):
        clip = self.clip("in.mp4", SMALL, *KEYS)
        self.out.mkdir()
        with open(self.out / ".regions-job.lock", "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            text = self.segments(clip, status=2)
        self.assertIn(f"another job is working in {self.out}", text)
        self.assertEqual([path.name for path in self.out.iterdir()], [".regions-job.lock"])


SEGMENTS = 3
DEEP = "[" * 200_000  # Python's reader of JSON calls itself for each


class Attempts(StandInCase):
    """Failures of planning, of joining and of records, with fake jobs."""

    def setUp(self):
        super().setUp()
        self.replace(processes, "run", self.job)
        self.problems = collections.defaultdict(list)  # of attempts, by kind and input
        self.began, self.devices = collections.Counter(), []
        self.source, self.other = self.inputs("one.mp4", "two.mp4")

    async def job(self, kind, settings, hear, *_):
        """Replaces processes.run."""
        what = kind, os.path.basename(settings["source"])
        self.began[what] += 1
        self.devices.append(settings.get("device"))
        if self.problems[what]:
            return self.problems[what].pop(0)
        if what[0] == "plan":
            hear({"plan": {"why": None, "spans": [{"packets": 10}] * SEGMENTS, "probed": None}})
            return None
        for path in settings["outputs"].values():
            pathlib.Path(path).write_text(what[0])
        hear({"done": {"frames": 10, "seconds": 1, "length": 1}})
        return None

    def run_on(self, *sources, status=0):
        said = self.ran(*sources, "--segments", "1")
        self.assertEqual(said.status, status, said.err)
        told = json.loads((self.out / "summary.json").read_text())["inputs"]
        return said, [told[source] for source in sources]

    def test_planning_or_joining_when_it_fails_twice_is_tried_again_and_succeeds(self):
        for kind in ("plan", "join"):
            self.problems[kind, "one.mp4"] = ["fails", "fails again"]
        _, (told,) = self.run_on(self.source)
        self.assertEqual((told["state"], told["segments"], told["attempts"]), ("done", SEGMENTS, SEGMENTS))
        self.assertEqual([self.began[name, "one.mp4"] for name in ("plan", "segment", "join")],
                         [3, SEGMENTS, 3])

    def test_file_when_planning_or_joining_always_fails_is_quarantined(self):
        """The file is quarantined, other files continue, and the next run tries again."""
        for kind in ("plan", "join"):
            self.problems[kind, "one.mp4"] = ["fails"] * 3
            said, told = self.run_on(self.source, self.other, status=1)
            self.assertIn(f"{self.source}: quarantined after 3 attempts: fails\n", said.err)
            self.assertEqual([one["state"] for one in told], ["quarantined", "done" if kind == "plan" else "skipped"])
            self.assertIn("fails", told[0]["problem"])
        self.run_on(self.source)
        self.assertEqual(self.began["segment", "one.mp4"], SEGMENTS, "none was repeated")

    def test_file_when_writing_its_job_records_fails_is_tried_again_and_at_last_quarantined(self):
        """For example because the storage is unreachable for a while."""
        write, refused = manifest.Manifest.write, []

        def failing(known, number, told):
            if "one.mp4" in known.folder and (len(refused) < times):
                refused.append(number)
                raise OSError(5, "out of reach")
            return write(known, number, told)

        for times, state in ((2, "done"), (10**6, "quarantined")):
            refused.clear()
            with unittest.mock.patch.object(manifest.Manifest, "write", failing):
                said = self.ran(self.source, self.other, "--segments", "1", "--force")
            told = json.loads((self.out / "summary.json").read_text())["inputs"]
            self.assertEqual([told[source]["state"] for source in (self.source, self.other)], [state, "done"], said.err)
        self.assertIn("quarantined after 3 attempts: out of reach", said.err)
        self.assertGreater(len(refused), 3 * SEGMENTS)

    def test_segments_with_damaged_job_records_are_processed_again(self):
        """They are made again."""
        self.problems["join", "one.mp4"] = ["fails"] * 3
        self.run_on(self.source, status=1)
        folder = self.out / "one.mp4.segments"
        for text in ("", "{", "{}", "[]", "3", '{"state": "done"}', '{"state": "done", "attempts": 1, "problems": [], "done": {},'
                     ' "checksums": {}}', '{"state": "failed", "attempts": "x", "problems": []}', '{"state": 3}', "\0\xff",
                     '{"state": "failed", "attempts": 1, "problems": []}', DEEP):
            self.began.clear()
            (folder / "0001.json").write_text(text)
            self.problems["join", "one.mp4"] = ["fails"] * 3
            self.run_on(self.source, status=1)
            self.assertEqual((self.began["plan", "one.mp4"], self.began["segment", "one.mp4"]), (0, 1), text)
        plan = json.loads((folder / "plan.json").read_text())
        of_this = [json.dumps(plan | {"spans": spans}) for spans in ([3, 3], [{}, {}], [{"packets": "x"}] * 2, [None] * 2, 3, {})]
        for text in ("", "{}", '{"spans": 3, "made": {}}', '{"spans": [], "made": 3}', '{"spans": [null]}', DEEP, *of_this):
            self.began.clear()
            (folder / "plan.json").write_text(text)
            self.problems["join", "one.mp4"] = ["fails"] * 3
            self.run_on(self.source, status=1)
            self.assertEqual((self.began["plan", "one.mp4"], self.began["segment", "one.mp4"]), (1, SEGMENTS), text)

    def test_segments_with_two_gpus_run_on_both(self):
        self.replace(scheduling, "cuda_devices", lambda: 2)
        self.assertEqual(self.ran(self.source, "--segments", "1", "-j", "2").status, 0)
        self.assertEqual(set(self.devices) - {None}, {0, 1})

    def test_run_when_job_json_cannot_be_written_ends_with_an_error(self):
        with unittest.mock.patch.object(progress, "write_json", side_effect=OSError(28, "No space left on device")):
            said = self.ran(self.source, "--segments", "1")
        self.assertEqual((said.status, said.err), (1, "regions-transcode: No space left on device\n"))


PAGE = (media.ROOT / "docs" / "archives.md").read_text(encoding="utf-8")
# Slurm gives its words to a shell on a node, once for each number of the array.
SBATCH = """#!/bin/sh -e
[ "$1 $2 $3 $4" = "--wait --array=1-3 --cpus-per-task=4 --wrap" ]
for number in 1 2 3; do
  SLURM_ARRAY_TASK_ID=$number sh -ec "$5"
done
"""


class Recipes(TranscodeCase):
    """The commands of docs/archives.md for Slurm and Kubernetes, with fewer workers and a fake sbatch."""

    def setUp(self):
        super().setUp()
        (self.folder / "in").mkdir()
        for name in ("in/one.mp4", "in/two.mp4"):
            self.clip(name, SMALL, *KEYS)

    def here(self, text):
        """A recipe with the folders of this machine."""
        text = text.replace("/archive/", f"{self.folder}/").replace("--segments 120", "--segments 0.7")
        return re.sub(r"\b100\b", "3", text)

    def shell(self, text, **more):
        return media.run("sh", "-ec", text, cwd=media.ROOT,
                         env=os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}"} | more)

    def expect_same(self):
        self.transcode(*sorted((self.folder / "in").iterdir()), "--json", chain="cclabel", out=self.folder / "plain")
        for name in ("one.jsonl", "two.jsonl"):
            self.assertEqual((self.out / name).read_bytes(), (self.folder / "plain" / name).read_bytes())
        self.assertIn('"attempts": 3', (self.out / "summary.json").read_text(), "workers made the segments")

    def test_slurm_recipe_of_the_guide_writes_the_tables_of_a_plain_run(self):
        recipe, = re.findall(r"## Slurm\n\n```sh\n(.*?)```", PAGE, re.S)
        sbatch = self.folder / "sbatch"
        sbatch.write_text(SBATCH)
        sbatch.chmod(0o755)
        self.shell(self.here(recipe))
        self.expect_same()

    def test_kubernetes_recipe_of_the_guide_writes_the_tables_of_a_plain_run(self):
        command, = re.findall(r'command: \[sh, -c, "(.*?)"\]', PAGE, re.S)
        command = self.here(" ".join(command.split()))
        job = command.removeprefix("exec ").partition(" --segment ")[0]
        self.shell(job + " --plan")
        for number in range(3):
            self.shell(command, JOB_COMPLETION_INDEX=str(number))
        self.shell(job)
        self.expect_same()


if __name__ == "__main__":
    main()
