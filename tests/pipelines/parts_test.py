#!/usr/bin/python3
"""The parts of transcode/: how sound is asked for and joined, which format a video gets, what label videos
and JSON hold, which side is up. Programs that they start are replaced by ones that tell how they were called."""

import json
import os
import unittest
import unittest.mock

import inside
import media
import numpy
import orientation
import profiles
import sidecars
import sound
from gstreamer import Gst, GstVideo


class Sound(inside.Case):
    def setUp(self):
        super().setUp()
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        path = unittest.mock.patch.dict(os.environ, {"PATH": str(self.tools)})
        path.start()
        self.addCleanup(path.stop)

    def tool(self, name, prints="", errors="", status=0):
        """A program that prints this, and keeps its arguments in a file."""
        program = self.tools / name
        program.write_text("#!/usr/bin/python3\nimport json, sys\n"
                           f"json.dump(sys.argv[1:], open({str(self.tools / 'called')!r}, 'w'))\n"
                           f"print({prints!r}, end='')\nprint({errors!r}, end='', file=sys.stderr)\n"
                           f"sys.exit({status})\n")
        program.chmod(0o755)

    def called(self):
        return json.loads((self.tools / "called").read_text())

    def refused(self, call, *arguments):
        with self.assertRaises(sound.SoundProblem) as problem:
            call(*arguments)
        return str(problem.exception)

    def streams(self, streams, start=None):
        told = {"streams": streams} | ({"format": {"start_time": start}} if start else {})
        self.tool("ffprobe", json.dumps(told))
        return sound.streams("in")

    def test_what_is_asked_of_a_file(self):
        self.assertEqual(self.streams([]), ([], 0.0, 0.0))
        self.assertEqual(self.called(), [
            "-v", "error", "-show_entries",
            "stream=codec_type,codec_name,start_time,duration,nb_frames,avg_frame_rate:format=start_time", "-of",
            "json", "file:in"])
        self.tool("ffprobe", "{}")
        self.assertEqual(sound.streams("in"), ([], 0.0, 0.0))

    def test_streams(self):
        audio, more = {"codec_type": "audio", "codec_name": "aac"}, {"codec_type": "audio"}
        picture = {"codec_type": "video", "codec_name": "h264", "start_time": "0.75", "duration": "4.5"}
        self.assertEqual(self.streams([audio, {"codec_type": "subtitle"}, more, {}]), (["aac", "unknown"], 0.0, 0.0))
        self.assertEqual(self.streams([picture, audio], "0.25"), (["aac"], 0.5, 4.5))
        self.assertEqual(self.streams([picture], "1.25"), ([], 0.0, 4.5), "it does not begin before the file")
        self.assertEqual(self.streams([picture]), ([], 0.75, 4.5))
        del picture["start_time"]
        self.assertEqual(self.streams([picture], "0.5"), ([], 0.0, 4.5))
        # The length is what the frames take, where that is more than the file says.
        counted = picture | {"nb_frames": "300", "avg_frame_rate": "30000/1001"}
        self.assertEqual(self.streams([counted, picture | {"duration": "99"}])[2], 300 * 1001 / 30000)
        self.assertEqual(self.streams([counted | {"duration": "20"}])[2], 20.0)
        self.assertEqual(self.streams([counted | {"avg_frame_rate": "0/0"}])[2], 4.5)
        self.assertEqual(self.streams([{"codec_type": "video", "avg_frame_rate": "25/1"}])[2], 0.0)
        del counted["duration"]
        self.assertEqual(self.streams([counted])[2], 300 * 1001 / 30000)

    def test_files_that_ffprobe_cannot_read(self):
        self.assertEqual(self.refused(sound.streams, "in"), "ffmpeg, which copies the sound, is not installed")
        self.tool("ffprobe", errors="first\nthe cause\n\n", status=1)
        self.assertEqual(self.refused(sound.streams, "in"), "ffprobe cannot read it: the cause")
        self.tool("ffprobe", status=3)
        self.assertEqual(self.refused(sound.streams, "in"), "ffprobe cannot read it: it gave no reason")
        for text, line in (("", "it gave no reason"), (" \n", "it gave no reason"), ("a", "a"), ("a\nb\n", "b")):
            self.assertEqual(sound.last_line(text), line)

    def joined(self, profile, codecs, delay=0.25):
        self.tool("ffmpeg", errors="told", status=5)
        picture, out = os.memfd_create("picture"), os.memfd_create("out")
        self.addCleanup(os.close, picture)
        self.addCleanup(os.close, out)
        process, notes = sound.add(picture, "a|b", codecs, delay, profiles.PROFILES[profile], out)
        self.assertEqual(process.stderr.read(), "told")
        self.assertEqual(os.getpgid(process.pid), process.pid, "Ctrl-C does not reach it")
        self.assertEqual(process.wait(), 5)
        process.stderr.close()
        words = self.called()
        begin = ["-v", "error", "-nostdin", "-y", "-itsoffset", "0.250000", "-i", f"/proc/self/fd/{picture}", "-i",
                 "file:a|b", "-map", "0:v", "-map", "1:a", "-map_metadata", "1", "-map_chapters", "1", "-c", "copy",
                 "-avoid_negative_ts", "disabled"]
        self.assertEqual(words[:len(begin)], begin)
        self.assertEqual(words[-1], f"/proc/self/fd/{out}")
        return words[len(begin):-1], notes

    def test_sound_is_joined(self):
        """Copied where the container holds it, else encoded, stream by stream."""
        def note(codec, encoder, container):
            return f"its {codec} sound is encoded as {encoder}: {container} files cannot hold it"

        for codec in ("aac", "mp3", "ac3", "eac3", "alac", "opus"):
            self.assertEqual(self.joined("mp4", [codec]), (["-f", "mp4"], []))
        self.assertEqual(self.joined("mp4", ["flac", "aac", "vorbis"]), (
            ["-c:a:0", "aac", "-b:a", "192k", "-c:a:2", "aac", "-b:a", "192k", "-f", "mp4"],
            [note("flac", "aac", "mp4"), note("vorbis", "aac", "mp4")]))
        self.assertEqual(self.joined("webm", ["opus", "vorbis"]), (["-f", "webm"], []))
        self.assertEqual(self.joined("webm", ["opus", "aac"]), (["-c:a:1", "libopus", "-b:a", "128k", "-f", "webm"],
                                                                [note("aac", "libopus", "webm")]))
        for profile in ("mkv", "lossless"):
            self.assertEqual(self.joined(profile, ["aac", "pcm_s16le"]), (["-f", "matroska"], []))

    def test_the_process_sees_the_files_it_writes(self):
        picture, out = os.memfd_create("picture"), os.memfd_create("out")
        program = self.tools / "ffmpeg"
        program.write_text("#!/usr/bin/python3\nimport sys\nopen(sys.argv[-1], 'w').write('whole')\n"
                           "open(sys.argv[8]).close()\nsys.exit(len(sys.stdin.read()))\n")
        program.chmod(0o755)
        process, _ = sound.add(picture, "in", [], 0.0, profiles.PROFILES["mp4"], out)
        self.assertEqual(process.stderr.read(), "")
        process.stderr.close()
        self.assertEqual(process.wait(), 0)
        self.assertEqual(os.pread(out, 9, 0), b"whole")
        os.close(picture)
        os.close(out)


EIGHT = {"I420": "I420", "NV12": "I420", "YV12": "I420", "YUY2": "Y42B", "UYVY": "Y42B", "Y42B": "Y42B", "NV16": "Y42B",
         "Y444": "Y444", "AYUV": "Y444", "v308": "Y444"}
TEN = {"I420_10LE": "I420_10LE", "P010_10LE": "I420_10LE", "I420_12LE": "I420_10LE", "v210": "I422_10LE",
       "I422_10LE": "I422_10LE", "Y444_10LE": "Y444_10LE", "Y444_12LE": "Y444_10LE"}
RGB = ("RGB", "BGR", "RGBA", "BGRA", "RGBx", "xRGB", "xBGR", "ARGB", "ABGR", "GBR")


class Profiles(inside.Case):
    def coded(self, name, profile):
        info = GstVideo.VideoFormat.get_info(GstVideo.VideoFormat.from_string(name))
        return profiles.coded_format(info, profiles.PROFILES[profile])

    def test_the_nearest_format(self):
        for profile in profiles.PROFILES:
            for name, nearest in (EIGHT | TEN).items():
                if profile == "webm" and nearest == "Y42B":
                    nearest = "I420"  # VP9 has none of 8 bits
                self.assertEqual(self.coded(name, profile), nearest, f"{name} in {profile}")
            for name in RGB:
                expected = "I420" if profile != "lossless" else "BGRA" if name == "BGRA" else "BGRx"
                self.assertEqual(self.coded(name, profile), expected, f"{name} in {profile}")
            self.assertEqual(self.coded("BGRx", profile), "BGRx" if profile == "lossless" else "I420")
            self.assertEqual(self.coded("GRAY8", profile), "GRAY8" if profile == "lossless" else "I420")
            self.assertEqual(self.coded("GRAY16_LE", profile),
                             "GRAY16_LE" if profile == "lossless" else "I420_10LE")
            self.assertEqual(self.coded("ARGB64", profile), "I420_10LE", "10 bits rather than 8")
        info = GstVideo.VideoFormat.get_info(GstVideo.VideoFormat.I420)
        self.assertIsNone(profiles.coded_format(info, profiles.STILL))

    def test_profiles_can_be_played(self):
        """Elements are there, take every format of the list, and sizes from the smallest side on."""
        for name, profile in (profiles.PROFILES | {"still": profiles.STILL}).items():
            for form in profile.formats or ("RGB",):
                side = profile.least
                Gst.parse_launch(f"videotestsrc num-buffers=1 ! video/x-raw,format={form},width={side},height={side}"
                                 f" ! {profile.encoder} ! {profile.muxer} ! fakesink")
            self.assertRegex(profile.suffix, r"^\.[a-z0-9]+$", name)
        self.assertEqual({name: (p.meaning, p.suffix, p.muxer, p.even, p.least)
                          for name, p in (profiles.PROFILES | {"still": profiles.STILL}).items()}, {
            "mp4": ("H.264 in MP4", ".mp4", "mp4mux", True, 16),
            "mkv": ("H.264 in Matroska", ".mkv", "matroskamux", True, 16),
            "webm": ("VP9 in WebM", ".webm", "webmmux", False, 16),
            "lossless": ("FFV1 in Matroska, every pixel kept", ".mkv", "matroskamux", False, 1),
            "still": ("PNG", ".png", "identity", False, 1)})
        vp9 = Gst.parse_bin_from_description(profiles.VP9, True).children[0]
        self.assertEqual([vp9.get_property(name) for name in ("deadline", "cpu-used", "row-mt", "threads", "cq-level")],
                         [1, 6, True, 4, 24])
        self.assertEqual(vp9.get_property("end-usage").value_nick, "cq")


class Tags(inside.Case):
    def event(self, **tags):
        found = Gst.TagList.new_empty()
        for name, value in tags.items():
            found.add_value(Gst.TagMergeMode.APPEND, name.replace("_", "-"), value)
        return Gst.Event.new_tag(found)

    def pad(self, *events, of=None):
        """A pad with sticky events, of an element with such a sink pad or none."""
        made = unittest.mock.Mock()
        made.get_sticky_event = lambda kind, number: (
            events[number] if kind == Gst.EventType.TAG and number < len(events) else None)
        made.get_parent_element.return_value.sinkpads = [of] if of else []
        return made

    def test_which_side_is_up(self):
        title, upright = self.event(title="a"), self.event(image_orientation="rotate-0")
        for name, turn in (("rotate-90", "90r"), ("rotate-180", "180"), ("rotate-270", "90l"),
                           ("flip-rotate-0", "horiz"), ("flip-rotate-90", "ur-ll")):
            tag = self.event(image_orientation=name)
            self.assertEqual(orientation.turn_of(self.pad(tag)).value_nick, turn)
            self.assertEqual(orientation.turn_of(self.pad(title, upright, tag)).value_nick, turn, "whichever tag tells it")
            self.assertEqual(orientation.turn_of(self.pad(title, of=self.pad(tag))).value_nick, turn, "the decoder's")
        for pad in (self.pad(), self.pad(title), self.pad(upright), self.pad(of=self.pad(upright))):
            self.assertIsNone(orientation.turn_of(pad))

    def test_pads_that_show_others(self):
        element = Gst.ElementFactory.make("identity")
        pad = element.get_static_pad("src")
        pad.set_active(True)
        for event in (Gst.Event.new_stream_start("a"), self.event(image_orientation="rotate-90")):
            pad.store_sticky_event(event)
        inner, outer = Gst.Bin.new(), Gst.Bin.new()
        inner.add(element)
        ghost = Gst.GhostPad.new("src", pad)
        inner.add_pad(ghost)
        outer.add(inner)
        self.assertEqual(orientation.turn_of(Gst.GhostPad.new("src", ghost)).value_nick, "90r")

    def test_the_tag_is_left_out_alone(self):
        for event, left in ((Gst.Event.new_eos(), None), (self.event(title="a"), None),
                            (self.event(title="a", image_orientation="rotate-90"), {"title": "a"}),
                            (self.event(image_orientation="rotate-0"), {})):
            pad = unittest.mock.Mock()
            verdict = orientation.leave_out_turn(pad, unittest.mock.Mock(get_event=lambda event=event: event))
            if left is None:
                self.assertEqual(verdict, Gst.PadProbeReturn.OK)
                pad.push_event.assert_not_called()
                continue
            self.assertEqual(verdict, Gst.PadProbeReturn.DROP)
            tags = pad.push_event.call_args[0][0].parse_tag()
            self.assertEqual({tags.nth_tag_name(i): tags.get_string(tags.nth_tag_name(i))[1]
                              for i in range(tags.n_tags())}, left)
            original = event.parse_tag()
            self.assertTrue(original.get_string("image-orientation")[0], "the event itself is another's")


class Sidecars(inside.Case):
    SOURCE = "videotestsrc num-buffers=2 ! video/x-raw,format=GRAY8,width=53,height=30,framerate=25/1"

    def frames(self, line):
        pipeline = Gst.parse_launch(f"{self.SOURCE} ! {line} ! appsink name=frames sync=false")
        pipeline.set_state(Gst.State.PLAYING)
        found = []
        while sample := pipeline.get_by_name("frames").emit("pull-sample"):
            found.append(sample)
        pipeline.set_state(Gst.State.NULL)
        return found

    def refused(self, call, *arguments):
        with self.assertRaises(sidecars.SidecarProblem) as problem:
            call(*arguments)
        return str(problem.exception)

    def picture(self, line):
        sample = self.frames(line)[0]
        found, view = sample.get_buffer().map(Gst.MapFlags.READ)
        self.assertTrue(found)
        caps = inside.gstreamer.first_structure(sample.get_caps())
        rows = numpy.frombuffer(view.data, "<u2").reshape(caps.get_value("height"), -1)
        pixels = rows[:, :caps.get_value("width")].copy()
        sample.get_buffer().unmap(view)
        return pixels

    def test_label_maps(self):
        """The map of the metadata is the picture of output=labels, one layer below another."""
        for settings in ("threshold=0.3", "thresholds=<0.2,0.5,0.8>"):
            labels = sidecars.label_map(self.frames(f"cclabel output=none attach-labels=always {settings}")[0]
                                        .get_buffer(), 0)
            expected = self.picture(f"cclabel output=labels {settings} ! video/x-raw,format=GRAY16_LE")
            self.assertEqual(labels.dtype, numpy.uint32)
            self.assertGreater(labels.max(), 0)
            numpy.testing.assert_array_equal(labels, expected)
        # Of a picture that was scaled since, the map has the old size; a mask is one of bytes.
        scaled = self.frames("cclabel output=none attach-labels=always ! videoscale ! video/x-raw,width=20,height=10")
        self.assertEqual(sidecars.label_map(scaled[0].get_buffer(), 0).shape, (30, 53))
        mask = self.frames("graphcutbg output=none")
        self.assertEqual(sidecars.label_map(mask[0].get_buffer(), 0).shape, (30, 53))

    def test_frames_without_label_maps(self):
        for line in ("identity", "cclabel output=none attach-labels=never"):
            buffer = self.frames(line)[0].get_buffer()
            self.assertEqual(self.refused(sidecars.label_map, buffer, 7),
                             "frame 7 has no label map: no element of the filter attaches one")

    def buffer_with(self, labels, **more):
        values = {"labels": labels, "labels-format": "U32_LE", "width": 4, "height": 3} | more
        structure = unittest.mock.Mock(get_value=values.get, has_field=values.__contains__)
        return unittest.mock.Mock(get_custom_meta=lambda _: unittest.mock.Mock(get_structure=lambda: structure))

    def test_label_maps_that_are_not_what_they_say(self):
        unreadable = unittest.mock.Mock(map=lambda _: (False, None))
        self.assertEqual(self.refused(sidecars.label_map, self.buffer_with(unreadable), 5),
                         "the label map of frame 5 cannot be read")
        short = Gst.Buffer.new_wrapped(bytes(44))
        self.assertEqual(self.refused(sidecars.label_map, self.buffer_with(short), 5),
                         "the label map of frame 5 has 44 bytes, not those of 4 x 3 labels")
        layers = self.buffer_with(Gst.Buffer.new_wrapped(bytes(range(24))), layers=2, **{"labels-format": "GRAY8"})
        numpy.testing.assert_array_equal(sidecars.label_map(layers, 0), numpy.arange(24).reshape(6, 4))
        other = {"labels-width": 6, "labels-height": 2}
        self.assertEqual(sidecars.label_map(self.buffer_with(Gst.Buffer.new_wrapped(bytes(48)), **other), 0).shape,
                         (2, 6))

    def test_lines_of_json(self):
        sample, _ = self.frames("cclabel output=none")
        with open(self.folder / "out", "w+b") as file:
            lines = sidecars.JsonLines(file.fileno())
            lines.write(3, 1_500_000_000, sample.get_buffer(), None)
            lines.write(4, 0, sample.get_buffer(), None)
            lines.close()
            file.seek(0)
            rows = [json.loads(line) for line in file.read().decode().splitlines()]
        table = inside.gstreamer.regions_table(sample.get_buffer())
        self.assertEqual(rows, [{"frame": 3, "time": 1.5} | table, {"frame": 4, "time": 0.0} | table])
        self.assertEqual(list(rows[0])[:2], ["frame", "time"])
        plain, _ = self.frames("identity")
        self.assertEqual(self.refused(lines.write, 6, 0, plain.get_buffer(), None),
                         "frame 6 has no regions: no element of the filter finds any")

    def test_a_label_video(self):
        """Odd widths, and labels of two bytes; times are those of the frames."""
        path = self.folder / "labels.mkv"
        with open(path, "wb") as file:
            pipeline = Gst.parse_launch(sidecars.LabelVideo.BRANCH.format(file.fileno()))
            video = sidecars.LabelVideo(pipeline)
            maps = [numpy.arange(15, dtype=numpy.uint32).reshape(3, 5) * n for n in (1, 4000)]
            caps = Gst.Caps.from_string("video/x-raw,framerate=10/1")
            pipeline.set_state(Gst.State.PLAYING)
            for number, labels in enumerate(maps):
                self.replace(sidecars, "label_map", lambda *_, labels=labels: labels)
                frame = Gst.Buffer.new()
                frame.duration = Gst.SECOND // 10
                video.write(number, (2 + number) * Gst.SECOND // 10, frame, caps)
            for labels, why in ((numpy.zeros((5, 3), numpy.uint32), "the picture's size changes at frame 9: a label"
                                 " video has one size"),
                                (maps[0] + 65522, "frame 9 has 65536 regions: a label video holds 65535")):
                self.replace(sidecars, "label_map", lambda *_, labels=labels: labels)
                self.assertEqual(self.refused(video.write, 9, 0, Gst.Buffer.new(), caps), why)
            video.close()
            message = pipeline.get_bus().timed_pop_filtered(10 * Gst.SECOND,
                                                            Gst.MessageType.EOS | Gst.MessageType.ERROR)
            self.assertEqual(message.type, Gst.MessageType.EOS)
            pipeline.set_state(Gst.State.NULL)
        self.assertEqual(media.stream(path, "codec_name", "pix_fmt", "width", "height"),
                         {"codec_name": "ffv1", "pix_fmt": "gray16le", "width": "5", "height": "3"})
        numpy.testing.assert_array_equal(media.frames(path, "gray16le"), maps)
        numpy.testing.assert_allclose(numpy.diff(media.times(path)), 0.1)
        stopped = Gst.parse_launch(sidecars.LabelVideo.BRANCH.format(1))
        video = sidecars.LabelVideo(stopped)
        self.replace(sidecars, "label_map", lambda *_: maps[0])
        source = unittest.mock.Mock(emit=lambda *_: Gst.FlowReturn.ERROR)
        video.source = source
        self.assertEqual(self.refused(video.write, 0, 0, Gst.Buffer.new(), caps), "the label video cannot be written")
        video.source = unittest.mock.Mock(emit=lambda *_: Gst.FlowReturn.FLUSHING)
        video.write(0, 0, Gst.Buffer.new(), caps)  # the pipeline ends: its own words are better
        self.replace(sidecars, "label_map", lambda *_: maps[0] + 65521)
        video.write(0, 0, Gst.Buffer.new(), caps)  # 65535 itself is held


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
