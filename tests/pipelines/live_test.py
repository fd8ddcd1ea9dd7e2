#!/usr/bin/python3
"""pipelines/live: cameras that play, stop, come back or do not exist, its pipelines, windows, ends and interrupts."""

import os
import re
import signal
import subprocess
import time
import unittest.mock

import media
from camera import Camera
from cases import Case, main, program
from gstreamer import GLib, Gst  # after cases, which sets the path


FRAME = 320 * 240 * 3 // 2  # bytes


class Programs(Case):
    def live(self, *arguments, frames=20, status=0):
        return media.run("env", f"FRAMES={frames}", "SINK=fakesink", *arguments, status=status)

    def test_live_with_the_test_picture_and_any_filter_plays_to_the_end(self):
        for chain in (None, "slicsuperpixel"):
            with self.subTest(chain):
                more = [chain] if chain else []
                self.assertIn("live: ended after", self.live(media.script("live"), "test", *more))
        self.assertIn("live: ended after", self.live(media.script("live-superpixels"), "test", "region-size=12"))

    def test_live_with_a_network_camera_plays_to_the_frame_limit(self):
        self.assertIn("live: ended after", self.live(media.script("live"), Camera(self).address))

    def test_live_with_a_file_of_one_second_plays_for_at_least_0_9_seconds(self):
        clip = media.make(self.folder / "in.mp4", "testsrc2=size=320x240:rate=25:duration=1",
                          "-pix_fmt", "yuv420p")
        text = media.run("env", "SINK=fakesink sync=false", media.script("live"), clip)
        seconds = float(re.search(r"live: ended after ([\d.]+) s", text)[1])
        self.assertGreater(seconds, 0.9)

    def test_live_when_a_lost_camera_returns_plays_it_again(self):
        camera = Camera(self)
        pipe = self.folder / "frames"
        os.mkfifo(pipe)
        player = subprocess.Popen(
            ["env", f"SINK=filesink location={pipe}", str(media.script("live")), camera.address],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(player.communicate)
        self.addCleanup(player.kill)
        with open(pipe, "rb") as frames:
            self.assertEqual(len(frames.read(20 * FRAME)), 20 * FRAME)
            camera.stop()
            frames.read()  # to the end: the player has let go
        Camera(self, camera.port)
        with open(pipe, "rb") as frames:  # the player connects again
            self.assertEqual(len(frames.read(20 * FRAME)), 20 * FRAME)
            player.send_signal(signal.SIGINT)
            frames.read()
        text = player.communicate(timeout=60)[0]
        self.assertEqual(player.returncode, 0, text)
        self.assertIn(f"live: {camera.address}: stopped, trying again", text)


LIVE = media.script("live")
OBJECTS = "graphcutbg output=none ! cclabel source=mask min-area=100 track=true output=none ! regionoverlay"


class Parts(Case):
    """The script in the test's own process."""

    def setUp(self):
        super().setUp()
        environment = unittest.mock.patch.dict(os.environ, {"SINK": "fakesink"})
        environment.start()
        self.addCleanup(environment.stop)
        for name in ("FRAMES", "DISPLAY", "WAYLAND_DISPLAY"):
            os.environ.pop(name, None)

    def live(self, *arguments, frames=None):
        if frames:
            os.environ["FRAMES"] = str(frames)
        return program(LIVE, *arguments)

    def pipeline_of(self, *arguments):
        """The text of the pipeline that would play."""
        lines = []

        def parsed(line):
            lines.append(line)
            raise GLib.Error("not now")

        with unittest.mock.patch.object(Gst, "parse_launch", parsed):
            self.assertEqual(self.live(*arguments).status, 2)
        return lines[0]

    def set_state_of(self, *arguments):
        """The pipeline that would play."""
        found = []
        state = Gst.Element.set_state

        def set_state(made, wanted):
            if isinstance(made, Gst.Pipeline) and wanted == Gst.State.PLAYING:
                found.append(made)
                return Gst.StateChangeReturn.SUCCESS
            return state(made, wanted)

        with (unittest.mock.patch.object(Gst.Bus, "timed_pop_filtered", lambda *_: Gst.Message.new_eos(None)),
              unittest.mock.patch.object(Gst.Pipeline, "set_state", set_state)):
            said = self.live(*arguments)
        self.assertEqual((said.status, said.err), (None, ""))
        return found[0]

    def test_live_sets_camera_name_and_filter_arguments_as_properties(self):
        os.environ["FRAMES"] = "1"
        for camera, name, value in (("rtsp://127.0.0.1/a ! b", "location", "rtsp://127.0.0.1/a ! b"),
                                    ("/dev/video77", "device", "/dev/video77"),
                                    ("/dev/a b", "device", "/dev/a b"),
                                    ("http://127.0.0.1:9/a b.mp4", "uri", "http://127.0.0.1:9/a b.mp4"),
                                    ("a ! b.mp4", "uri", Gst.filename_to_uri(os.path.abspath("a ! b.mp4")))):
            made = self.set_state_of(camera)
            self.assertEqual(made.get_by_name("camera").get_property(name), value)
        filtered = made.get_by_name("before").get_static_pad("src").get_peer().get_parent_element()
        kinds = [element.get_factory().get_name() for element in reversed(filtered.children)]
        self.assertEqual(kinds, ["graphcutbg", "cclabel", "regionoverlay"])
        self.assertEqual(filtered.get_static_pad("src").get_peer().get_parent_element().get_name(), "after")
        labeller = next(element for element in filtered.children if element.get_factory().get_name() == "cclabel")
        self.assertEqual([labeller.get_property(name) for name in ("min-area", "track")], [100, True])
        self.assertEqual([labeller.get_property(name).value_nick for name in ("source", "output")], ["mask", "none"])
        made = self.set_state_of("test", "cclabel", "threshold=0.25", "min-area=3")
        filtered = made.get_by_name("before").get_static_pad("src").get_peer().get_parent_element()
        self.assertEqual([filtered.children[0].get_property(name) for name in ("threshold", "min-area")], [0.25, 3])

    def test_live_with_several_video_sinks_uses_the_first_that_opens(self):
        """The first sink that opens is used. An error names the missing package or display."""
        class Sink:
            def __init__(self, opens):
                self.opens, self.states = opens, []

            def set_state(self, state):
                self.states.append(state)
                return Gst.StateChangeReturn.SUCCESS if self.opens else Gst.StateChangeReturn.FAILURE

        os.environ["SINK"] = ""
        display = "live: no display was found for a window: set SINK to another sink, such as fakesink\n"
        package = "live: a window needs Debian's package gstreamer1.0-x: pipelines/setup installs it\n"
        for wayland, opening, taken in (
                ("", {"xvimagesink": True}, "xvimagesink"), ("", {"xvimagesink": False, "ximagesink": True}, "ximagesink"),
                ("w", {"waylandsink": True}, "waylandsink"), ("w", {"waylandsink": False, "ximagesink": True}, "ximagesink"),
                ("w", {"ximagesink": False}, display), ("", {"waylandsink": True, "ximagesink": False}, display),
                ("", {}, package), ("w", {}, package)):
            sinks = {name: Sink(opens) for name, opens in opening.items()}
            with (self.subTest(wayland=wayland, opening=opening),
                  unittest.mock.patch.dict(os.environ, {"WAYLAND_DISPLAY": wayland}),
                  unittest.mock.patch.object(Gst.ElementFactory, "make", sinks.get),
                  unittest.mock.patch.object(Gst.ElementFactory, "find", lambda name: "x" in name and sinks)):
                if taken.startswith("live: "):
                    self.assertEqual(self.live("test"), (1, "", taken))
                else:
                    self.assertTrue(self.pipeline_of("test").endswith(f" ! {taken}"))
                for sink in sinks.values():
                    self.assertIn(sink.states, ([], [Gst.State.READY, Gst.State.NULL]))

    def test_live_with_a_rotated_clip_shows_it_upright(self):
        plain = self.clip("plain.mp4", "testsrc2=size=64x48:rate=25:duration=0.4", "-pix_fmt", "yuv420p")
        clip, path = media.turned(self.folder / "in.mp4", plain, 90), self.folder / "out.png"
        os.environ["SINK"] = f"pngenc snapshot=true ! filesink location={path}"
        self.assertEqual(self.live(clip, "cclabel output=none").err, "")
        self.assertEqual(media.stream(path, "width", "height"), {"width": "48", "height": "64"})

    def test_live_with_a_frame_limit_ends_after_whole_frames(self):
        path = self.folder / "frames"
        os.environ["SINK"] = f"video/x-raw,format=GRAY8 ! filesink location={path}"
        said = self.live("test", "cclabel output=none", frames=3)
        self.assertEqual((said.status, said.err), (None, ""))
        self.assertRegex(said.out, r"^live: ended after \d+\.\d s\n$")
        self.assertEqual(path.stat().st_size % (320 * 240), 0)
        self.assertGreater(path.stat().st_size, 0)

    def test_live_with_an_unplayable_source_prints_an_error_that_names_it(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)  # opening it would wait for a writer, also after Ctrl-C
        self.assertEqual(self.live(pipe), (1, "", f"live: {pipe}: cannot be read: not a regular file\n"))
        self.assertIn("live: /dev/video77: cannot be played: ", self.live("/dev/video77").err)
        missing = self.folder / "new\nline"
        said = self.live(missing)
        self.assertEqual((said.status, said.out), (1, ""))
        self.assertTrue(said.err.startswith(f"live: {self.folder}/new\\nline: cannot be played: Resource not found."))
        self.assertEqual(self.live("test", "nonsense"), (2, "", 'live: no element "nonsense"\n'))
        self.assertEqual(self.live("test", "cclabel", "threshold=7"),
                         (2, "", "live: cclabel threshold=7: expected a number from 0 to 1\n"))
        os.environ["SINK"] = "nosink"
        said = self.live("test")
        self.assertEqual((said.status, said.out), (2, ""))
        self.assertIn('no element "nosink"', said.err)

    def test_live_when_an_element_warns_prints_the_warning(self):
        warning = GLib.Error.new_literal(Gst.StreamError.quark(), "slow\n", Gst.StreamError.FAILED)
        messages = [Gst.Message.new_warning(None, warning, "detail"), None, Gst.Message.new_eos(None)]
        with unittest.mock.patch.object(Gst.Bus, "timed_pop_filtered", lambda *_: messages.pop(0)):
            said = self.live("test")
        self.assertEqual((said.status, said.err), (None, "live: slow\\n\n"))
        self.assertEqual(messages, [])

    def signalled(self, numbers, *arguments, has_frames=True):
        """A run that gets signals a little after its first frame, or a little after its start without frames."""
        pop, state = Gst.Bus.timed_pop_filtered, Gst.Pipeline.set_state
        numbers, waits, pipelines = list(numbers), [], []

        def set_state(made, wanted):
            pipelines[:] = [made]
            return state(made, wanted)

        def wait(bus, time, kinds):
            waits.append(time)
            began = not has_frames or pipelines[0].get_by_name("before").sinkpads[0].get_current_caps()
            if numbers and began and len(waits) >= 3:
                os.kill(os.getpid(), numbers.pop(0))
            return pop(bus, time, kinds)

        with (unittest.mock.patch.object(Gst.Bus, "timed_pop_filtered", wait),
              unittest.mock.patch.object(Gst.Pipeline, "set_state", set_state)):
            return self.live(*arguments), numbers, waits

    def test_live_when_interrupted_finishes_the_output_file(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            path = self.folder / "out.mkv"
            os.environ["SINK"] = f"avenc_ffv1 ! matroskamux ! filesink location={path}"
            said, _, waits = self.signalled([number], "test", "identity")
            self.assertEqual((said.status, said.err), (None, ""))
            self.assertRegex(said.out, r"^live: ended after \d+\.\d s\n$")
            self.assertGreater(float(media.run("ffprobe", "-v", "error", "-show_entries", "format=duration", "-of",
                                               "csv=p=0", path)), 0, "whole")
            self.assertLessEqual(max(waits), Gst.SECOND, "it looks often enough")

    def test_live_when_interrupted_twice_ends_without_waiting_for_the_sink(self):
        """The sink never finishes its file."""
        os.environ["SINK"] = "identity drop-probability=0 ! fakesink name=stuck"
        with unittest.mock.patch.object(Gst.Element, "send_event", lambda *_: True):
            said, left, _ = self.signalled([signal.SIGINT, signal.SIGINT], "test", "identity")
        self.assertEqual((said.status, said.err, left), (None, "", []))

    def test_live_when_interrupted_before_the_first_frame_ends_at_once(self):
        refuse = unittest.mock.Mock(side_effect=AssertionError("there is no stream to end"))
        with (unittest.mock.patch.object(Gst.Pipeline, "set_state", lambda *_: Gst.StateChangeReturn.ASYNC),
              unittest.mock.patch.object(Gst.Element, "send_event", refuse)):
            said, left, _ = self.signalled([signal.SIGINT], "test", "identity", has_frames=False)
        self.assertEqual((said.status, said.err, left), (None, "", []))

    def again(self, camera, frames=None):
        """Plays a camera that stops at once, and interrupts at the third pause. Returns the result, the pauses, and the number of tries."""
        pauses, played = [], []
        state = Gst.Pipeline.set_state

        def sleep(seconds):
            pauses.append(seconds)
            if len(pauses) == 3:
                os.kill(os.getpid(), signal.SIGINT)

        def set_state(made, wanted):
            if wanted == Gst.State.PLAYING:
                played.append(made)
            return state(made, Gst.State.NULL)

        error = GLib.Error.new_literal(Gst.ResourceError.quark(), "gone", Gst.ResourceError.READ)
        with (unittest.mock.patch.object(time, "sleep", sleep),
              unittest.mock.patch.object(Gst.Pipeline, "set_state", set_state),
              unittest.mock.patch.object(Gst.Bus, "timed_pop_filtered",
                                         lambda *_: Gst.Message.new_error(None, error, "detail"))):
            return self.live(camera, frames=frames), pauses, len(played)

    def test_live_with_an_unreachable_network_camera_tries_again(self):
        camera = "rtsp://127.0.0.1:9/a"
        said, pauses, played = self.again(camera)
        self.assertEqual(said.status, None)
        self.assertEqual(said.err, f"live: {camera}: stopped, trying again\n" * 3)
        self.assertRegex(said.out, r"^live: ended after \d+\.\d s\n$")
        self.assertEqual((pauses, played), ([2, 2, 2], 3))
        for camera, frames in ((camera, 5), ("test", None), ("/dev/video77", None)):
            said, pauses, played = self.again(camera, frames)
            self.assertEqual(said, (1, "", f"live: {camera}: cannot be played: gone\n"))
            self.assertEqual((pauses, played), ([], 1))
            os.environ.pop("FRAMES", None)

    def test_live_with_help_option_prints_usage(self):
        said = self.live("--help")
        self.assertEqual((said.status, said.err), (0, ""))
        text = re.sub(r"\s+", " ", said.out)
        self.assertTrue(text.startswith("usage: live [/dev/videoN|rtsp://…|FILE|test] [FILTER] [PROPERTY=VALUE ...]"), text)
        for words in ("Shows a camera's picture in a window", "of the filter's first element; gst-inspect-1.0 the filter's first element"):
            self.assertIn(words, text)


if __name__ == "__main__":
    main()
