#!/usr/bin/python3
"""judge.py names each deliberate fault of an output, and nothing else."""

import unittest

import inside
import judge
import media
from inspection import Inspection

PICTURE = "testsrc2=size=128x96:rate=25:duration=1"
# The pitch rises, so that no piece of the sound is like another.
RISING = ("-f", "lavfi", "-i", "aevalsrc=0.5*sin(2*PI*(300*t+700*t*t)):s=48000:d=1")
YUV = ("-pix_fmt", "yuv420p")
CODED = (*YUV, "-c:v", "libx264", "-qp", "12", "-preset", "ultrafast", "-bf", "0")
BT709 = ("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv")


class JudgeCase(inside.Case):
    def kinds(self, before, after, **options):
        return sorted({one.kind for one in judge.differences(before, after, **options)})

    def changed(self, name, before, *options):
        """Another file made of one; streams are copied unless the options say otherwise."""
        path = self.folder / name
        media.run("ffmpeg", "-v", "error", "-y", "-i", before, "-map", "0", "-c", "copy", *options, path)
        return path

    def base(self, name="base.mkv", *options):
        return self.clip(name, PICTURE, *RISING, *CODED, "-c:a", "flac", *options)


class Pictures(JudgeCase):
    def test_differences_identical_none(self):
        base = self.base("base.mkv", *BT709, "-metadata", "title=T", "-metadata:s:a", "language=ger")
        for name in ("copy.mkv", "copy.mp4"):
            self.assertEqual(judge.differences(base, self.changed(name, base, "-strict", "-2"), "mkv"), [])
        self.assertEqual(judge.judge(base, self.changed("copy.mkv", base), [], "lossless"), [])

    def test_differences_frame_dropped_named(self):
        base = self.base()
        for chosen in ("not(eq(n,0))", "not(eq(n,7))", "not(eq(n,24))"):
            after = self.changed("after.mkv", base, *CODED, "-vf", f"select='{chosen}'", "-fps_mode", "passthrough")
            self.assertEqual(self.kinds(base, after), ["frames"])
        self.assertEqual([one.text for one in judge.differences(base, after)], ["24 of 25 frames"])

    def test_differences_time_moved_named(self):
        base = self.base()
        for moved, at in ((0.03, "eq(N,9)"), (0.04, "gte(N,20)"), (0.002, "gt(N,3)")):
            after = self.changed("after.mkv", base, *CODED, "-vf", f"setpts='PTS+({at})*{moved}/TB'", "-fps_mode",
                                 "passthrough", "-enc_time_base", "1:1000")
            self.assertEqual(self.kinds(base, after), ["times"])
        self.assertRegex(judge.differences(base, after)[0].text, "21 frames have other times, frame 4 by 2 ms")

    def test_differences_equal_times_may_spread_alone(self):
        full = self.clip("full.mkv", PICTURE, *CODED)
        equal = self.changed("equal.mkv", full, "-bsf:v", "setts=ts=if(eq(N\\,7)\\,PREV_OUTPTS\\,PTS)")
        for moved, kinds in (("eq(N\\,7)*20", []), ("gte(N\\,7)*20", ["times"]), ("eq(N\\,9)*20", ["times"])):
            after = self.changed("after.mkv", equal, "-bsf:v", f"setts=ts=PTS+{moved}")
            self.assertEqual(self.kinds(equal, after), kinds, moved)

    def test_differences_all_times_moved_none(self):
        base = self.base()
        self.assertEqual(judge.differences(base, self.changed("after.mkv", base, "-output_ts_offset", "4")), [])

    def test_differences_pixels_named(self):
        base = self.base()
        blurred = self.changed("blurred.mkv", base, *CODED, "-vf", "gblur=sigma=3")
        red = self.changed("red.mkv", base, *CODED, "-vf", "eq=contrast=1.0:gamma_r=1.6")
        still = self.changed("still.mkv", base, *CODED, "-vf", "shuffleframes=0 1 2 3 3")
        coarse = self.changed("coarse.mkv", base, *CODED, "-qp", "45")
        for after in (blurred, red, still, coarse):
            self.assertEqual(self.kinds(base, after), ["quality"], after.name)

    def test_differences_one_value_lossless_named(self):
        clip = self.clip("in.mkv", PICTURE, *YUV, "-c:v", "ffv1")
        self.assertEqual(self.kinds(clip, self.changed("same.mkv", clip, "-c:v", "ffv1", "-level", "3"),
                                    profile="lossless"), [])
        other = self.changed("other.mkv", clip, "-c:v", "ffv1", "-vf", "geq=lum='lum(X,Y)+eq(X,5)*eq(Y,5)*eq(N,3)'"
                             ":cb='cb(X,Y)':cr='cr(X,Y)'")
        self.assertEqual(self.kinds(clip, other, profile="lossless"), ["quality"])
        self.assertEqual(self.kinds(clip, other), [])

    def test_differences_reference_sets_least_quality(self):
        base = self.clip("in.mkv", PICTURE + ",noise=alls=20:allf=t", *YUV, "-c:v", "ffv1")
        good, bad = (self.changed(f"{quality}.mkv", base, *CODED, "-qp", quality) for quality in ("20", "26"))
        self.assertEqual(self.kinds(base, good, reference=Inspection(good)), [])
        self.assertEqual(self.kinds(base, bad, reference=Inspection(good)), ["quality"])

    def test_differences_shape_named(self):
        base = self.base()
        for kind, options in (("aspect", ("-vf", "setsar=4/3")), ("size", ("-vf", "pad=130:96")),
                              ("size", ("-vf", "scale=160:120"))):
            after = self.changed("after.mkv", base, *CODED, *options)
            self.assertEqual(self.kinds(base, after), [kind], options)
        gray = self.changed("gray.mkv", base, "-c:v", "ffv1", "-pix_fmt", "gray")
        self.assertIn("pixels", self.kinds(base, gray))
        turned = media.turned(self.folder / "turned.mp4", self.clip("plain.mp4", PICTURE, *CODED), 90)
        upright = self.changed("upright.mkv", turned, *CODED)
        self.assertEqual(self.kinds(turned, upright), [])
        fallen = self.changed("fallen.mkv", turned, *CODED, "-vf", "transpose=1")
        self.assertEqual(self.kinds(turned, fallen), ["size"])

    def test_differences_aspect_change_named(self):
        parts = [self.clip(f"{index}.ts", PICTURE, *YUV, "-c:v", "mpeg2video", "-q:v", "2", "-aspect", aspect,
                           "-output_ts_offset", str(index)) for index, aspect in enumerate(("4:3", "16:9"))]
        both = self.folder / "both.ts"
        both.write_bytes(b"".join(part.read_bytes() for part in parts))
        after = self.changed("after.mkv", both, *CODED, "-vf", "setsar=1")
        self.assertEqual(self.kinds(both, after), ["aspect"])
        self.assertEqual(judge.differences(both, after)[0].text, "pixel aspects 1.0, 1.333 became 1.0")

    def test_differences_rotation_lost_named(self):
        plain = self.clip("plain.mp4", PICTURE, *CODED)
        turned = media.turned(self.folder / "turned.mp4", plain, 7)
        self.assertEqual(Inspection(turned).turn, None)
        self.assertEqual(self.kinds(turned, plain), ["rotation"])
        self.assertEqual(self.kinds(turned, turned), [])

    def test_differences_colours_named(self):
        base = self.base("base.mkv", *BT709)
        for kind, tags in (("range", "video_full_range_flag=1"), ("matrix", "matrix_coefficients=9"),
                           ("transfer", "transfer_characteristics=16"), ("primaries", "colour_primaries=9"),
                           ("chroma", "chroma_sample_loc_type=2")):
            found = set(self.kinds(base, self.changed("after.ts", base, "-c:a", "ac3", "-bsf:v",
                                                      f"h264_metadata={tags}")))
            self.assertIn(kind, found)
            found.remove("sound codec")
            self.assertLessEqual(found, {kind, "quality"})  # range and matrix change the shown picture

    def test_differences_fields_named(self):
        fields = self.clip("fields.mkv", PICTURE, *YUV, "-vf", "setfield=tff", "-c:v", "libx264", "-x264-params",
                           "tff=1")
        self.assertEqual(self.kinds(fields, self.changed("after.mkv", fields, *CODED, "-vf", "setfield=prog")),
                         ["fields"])

    def test_differences_light_named(self):
        clip = self.clip("in.mkv", PICTURE, "-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-x265-params",
                         "log-level=none:hdr10=1:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)"
                         "L(10000000,1):max-cll=1000,400")
        self.assertEqual(self.kinds(clip, self.changed("after.mkv", clip)), [])
        lost = self.changed("lost.mkv", clip, "-c:v", "ffv1")
        self.assertEqual(self.kinds(clip, lost), ["light"])
        params = ("-c:v", "libx264", "-qp", "10", "-x264-params",
                  "mastering-display=G(13250,34500)B(7500,3000)R(34000,16000)"
                  "WP(15635,16450)L(10000000,1):cll=1000,")
        self.assertEqual(self.kinds(clip, self.changed("kept.mp4", clip, *params[:-1], params[-1] + "400")), [])
        self.assertEqual(self.kinds(clip, self.changed("other.mp4", clip, *params[:-1], params[-1] + "300")), ["light"])

    def test_differences_captions_named(self):
        """One triple of the letters "hi" before each frame, as in broadcasts."""
        clip = self.clip("in.ts", PICTURE, *YUV, "-c:v", "mpeg2video", "-q:v", "2")
        data = b"GA94\x03\x41\xff\xfc\xe8\xe9\xff"
        self.assertNotIn(data, clip.read_bytes())
        h264 = self.clip("in.h264", PICTURE, *CODED)
        sei = b"\x00\x00\x01\x06\x04" + bytes([len(data) + 3]) + b"\xb5\x00\x31" + data + b"\x80"
        captioned = self.folder / "captioned.h264"
        captioned.write_bytes(h264.read_bytes().replace(b"\x00\x00\x01\x65", sei + b"\x00\x00\x01\x65"))
        self.assertGreater(len(Inspection(captioned).side_data), 0)
        self.assertEqual(self.kinds(captioned, h264), ["captions"])


class Sounds(JudgeCase):
    def test_differences_sound_shifted_named(self):
        for name, codec in (("base.mkv", "flac"), ("base.mp4", "aac"), ("base.ts", "mp2")):
            base = self.base(name, "-c:a", codec)
            for shift in ("0.1", "-0.1", "0.005", "0.7"):
                after = self.folder / f"after.{name[5:]}"
                media.run("ffmpeg", "-v", "error", "-y", "-i", base, "-itsoffset", shift, "-i", base, "-map", "0:v",
                          "-map", "1:a", "-c", "copy", "-avoid_negative_ts", "make_non_negative", after)
                self.assertEqual(self.kinds(base, after), ["sound offset"], (name, shift))
            self.assertEqual(self.kinds(base, self.changed(f"same.{name[5:]}", base)), [])

    def test_differences_sound_coded_again_named(self):
        base = self.base()
        for name, codec in (("a.mp4", "aac"), ("a.webm", "libopus"), ("a.mkv", "ac3")):
            after = self.changed(name, base, "-c:a", codec, *(("-avoid_negative_ts", "disabled", "-c:v", "libvpx-vp9",
                                                               "-crf", "20", "-deadline", "realtime", "-cpu-used", "8")
                                                              if codec == "libopus" else ()))
            self.assertEqual(self.kinds(base, after), ["sound codec"], name)
        late = self.changed("late.mkv", base, "-af", "adelay=20:all=1", "-c:a", "aac")
        self.assertIn("sound offset", self.kinds(base, late))

    def test_differences_other_sound_named(self):
        base = self.base()
        for filters in ("volume=0.1", "areverse"):
            self.assertIn("sound", " ".join(self.kinds(base, self.changed("after.mkv", base, "-c:a", "flac", "-af",
                                                                          filters))))

    def test_differences_short_sound_named(self):
        base = self.base()
        for filters in ("atrim=end=0.6", "atrim=start=0.3"):
            self.assertIn("sound offset", self.kinds(base, self.changed("after.mkv", base, "-c:a", "flac", "-af",
                                                                        filters)))

    def test_differences_hidden_sound_shown_named(self):
        """The edit list of a trimmed MP4 hides sound, which Matroska cannot."""
        full = self.clip("full.mp4", PICTURE, *RISING, *CODED, "-g", "50", "-c:a", "aac")
        cut = self.folder / "cut.mp4"
        media.run("ffmpeg", "-v", "error", "-ss", "0.5", "-i", full, "-c", "copy", cut)
        sound = self.changed("sound.mkv", full, "-vn")
        after = self.folder / "after.mkv"
        media.run("ffmpeg", "-v", "error", "-i", cut, "-itsoffset", "-0.5", "-i", sound, "-map", "0:v", "-map", "1:a",
                  "-c:a", "copy", "-qp", "10", after)
        self.assertRegex(" ".join(one.text for one in judge.differences(cut, after)), "packets of sound are more")
        self.assertEqual(self.kinds(cut, self.changed("same.mp4", cut)), [])

    def test_differences_jump_of_picture_alone_named(self):
        parts = [self.clip(f"{index}.ts", PICTURE, *RISING, *CODED, "-c:a", "mp2", "-output_ts_offset",
                           str(index * 100))
                 for index in range(2)]
        both = self.folder / "both.ts"
        both.write_bytes(b"".join(part.read_bytes() for part in parts))
        self.assertEqual(self.kinds(both, both), [])
        kept = self.changed("kept.mkv", both, "-copyts")
        self.assertEqual(self.kinds(both, kept), [])
        closed = self.changed("closed.mkv", both)
        self.assertEqual(self.kinds(both, closed), ["jump"])
        torn = self.folder / "torn.mkv"
        media.run("ffmpeg", "-v", "error", "-i", kept, "-i", closed, "-map", "0:v", "-map", "1:a", "-c", "copy", torn)
        self.assertIn("sound offset", self.kinds(both, torn))


class Others(JudgeCase):
    def rich(self):
        (self.folder / "in.srt").write_text("1\n00:00:00,200 --> 00:00:00,300\nhello\n")
        (self.folder / "in.txt").write_text(";FFMETADATA1\ntitle=T\nartist=A\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\n"
                                            "END=300\ntitle=one\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=300\nEND=900\n"
                                            "title=two\n")
        base = self.base()
        path = self.folder / "rich.mkv"
        media.run("ffmpeg", "-v", "error", "-y", "-i", base, "-i", self.folder / "in.srt", "-i", self.folder / "in.txt",
                  "-map", "0", "-map", "1", "-map_metadata", "2", "-map_chapters", "2", "-metadata:s:a", "language=ger",
                  "-metadata", "timecode=01:00:00:00", "-c", "copy", path)
        return path

    def test_differences_streams_and_tags_named(self):
        rich = self.rich()
        for kind, options in (("stream", ("-an",)), ("stream", ("-sn",)), ("tags", ("-metadata", "artist=")),
                              ("tags", ("-metadata:s:a", "language=")), ("chapters", ("-map_chapters", "-1")),
                              ("timecode", ("-metadata", "timecode=")), ("tags", ("-metadata", "title=Other"))):
            self.assertEqual(self.kinds(rich, self.changed("after.mkv", rich, *options)), [kind], options)
        self.assertEqual(self.kinds(rich, self.changed("same.mkv", rich)), [])
        self.assertEqual(self.kinds(rich, self.changed("more.mkv", rich, "-map", "0:a", "-c", "copy")), ["stream"])

    def test_differences_subtitle_moved_named(self):
        rich = self.rich()
        after = self.folder / "after.mkv"
        media.run("ffmpeg", "-v", "error", "-i", rich, "-itsoffset", "0.1", "-i", rich, "-map", "0:v", "-map", "0:a",
                  "-map", "1:s", "-c", "copy", after)
        self.assertEqual(self.kinds(rich, after), ["texts"])

    def test_judge_notes_named_and_false(self):
        base = self.base()
        after = self.changed("after.mp4", base, "-c:a", "aac")
        said = "its flac sound is encoded as aac: mp4 files cannot hold it"
        self.assertEqual(judge.judge(base, after, [said]), [])
        self.assertEqual(judge.judge(base, after), ["silent: flac became aac"])
        self.assertEqual(judge.judge(base, after, [said, "its order of fields is lost"]),
                         ["false note: its order of fields is lost"])
        silent = self.changed("silent.mkv", base, "-an")
        self.assertEqual(judge.judge(base, silent, ["its sound (flac) is left out: no reason"]), [])
        self.assertEqual(len(judge.judge(base, self.changed("whole.mkv", base), ["its sound (flac) is left out"])), 1)

    def test_refusal_whole_input_is_fault(self):
        base = self.base()
        problem = "ends after 0.5 s of 1.0 s: it is cut off or damaged"
        self.assertRegex(judge.judge_refusal(Inspection(base), problem)[0], "refused though ffmpeg plays it whole")
        short = self.folder / "short.mkv"
        short.write_bytes(base.read_bytes()[:-9000])
        decoded = Inspection(short)
        self.assertGreater(len(decoded.frames), 5)
        self.assertLess(len(decoded.frames), 25)
        self.assertEqual(judge.judge_refusal(decoded, problem, short), [])
        self.assertRegex(judge.judge_refusal(decoded, problem)[0], "no partial output")
        fewer = self.changed("fewer.mkv", short, "-frames:v", "3")
        self.assertRegex(judge.judge_refusal(decoded, problem, fewer)[0], "partial output has 3 of")
        self.assertRegex(judge.judge_refusal(decoded, problem, short, whole=True)[0], "refused though")
        self.assertEqual(judge.judge_refusal(Inspection(base), "sizes change", holdable=False), [])
        self.assertRegex(judge.judge_refusal(decoded, "Traceback (most recent call last)\nKeyError: 1", short)[0],
                         "no clear error")


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
