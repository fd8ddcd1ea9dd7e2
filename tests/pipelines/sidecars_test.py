#!/usr/bin/python3
"""transcode/sidecars.py: what label videos hold, and what they refuse."""

import unittest
import unittest.mock

import inside
import media
import numpy
import sidecars
from gstreamer import Gst


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
                             "frame 7 has no label map: the filter has no element that attaches one, such as cclabel")

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
