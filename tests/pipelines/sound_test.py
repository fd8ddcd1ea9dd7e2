#!/usr/bin/python3
"""transcode/sound.py: how ffprobe and ffmpeg are asked, and what is made of their answers. Both are
replaced by programs that tell how they were called."""

import json
import os
import unittest
import unittest.mock

import inside
import media
import profiles
import sound


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


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
