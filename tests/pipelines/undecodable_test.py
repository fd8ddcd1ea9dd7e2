#!/usr/bin/python3
"""Inputs whose video gives no frame: no decoder is installed, or the decoder finds nothing. Each ends at once with one
clear error."""

import pathlib
import time
import unittest

import media
from jobs import JobCase, job  # first: it adds the programs' folders to the path
import cutting
import inside
import probe

PROGRAM = media.ROOT / "pipelines" / "transcode" / "regions-transcode"
CODED = ("-pix_fmt", "yuv420p", "-g", "5")
SOON = 100 * media.PATIENCE  # seconds; an input that waits for a frame takes job.PATIENCE, which is 120 s
NOTHING = "^holds no video frame that can be decoded: .+"


def crc(section):
    """The checksum at the end of a section of MPEG-TS."""
    value = 0xffffffff
    for byte in section:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04c11db7 if value >> 31 else 0)) & 0xffffffff
    return value.to_bytes(4, "big")


def retyped(stream, old, new):
    """An MPEG-TS whose program map gives a stream another type."""
    packets = bytearray(stream)
    for at in range(0, len(packets), 188):
        section = at + 5  # after the header and the pointer field
        if packets[at + 1] & 0x40 and packets[section] == 2:
            end = section + 3 + (packets[section + 1] & 15) * 256 + packets[section + 2]
            assert packets[section + 12] == old, "the first stream of the program"
            packets[section + 12] = new
            packets[end - 4:end] = crc(packets[section:end - 4])
    return bytes(packets)


class Undecodable(JobCase):
    def setUp(self):
        super().setUp()
        self.plain = self.clip("plain.mp4", "testsrc2=size=64x48:rate=25:duration=1", *CODED)

    def written(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def without_decoder(self):
        """Files of codecs that no FFmpeg decodes, each with the codec as the error names it."""
        whole = self.plain.read_bytes()
        for tag in (b"zzzz", b"enc1"):
            path = self.written(f"{tag.decode()}.mp4", whole.replace(b"avc1", tag).replace(b"avcC", b"free"))
            yield path, f"unknown codec (tag {tag.decode()})"
        path = self.clip("a64.mkv", "testsrc2=size=320x200:rate=25:duration=0.4", "-c:v", "a64multi")
        yield path, "unknown codec (tag a64m)"
        stream = self.clip("plain.ts", "testsrc2=size=64x48:rate=25:duration=1", "-c:v", "libx264", *CODED, "-f",
                           "mpegts").read_bytes()
        yield self.written("avs3.ts", retyped(stream, 0x1b, 0xd4)), "codec avs3 (tag "

    def without_frames(self):
        """Files whose decoder gives no frame."""
        photo = self.clip("photo.jpg", "testsrc2=size=64x48", "-frames:v", "1").read_bytes()
        yield self.written("cut.jpg", photo[:len(photo) // 8])
        fragments = self.folder / "fragments.mp4"
        media.run("ffmpeg", "-v", "error", "-y", "-i", self.plain, "-c", "copy", "-movflags",
                  "frag_keyframe+empty_moov+default_base_moof", fragments)
        whole = fragments.read_bytes()
        yield self.written("init.mp4", whole[:whole.index(b"moof") - 4])
        # The packets after the first, which is the only key frame.
        yield self.clip("inside.ts", "testsrc2=size=64x48:rate=25:duration=1", "-c:v", "mpeg2video", "-g", "100",
                        "-bsf:v", "noise=drop=key", "-f", "mpegts")

    def soon(self, call, *arguments, **options):
        began = time.monotonic()
        found = call(*arguments, **options)
        self.assertLess(time.monotonic() - began, SOON)
        return found

    def test_codec_without_decoder_names_it(self):
        for clip, codec in self.without_decoder():
            with self.subTest(clip.name):
                self.assertIn(f"no decoder is installed for its video: {codec}", self.problem(clip, "video", "jsonl"))
                self.assertEqual(self.errors, "", "no traceback")
                with self.assertRaisesRegex(probe.InputProblem, "^no decoder is installed for its video: "):
                    cutting.plan(str(clip), 1, 0)

    def test_files_without_frames_end_at_once(self):
        for clip in self.without_frames():
            with self.subTest(clip.name):
                self.assertRegex(self.soon(self.problem, clip, "video", "jsonl"), NOTHING)
                self.assertEqual(self.errors, "", "no traceback")

    def test_reason_of_missing_frames_is_told(self):
        reasons = {clip.name: self.problem(clip).partition("decoded: ")[2] for clip in self.without_frames()}
        self.assertEqual(reasons["init.mp4"], "it holds no packets of video")
        self.assertRegex(reasons["inside.ts"], r"^the decoder refuses its packets \(.+\)$")

    def test_encrypted_video_is_named(self):
        encrypted = self.folder / "encrypted.mp4"
        media.run("ffmpeg", "-v", "error", "-y", "-i", self.plain, "-c", "copy", "-encryption_scheme", "cenc-aes-ctr",
                  "-encryption_key", "76a6c65c5ea762046bd749a2e632ccbb", "-encryption_kid",
                  "a7e61c373e219033c21091fa607bf3b8", encrypted)
        self.assertEqual(self.soon(self.problem, encrypted), "its video is encrypted: decrypt it first")

    def test_filter_that_drops_every_frame_is_named(self):
        for filter in ("identity drop-probability=1", "valve drop=true drop-mode=forward-sticky-events"):
            for kind in ("video", "jsonl"):
                self.assertEqual(self.soon(self.problem, self.plain, kind, filter=filter),
                                 "the filter dropped all 25 frames")
        self.replace(job, "PATIENCE", 1)  # a valve keeps the end of the stream, too
        self.assertEqual(self.problem(self.plain, filter="valve drop=true"),
                         "no frame left the filter for 1 s: 25 frames were decoded, 0 filtered")

    def test_scripts_tell_it(self):
        for clip in [next(self.without_frames()), next(self.without_decoder())[0]]:
            for name, out in (("overlay", [self.folder / "out.mp4"]), ("table", []),
                              ("difference", [self.folder / "out.png"])):
                said = self.soon(inside.program, media.script(name), clip, *out)
                self.assertEqual((said.status, said.out), (1, ""))
                self.assertRegex(said.err, rf"^{name}: {clip}: (holds no video frame that|no decoder is installed)")
                self.assertEqual(said.err.count("\n"), 1)

    def transcode(self, *arguments):
        said = media.run(PROGRAM, "-o", self.out, "--filter", "cclabel output=none", *arguments, status=1)
        return [line for line in said.splitlines() if line.startswith("regions-transcode: ")]

    def test_many_inputs_cost_seconds(self):
        clips = [*self.without_frames(), *(clip for clip, _ in self.without_decoder())]
        for number in range(8):
            clips.append(self.written(f"more{number}.mp4", clips[1].read_bytes()))
        lines = self.soon(self.transcode, *clips)
        self.assertEqual(len(lines), len(clips) + 1)
        for clip, line in zip(clips, lines):
            self.assertRegex(line, rf"{clip}: (holds no video frame that can be|no decoder is installed for its)")
        self.assertEqual(self.files(self.out), [])

    def test_segments_tell_it(self):
        for clip in [*self.without_frames(), next(self.without_decoder())[0]]:
            lines = self.soon(self.transcode, "--segments", "0.2", "--attempts", "1", clip)
            self.assertRegex(lines[0], rf"{clip}: .*(holds no video frame that can be decoded|no decoder is installed)")
        # Cut files whose decoder gives nothing for a part: a file replaced after it was planned.
        spans = cutting.plan(str(self.plain), 0.2, 0)["spans"]
        self.assertGreater(len(spans), 2)
        import segment
        data = bytearray(self.plain.read_bytes())
        packets = media.run("ffprobe", "-v", "error", "-show_entries", "packet=pos,size", "-of", "csv=p=0", self.plain)
        for size, position in (map(int, line.split(",")[:2]) for line in packets.split()):
            data[position + 5:position + size] = bytes(size - 5)  # the type of the first NAL unit stays
        empty = self.written("empty.mp4", data)
        for span in spans[1:3]:
            told = self.segment(segment, empty, span)
            self.assertRegex(told[-1]["problem"], "^no frame of this segment can be decoded: .+")

    def segment(self, segment, clip, span):
        return self.soon(self.job, clip, "video", status=1, span=span, kind=segment.Segment)


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
