#!/usr/bin/python3
"""Messages of transcode/job.py: each reason arrives whole, and a note is sent exactly if something changes."""

import subprocess
import unittest
import unittest.mock

import media
from jobs import LABELLED, PLAIN, JobCase, job  # first: it adds the programs' folders to the path
import exports
import joining
from gstreamer import GLib


def notes(messages):
    return [message["note"] for message in messages if "note" in message]


class Reasons(JobCase):
    def test_error_while_frames_are_written_keeps_its_reason(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        for error, reason in ((OSError(5, "the reason"), "the reason"), (OSError("a text alone"), "a text alone"),
                              (OSError(5, "the reason", "a name"), "a name: the reason"), (OSError(), "OSError"),
                              (job.sidecars.SidecarProblem("of a sidecar"), "of a sidecar"),
                              (GLib.Error("of GLib"), "of GLib")):
            with unittest.mock.patch.object(exports.Lines, "write", unittest.mock.Mock(side_effect=error)):
                self.assertEqual(self.problem(clip, "video", "jsonl"), reason)

    def test_error_before_the_pipeline_keeps_its_reason(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        for error, reason in ((OSError(5, "the reason"), "the reason"), (OSError("a text alone"), "a text alone"),
                              (job.InputProblem("of the input"), "of the input"), (GLib.Error("of GLib"), "of GLib"),
                              (MemoryError(), "MemoryError")):
            with unittest.mock.patch.object(job.Job, "transcode", unittest.mock.Mock(side_effect=error)):
                self.assertEqual(self.problem(clip), reason)

    def test_error_of_a_written_file_names_it(self):
        """As it does on a full disk."""
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        with open("/dev/full", "wb") as full:
            for kind, line in (("jsonl", LABELLED), ("video", LABELLED), ("labels", LABELLED)):
                def opened(path):
                    output = unittest.mock.MagicMock(path=path, fd=full.fileno(), part=None)
                    output.__enter__.return_value = output
                    return output

                self.replace(job, "Output", opened)
                problem = self.problem(clip, kind, filter=line)
                self.assertRegex(problem, f"^{self.outputs[kind]} cannot be written: .*[Nn]o space left")

    def test_filter_that_cannot_be_made_is_a_problem(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.assertEqual(self.problem(clip, filter="nonsense"),
                         "the filter 'nonsense' cannot be made: no element \"nonsense\"")

    def test_decoder_problem_is_the_reason(self):
        for why, problem in (("of the container", "of the container"), (None, "why not")):
            one = self.half_done()
            one.decoder.frames, one.decoder.problem = 0, why
            self.replace(job, "why_no_frame", lambda _: "why not")
            self.assertEqual(one.why_empty(), f"holds no video frame that can be decoded: {problem}")

    def test_lost_frames_have_the_reason_of_ffmpeg(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        for errors, reason in (("echo first >&2; echo why >&2", ": why"), ("true", "")):
            def shortened(picture, _source, _profile, out, told, *_, errors=errors):
                command = (f"ffmpeg -v error -nostdin -y -i /proc/self/fd/{picture} -c copy -frames:v 3 -f mp4"
                           f" /proc/self/fd/{out}; {errors}")
                return subprocess.Popen(["sh", "-c", command], stderr=told, pass_fds=(picture, out)), []

            with unittest.mock.patch.object(joining, "add", shortened):
                self.assertEqual(self.problem(clip), f"3 of 10 frames were written{reason}")


class Notes(JobCase):
    def test_changed_pixels_have_a_note(self):
        for pixels, profile, told in (
                ("yuv420p", "mp4", []), ("yuv420p", "webm", []), ("yuv444p", "mp4", []), ("gray", "lossless", []),
                ("yuv422p", "webm", ["its Y42B pixels are coded as I420"]),
                ("bgr0", "mp4", ["its BGRx pixels are coded as Y444"])):
            clip = self.clip(f"{pixels}.mkv", PLAIN, "-c:v", "ffv1", "-pix_fmt", pixels)
            found = notes(self.job(clip, profile=profile))
            self.assertEqual(len(found), len(told), found)
            for note, words in zip(found, told):
                self.assertEqual(note.rsplit(" ", 1)[0], words.rsplit(" ", 1)[0])

    def test_pixels_that_the_pipeline_lacks_have_a_note(self):
        for pixels, count in (("yuv440p", 1), ("yuv420p", 0)):
            clip = self.clip(f"{pixels}.mkv", PLAIN, "-c:v", "ffv1", "-pix_fmt", pixels)
            self.assertEqual(len([note for note in notes(self.job(clip)) if note.startswith("its yuv440p pixels are ")]), count)

    def test_damage_that_is_accepted_is_a_note(self):
        whole = self.clip("in.avi", PLAIN, "-c:v", "mjpeg", "-q:v", "2")
        cut = self.folder / "cut.avi"
        cut.write_bytes(whole.read_bytes()[:whole.stat().st_size // 2])
        damage = "cut off or damaged$"
        messages = self.job(cut, accept_partial=True)
        self.assertRegex(notes(messages)[-1], damage)
        self.assertEqual([list(message) for message in messages][-1], ["done"])
        self.assertEqual(self.files(self.out), ["out.mp4"])
        self.video().unlink()
        messages = self.job(cut, status=1)
        self.assertEqual([note for note in notes(messages) if "damaged" in note], [])
        self.assertRegex(messages[-1]["problem"], "cut off or damaged; the readable part is in files with .partial in their"
                         r" names \(--accept-partial accepts it as whole\)$")
        self.assertEqual(self.files(self.out), ["out.partial.mp4"])
        for file in self.out.iterdir():
            file.unlink()
        messages = self.job(whole)
        self.assertEqual(notes(messages), [])


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
