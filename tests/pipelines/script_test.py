#!/usr/bin/python3
"""The short scripts, each run in the test's own process: what they take, refuse and hand to the engine."""

import json
import os
import re
import sys
import unittest
import unittest.mock

import inside
import job
import media
import numpy
import profiles

# How each script calls the engine: its arguments after the files, the filter, its profile.
VIDEOS = {"overlay": ("cclabel output=none min-area=100 ! regionoverlay style=boxes+outlines+ids", "mp4"),
          "background": ("graphcutbg output=replace feather=2", "mp4"),
          "superpixels": ("slicsuperpixel output=mean", "mp4"),
          "labels": ("cclabel output=labels", "lossless")}
COLORS = " ! cclabel criterion=difference output=colors"
STILLS = {"difference": ((), "videoconvert ! video/x-raw,format=RGB ! slicsuperpixel region-size=12 output=mean"
                         + COLORS.replace("cclabel", "cclabel name=regions"), ("tolerance=0.08", "min-area=60")),
          "depth-objects": ((), "videoconvert ! video/x-raw,format={GRAY8,GRAY16_LE}" + COLORS,
                            ("tolerance=0.008", "min-area=200")),
          "wand": (("3", "4.5"), "videoconvert ! capsfilter name=rgb caps=video/x-raw,format=RGB ! cclabel"
                   " criterion=difference output=mask", ("tolerance=0.06", "seeds=<3.0,4.5>"))}


class Scripts(inside.Case):
    def setUp(self):
        super().setUp()
        self.photo = self.clip("in.png", "testsrc2=size=64x48", "-frames:v", "1")
        self.out = self.folder / "out"

    def engine(self):
        """Jobs that only tell how they were made."""
        calls = []

        class Engine:
            def __init__(self, source, outputs, filtered, profile, say):
                self.sidecars = []
                self.told = {"source": source, "outputs": outputs, "profile": profile, "say": say}
                calls.append(self.told)

            def run(self):
                return 17

        self.replace(job, "Job", Engine)
        import filters
        made = filters.made
        self.replace(filters, "made", lambda line, properties: (
            calls.append((line, list(properties))), made(line, properties))[1])
        return calls

    def run_script(self, name, *arguments):
        return inside.program(media.script(name), *arguments)

    def test_videos(self):
        for name, (line, profile) in VIDEOS.items():
            for properties in ([], ["max-regions=3"] if name != "background" else ["feather=3"]):
                calls = self.engine()
                self.assertEqual(self.run_script(name, self.photo, self.out, *properties), (17, "", ""))
                self.assertEqual(calls[0], (line, properties))
                told = calls[1]
                self.assertEqual((told["source"], told["profile"]), (str(self.photo), profiles.PROFILES[profile]))
                self.assertEqual({kind: made.args for kind, made in told["outputs"].items()},
                                 {"video": (str(self.out),)})

    def test_stills(self):
        for name, (place, line, properties) in STILLS.items():
            for more in ((), ("0.25",)):
                expected = ["tolerance=0.25", *properties[1:]] if more else list(properties)
                calls = self.engine()
                out = self.folder / name / "made" / "out.png"
                self.assertEqual(self.run_script(name, self.photo, *place, out, *more), (17, "", ""))
                self.assertTrue(out.parent.is_dir(), "its folder is made")
                self.assertEqual(calls[0], (line, expected))
                self.assertEqual(calls[1]["profile"], profiles.STILL)
                self.assertEqual({kind: made.args for kind, made in calls[1]["outputs"].items()},
                                 {"video": (str(out),)})
        calls = self.engine()
        self.run_script("depth-objects", self.photo, self.out, "0.1", "7")
        self.assertEqual(calls[0][1], ["tolerance=0.1", "min-area=7"])

    def test_what_stills_take_unless_told(self):
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        photos = "/usr/share/doc/opencv-doc/examples/data/"
        for name, arguments, source in (("difference", (), photos + "smarties.png"),
                                        ("depth-objects", (), photos + "aloeGT.png"),
                                        ("wand", (self.photo, "1", "2"), str(self.photo))):
            calls = self.engine()
            self.assertEqual(self.run_script(name, *arguments).status, 17)
            self.assertEqual(calls[1]["source"], source)
            self.assertEqual({kind: made.args for kind, made in calls[1]["outputs"].items()},
                             {"video": (f"out/{name}.png",)})
        calls = self.engine()
        self.assertEqual(self.run_script("difference", self.photo, "plain.png").status, 17)
        self.assertEqual(self.files(), ["in.png", "out"])

    def test_a_table(self):
        clip = self.clip("in.mkv", "testsrc2=size=64x48:rate=25:duration=0.4", "-c:v", "ffv1")
        calls = self.engine()
        self.assertEqual(self.run_script("table", clip, "threshold=0.7", "min-area=3").status, 17)
        self.assertEqual(calls[0], ("cclabel output=none", ["threshold=0.7", "min-area=3"]))
        self.assertIsNone(calls[1]["profile"])
        self.assertEqual(calls[1]["outputs"], {"jsonl": __import__("files").StandardOutput})

    def test_results_alone_are_on_standard_output(self):
        clip = self.clip("in.mkv", "testsrc2=size=64x48:rate=25:duration=0.4", "-c:v", "ffv1")
        said = self.run_script("table", clip)
        self.assertEqual((said.status, said.err), (0, ""))
        rows = [json.loads(line) for line in said.out.splitlines()]
        self.assertEqual([row["frame"] for row in rows], list(range(10)))
        said = self.run_script("labels", clip, self.out)
        self.assertEqual((said.status, said.err), (0, ""))
        self.assertRegex(said.out, rf"(?s)^(in.mkv: frame .*\n)?{re.escape(str(clip))}: 10 frames in .*; wrote {self.out}\n$")
        said = self.run_script("table", self.photo, "output=mask")
        self.assertEqual((said.status, said.err), (0, ""), "what the filter shows does not matter")
        # Notes and problems stand beside them.
        calls = self.engine()
        self.run_script("table", clip)

        def tell():
            for said in ({"progress": {"frame": 1, "of": 0, "rate": 2}}, {"note": "odd"}, {"problem": "bad"},
                         {"done": {"frames": 1, "seconds": 1.0, "length": 1.0}}):
                calls[1]["say"](**said)

        self.assertEqual(inside.called(tell), (None, "", f"{clip}: note: odd\ntable: {clip}: bad\n"))

    def test_pictures(self):
        """Of a photograph comes one picture, in the filter's format."""
        self.assertEqual(self.run_script("difference", self.photo, self.out).status, 0)
        self.assertEqual(media.frames(self.out, "rgb24").shape, (1, 48, 64, 3))
        self.assertEqual(self.run_script("wand", self.photo, "0", "0", self.out, "0.5").status, 0)
        self.assertEqual(media.stream(self.out, "codec_name", "pix_fmt"), {"codec_name": "png", "pix_fmt": "gray"})
        self.assertEqual({*numpy.unique(media.frames(self.out, "gray"))}, {0, 255})
        self.assertEqual(self.files(), ["in.png", "out"])

    def test_refusals(self):
        def refused(status, why, name, *arguments):
            before = self.files()
            self.assertEqual(self.run_script(name, *arguments), (status, "", f"{name}: {why}\n"))
            self.assertEqual(self.files(), before)

        missing = self.folder / "missing"
        refused(1, f"{missing}: cannot be read: No such file or directory", "overlay", missing, self.out)
        refused(2, f"{self.photo}: is the input and would be overwritten; choose another output", "overlay", self.photo, self.photo)
        link = self.folder / "link"
        link.symlink_to("in.png")
        refused(2, f"{self.photo}: is the input and would be overwritten; choose another output", "difference", self.photo, link)
        refused(2, "cclabel threshold=7: expected a number from 0 to 1", "overlay", self.photo, self.out, "threshold=7")
        refused(2, "cclabel tolerance=much: expected a number from 0 to 3", "difference", self.photo, self.out, "much")
        said = self.run_script("wand", self.photo, "left", "3", self.out)
        self.assertEqual(said.status, 2)
        self.assertIn("invalid float value: 'left'", said.err)
        odd = self.folder / "new\nline"
        self.assertEqual(self.run_script("table", odd).err,
                         f"table: {self.folder}/new\\nline: cannot be read: No such file or directory\n")
        refused(1, "the folder /proc/none cannot be made: No such file or directory", "difference", self.photo,
                "/proc/none/out.png")
        refused(1, f"{self.photo}: cannot write into the folder /proc: No such file or directory", "overlay", self.photo,
                "/proc/out.mp4")
        text = self.folder / "text"
        text.write_text("no picture\n" * 50)
        said = self.run_script("difference", text, self.out)
        self.assertEqual((said.status, said.out), (1, ""))
        self.assertIn(f"difference: {text}: holds no video that can be decoded here", said.err)

    def test_help(self):
        for name, usage, words in (
                ("overlay", "overlay FILE OUT.mp4 [PROPERTY=VALUE ...]",
                 "of cclabel; gst-inspect-1.0 cclabel lists them"),
                ("background", "background FILE OUT.mp4 [PROPERTY=VALUE ...]", "of graphcutbg;"),
                ("superpixels", "superpixels FILE OUT.mp4 [PROPERTY=VALUE ...]", "of slicsuperpixel;"),
                ("labels", "labels FILE OUT.mkv [PROPERTY=VALUE ...]", "FFV1 keeps the labels byte for byte"),
                ("table", "table FILE [PROPERTY=VALUE ...]", "the regions of every frame as JSON"),
                ("difference", "difference [photo] [out] [tolerance] [min-area]", "fraction of full scale); default: 0.08"),
                ("depth-objects", "depth-objects [depth] [out] [tolerance] [least_area]", "(pixels); default: 200"),
                ("wand", "wand photo x y [out] [tolerance] [{neighbours,seed}]", "in pixels from the left edge")):
            for option in ("-h", "--help"):
                said = self.run_script(name, option)
                self.assertEqual((said.status, said.err), (0, ""))
                text = " ".join(said.out.split())
                self.assertTrue(text.startswith(f"usage: {usage} "), text)
                self.assertIn(words, text)
        # With more words beside it, it is the name of a file.
        self.assertIn("--help: cannot be read", self.run_script("overlay", "--help", self.out).err)
        self.assertIn("-q: cannot be read", self.run_script("overlay", "-q", self.out).err)
        for name, lacking in (("overlay", "FILE, OUT.mp4"), ("table", "FILE"), ("wand", "photo, x, y")):
            said = self.run_script(name)
            self.assertEqual((said.status, said.out), (2, ""))
            self.assertIn(f"the following arguments are required: {lacking}", said.err)

    def test_as_programs(self):
        """Each finds what it imports, wherever it is called from."""
        for name in (*VIDEOS, *STILLS, "table", "live"):
            self.assertIn(f"usage: {name} ", media.run(media.script(name), "--help", cwd=self.folder))
        missing = self.folder / "missing"
        self.assertEqual(media.run(media.script("table"), missing, status=1, cwd=self.folder),
                         f"table: {missing}: cannot be read: No such file or directory\n")
        media.run(media.script("overlay"), self.photo, self.out, cwd=self.folder)
        self.assertEqual(media.stream(self.out, "codec_name"), {"codec_name": "h264"})
        self.assertIn("required: FILE", media.run(media.script("overlay"), status=2, cwd=self.folder))

    def test_the_plugin_is_looked_for_once(self):
        """The program starts again through with-plugin, with all its words."""
        calls = []

        class Replaced(Exception):
            pass

        def execv(path, words):
            calls.append((path, words, os.environ["REGIONS_ENVIRONMENT"]))
            raise Replaced

        self.replace(os, "execv", execv)
        with unittest.mock.patch.dict(os.environ):
            del os.environ["REGIONS_ENVIRONMENT"]
            with self.assertRaises(Replaced):
                self.run_script("overlay", self.photo, self.out, "threshold=0.5")
        environment = str(media.script("with-plugin"))
        self.assertEqual(calls, [(environment, [environment, sys.executable, str(media.script("overlay")),
                                                str(self.photo), str(self.out), "threshold=0.5"], "1")])
        self.assertEqual(self.run_script("overlay", "--help").status, 0, "help needs none")
        self.assertEqual(len(calls), 1)


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
