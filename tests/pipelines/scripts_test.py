#!/usr/bin/python3
"""The short scripts in pipelines/: their outputs, their calls of the engine, and their refusals."""

import importlib
import json
import os
import pathlib
import re
import sys
import unittest.mock

import numpy
from scipy import ndimage

import media
from cases import Case, called, main, program, script
import files  # after cases, which sets the path
import filters
from transcode import job, profiles


NOISE = "nullsrc=size=97x61:rate=10:duration=1,format=gray,geq=lum='random(1)*255'"
BALLS = "testsrc2=size=320x240:rate=25:duration=1"


def in_raster_order(labels):
    """SciPy's labels numbered like ours: by each region's first pixel."""
    seen, first = numpy.unique(labels[labels > 0], return_index=True)
    order = numpy.zeros(labels.max() + 1, numpy.uint32)
    order[seen[numpy.argsort(first)]] = numpy.arange(1, len(seen) + 1)
    return order[labels]


def flood(near, start):
    """The pixels that are connected with `start` through neighbours (corners included) for which `near` is true."""
    found, open_pixels = {start}, [start]
    while open_pixels:
        y, x = open_pixels.pop()
        for pixel in ((y + v, x + u) for v in (-1, 0, 1) for u in (-1, 0, 1)):
            if pixel not in found and near((y, x), pixel):
                found.add(pixel)
                open_pixels.append(pixel)
    return found


class Results(Case):
    """The outputs of scripts equal the results of ffmpeg, SciPy and a plain flood fill."""

    def test_labels_script_output_equals_scipy(self):
        clip = media.make(self.folder / "noise.mkv", NOISE, "-c:v", "ffv1")
        pictures = media.frames(clip, "gray")
        for connectivity, shape in ((4, None), (8, numpy.ones((3, 3)))):
            out = self.folder / f"labels{connectivity}.mkv"
            script("labels", clip, out, f"connectivity={connectivity}")
            self.assertEqual(media.stream(out, "codec_name", "pix_fmt"),
                             {"codec_name": "ffv1", "pix_fmt": "gray16le"})
            self.assertEqual(media.times(out), media.times(clip))
            ours = media.frames(out, "gray16le")
            self.assertEqual(len(ours), len(pictures))
            for picture, labels in zip(pictures, ours):
                expected, count = ndimage.label(picture >= 128, shape)
                self.assertGreater(count, 10)
                numpy.testing.assert_array_equal(labels, in_raster_order(expected))

    def test_table_script_output_equals_scipy(self):
        clip = media.make(self.folder / "noise.mkv", NOISE, "-c:v", "ffv1")
        rows = media.tables(script("table", clip))
        self.assertEqual([row["frame"] for row in rows], list(range(10)))
        numpy.testing.assert_allclose([row["time"] for row in rows], media.times(clip), atol=1e-3)
        for row, picture in zip(rows, media.frames(clip, "gray")):
            labels = in_raster_order(ndimage.label(picture >= 128, numpy.ones((3, 3)))[0])
            self.assertEqual(row["regions-total"], labels.max())
            self.assertEqual(len(row["regions"]), labels.max())
            boxes = ndimage.find_objects(labels)
            for region, (ys, xs) in zip(row["regions"], boxes):
                inside = labels == region["id"]
                self.assertEqual((region["x"], region["y"], region["width"], region["height"]),
                                 (xs.start, ys.start, xs.stop - xs.start, ys.stop - ys.start))
                self.assertEqual(region["area"], inside.sum())
                numpy.testing.assert_allclose((region["cy"], region["cx"]),
                                              ndimage.center_of_mass(inside), atol=0.00501)
                self.assertAlmostEqual(region["red"], picture[inside].mean(), delta=0.0501)

    def test_table_script_output_with_volumes_equals_scipy(self):
        clip = media.make(self.folder / "volume.mkv", NOISE, "-c:v", "ffv1")
        lines = script("table", clip, "depth=5", "connectivity=26", "threshold=0.85")
        rows = media.tables(lines)
        self.assertEqual([row["frame"] for row in rows], list(range(10)))
        pictures = list(media.frames(clip, "gray"))
        for start in (0, 5):
            voxels = numpy.stack(pictures[start:start + 5])
            labels = in_raster_order(ndimage.label(voxels >= 217, numpy.ones((3, 3, 3)))[0])
            boxes = ndimage.find_objects(labels)
            self.assertGreater(labels.max(), 50)
            for z, row in enumerate(rows[start:start + 5]):
                self.assertEqual({region["id"] for region in row["regions"]},
                                 set(numpy.unique(labels[z])) - {0})
                for region in row["regions"]:
                    zs, ys, xs = boxes[region["id"] - 1]
                    self.assertEqual([region[key] for key in ("x", "y", "z")],
                                     [xs.start, ys.start, zs.start])
                    self.assertEqual([region[key] for key in ("width", "height", "depth")],
                                     [xs.stop - xs.start, ys.stop - ys.start, zs.stop - zs.start])
                    inside = labels == region["id"]
                    self.assertEqual(region["area"], inside.sum())
                    numpy.testing.assert_allclose(
                        [region[key] for key in ("cz", "cy", "cx")], ndimage.center_of_mass(inside), atol=0.00501)

    def test_table_script_output_with_sliding_windows_equals_scipy(self):
        clip = media.make(self.folder / "window.mkv", NOISE, "-c:v", "ffv1")
        lines = script("table", clip, "depth=4", "sliding=true", "connectivity=26",
                          "threshold=0.85", "attach-runs=true")
        rows = media.tables(lines)
        pictures = list(media.frames(clip, "gray"))
        self.assertEqual(len(rows), len(pictures))
        for t, row in enumerate(rows):
            window = numpy.stack(pictures[max(0, t - 3):t + 1])
            labels = in_raster_order(ndimage.label(window >= 217, numpy.ones((3, 3, 3)))[0][-1])
            painted = numpy.zeros_like(labels)
            for label, x, y, width in row["runs"]:
                painted[y, x:x + width] = label
            numpy.testing.assert_array_equal(painted, labels)
            self.assertEqual(row["regions-total"], labels.max())
            for region, (ys, xs) in zip(row["regions"], ndimage.find_objects(labels)):
                self.assertEqual((region["x"], region["y"], region["width"], region["height"]),
                                 (xs.start, ys.start, xs.stop - xs.start, ys.stop - ys.start))
                self.assertEqual(region["area"], (labels == region["id"]).sum())

    def test_overlay_script_changes_only_pixels_near_regions(self):
        clip = media.make(self.folder / "balls.mkv", BALLS, "-pix_fmt", "yuv420p", "-c:v", "ffv1")
        out = self.folder / "overlay.mp4"
        script("overlay", clip, out)
        self.assertEqual(media.stream(out, "codec_name")["codec_name"], "h264")
        self.assertEqual(media.times(out), media.times(clip))
        self.assertEqual(len(set(media.times(out))), 25)
        table = media.tables(script("table", clip, "min-area=100"))
        before, after = media.frames(clip, "gray").astype(int), media.frames(out, "gray")
        for row, old, new in zip(table, before, after):
            inside = numpy.zeros(old.shape, bool)
            edges = []
            for region in row["regions"]:
                x, y, w, h = (region[key] for key in ("x", "y", "width", "height"))
                # Ids are outside the box, and the encoder blurs by some pixels.
                inside[max(y - 24, 0):y + h + 24, max(x - 24, 0):x + w + 24] = True
                edges.append(abs(new - old)[y:y + h, x].mean())
            self.assertGreater(numpy.median(edges), 20)
            self.assertLess((abs(new - old)[~inside] > 40).mean() if not inside.all() else 0, 1e-3)

    def test_background_script_with_a_moving_box_replaces_only_the_background(self):
        # After a while a bright box appears and moves to the right.
        scene = ("nullsrc=size=160x120:rate=25:duration=3,format=yuv420p,geq=lum='80+mod(X*7+Y*13\\,8)"
                 "+140*between(X-4*N\\,-196\\,-157)*between(Y\\,40\\,79)*gt(N\\,49)':cb=128:cr=128")
        clip = media.make(self.folder / "box.mkv", scene, "-c:v", "ffv1")
        out = self.folder / "green.mp4"
        script("background", clip, out, "replace-with=color",
                  "replace-color=0xFF00FF00")
        self.assertEqual(media.times(out), media.times(clip))
        colors = media.frames(out, "rgb24").astype(int)[-1]
        left = 4 * 74 - 196  # of the box in the last frame
        box = colors[48:72, left + 8:left + 32].reshape(-1, 3)
        self.assertTrue((abs(box - 224) < 25).all(), box.mean(0))
        rest = numpy.concatenate([colors[:28].reshape(-1, 3), colors[92:].reshape(-1, 3)])
        self.assertTrue((abs(rest - (0, 255, 0)) < 25).all(), rest.mean(0))

    def test_difference_script_with_photographs_gives_objects_different_colors(self):
        """Edges are soft in photographs: neighbouring pixels differ little there. Regions end at them nevertheless."""
        out = self.folder / "colors.png"
        for name, apart in (("apple.jpg", [(256, 256), (40, 40), (40, 470)]),
                            ("fruits.jpg", [(240, 250), (100, 40), (240, 400), (400, 400)])):
            photo = media.EXAMPLES / name
            script("difference", photo, out)
            colors = media.frames(out, "rgb24")[0]
            self.assertEqual(colors.shape, media.frames(photo, "rgb24")[0].shape)
            found = [tuple(colors[place]) for place in apart]
            self.assertEqual(len(set(found)), len(apart), (name, found))
        few = {least: len({*map(tuple, self.difference(photo, out, least).reshape(-1, 3))}) for least in (60, 5000)}
        self.assertGreater(few[60], 100)
        self.assertLess(few[5000], 20)

    def difference(self, photo, out, least):
        script("difference", photo, out, "0.08", str(least))
        return media.frames(out, "rgb24")[0]

    def test_wand_script_selection_equals_a_flood_fill(self):
        """By neighbours a selection follows a gradient to its end, by the seed's colour it ends on the way."""
        photo, out = self.folder / "photo.png", self.folder / "mask.png"
        media.run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "nullsrc=size=97x41,format=rgb24,geq=r='2*X':g='40+X':"
                  "b='if(between(X,30,33)*gt(Y,5),250,2*Y)'", "-frames:v", "1", photo)
        picture = media.frames(photo, "rgb24")[0].astype(int)

        def inside(pixel):
            return 0 <= pixel[0] < 41 and 0 <= pixel[1] < 97

        for compare, near in (
                ("neighbours", lambda a, b: abs(picture[a] - picture[b]).sum() < 0.06 * 255),
                ("seed", lambda _, b: abs(picture[12, 50] - picture[b]).sum() < 0.25 * 255)):
            text = script("wand", photo, "50.7", "12", out, 0.06 if compare == "neighbours" else 0.25, compare)
            expected = flood(lambda a, b, near=near: inside(b) and near(a, b), (12, 50))
            mask = media.frames(out, "gray")[0]
            self.assertEqual({(y, x) for y, x in zip(*numpy.nonzero(mask))}, expected)
            self.assertIn(f"{len(expected)} of {97 * 41} pixels are selected\n", text)
        self.assertIn("1 of 3977 pixels are selected; a tolerance above 0.001 selects more",
                      script("wand", photo, 50, 12, out, 0.001))
        out.unlink()
        for x, y in ((97, 3), (3, 41), (-1, 3), (3, -0.5), (700, 700)):
            for compare in ("neighbours", "seed"):
                self.assertIn(f"the point {x},{y} is outside the picture", media.run(
                    media.script("wand"), photo, x, y, out, 0.06, compare, status=2 if min(x, y) < 0 else 1))
                self.assertFalse(out.exists())

    def test_superpixels_script_output_has_flatter_pixels_and_the_sound_of_the_clip(self):
        silent = media.make(self.folder / "silent.mkv", BALLS, "-pix_fmt", "yuv420p", "-c:v", "ffv1")
        clip = self.folder / "sound.mkv"
        media.run("ffmpeg", "-v", "error", "-i", silent, "-f", "lavfi", "-i",
                  "sine=frequency=440:duration=1", "-c:v", "copy", "-c:a", "flac", clip)
        for source in (silent, clip):
            out = self.folder / "superpixels.mp4"
            script("superpixels", source, out, "region-size=12")
            self.assertEqual(media.times(out), media.times(source))
            streams = media.run("ffprobe", "-v", "error", "-show_entries", "stream=codec_name",
                                "-of", "csv=p=0", out).split()
            self.assertEqual(sorted(streams), ["flac", "h264"] if source == clip else ["h264"])
            # Flat patches instead of noise, but the same picture.
            before = media.frames(source, "gray").astype(int)
            after = media.frames(out, "gray").astype(int)
            self.assertLess(abs(before - after).mean(), 12)
            smooth = [(abs(numpy.diff(p, axis=2)) > 4).mean() for p in (before, after)]
            self.assertLess(smooth[1], smooth[0])

    def test_video_scripts_with_a_rotated_clip_turn_it_and_keep_its_sound(self):
        plain = media.make(self.folder / "plain.mp4", BALLS, "-f", "lavfi", "-i", "sine=duration=1",
                           "-pix_fmt", "yuv420p", "-c:a", "aac")
        clip = media.turned(self.folder / "turned.mp4", plain, 90)
        for name in ("overlay", "labels"):
            with self.subTest(name):
                out = self.folder / (name + (".mkv" if name == "labels" else ".mp4"))
                script(name, clip, out)
                self.assertEqual(media.sound_sum(out), media.sound_sum(clip))
                self.assertEqual(media.stream(out, "width", "height"), {"width": "240", "height": "320"})
                self.assertEqual(media.times(out), media.times(clip))

        self.assertIn("note: only its first picture is used", media.run(
            media.script("difference"), clip, self.folder / "out.png"))
        self.assertEqual(media.stream(self.folder / "out.png", "width", "height"), {"width": "240", "height": "320"})
        row = json.loads(script("table", clip).splitlines()[0])
        self.assertEqual((row["width"], row["height"]), (240, 320))

    def test_scripts_with_wrong_arguments_exit_with_2(self):
        clip = media.make(self.folder / "in.mkv", BALLS)
        before = sorted(self.folder.iterdir())
        for name in ("live-superpixels", "quickstart", "setup", "with-plugin", "transcode/regions-transcode"):
            self.assertIn(pathlib.Path(name).name, media.run(media.script(name), "--help"))
        self.assertIn("with-plugin gst-launch", media.run(media.script("with-plugin"), status=2))
        out = self.folder / "out"
        for command, reason in (
                (["labels"], "usage: labels FILE OUT.mkv"),
                (["overlay", clip], "required: OUT.mp4"),
                (["wand", clip], "required: x, y"),
                (["wand", clip, "left", "3", out], "invalid float value: 'left'"),
                (["overlay", clip, out, "threshold=7"], "cclabel threshold=7: expected a number from 0 to 1"),
                (["live", "test", "cclabel", "output=x"], "output=x: expected one of")):
            with self.subTest(command[0], reason=reason):
                self.assertIn(reason, script(command[0], *command[1:], status=2))
                self.assertEqual(sorted(self.folder.iterdir()), before)


# How each script calls the engine: its arguments after the files, the filter, its profile.
VIDEOS = {"overlay": ("cclabel output=none min-area=100 ! regionoverlay style=boxes+outlines+ids", "mp4"),
          "background": ("graphcutbg output=replace feather=2", "mp4"),
          "superpixels": ("slicsuperpixel output=mean", "mp4"),
          "labels": ("cclabel output=labels", "lossless")}
media.COLORS = " ! cclabel criterion=difference output=colors"
STILLS = {"difference": ((), "videoconvert ! video/x-raw,format=RGB ! slicsuperpixel region-size=12 output=mean"
                         + media.COLORS.replace("cclabel", "cclabel name=regions"), ("tolerance=0.08", "min-area=60")),
          "depth-objects": ((), "videoconvert ! video/x-raw,format={GRAY8,GRAY16_LE}" + media.COLORS,
                            ("tolerance=0.008", "min-area=200")),
          "wand": (("3", "4.5"), "videoconvert ! capsfilter name=rgb caps=video/x-raw,format=RGB ! cclabel"
                   " criterion=difference output=mask", ("tolerance=0.06", "seeds=<3.0,4.5>"))}


class Calls(Case):
    """The arguments that each script accepts, refuses and passes to the engine."""

    def setUp(self):
        super().setUp()
        self.photo = self.clip("in.png", "testsrc2=size=64x48", "-frames:v", "1")
        self.out = self.folder / "out"

    def engine(self):
        """Jobs that only record how they were made."""
        calls = []

        class Engine:
            def __init__(self, source, outputs, filtered, profile, say):
                self.sidecars = []
                self.told = {"source": source, "outputs": outputs, "profile": profile, "say": say}
                calls.append(self.told)

            def run(self):
                return 17

        self.replace(job, "Job", Engine)
        made = filters.made
        self.replace(filters, "made", lambda line, properties: (
            calls.append((line, list(properties))), made(line, properties))[1])
        return calls

    def run_script(self, name, *arguments):
        return program(media.script(name), *arguments)

    def test_video_scripts_pass_their_filter_and_properties_to_the_job(self):
        for name, (line, profile) in VIDEOS.items():
            for properties in ([], ["max-regions=3"] if name != "background" else ["feather=3"]):
                calls = self.engine()
                self.assertEqual(self.run_script(name, self.photo, self.out, *properties), (17, "", ""))
                self.assertEqual(calls[0], (line, properties))
                told = calls[1]
                self.assertEqual((told["source"], told["profile"]), (str(self.photo), profiles.PROFILES[profile]))
                self.assertEqual({kind: made.args for kind, made in told["outputs"].items()},
                                 {"video": (str(self.out),)})

    def test_scripts_for_still_pictures_pass_their_filter_and_properties_to_the_job(self):
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

    def test_scripts_for_still_pictures_without_file_arguments_use_default_files(self):
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

    def test_table_script_passes_its_filter_and_properties_to_the_job(self):
        clip = self.clip("in.mkv", "testsrc2=size=64x48:rate=25:duration=0.4", "-c:v", "ffv1")
        calls = self.engine()
        self.assertEqual(self.run_script("table", clip, "threshold=0.7", "min-area=3").status, 17)
        self.assertEqual(calls[0], ("cclabel output=none", ["threshold=0.7", "min-area=3"]))
        self.assertIsNone(calls[1]["profile"])
        self.assertEqual(calls[1]["outputs"], {"jsonl": files.StandardOutput})

    def test_scripts_print_results_to_stdout_and_notes_to_stderr(self):
        clip = self.clip("in.mkv", "testsrc2=size=64x48:rate=25:duration=0.4", "-c:v", "ffv1")
        said = self.run_script("table", clip)
        self.assertEqual((said.status, said.err), (0, ""))
        rows = [json.loads(line) for line in said.out.splitlines()]
        self.assertEqual([row["frame"] for row in rows], list(range(10)))
        said = self.run_script("labels", clip, self.out)
        self.assertEqual((said.status, said.err), (0, ""))
        self.assertRegex(said.out, rf"(?s)^(in.mkv: frame .*\n)?{re.escape(str(clip))}: 10 frames in .*; wrote {self.out}\n$")
        said = self.run_script("table", self.photo, "output=mask")
        self.assertEqual((said.status, said.err), (0, ""), "the filter's pictures do not matter")
        # Notes and problems go to standard error.
        calls = self.engine()
        self.run_script("table", clip)

        def tell():
            for said in ({"progress": {"frame": 1, "of": 0, "rate": 2}}, {"note": "odd"}, {"problem": "bad"},
                         {"done": {"frames": 1, "seconds": 1.0, "length": 1.0}}):
                calls[1]["say"](**said)

        self.assertEqual(called(tell), (None, "", f"{clip}: note: odd\ntable: {clip}: bad\n"))

    def test_scripts_for_still_pictures_write_one_picture(self):
        """A photograph becomes one picture in the filter's format."""
        self.assertEqual(self.run_script("difference", self.photo, self.out).status, 0)
        self.assertEqual(media.frames(self.out, "rgb24").shape, (1, 48, 64, 3))
        self.assertEqual(self.run_script("wand", self.photo, "0", "0", self.out, "0.5").status, 0)
        self.assertEqual(media.stream(self.out, "codec_name", "pix_fmt"), {"codec_name": "png", "pix_fmt": "gray"})
        self.assertEqual({*numpy.unique(media.frames(self.out, "gray"))}, {0, 255})
        self.assertEqual(self.files(), ["in.png", "out"])

    def test_scripts_with_wrong_inputs_print_the_reason(self):
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

    def test_scripts_with_help_option_print_usage(self):
        for name, usage, words in (
                ("overlay", "overlay FILE OUT.mp4 [PROPERTY=VALUE ...]",
                 "of cclabel; gst-inspect-1.0 cclabel lists them"),
                ("background", "background FILE OUT.mp4 [PROPERTY=VALUE ...]", "of graphcutbg;"),
                ("anonymize", "anonymize FILE OUT.mp4 [PROPERTY=VALUE ...]", "it may contain voices"),
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
        # With more words, it is the name of a file.
        self.assertIn("--help: cannot be read", self.run_script("overlay", "--help", self.out).err)
        self.assertIn("-q: cannot be read", self.run_script("overlay", "-q", self.out).err)
        for name, lacking in (("overlay", "FILE, OUT.mp4"), ("table", "FILE"), ("wand", "photo, x, y")):
            said = self.run_script(name)
            self.assertEqual((said.status, said.out), (2, ""))
            self.assertIn(f"the following arguments are required: {lacking}", said.err)

    def test_scripts_started_from_another_folder_run_without_import_error(self):
        """Each script finds its modules from any working folder."""
        for name in ("overlay", "wand", "live"):
            self.assertIn(f"usage: {name} ", media.run(media.script(name), "--help", cwd=self.folder))
        missing = self.folder / "missing"
        self.assertEqual(media.run(media.script("table"), missing, status=1, cwd=self.folder),
                         f"table: {missing}: cannot be read: No such file or directory\n")
        media.run(media.script("overlay"), self.photo, self.out, cwd=self.folder)
        self.assertEqual(media.stream(self.out, "codec_name"), {"codec_name": "h264"})
        self.assertIn("required: FILE", media.run(media.script("overlay"), status=2, cwd=self.folder))

    def test_script_whose_plugin_gstreamer_finds_does_not_start_again(self):
        data = self.folder / "data" / "gstreamer-1.0" / "plugins"
        places = {"GST_PLUGIN_PATH": data, "GST_PLUGIN_PATH_1_0": f"/none:{data}", "GST_PLUGIN_SYSTEM_PATH": data,
                  "GST_PLUGIN_SYSTEM_PATH_1_0": data, "XDG_DATA_HOME": self.folder / "data"}
        data.mkdir(parents=True)
        (data / "libgstregions.so").touch()
        self.replace(os, "execv", unittest.mock.Mock())
        for name, value in places.items():
            plain = {key: words for key, words in os.environ.items()
                     if key not in ("REGIONS_ENVIRONMENT", "REGIONS_PRELOAD") and not key.startswith("GST_PLUGIN")}
            with self.subTest(name), unittest.mock.patch.dict(os.environ, plain | {name: str(value)}, clear=True):
                importlib.import_module("script").with_plugin()
                self.assertEqual(os.environ["REGIONS_ENVIRONMENT"], "1")
        os.execv.assert_not_called()

    def test_script_without_plugin_path_starts_itself_again_through_with_plugin(self):
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
            for name in ("GST_PLUGIN_PATH", "GST_PLUGIN_PATH_1_0"):
                os.environ[name] = str(self.folder)
            os.environ["GST_PLUGIN_SYSTEM_PATH_1_0"] = ""
            with self.assertRaises(Replaced):
                self.run_script("overlay", self.photo, self.out, "threshold=0.5")
        environment = str(media.script("with-plugin"))
        self.assertEqual(calls, [(environment, [environment, sys.executable, str(media.script("overlay")),
                                                str(self.photo), str(self.out), "threshold=0.5"], "1")])
        self.assertEqual(self.run_script("overlay", "--help").status, 0, "help needs none")
        self.assertEqual(len(calls), 1)


SIDE = 64


def disc(x, y, radius):
    rows, columns = numpy.mgrid[:SIDE, :SIDE]
    return (columns - x) ** 2 + (rows - y) ** 2 <= radius ** 2


class Selection(Case):
    def picture(self, name, pixels, pixel_format):
        raw, path = self.folder / (name + ".raw"), self.folder / (name + ".png")
        raw.write_bytes(pixels.tobytes())
        media.run("ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", pixel_format, "-s",
                  f"{SIDE}x{SIDE}", "-i", raw, path)
        return path

    def test_wand_script_with_a_slow_gradient_selects_the_whole_disc(self):
        """A disc with a slow gradient is selected whole, without its twin and the background."""
        pixels = numpy.zeros((SIDE, SIDE, 3), numpy.uint8)
        pixels[..., 0] = numpy.arange(SIDE) * 2
        first, second = disc(16, 16, 10), disc(48, 44, 12)
        pixels[first | second, 1] = 200
        photo, out = self.picture("discs", pixels, "rgb24"), self.folder / "mask.png"
        for x, y, expected in ((16, 16, first), (50, 40, second), (2, 60, ~(first | second))):
            script("wand", photo, x, y, out)
            numpy.testing.assert_array_equal(media.frames(out, "gray")[0] > 0, expected)
        script("wand", photo, 16, 16, out, "0.001")
        narrow = media.frames(out, "gray")[0] > 0
        self.assertTrue((narrow.sum(axis=0) > 0).sum() == 1, "a column of equal colour alone")

    def test_depth_objects_script_with_a_ramp_gives_the_ramp_one_color(self):
        """A ramp of any depth is one object. A disc in front of the ramp is another object. Specks are removed."""
        depth = numpy.tile(numpy.arange(SIDE, dtype=numpy.uint16) * 400, (SIDE, 1))
        near = disc(30, 30, 14)
        depth[near] = 60000
        depth[5, 5] = 65535
        out = self.folder / "objects.png"
        script("depth-objects", self.picture("depth", depth, "gray16le"), out,
                  "0.01")
        colors = media.frames(out, "rgb24")[0].astype(int)
        ramp = ~near
        ramp[5, 5] = False
        self.assertEqual(len({tuple(color) for color in colors[near]}), 1)
        self.assertEqual(len({tuple(color) for color in colors[ramp]}), 1)
        self.assertFalse((colors[30, 30] == colors[60, 60]).all())
        self.assertFalse(colors[5, 5].any())


class Damage(Case):
    def damaged(self):
        """Frames in the middle are zeros."""
        whole = self.clip("whole.avi", "nullsrc=size=320x240:rate=25:duration=2,geq=random(1)*255:128:128", "-c:v", "mjpeg")
        data = bytearray(whole.read_bytes())
        middle = len(data) // 2
        data[middle:middle + 30000] = bytes(30000)
        clip = self.folder / "damaged.avi"
        clip.write_bytes(data)
        return clip

    def test_scripts_with_damaged_input_write_a_partial_output(self):
        clip = self.damaged()
        for name, out in (("overlay", "o.mp4"), ("labels", "l.mkv")):
            text = script(name, clip, self.folder / out, status=1)
            self.assertRegex(text, f"{name}: .*: [34].+ 50.*: it is cut off or damaged; the readable part is in files with"
                                   " .partial")
            self.assertFalse((self.folder / out).exists())
            self.assertGreaterEqual(len(media.times(self.folder / out.replace(".", ".partial."))), 35)


if __name__ == "__main__":
    main()
