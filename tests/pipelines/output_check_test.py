#!/usr/bin/python3
"""output_check.py, which docs/media.md relies on, finds the most important faults and reports equal files as equal. Without
these tests, a check that accepts everything would not be noticed."""

import output_check
import media
from cases import Case, main
from inspection import Inspection


PICTURE = "testsrc2=size=128x96:rate=25:duration=0.6"
# The pitch rises, so that no piece of the sound is like another.
RISING = ("-f", "lavfi", "-i", "aevalsrc=0.5*sin(2*PI*(300*t+700*t*t)):s=48000:d=0.6")
YUV = ("-pix_fmt", "yuv420p")
CODED = (*YUV, "-c:v", "libx264", "-qp", "12", "-preset", "ultrafast", "-bf", "0")


class OutputCheckCase(Case):
    def kinds(self, before, after, **options):
        return sorted({one.kind for one in output_check.differences(before, after, **options)})

    def changed(self, name, before, *options):
        """A file made from another. Streams are copied unless the options change them."""
        path = self.folder / name
        media.run("ffmpeg", "-v", "error", "-y", "-i", before, "-map", "0", "-c", "copy", *options, path)
        return path

    def base(self, name="base.mkv", *options):
        return self.clip(name, PICTURE, *RISING, *CODED, "-c:a", "flac", *options)


class Faults(OutputCheckCase):
    def test_output_check_of_equal_files_finds_no_difference(self):
        base = self.base("base.mkv", "-metadata", "title=T", "-metadata:s:a", "language=ger")
        for name in ("copy.mkv", "copy.mp4"):
            self.assertEqual(output_check.differences(base, self.changed(name, base, "-strict", "-2"), "mkv"), [])
        self.assertEqual(output_check.output_faults(base, self.changed("copy.mkv", base), [], "lossless"), [])

    def test_output_check_of_a_file_with_a_dropped_frame_reports_it(self):
        base = self.base()
        for chosen in ("not(eq(n,0))", "not(eq(n,7))"):
            after = self.changed("after.mkv", base, *CODED, "-vf", f"select='{chosen}'", "-fps_mode", "passthrough")
            self.assertEqual(self.kinds(base, after), ["frames"])
        self.assertEqual([one.text for one in output_check.differences(base, after)], ["14 of 15 frames"])

    def test_output_check_of_a_file_with_moved_timestamps_reports_them(self):
        base = self.base()
        for moved, at in ((0.03, "eq(N,9)"), (0.002, "gt(N,3)")):
            after = self.changed("after.mkv", base, *CODED, "-vf", f"setpts='PTS+({at})*{moved}/TB'", "-fps_mode",
                                 "passthrough", "-enc_time_base", "1:1000")
            self.assertEqual(self.kinds(base, after), ["times"])
        self.assertRegex(output_check.differences(base, after)[0].text, "11 frames have other times, frame 4 by 2 ms")

    def test_output_check_of_a_file_with_one_changed_sample_reports_it_only_if_lossless(self):
        clip = self.clip("in.mkv", PICTURE, *YUV, "-c:v", "ffv1")
        self.assertEqual(self.kinds(clip, self.changed("same.mkv", clip, "-c:v", "ffv1", "-level", "3"),
                                    profile="lossless"), [])
        other = self.changed("other.mkv", clip, "-c:v", "ffv1", "-vf", "geq=lum='lum(X,Y)+eq(X,5)*eq(Y,5)*eq(N,3)'"
                             ":cb='cb(X,Y)':cr='cr(X,Y)'")
        self.assertEqual(self.kinds(clip, other, profile="lossless"), ["quality"])
        self.assertEqual(self.kinds(clip, other), [])

    def test_output_check_of_a_file_with_shifted_sound_reports_the_offset(self):
        for name, codec in (("base.mkv", "flac"), ("base.mp4", "aac")):
            base = self.base(name, "-c:a", codec)
            for shift in ("-0.1", "0.005"):
                after = self.folder / f"after.{name[5:]}"
                media.run("ffmpeg", "-v", "error", "-y", "-i", base, "-itsoffset", shift, "-i", base, "-map", "0:v",
                          "-map", "1:a", "-c", "copy", "-avoid_negative_ts", "make_non_negative", after)
                self.assertEqual(self.kinds(base, after), ["sound offset"], (name, shift))
            self.assertEqual(self.kinds(base, self.changed(f"same.{name[5:]}", base)), [])

    def test_output_check_with_a_false_or_missing_note_reports_a_fault(self):
        base = self.base()
        after = self.changed("after.mp4", base, "-c:a", "aac")
        said = "its flac sound is encoded as aac: mp4 files cannot hold it"
        self.assertEqual(output_check.output_faults(base, after, [said]), [])
        self.assertEqual(output_check.output_faults(base, after), ["silent: flac became aac"])
        self.assertEqual(output_check.output_faults(base, after, [said, "its order of fields is lost"]),
                         ["false note: its order of fields is lost"])
        silent = self.changed("silent.mkv", base, "-an")
        self.assertEqual(output_check.output_faults(base, silent, ["its sound (flac) is left out: no reason"]), [])
        self.assertEqual(len(output_check.output_faults(base, self.changed("whole.mkv", base), ["its sound (flac) is left out"])), 1)

    def test_output_check_of_a_refused_input_reports_a_fault_unless_it_is_damaged(self):
        base = self.base()
        problem = "ends after 0.3 s of 0.6 s: it is cut off or damaged"
        self.assertRegex(output_check.refusal_faults(Inspection(base), problem)[0], "refused though ffmpeg plays it whole")
        short = self.folder / "short.mkv"
        short.write_bytes(base.read_bytes()[:-9000])
        decoded = Inspection(short)
        self.assertGreater(len(decoded.frames), 3)
        self.assertLess(len(decoded.frames), 15)
        self.assertEqual(output_check.refusal_faults(decoded, problem, short), [])
        self.assertRegex(output_check.refusal_faults(decoded, problem)[0], "no partial output")
        fewer = self.changed("fewer.mkv", short, "-frames:v", "3")
        self.assertRegex(output_check.refusal_faults(decoded, problem, fewer)[0], "partial output has 3 of")
        self.assertRegex(output_check.refusal_faults(decoded, problem, short, whole=True)[0], "refused though")
        self.assertEqual(output_check.refusal_faults(Inspection(base), "sizes change", holdable=False), [])
        self.assertRegex(output_check.refusal_faults(decoded, "Traceback (most recent call last)\nKeyError: 1", short)[0],
                         "no clear error")


if __name__ == "__main__":
    main()
