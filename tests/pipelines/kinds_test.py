#!/usr/bin/python3
"""Common kinds of files, made by ffmpeg. The output keeps frames, times, colours, fields and all streams, or a note names the
change. ffprobe and ffmpeg judge."""

import fractions
import json
import os
import re
import subprocess
import unittest

import media
import numpy
from jobs import JobCase, job

SHORT = "testsrc2=size=128x96:rate=25:duration=0.6"
FIELDS = ("-flags", "+ildct+ilme")
COLORS = ("color_range", "color_space", "color_transfer", "color_primaries")


def notes(told):
    return [one["note"] for one in told if "note" in one]


def first_frame(path, *names):
    text = media.run("ffprobe", "-v", "error", "-select_streams", "v:0", "-read_intervals", "%+#1", "-show_entries",
                     "frame=" + ",".join(names), "-of", "json", path)
    found = json.loads(text)["frames"][0]
    return {name: found.get(name, "unknown") for name in names}


def side_data(path):
    """The light of displays in the side data of the first frame and of the stream, by kind."""
    text = media.run("ffprobe", "-v", "error", "-select_streams", "v:0", "-read_intervals", "%+#1", "-show_frames",
                     "-show_streams", "-of", "json", path)
    found = json.loads(text)
    told = [data for holder in (found["frames"], found["streams"]) for data in holder[0].get("side_data_list", [])]
    return {data["side_data_type"]: {name: float(fractions.Fraction(value)) for name, value in data.items()
                                     if name != "side_data_type"}
            for data in told if "light" in data["side_data_type"] or "display metadata" in data["side_data_type"]}


def shown_size(path):
    """Width and height of the upright picture that ffmpeg shows."""
    text = media.run("ffmpeg", "-v", "error", "-i", path, "-map", "0:V", "-frames:v", "1", "-f", "framecrc", "-")
    return tuple(map(int, re.search(r"#dimensions 0: (\d+)x(\d+)", text).groups()))


def rgb(path, *options):
    """All frames as ffmpeg shows them, upright, as RGB."""
    return subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), *options, "-fps_mode", "passthrough", "-f", "rawvideo",
                           "-pix_fmt", "rgb24", "-"], capture_output=True, check=True).stdout


class Kinds(JobCase):
    def expect_frames(self, number, step=0.04):
        """The output has this number of frames with equal steps from 0 on."""
        times = media.times(self.video())
        numpy.testing.assert_allclose(times, numpy.arange(number) * step, atol=1.1e-3)

    def test_frames_without_times(self):
        """AVI has none, MPEG-PS few; frames that wait for later ones were lost."""
        for name, options in (("a.avi", ("-c:v", "mpeg4", "-bf", "2")), ("b.avi", ("-c:v", "libx264", "-bf", "3")),
                              ("c.mpg", ("-c:v", "mpeg2video", "-bf", "2")),
                              ("d.h264", ("-c:v", "libx264", "-bf", "3"))):
            clip = self.clip(name, "testsrc2=size=128x96:rate=25:duration=2", "-pix_fmt", "yuv420p", *options)
            for profile in ("mp4", "mkv"):
                with self.subTest(f"{name} {profile}"):
                    told = self.job(clip, profile=profile)
                    self.assertEqual([one["done"]["frames"] for one in told if "done" in one], [50])
                    self.expect_frames(50)

    def test_packets_that_are_not_frames(self):
        """Fields of H.264, pictures of VP8 that are never shown, frames that an edit list hides."""
        fields = self.clip("fields.mkv", SHORT, "-vf", "setfield=tff", "-pix_fmt", "yuv420p", "-c:v", "libx264",
                           "-x264-params", "tff=1")
        hidden = self.clip("hidden.webm", "testsrc2=size=128x96:rate=25:duration=2", "-c:v", "libvpx", "-auto-alt-ref",
                           "1", "-lag-in-frames", "10", "-deadline", "good", "-cpu-used", "5")
        whole = self.clip("whole.mp4", "testsrc2=size=128x96:rate=25:duration=2", "-pix_fmt", "yuv420p", "-g", "50")
        cut = self.folder / "cut.mp4"
        media.run("ffmpeg", "-v", "error", "-ss", "1", "-i", whole, "-c", "copy", cut)
        for clip, number in ((fields, 15), (hidden, 50), (cut, 25)):
            with self.subTest(clip.name):
                self.job(clip)
                self.expect_frames(number)

    def test_frames_that_an_encoder_holds_back(self):
        clip = self.clip("in.mkv", "testsrc2=size=128x96:rate=25:duration=1", "-c:v", "ffv1")
        self.job(clip, profile="webm")
        self.expect_frames(25)

    def test_frames_that_get_lost_are_told(self):
        clip = self.clip("in.mkv", SHORT, "-c:v", "ffv1")
        results = [(16, 16), (15, 15)]
        self.replace(job.PacketCount, "result", lambda _: results.pop(0))
        self.assertRegex(self.problem_with_partial(clip), "^15 frames could be decoded of 16 packets: it is cut off or")
        results += [(15, 15), (14, 14)]
        self.assertEqual(self.problem(clip), "14 of 15 frames were written")

    def problem_with_partial(self, clip):
        """The problem that a job reports for an input that is not whole. The outputs have names of partial files."""
        told = self.job(clip, "video", "jsonl", status=1)
        self.assertEqual(self.files(self.out), ["out.partial.jsonl", "out.partial.mp4"])
        for name in self.files(self.out):
            os.remove(self.out / name)
        problem, = [one["problem"] for one in told if "problem" in one]
        self.assertIn("--accept-partial", problem)
        return problem

    def test_inputs_that_are_cut_off(self):
        for name, lacks in (("a.mp4", r"\d+ frames could be decoded of \d+ packets"), ("b.avi", r"\d\d packets are there of 100"),
                            ("c.mkv", r"ends after [12]\.\d s of 4\.0 s")):
            clip = self.clip(name, "testsrc2=size=128x96:rate=25:duration=4", "-pix_fmt", "yuv420p", "-c:v", "libx264",
                             *(("-movflags", "+faststart") if name == "a.mp4" else ()))
            data = clip.read_bytes()
            clip.write_bytes(data[:len(data) // 2])
            with self.subTest(name):
                for _ in range(2):
                    self.assertRegex(self.problem_with_partial(clip), lacks)
                told = self.job(clip, accept_partial=True)
                self.assertRegex(notes(told)[0], lacks)
                self.assertEqual(self.files(self.out), ["out.mp4"])
                os.remove(self.video())

    def test_damage(self):
        clip = self.clip("in.mkv", "testsrc2=size=128x96:rate=25:duration=2", "-c:v", "ffv1", "-slicecrc", "0")
        data = bytearray(clip.read_bytes())
        data[len(data) // 2:len(data) // 2 + 30000] = bytes(30000)
        clip.write_bytes(data)
        self.assertRegex(self.problem_with_partial(clip), "damaged")

    def test_colours(self):
        """The output states the colours that the input states, and players show the same."""
        full = ("-vf", "scale=out_range=pc", "-color_range", "pc")
        hd = "testsrc2=size=1280x720:rate=25:duration=0.08,eq=saturation=0.4"  # in RGB's range by either matrix
        tags = ("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709")
        for name, source, options in (
                ("full.mp4", SHORT, (*full, "-pix_fmt", "yuv420p")), ("untagged.mp4", SHORT, ("-pix_fmt", "yuv420p")),
                ("bt709.mp4", SHORT, (*full, *tags, "-pix_fmt", "yuv420p")),
                ("large.mp4", hd, ("-pix_fmt", "yuv420p")),
                ("mjpeg.avi", SHORT, ("-c:v", "mjpeg", "-pix_fmt", "yuvj420p")),
                ("gray.mkv", SHORT, ("-c:v", "ffv1", "-pix_fmt", "gray"))):
            clip = self.clip(name, source, *options)
            told = first_frame(clip, *COLORS)
            for profile in ("mp4", "mkv", "webm", "lossless") if source is SHORT else ("mp4",):
                with self.subTest(f"{name} {profile}"):
                    # A filter that works in RGB and back.
                    self.job(clip, filter="videoconvert ! video/x-raw,format=RGB ! identity", profile=profile)
                    found = first_frame(self.video(), *COLORS)
                    if told["color_range"] == "unknown":
                        told["color_range"] = "pc" if name == "gray.mkv" else "tv"  # the meaning of unknown
                    if profile == "lossless":
                        found["color_space"] = found["color_space"].replace("smpte170m", told["color_space"])
                    self.assertEqual({key: found[key] for key in COLORS}, {key: told[key] for key in COLORS})
                    before, after = (numpy.frombuffer(rgb(path), numpy.uint8).reshape(
                        -1, *((96, 128) if source is SHORT else (720, 1280)), 3) for path in (clip, self.video()))
                    difference = after.astype(int) - before
                    # Colours out of RGB's range are cut there; a wrong matrix is off by 13 to 21.
                    self.assertLess(abs(difference.mean((0, 1, 2))).max(), 6)
                    self.assertLess(abs(difference).mean(), 6)

    def test_colours_where_players_assume_another_matrix(self):
        """Players assume a matrix by the height. If a clip without tags gets another height, the output states the matrix."""
        untagged, untold = ("-c:v", "libx264", "-qp", "4", "-vf"), "setparams=colorspace=unknown"
        large = self.clip("large.mp4", SHORT.replace("128x96", "1280x720"), *untagged,
                          "scale=out_color_matrix=bt709:out_range=tv,format=yuv420p," + untold, "-frames:v", "2")
        small = "videoconvert ! video/x-raw,format=RGB ! videoscale ! video/x-raw,width=640,height=360 ! identity"
        plain = self.clip("plain.mp4", SHORT.replace("128x96", "1024x576"), *untagged,
                          "scale=out_color_matrix=bt601:out_range=tv,format=yuv420p," + untold, "-frames:v", "2")
        turned = media.turned(self.folder / "turned.mp4", plain, 90)
        for clip, line, made, told, shape in ((large, small, "bt709", "bt709", (-1, 360, 640, 3)),
                                              (turned, "identity", "bt601", "smpte170m", (-1, 1024, 576, 3))):
            self.assertEqual(first_frame(clip, "color_space"), {"color_space": "unknown"})
            scale = f"scale={shape[2]}:{shape[1]}:in_color_matrix={made},format=rgb24"
            before = numpy.frombuffer(rgb(clip, "-vf", scale), numpy.uint8).reshape(shape).astype(int)
            for profile in ("mp4", "webm", "lossless"):
                with self.subTest(f"{clip.name} {profile}"):
                    self.job(clip, filter=line, profile=profile)
                    self.assertEqual(first_frame(self.video(), "color_space"), {"color_space": told})
                    after = numpy.frombuffer(rgb(self.video()), numpy.uint8).reshape(shape)
                    self.assertLess(abs(after - before).mean(), 6)

    def test_fields(self):
        for first, flag in (("tff", 1), ("bff", 0)):
            filters = ("-vf", f"setfield={first}", *FIELDS)
            for name, options in ((f"{first}.mpg", ("-c:v", "mpeg2video", "-pix_fmt", "yuv420p")),
                                  (f"{first}.mov", ("-c:v", "prores_ks", "-pix_fmt", "yuv422p10le"))):
                clip = self.clip(name, SHORT, *filters, *options)
                names = ("interlaced_frame", "top_field_first")
                told = first_frame(clip, *names)
                self.assertEqual(told, {"interlaced_frame": 1, "top_field_first": flag})
                for profile in ("mp4", "mkv", "lossless", "webm"):
                    with self.subTest(f"{name} {profile}"):
                        said = notes(self.job(clip, profile=profile))
                        found = first_frame(self.video(), *names)
                        self.assertEqual(found if profile != "webm" else told, told)
                        self.assertEqual(any("field order" in note for note in said), profile == "webm")

    def test_light_of_displays(self):
        clip = self.clip("in.mkv", SHORT, "-pix_fmt", "yuv420p10le", "-color_range", "tv", "-colorspace", "bt2020nc",
                         "-vf", "setparams=color_primaries=bt2020:color_trc=smpte2084", "-c:v", "libx265", "-x265-params",
                         "log-level=none:hdr10=1:master-display=G(13250,34500)B(7500,3000)R(34000,16000)"
                         "WP(15635,16450)L(10000000,1):max-cll=1000,400")
        told = side_data(clip)
        self.assertEqual(set(told), {"Mastering display metadata", "Content light level metadata"})
        for profile in ("mp4", "mkv", "webm", "lossless"):
            self.assertEqual(notes(self.job(clip, profile=profile)), [])
            if profile != "mp4":
                self.assertEqual(side_data(self.video()), told)
            if profile not in ("mp4", "mkv"):
                continue
            # In the stream, as players of H.264 read it.
            text = media.run("ffmpeg", "-v", "verbose", "-i", self.video(), "-c", "copy", "-bsf:v", "trace_headers",
                             "-frames:v", "1", "-f", "null", "-")
            for value in ("display_primaries_x[0] .* 13250", "white_point_y .* 16450",
                          "max_display_mastering_luminance .* 10000000", "max_content_light_level .* 1000",
                          "max_pic_average_light_level .* 400"):
                self.assertRegex(text, value.replace("[", r"\[").replace("]", r"\]"))
            self.assertEqual(media.stream(self.video(), "color_transfer"), {"color_transfer": "smpte2084"})

    def test_what_is_told_beside_pixels_and_not_kept(self):
        clip = self.clip("in.mkv", SHORT, "-pix_fmt", "yuv420p", "-c:v", "libx264", "-x264-params", "frame-packing=3")
        self.assertEqual(notes(self.job(clip)), ["its Stereo 3D is left out"])

    def test_place_of_chroma_of_padded_pictures(self):
        """A place that the input does not state stays the usual one, left."""
        clip = self.clip("in.mkv", SHORT + ",crop=63:47:exact=1", "-pix_fmt", "yuv420p", "-c:v", "ffv1")
        for profile in ("mp4", "mkv"):
            self.job(clip, profile=profile)
            self.assertEqual(first_frame(self.video(), "chroma_location"), {"chroma_location": "left"})

    def test_colours_of_padded_rgb_pictures(self):
        """A padded picture states no more colours than one of an even size."""
        names = ("color_range", "color_space", "color_transfer", "color_primaries")
        for profile in ("mp4", "mkv", "webm"):
            stated = []
            for size in ("64:48", "63:47"):
                clip = self.clip("in.mkv", SHORT + f",crop={size}:exact=1", "-pix_fmt", "rgb24", "-c:v", "png")
                self.job(clip, profile=profile)
                stated.append(first_frame(self.video(), *names))
            self.assertEqual(stated[0], stated[1], profile)

    def test_time_codes_of_mpeg(self):
        clip = self.clip("in.mpg", SHORT, "-pix_fmt", "yuv420p", "-c:v", "mpeg2video", "-gop_timecode", "01:02:03:04")
        for profile, tags in (("mp4", "stream_tags"), ("mkv", "format_tags"), ("webm", "format_tags")):
            self.assertEqual(notes(self.job(clip, profile=profile)), [])
            self.assertIn("01:02:03:04", media.run("ffprobe", "-v", "error", "-show_entries", tags, self.video()))

    def test_stills_and_loops(self):
        """A GIF that repeats for ever is decoded once; a picture becomes a video of one frame."""
        loop = self.clip("loop.gif", "testsrc2=size=64x48:rate=10:duration=0.5", "-loop", "0")
        self.job(loop)
        self.expect_frames(5, 0.1)
        still = self.clip("still.png", SHORT, "-frames:v", "1").rename(self.folder / "50%d.png")  # no sequence
        self.job(still)
        self.expect_frames(1)
        self.assertGreater(float(media.stream(self.video(), "duration")["duration"]), 0.03)

    def test_transparency(self):
        clip = self.clip("in.webm", SHORT + ",format=yuva420p", "-c:v", "libvpx-vp9", "-auto-alt-ref", "0", "-deadline",
                         "realtime", "-cpu-used", "8")
        self.assertEqual(notes(self.job(clip)), ["its transparency cannot be stored by H.264 in MP4"])
        self.expect_frames(15)

    def test_no_video(self):
        self.assertEqual(self.problem(self.clip("in.wav", "sine=duration=0.2")), "holds no video stream: only audio")

    def test_a_missing_replacement_image(self):
        clip = self.clip("in.mkv", SHORT, "-c:v", "ffv1")
        missing = self.folder / "missing.png"
        problem = self.problem(clip, filter=f"graphcutbg output=replace replace-with=image replace-image={missing}")
        self.assertIn("missing.png", problem)
        self.assertNotIn("no video", problem)

    def test_turned_clips_of_odd_sizes(self):
        plain = self.clip("plain.mp4", "testsrc2=size=64x48:rate=25:duration=0.2,format=yuv444p,crop=63:47:exact=1")
        for degrees in (90, 180, 270):
            clip = media.turned(self.folder / f"{degrees}.mp4", plain, degrees)
            self.job(clip)
            width, height = (64, 48) if degrees == 180 else (48, 64)
            self.assertEqual(media.stream(self.video(), "width", "height"), {"width": str(width), "height": str(height)})
            shape = (-1, 47, 63, 3) if degrees == 180 else (-1, 63, 47, 3)
            before = numpy.frombuffer(rgb(clip), numpy.uint8).reshape(shape).astype(int)
            after = media.frames(self.video(), "rgb24")[:, :shape[1], :shape[2]]
            self.assertLess(abs(after - before).mean(), 6)

    def test_pixel_formats(self):
        """Each format that FFmpeg decodes reaches the filter, and is encoded in the nearest format of the profile."""
        for pixels, codec, written in (("gray10le", "ffv1", "yuv420p10le"), ("rgb48be", "png", "yuv420p10le"),
                                       ("pal8", "png", "yuv420p"), ("yuv422p12le", "ffv1", "yuv422p10le"),
                                       ("yuv440p", "ffv1", "yuv420p"), ("bgr24", "rawvideo", "yuv420p")):
            with self.subTest(pixels):
                clip = self.clip("in.avi" if codec == "rawvideo" else "in.mkv", "testsrc2=size=128x96:rate=25:"
                                 "duration=0.08", "-c:v", codec, "-pix_fmt", pixels)
                said = notes(self.job(clip))
                self.assertRegex("".join(said), r"^its \w+ pixels are (coded as|converted to) \w+$")
                self.assertEqual(media.stream(self.video(), "pix_fmt")["pix_fmt"].replace("j", ""), written)
                before, after = (numpy.frombuffer(rgb(path), numpy.uint8).astype(int) for path in (clip, self.video()))
                self.assertLess(abs(after - before).mean(), 8)


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
