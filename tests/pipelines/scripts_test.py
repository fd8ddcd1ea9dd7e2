#!/usr/bin/python3
"""The short scripts in pipelines/, judged by what ffmpeg, SciPy and a plain flood fill make of their
outputs. `scripts_test.py Scripts.test_labels` runs one alone."""

import json
import pathlib
import tempfile
import unittest

import media
import numpy
from scipy import ndimage
from transcoding import sound_sum

NOISE = "nullsrc=size=97x61:rate=10:duration=1,format=gray,geq=lum='random(1)*255'"
BALLS = "testsrc2=size=320x240:rate=25:duration=1"


def in_raster_order(labels):
    """SciPy's labels numbered like ours: by each region's first pixel."""
    seen, first = numpy.unique(labels[labels > 0], return_index=True)
    order = numpy.zeros(labels.max() + 1, numpy.uint32)
    order[seen[numpy.argsort(first)]] = numpy.arange(1, len(seen) + 1)
    return order[labels]


def flood(near, start):
    """The pixels that are connected with one, by corners too, where a function of two pixels says that they are near."""
    found, open_pixels = {start}, [start]
    while open_pixels:
        y, x = open_pixels.pop()
        for pixel in ((y + v, x + u) for v in (-1, 0, 1) for u in (-1, 0, 1)):
            if pixel not in found and near((y, x), pixel):
                found.add(pixel)
                open_pixels.append(pixel)
    return found


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_labels(self):
        clip = media.make(self.folder / "noise.mkv", NOISE, "-c:v", "ffv1")
        pictures = media.frames(clip, "gray")
        for connectivity, shape in ((4, None), (8, numpy.ones((3, 3)))):
            out = self.folder / f"labels{connectivity}.mkv"
            media.run(media.script("labels"), clip, out, f"connectivity={connectivity}")
            self.assertEqual(media.stream(out, "codec_name", "pix_fmt"),
                             {"codec_name": "ffv1", "pix_fmt": "gray16le"})
            self.assertEqual(media.times(out), media.times(clip))
            ours = media.frames(out, "gray16le")
            self.assertEqual(len(ours), len(pictures))
            for picture, labels in zip(pictures, ours):
                expected, count = ndimage.label(picture >= 128, shape)
                self.assertGreater(count, 10)
                numpy.testing.assert_array_equal(labels, in_raster_order(expected))

    def test_table(self):
        clip = media.make(self.folder / "noise.mkv", NOISE, "-c:v", "ffv1")
        rows = media.tables(media.run(media.script("table"), clip))
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

    def test_table_of_volumes(self):
        clip = media.make(self.folder / "volume.mkv", NOISE, "-c:v", "ffv1")
        lines = media.run(media.script("table"), clip, "depth=5", "connectivity=26", "threshold=0.85")
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

    def test_table_of_windows(self):
        clip = media.make(self.folder / "window.mkv", NOISE, "-c:v", "ffv1")
        lines = media.run(media.script("table"), clip, "depth=4", "sliding=true", "connectivity=26",
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

    def test_overlay(self):
        clip = media.make(self.folder / "balls.mkv", BALLS, "-pix_fmt", "yuv420p", "-c:v", "ffv1")
        out = self.folder / "overlay.mp4"
        media.run(media.script("overlay"), clip, out)
        self.assertEqual(media.stream(out, "codec_name")["codec_name"], "h264")
        self.assertEqual(media.times(out), media.times(clip))
        self.assertEqual(len(set(media.times(out))), 25)
        table = media.tables(media.run(media.script("table"), clip, "min-area=100"))
        before, after = media.frames(clip, "gray").astype(int), media.frames(out, "gray")
        for row, old, new in zip(table, before, after):
            inside = numpy.zeros(old.shape, bool)
            edges = []
            for region in row["regions"]:
                x, y, w, h = (region[key] for key in ("x", "y", "width", "height"))
                # Ids stand outside the box, and the encoder smears by some pixels.
                inside[max(y - 24, 0):y + h + 24, max(x - 24, 0):x + w + 24] = True
                edges.append(abs(new - old)[y:y + h, x].mean())
            self.assertGreater(numpy.median(edges), 20)
            self.assertLess((abs(new - old)[~inside] > 40).mean() if not inside.all() else 0, 1e-3)

    def test_background(self):
        # After a while a bright box appears and moves to the right.
        scene = ("nullsrc=size=160x120:rate=25:duration=3,format=yuv420p,geq=lum='80+mod(X*7+Y*13\\,8)"
                 "+140*between(X-4*N\\,-196\\,-157)*between(Y\\,40\\,79)*gt(N\\,49)':cb=128:cr=128")
        clip = media.make(self.folder / "box.mkv", scene, "-c:v", "ffv1")
        out = self.folder / "green.mp4"
        media.run(media.script("background"), clip, out, "replace-with=color",
                  "replace-color=0xFF00FF00")
        self.assertEqual(media.times(out), media.times(clip))
        colors = media.frames(out, "rgb24").astype(int)[-1]
        left = 4 * 74 - 196  # of the box in the last frame
        box = colors[48:72, left + 8:left + 32].reshape(-1, 3)
        self.assertTrue((abs(box - 224) < 25).all(), box.mean(0))
        rest = numpy.concatenate([colors[:28].reshape(-1, 3), colors[92:].reshape(-1, 3)])
        self.assertTrue((abs(rest - (0, 255, 0)) < 25).all(), rest.mean(0))

    def test_difference(self):
        """Edges are soft in photographs: neighbouring pixels differ little there. Regions end at them nevertheless."""
        out = self.folder / "colors.png"
        for name, apart in (("apple.jpg", [(256, 256), (40, 40), (40, 470)]),
                            ("fruits.jpg", [(240, 250), (100, 40), (240, 400), (400, 400)])):
            photo = media.EXAMPLES / name
            media.run(media.script("difference"), photo, out)
            colors = media.frames(out, "rgb24")[0]
            self.assertEqual(colors.shape, media.frames(photo, "rgb24")[0].shape)
            found = [tuple(colors[place]) for place in apart]
            self.assertEqual(len(set(found)), len(apart), (name, found))
        few = {least: len({*map(tuple, self.difference(photo, out, least).reshape(-1, 3))}) for least in (60, 5000)}
        self.assertGreater(few[60], 100)
        self.assertLess(few[5000], 20)

    def difference(self, photo, out, least):
        media.run(media.script("difference"), photo, out, "0.08", str(least))
        return media.frames(out, "rgb24")[0]

    def test_wand(self):
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
            text = media.run(media.script("wand"), photo, "50.7", "12", out, 0.06 if compare == "neighbours" else 0.25, compare)
            expected = flood(lambda a, b, near=near: inside(b) and near(a, b), (12, 50))
            mask = media.frames(out, "gray")[0]
            self.assertEqual({(y, x) for y, x in zip(*numpy.nonzero(mask))}, expected)
            self.assertIn(f"{len(expected)} of {97 * 41} pixels are selected\n", text)
        self.assertIn("1 of 3977 pixels are selected; a tolerance above 0.001 selects more",
                      media.run(media.script("wand"), photo, 50, 12, out, 0.001))
        out.unlink()
        for x, y in ((97, 3), (3, 41), (-1, 3), (3, -0.5), (700, 700)):
            for compare in ("neighbours", "seed"):
                self.assertIn(f"the point {x},{y} is outside the picture", media.run(
                    media.script("wand"), photo, x, y, out, 0.06, compare, status=2 if min(x, y) < 0 else 1))
                self.assertFalse(out.exists())

    def test_superpixels(self):
        silent = media.make(self.folder / "silent.mkv", BALLS, "-pix_fmt", "yuv420p", "-c:v", "ffv1")
        clip = self.folder / "sound.mkv"
        media.run("ffmpeg", "-v", "error", "-i", silent, "-f", "lavfi", "-i",
                  "sine=frequency=440:duration=1", "-c:v", "copy", "-c:a", "flac", clip)
        for source in (silent, clip):
            out = self.folder / "superpixels.mp4"
            media.run(media.script("superpixels"), source, out, "region-size=12")
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

    def test_sound_and_rotation_are_kept(self):
        plain = media.make(self.folder / "plain.mp4", BALLS, "-f", "lavfi", "-i", "sine=duration=1",
                           "-pix_fmt", "yuv420p", "-c:a", "aac")
        clip = media.turned(self.folder / "turned.mp4", plain, 90)
        for name in ("overlay", "background", "superpixels", "labels"):
            with self.subTest(name):
                out = self.folder / (name + (".mkv" if name == "labels" else ".mp4"))
                media.run(media.script(name), clip, out)
                self.assertEqual(sound_sum(out), sound_sum(clip))
                self.assertEqual(media.stream(out, "width", "height"), {"width": "240", "height": "320"})
                self.assertEqual(media.times(out), media.times(clip))

        self.assertIn("note: only its first picture is used", media.run(
            media.script("difference"), clip, self.folder / "out.png"))
        self.assertEqual(media.stream(self.folder / "out.png", "width", "height"), {"width": "240", "height": "320"})
        row = json.loads(media.run(media.script("table"), clip).splitlines()[0])
        self.assertEqual((row["width"], row["height"]), (240, 320))

    def test_help_and_wrong_arguments(self):
        clip = media.make(self.folder / "in.mkv", BALLS)
        before = sorted(self.folder.iterdir())
        for name in ("labels", "overlay", "background", "superpixels", "table", "difference", "wand",
                     "depth-objects", "live", "live-superpixels"):
            with self.subTest(name):
                self.assertRegex(media.run(media.script(name), "--help"), rf"(?i)\b{name}\b.*(FILE|PHOTO|DEPTH)")
        for name in ("quickstart", "setup", "with-plugin", "regions-transcode"):
            program = media.script("transcode" if "-t" in name else "") / name
            self.assertIn(name, media.run(program, "--help"))
        self.assertIn("with-plugin gst-launch", media.run(media.script("with-plugin"), status=2))
        out = self.folder / "out"
        for command, reason in (
                (["labels"], "usage: labels FILE OUT.mkv"),
                (["overlay", clip], "required: OUT.mp4"),
                (["wand", clip], "required: x, y"),
                (["wand", clip, "left", "3", out], "invalid float value: 'left'"),
                (["difference", clip, out, "much"], "tolerance=much: expected a number from 0 to"),
                (["overlay", clip, out, "threshold=7"], "cclabel threshold=7: expected a number from 0 to 1"),
                (["overlay", clip, out, "threshold"], "'threshold': expected PROPERTY=VALUE"),
                (["overlay", clip, out, "colour=3"], "cclabel has no property 'colour'"),
                (["overlay", clip, out, "track=perhaps"], "track=perhaps: expected true or false"),
                (["labels", clip, out, "seeds=1"], "seeds=1: expected a list of numbers such as"),
                (["background", clip, out, "replace-with=sky"], "expected one of color, image, blur"),
                (["table", clip, "output=x"], "output=x: expected one of"),
                (["live", "test", "cclabel", "output=x"], "output=x: expected one of")):
            with self.subTest(command[0], reason=reason):
                self.assertIn(reason, media.run(media.script(command[0]), *command[1:], status=2))
                self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_no_file_is_left_after_a_failure(self):
        for name in ("labels", "overlay", "difference"):
            out = self.folder / "out"
            with self.assertRaises(AssertionError):
                media.run(media.script(name), self.folder / "missing", out)
            self.assertEqual(list(self.folder.iterdir()), [])
        self.assertIn("No such file",
                      media.run(media.script("table"), self.folder / "missing", status=1))


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
