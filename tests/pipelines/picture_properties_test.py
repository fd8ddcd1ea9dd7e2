#!/usr/bin/python3
"""Pictures of outputs: colours, field order, rotation, sizes, pixel formats and quality. Each property is kept, or a note
names the change. ffprobe and ffmpeg compare."""

import json
import os
import re

import numpy

import media
from cases import JobCase, Case, called, main, notes, x264_settings
from gstreamer import Gst, GstVideo, VideoFormat  # after cases, which sets the path
from transcode import decode, job, profiles, segments

SHORT = "testsrc2=size=128x96:rate=25:duration=0.4"
FIELDS = ("-flags", "+ildct+ilme")
# Matrix, transfer function and primaries that H.264 can state, by ffmpeg's names.
COLOURED = (("ycgco", "iec61966-2-4", "smpte428"), ("bt2020c", "bt1361e", "film"), ("smpte2085", "smpte428", "smpte432"),
            ("chroma-derived-nc", "log316", "bt2020"), ("chroma-derived-c", "bt2020-12", "smpte431"),
            ("ictcp", "smpte2084", "bt2020"), ("fcc", "log100", "bt470m"))


class Colours(JobCase):
    def test_colours_stated_in_the_input_are_kept(self):
        """The output states the colours that the input states, and players show the same."""
        full = ("-vf", "scale=out_range=pc", "-color_range", "pc")
        hd = "testsrc2=size=1280x720:rate=25:duration=0.08,eq=saturation=0.4"  # in RGB's range by either matrix
        tags = ("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709")
        for name, source, options in (
                ("full.mp4", SHORT, (*full, "-pix_fmt", "yuv420p")), ("untagged.mp4", SHORT, ("-pix_fmt", "yuv420p")),
                ("bt709.mp4", SHORT, (*full, *tags, "-pix_fmt", "yuv420p")),
                ("large.mp4", hd, ("-pix_fmt", "yuv420p")),
                ("mjpeg.avi", SHORT, ("-c:v", "mjpeg", "-pix_fmt", "yuvj420p")),
                ("smpte.mp4", SHORT, ("-pix_fmt", "yuv420p", "-colorspace", "smpte170m", "-color_primaries", "smpte170m",
                                      "-color_trc", "smpte170m")),
                ("gray.mkv", SHORT, ("-c:v", "ffv1", "-pix_fmt", "gray"))):
            clip = self.clip(name, source, *options)
            told = media.first_frame(clip, *media.COLORS)
            for profile in ("mp4", "webm", "lossless") if name in ("full.mp4", "gray.mkv") else ("mp4",):
                with self.subTest(f"{name} {profile}"):
                    # A filter that works in RGB and back.
                    self.job(clip, filter="videoconvert ! video/x-raw,format=RGB ! identity", profile=profile)
                    found = media.first_frame(self.video(), *media.COLORS)
                    if told["color_range"] == "unknown":
                        told["color_range"] = "pc" if name == "gray.mkv" else "tv"  # the meaning of unknown
                    if profile == "lossless":
                        found["color_space"] = found["color_space"].replace("smpte170m", told["color_space"])
                    self.assertEqual({key: found[key] for key in media.COLORS}, {key: told[key] for key in media.COLORS})
                    before, after = (media.rgb(path).reshape(
                        -1, *((96, 128) if source is SHORT else (720, 1280)), 3) for path in (clip, self.video()))
                    difference = after.astype(int) - before
                    # Colours out of RGB's range are cut there; a wrong matrix is off by 13 to 21.
                    self.assertLess(abs(difference.mean((0, 1, 2))).max(), 6)
                    self.assertLess(abs(difference).mean(), 6)

    def test_output_states_the_colour_matrix_if_the_height_of_an_untagged_input_changes(self):
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
            self.assertEqual(media.first_frame(clip, "color_space"), {"color_space": "unknown"})
            scale = f"scale={shape[2]}:{shape[1]}:in_color_matrix={made},format=rgb24"
            before = media.rgb(clip, "-vf", scale).reshape(shape).astype(int)
            for profile in ("mp4", "webm", "lossless") if clip is large else ("mp4",):
                with self.subTest(f"{clip.name} {profile}"):
                    self.job(clip, filter=line, profile=profile)
                    self.assertEqual(media.first_frame(self.video(), "color_space"), {"color_space": told})
                    after = media.rgb(self.video()).reshape(shape)
                    self.assertLess(abs(after - before).mean(), 6)

    def test_hdr_metadata_in_every_profile_is_kept(self):
        clip = self.clip("in.mkv", SHORT, "-pix_fmt", "yuv420p10le", "-color_range", "tv", "-colorspace", "bt2020nc",
                         "-vf", "setparams=color_primaries=bt2020:color_trc=smpte2084", "-c:v", "libx265", "-x265-params",
                         "log-level=none:hdr10=1:master-display=G(13250,34500)B(7500,3000)R(34000,16000)"
                         "WP(15635,16450)L(10000000,1):max-cll=1000,400")
        told = media.light(clip)
        self.assertEqual(set(told), {"Mastering display metadata", "Content light level metadata"})
        for profile in ("mp4", "mkv", "webm", "lossless"):
            self.assertEqual(notes(self.job(clip, profile=profile)), [])
            if profile != "mp4":
                self.assertEqual(media.light(self.video()), told)
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

    def test_chroma_location_of_padded_output_is_the_usual_value_left_if_input_states_none(self):
        """A place that the input does not state stays the usual one, left."""
        clip = self.clip("in.mkv", SHORT + ",crop=63:47:exact=1", "-pix_fmt", "yuv420p", "-c:v", "ffv1")
        for profile in ("mp4", "mkv"):
            self.job(clip, profile=profile)
            self.assertEqual(media.first_frame(self.video(), "chroma_location"), {"chroma_location": "left"})

    def test_colours_stated_for_padded_rgb_equal_those_without_padding(self):
        """A padded picture states no more colours than one of an even size."""
        names = ("color_range", "color_space", "color_transfer", "color_primaries")
        for profile in ("mp4", "mkv", "webm"):
            stated = []
            for size in ("64:48", "63:47"):
                clip = self.clip("in.mkv", SHORT + f",crop={size}:exact=1", "-pix_fmt", "rgb24", "-c:v", "png")
                self.job(clip, profile=profile)
                stated.append(media.first_frame(self.video(), *names))
            self.assertEqual(stated[0], stated[1], profile)

    def test_gray_pictures_in_every_profile_stay_gray(self):
        """Decoders name no matrix of gray pictures; from GStreamer 1.26 on videoconvert made them green."""
        for pixels in ("gray", "gray16le"):
            clip = self.clip("in.mkv", f"nullsrc=size=64x48:rate=25:duration=0.12,format={pixels},geq=lum="
                             f"{60 if pixels == 'gray' else 60 * 257}", "-c:v", "ffv1")
            for profile in ("mp4", "mkv", "webm", "lossless") if pixels == "gray" else ("mp4", "lossless"):
                with self.subTest(f"{pixels} {profile}"):
                    self.job(clip, profile=profile)
                    frames = media.frames(self.video(), "rgb24").astype(int)
                    self.assertLess(abs(frames - 60).max(), 3)

    def colored(self, matrix, transfer, primaries, *more):
        return self.clip("in.mkv", SHORT.replace("0.6", "0.12"), "-pix_fmt", "yuv420p", "-color_range", "tv", "-vf",
                         f"setparams=colorspace={matrix}:color_trc={transfer}:color_primaries={primaries}", *more,
                         "-c:v", "libx264")

    def test_colours_of_rare_standards_are_kept_except_ycgco_in_webm_which_gets_a_note(self):
        for case in COLOURED:
            clip = self.colored(*case)
            told = media.first_frame(clip, *media.COLORS)
            self.assertEqual([told[name] for name in media.COLORS[1:]], list(case))
            for profile in profiles.PROFILES if case[0] == "ycgco" else ("mp4",):
                with self.subTest(f"{case} {profile}"):
                    said = notes(self.job(clip, profile=profile))
                    found = media.first_frame(self.video(), *media.COLORS)
                    if profile == "webm" and case[0] == "ycgco":
                        self.assertEqual(said, ["its colour matrix (ycgco) cannot be stored by VP9 in WebM, which says unknown"])
                    else:
                        self.assertEqual((said, found), ([], told))

    def test_chroma_location_is_kept_in_mp4_and_a_change_in_webm_is_named_in_a_note(self):
        for number, place in enumerate(("left", "center", "topleft", "top", "bottomleft")):
            clip = self.colored("bt709", "bt709", "bt709", "-bsf:v", f"h264_metadata=chroma_sample_loc_type={number}")
            self.assertEqual(media.first_frame(clip, "chroma_location"), {"chroma_location": place})
            for profile in ("mp4", "webm") if place in ("center", "topleft") else ("mp4",):
                with self.subTest(f"{place} {profile}"):
                    said = notes(self.job(clip, profile=profile))
                    found = media.first_frame(self.video(), "chroma_location")["chroma_location"]
                    self.assertTrue(found == place or any("chroma location" in note for note in said), (found, said))
                    self.assertTrue(found == place or profile == "webm")


class Formats(JobCase):
    def test_field_order_of_interlaced_input_is_kept_except_in_webm_which_gets_a_note(self):
        for first, flag in (("tff", 1), ("bff", 0)):
            filters = ("-vf", f"setfield={first}", *FIELDS)
            for name, options in ((f"{first}.mpg", ("-c:v", "mpeg2video", "-pix_fmt", "yuv420p")),
                                  (f"{first}.mov", ("-c:v", "prores_ks", "-pix_fmt", "yuv422p10le"))):
                clip = self.clip(name, SHORT, *filters, *options)
                names = ("interlaced_frame", "top_field_first")
                told = media.first_frame(clip, *names)
                self.assertEqual(told, {"interlaced_frame": 1, "top_field_first": flag})
                for profile in ("mp4", "mkv", "lossless", "webm") if name == "tff.mpg" else ("mp4",):
                    with self.subTest(f"{name} {profile}"):
                        said = notes(self.job(clip, profile=profile))
                        found = media.first_frame(self.video(), *names)
                        self.assertEqual(found if profile != "webm" else told, told)
                        self.assertEqual(any("field order" in note for note in said), profile == "webm")

    def test_transparency_in_the_input_is_named_in_a_note(self):
        clip = self.clip("in.webm", SHORT + ",format=yuva420p", "-c:v", "libvpx-vp9", "-auto-alt-ref", "0", "-deadline",
                         "realtime", "-cpu-used", "8")
        self.assertEqual(notes(self.job(clip)), ["its transparency cannot be stored by H.264 in MP4"])
        self.assertEqual(len(media.times(self.video())), 10)

    def test_pixel_format_that_the_encoder_lacks_is_converted_to_the_nearest(self):
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
                before, after = (media.rgb(path).astype(int) for path in (clip, self.video()))
                self.assertLess(abs(after - before).mean(), 8)

    def test_rotation_by_90_180_or_270_degrees_is_applied_to_the_pixels(self):
        plain = self.clip("plain.mp4", "testsrc2=size=64x48:rate=25:duration=0.2,format=yuv444p,crop=63:47:exact=1")
        for degrees in (90, 180, 270):
            clip = media.turned(self.folder / f"{degrees}.mp4", plain, degrees)
            self.job(clip, *(("video", "labels") if degrees == 90 else ()))
            width, height = (64, 48) if degrees == 180 else (48, 64)
            self.assertEqual(media.stream(self.video(), "width", "height"), {"width": str(width), "height": str(height)})
            self.assertNotIn("rotation", media.run("ffprobe", "-v", "error", "-show_streams", self.video()))
            if degrees == 90:
                self.assertEqual(media.stream(self.outputs["labels"], "width", "height"), {"width": "47", "height": "63"})
            shape = (-1, 47, 63, 3) if degrees == 180 else (-1, 63, 47, 3)
            before = media.rgb(clip).reshape(shape).astype(int)
            after = media.frames(self.video(), "rgb24")[:, :shape[1], :shape[2]]
            self.assertLess(abs(after - before).mean(), 6)

    def test_still_picture_becomes_one_frame_and_animation_is_decoded_once(self):
        """A GIF that repeats for ever is decoded once; a picture becomes a video of one frame."""
        loop = self.clip("loop.gif", "testsrc2=size=64x48:rate=10:duration=0.5", "-loop", "0")
        self.job(loop)
        numpy.testing.assert_allclose(media.times(self.video()), numpy.arange(5) / 10, atol=1.1e-3)
        still = self.clip("still.png", SHORT, "-frames:v", "1").rename(self.folder / "50%d.png")  # no sequence
        self.job(still)
        self.assertEqual(len(media.times(self.video())), 1)
        self.assertGreater(float(media.stream(self.video(), "duration")["duration"]), 0.03)

    def test_webm_output_of_25_frames_has_25_frames(self):
        clip = self.clip("in.mkv", "testsrc2=size=128x96:rate=25:duration=1", "-c:v", "ffv1")
        self.job(clip, profile="webm")
        self.assertEqual(len(media.times(self.video())), 25)

    def test_frame_sizes_that_the_encoder_refuses_are_padded_with_black(self):
        """Sides that the encoder does not accept get black columns and rows."""
        for size, pixels, profile, written, form in (
                ("63x47", "yuv420p", "mp4", (64, 48), "yuv420p"),
                ("63x48", "yuv444p", "mp4", (64, 48), "yuv444p"), ("64x47", "yuv422p", "mp4", (64, 48), "yuv422p"),
                ("63x47", "yuv420p10le", "mp4", (64, 48), "yuv420p"), ("5x3", "yuv420p", "mp4", (16, 16), "yuv420p"),
                ("17x16", "yuv420p", "mkv", (18, 16), "yuv420p"),
                ("63x47", "yuv420p", "webm", (63, 47), "yuv420p"),
                ("63x47", "yuv420p10le", "lossless", (63, 47), "yuv420p10le"),
                ("64x48", "bgr0", "lossless", (64, 48), "bgr0")):
            with self.subTest(f"{size} {pixels} {profile}"):
                width, height = map(int, size.split("x"))
                clip = self.clip("in.mkv", f"nullsrc=size={size}:rate=25:duration=0.12,format=gray,geq=lum=200,"
                                 f"format={pixels}", "-c:v", "mpeg4" if width < 16 else "ffv1")  # FFV1 takes no less
                self.assertEqual(media.stream(clip, "width", "height"), {"width": str(width), "height": str(height)})
                self.job(clip, profile=profile)
                found = media.stream(self.video(), "width", "height", "pix_fmt")
                self.assertEqual(found, {"width": str(written[0]), "height": str(written[1]), "pix_fmt": form})
                picture = media.frames(self.video(), "gray")[0]
                self.assertGreater(picture[:height, :width].min(), 150)
                self.assertLess(picture[height + 2:].max(initial=0), 60)
                self.assertLess(picture[:, width + 2:].max(initial=0), 60)

    def test_padding_of_odd_sizes_is_named_in_a_note(self):
        clip = self.clip("in.mkv", "testsrc2=size=64x48:rate=25:duration=0.1,crop=33:7:exact=1", "-pix_fmt", "yuv444p",
                         "-c:v", "ffv1")
        self.assertEqual(notes(self.job(clip)), ["its pictures of 33x7 get black pixels on the right and at the bottom, to"
                                                 " 34x16: H.264 in MP4 holds even sides from 16 on"])
        self.assertEqual(notes(self.job(clip, profile="lossless")), [])

    def test_rotation_by_other_angles_is_not_applied_and_named_in_a_note(self):
        plain = self.clip("plain.mp4", SHORT, "-pix_fmt", "yuv420p")
        for matrix, size, said in (
                ((46341, 46341, -46341, 46341), "128x96", ["its display matrix turns pictures by 45°, which is not a quarter"
                                                          " turn: they stay as they are"]),
                ((65286, 5712, -5712, 65286), "128x96", ["its display matrix turns pictures by 5°, which is not a quarter"
                                                        " turn: they stay as they are"]),
                ((3, 65536, -65536, -2), "96x128", []), ((-65536, 1, 0, 65535), "128x96", []),
                ((65536, 2, 1, 65536), "128x96", [])):
            clip = self.with_matrix(plain, matrix)
            for profile in ("mp4", "lossless") if matrix[0] == 46341 else ("mp4",):
                with self.subTest(f"{matrix} {profile}"):
                    self.assertEqual(notes(self.job(clip, profile=profile)), said)
                    found = media.stream(self.video(), "width", "height")
                    self.assertEqual(f"{found['width']}x{found['height']}", size)

    def with_matrix(self, plain, matrix):
        """A copy of an MP4 whose track has these numbers in its display matrix."""
        data = bytearray(plain.read_bytes())
        at = data.index(b"tkhd") + 4 + 40
        for place, number in zip((0, 4, 12, 16), matrix):
            data[at + place:at + place + 4] = number.to_bytes(4, "big", signed=True)
        path = self.folder / "matrix.mp4"
        path.write_bytes(data)
        return path


# ffmpeg's options for the same encoders.
X264 = ("-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-bf", "0", "-g", "100")
VPX = ("-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "6", "-crf", "24", "-b:v", "0", "-row-mt", "1",
       "-lag-in-frames", "0")
REFERENCES = {"mp4": X264, "webm": VPX}  # profile mkv has the encoder of mp4
MOST_DIFFERENCE = 0.5  # dB
# Size, seconds and pixels of clips whose noise needs more bits than a bitrate limit would give.
NOISY = ((640, 360, 0.16, "yuv420p"), (640, 360, 0.12, "yuv420p10le"), (320, 180, 0.12, "yuv444p"))


def psnr(path, reference):
    """The PSNR over all frames in dB, measured by ffmpeg."""
    same_times = "settb=1/25,setpts=N"
    said = media.run("ffmpeg", "-i", path, "-i", reference, "-lavfi",
                     f"[0:v]{same_times}[a];[1:v]{same_times}[b];[a][b]psnr", "-f", "null", "-")
    return float(re.search(r"PSNR .*average:([0-9.]+)", said)[1])


class Quality(JobCase):
    def noisy(self, width, height, seconds, form):
        return self.clip("in.mkv", f"testsrc2=size={width}x{height}:rate=25:duration={seconds},noise=alls=30:allf=t",
                         "-c:v", "ffv1", "-pix_fmt", form)

    def test_psnr_of_noisy_video_is_at_most_half_a_decibel_below_that_of_ffmpeg(self):
        for case in NOISY:
            clip = self.noisy(*case)
            for profile, options in REFERENCES.items():
                with self.subTest(f"{case} {profile}"):
                    reference = self.folder / "reference.mkv"
                    media.run("ffmpeg", "-v", "error", "-y", "-i", clip, *options, reference)
                    expected = psnr(reference, clip)
                    self.job(clip, filter="identity", profile=profile)
                    found = psnr(self.video(), clip)
                    self.assertGreater(found, expected - MOST_DIFFERENCE)
                    # libvpx's own mode of constant quality is some dB worse than its others for 10 bits.
                    if not (profile == "webm" and "10" in case[3]):
                        self.assertLess(found, expected + MOST_DIFFERENCE)

    def test_x264_settings_in_the_output_equal_those_of_the_ffmpeg_command(self):
        clip = self.noisy(64, 48, 0.12, "yuv420p")
        reference = self.folder / "reference.mp4"
        media.run("ffmpeg", "-v", "error", "-y", "-i", clip, *X264, reference)
        for profile in ("mp4", "mkv"):
            self.job(clip, filter="identity", profile=profile)
            self.assertEqual(x264_settings(self.video()), x264_settings(reference))


class Lossless(JobCase):
    def small(self, width, height, form):
        return self.clip("in.mkv", f"testsrc2=size=64x48:rate=25:duration=0.08,noise=alls=60,scale={width}:{height}:flags="
                         "neighbor", "-c:v", "ffv1", "-level", "1", "-pix_fmt", form)

    def test_lossless_profile_keeps_the_pixels_of_every_format(self):
        for form, width, height in (("gray", 1, 1), ("gray16le", 2, 2), ("yuv420p", 1, 5), ("bgra", 5, 1),
                                    ("yuv422p10le", 17, 2), ("yuv420p", 64, 48),
                                    ("yuv420p10le", 64, 48), ("yuv420p", 63, 47)):
            with self.subTest(f"{form} {width}x{height}"):
                clip = self.small(width, height, form)
                self.job(clip, filter="identity", profile="lossless")
                self.assertEqual(media.decoded(self.video(), form, "-fps_mode", "passthrough"),
                                 media.decoded(clip, form, "-fps_mode", "passthrough"))

    def test_label_videos_of_small_sizes_equal_the_label_output(self):
        for width, height in ((1, 1), (5, 1), (2, 9)):
            with self.subTest(f"{width}x{height}"):
                clip = self.small(width, height, "gray")
                self.job(clip, "labels", filter="slicsuperpixel superpixels=9 output=none")
                found = media.frames(self.out / "out.labels.mkv", "gray16le")
                self.job(clip, "video", filter="slicsuperpixel superpixels=9 output=labels", profile="lossless")
                numpy.testing.assert_array_equal(found, media.frames(self.video(), "gray16le"))
                self.assertGreater(found.max(), 0)


# A white box in the middle half of a black picture.
BOX = ("color=black:size={size}:rate=25:duration=1,drawbox=x=iw/4:y=ih/4:w=iw/2:h=ih/2:color=white:t=fill,setsar={ratio}")
SIZES = (("320x180", "1"), ("640x360", "1"))
RATIOS = (("320x240", "1"), ("320x240", "4/3"))
H264 = ("-c:v", "libx264", "-g", "10", "-bf", "2")
# FFmpeg's decoder of MPEG-2 drops a frame where the size changes.
LENGTHS = {"h264.ts": (25, 25), "mpeg2.ts": (24, 25), "mpeg4.ts": (25, 25)}
FILTER = "cclabel threshold=0.5 min-area=100 output=none"
MIDDLE = [80, 45, 160, 90]
SQUARE, FLAT = [80, 60, 160, 120], [80, 75, 160, 90]  # pixels of 1:1; pixels of 4:3 with borders above and below
BIGGER = "its pictures change from 320x180 to 640x360 at 1.0 s"
WIDER = "its pictures change from 320x240 (pixel aspect ratio 1:1) to 320x240 (pixel aspect ratio 4:3) at 1.0 s"


class Shapes(JobCase):
    def clips(self, name, parts, *options):
        """A stream whose pictures have one shape after another, one second each."""
        clips = [self.clip(f"{number}.ts", BOX.format(size=size, ratio=ratio), "-pix_fmt", "yuv420p", *options,
                           "-output_ts_offset", str(number + 0.08), "-muxdelay", "0") for number, (size, ratio) in enumerate(parts)]
        whole = self.folder / "whole.ts"
        whole.write_bytes(b"".join(part.read_bytes() for part in clips))
        path = self.folder / name
        if path.suffix == ".ts":
            return whole.rename(path)
        media.run("ffmpeg", "-v", "error", "-y", "-i", whole, "-c", "copy", path)
        return path

    def boxes(self):
        """The box of the region of each frame."""
        tables = media.tables((self.out / "out.jsonl").read_text())
        return [[table["regions"][0][name] for name in ("x", "y", "width", "height")] for table in tables]

    def expect_boxes(self, *expected, of=(25, 25, 25)):
        """A box for each second."""
        numpy.testing.assert_allclose(self.boxes(), [box for box, number in zip(expected, of) for _ in range(number)], atol=2)

    def expect_shape(self, width=320, height=180, ratio="1:1"):
        self.assertEqual(media.stream(self.video(), "width", "height", "sample_aspect_ratio"),
                         {"width": str(width), "height": str(height), "sample_aspect_ratio": ratio})

    def expect_pixels(self, box):
        """The last picture shows its box where the table has it."""
        picture = media.frames(self.video(), "gray")[-1]
        x, y, width, height = box
        inner = picture[y + 4:y + height - 4, x + 4:x + width - 4]
        self.assertGreater(inner.min(), 200)
        self.assertEqual(numpy.count_nonzero(picture > 128), (picture[y - 2:y + height + 2, x - 2:x + width + 2] > 128).sum())

    def test_pictures_after_a_size_change_are_scaled_to_the_first_size(self):
        clips = [self.clips("h264.ts", SIZES, *H264), self.clips("mpeg2.ts", SIZES, "-c:v", "mpeg2video")]
        for clip in clips:
            for profile in ("mp4", "webm") if clip.name == "h264.ts" else ("mp4",):
                with self.subTest(f"{clip.name} {profile}"):
                    said = notes(self.job(clip, "video", "jsonl", filter=FILTER, profile=profile))
                    self.assertEqual(said, [f"{BIGGER}: they are scaled to 320x180"])
                    self.expect_shape()
                    self.expect_boxes(MIDDLE, MIDDLE, of=LENGTHS[clip.name])
                    self.expect_pixels(MIDDLE)

    def test_pictures_after_an_aspect_ratio_change_get_borders(self):
        for clip in (self.clips("h264.ts", RATIOS, *H264), self.clips("mpeg4.ts", RATIOS, "-c:v", "mpeg4", "-g", "10", "-bf", "2"),
                     self.clips("mpeg2.ts", RATIOS, "-c:v", "mpeg2video")):
            with self.subTest(clip.name):
                said = notes(self.job(clip, "video", "jsonl", filter=FILTER))
                self.expect_shape(320, 240)
                # FFmpeg before 9 drops the last picture of MPEG-2 before the change.
                first = len(self.boxes()) - 25
                self.assertIn(first, (24, 25) if clip.name == "mpeg2.ts" else (25,))
                self.expect_boxes(SQUARE, FLAT, of=(first, 25))
                self.expect_pixels(FLAT)
                self.assertEqual(said, [f"{WIDER}: they are scaled to 320x240 (pixel aspect ratio 1:1)"])

    def test_pixel_aspect_ratio_stored_by_the_container_is_kept(self):
        """As in ffmpeg: MP4 and Matroska store a ratio that replaces the codec's ratio."""
        for name in ("in.mp4", "in.mkv"):
            clip = self.clips(name, RATIOS, *H264)
            self.assertEqual(notes(self.job(clip, "video", "jsonl", filter=FILTER)), [])
            self.expect_shape(320, 240)
            self.expect_boxes(SQUARE, SQUARE)

    def test_size_changes_back_and_forth_are_named_in_one_note(self):
        clip = self.clips("in.ts", (*SIZES, SIZES[0]), *H264)
        self.assertEqual(notes(self.job(clip, "video", "jsonl", filter=FILTER)),
                         [f"{BIGGER} and once more: they are scaled to 320x180"])
        self.expect_boxes(MIDDLE, MIDDLE, MIDDLE)

    def test_size_change_in_rotated_video_is_scaled_before_the_rotation(self):
        plain = self.clips("plain.mkv", SIZES, *H264, "-x264-params", "repeat-headers=1")
        clip = media.turned(self.folder / "turned.mp4", plain, 90)
        self.assertEqual(notes(self.job(clip, "video", "jsonl", filter=FILTER)), [f"{BIGGER}: they are scaled to 320x180"])
        self.expect_shape(180, 320)
        self.expect_boxes([45, 80, 90, 160], [45, 80, 90, 160])

    def test_size_change_with_lossless_or_label_output_is_refused(self):
        clip = self.clips("in.ts", SIZES, *H264)
        why = (f"{BIGGER}, and {{}} has one size: cut the file there, or use --profile mp4, mkv or webm without --labels,"
               " where pictures are scaled")
        self.assertEqual(self.problem(clip, filter=FILTER, profile="lossless"),
                         why.format("FFV1 in Matroska"))
        self.assertEqual(self.problem(clip, "video", "labels", filter=FILTER), why.format("a label video"))

    def segments(self, clip, profile, status=0):
        """Transcodes a file in segments. Returns the messages of each segment."""
        plan = segments.plan(str(clip), 0.4, 0)
        self.assertGreater(len(plan["spans"]), 2, plan["why"])
        said = []
        for number, span in enumerate(plan["spans"]):
            outputs = {"video": str(self.out / f"{number}.mp4"), "jsonl": str(self.out / f"{number}.jsonl")}
            told = self.folder / "told"
            with open(told, "wb") as file:
                ended = called(job.main, os.dup(file.fileno()), json.dumps(
                    {"source": str(clip), "outputs": outputs, "filter": FILTER, "profile": profile, "span": span,
                     "probed": plan["probed"]}), segments.Segment)
            said.append([json.loads(line) for line in told.read_text().splitlines()])
            if ended.status:
                self.assertEqual(ended.status, status)
                return said
        return said

    def test_segments_after_a_size_change_have_the_first_size(self):
        for parts, height, first, second, sentence in ((SIZES, 180, MIDDLE, MIDDLE, f"{BIGGER}: they are scaled to 320x180"), (
                RATIOS, 240, SQUARE, FLAT, f"{WIDER}: they are scaled to 320x240 (pixel aspect ratio 1:1)")):
            clip = self.clips("in.ts", parts, *H264)
            said = self.segments(clip, "mp4")
            boxes = []
            for number, lines in enumerate(said):
                tables = media.tables((self.out / f"{number}.jsonl").read_text())
                boxes += [[table["regions"][0][name] for name in ("x", "y", "width", "height")] for table in tables]
                self.assertEqual(media.stream(self.out / f"{number}.mp4", "width", "height", "sample_aspect_ratio"),
                                 {"width": "320", "height": str(height), "sample_aspect_ratio": "1:1"})
                self.assertEqual([line for line in lines if "note" in line], [])
            numpy.testing.assert_allclose(boxes, [first] * 25 + [second] * 25, atol=2)
            changes = [line["done"]["shapes"] for lines in said for line in lines if "done" in line]
            self.assertEqual(decode.shape_note(*decode.joined_shapes(changes)), sentence)


EIGHT = {"I420": "I420", "NV12": "I420", "YV12": "I420", "YUY2": "Y42B", "UYVY": "Y42B", "Y42B": "Y42B", "NV16": "Y42B",
         "Y444": "Y444", "AYUV": "Y444", "v308": "Y444"}
TEN = {"I420_10LE": "I420_10LE", "P010_10LE": "I420_10LE", "I420_12LE": "I420_10LE", "v210": "I422_10LE",
       "I422_10LE": "I422_10LE", "Y444_10LE": "Y444_10LE", "Y444_12LE": "Y444_10LE"}
RGB = ("RGB", "BGR", "RGBA", "BGRA", "RGBx", "xRGB", "xBGR", "ARGB", "ABGR", "GBR")


def rows(sample):
    """The pixels of a picture, without the padding of rows."""
    info, found = GstVideo.VideoInfo.new_from_caps(sample.get_caps()), []
    with sample.get_buffer().map(Gst.MapFlags.READ) as mapped:
        for plane in range(info.finfo.n_planes):
            part = next(part for part in range(info.finfo.n_components) if info.finfo.plane[part] == plane)
            width, height = (-(-side >> of[part]) for side, of in ((info.width, info.finfo.w_sub),
                                                                    (info.height, info.finfo.h_sub)))
            size = width * info.finfo.pixel_stride[part]
            for row in range(height):
                begin = info.offset[plane] + row * info.stride[plane]
                data = bytearray(mapped.data[begin:begin + size])
                if info.finfo.name == "BGRx":
                    data[3::4] = bytes(width)  # x is not set
                found.append(data)
    return found


class Profiles(Case):
    def coded(self, name, profile):
        info = VideoFormat.get_info(VideoFormat.from_string(name))
        return profiles.coded_format(info, profiles.PROFILES[profile])

    def test_encoder_pixel_format_is_the_format_of_the_profile_nearest_to_the_input(self):
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
        info = VideoFormat.get_info(VideoFormat.I420)
        self.assertIsNone(profiles.coded_format(info, profiles.STILL))

    def test_encoder_lines_of_all_profiles_can_be_parsed_with_their_formats(self):
        """Elements are there, take every format of the list, and sizes from the smallest side on."""
        for name, profile in (profiles.PROFILES | {"still": profiles.STILL}).items():
            for form in profile.formats or ("RGB",):
                side = profile.least
                Gst.parse_launch(f"videotestsrc num-buffers=1 ! video/x-raw,format={form},width={side},height={side}"
                                 f" ! {profile.encoder} ! {profile.muxer} ! fakesink")
            self.assertRegex(profile.suffix, r"^\.[a-z0-9]+$", name)

    def test_ffv1_encoding_of_the_smallest_pictures_keeps_their_pixels(self):
        """Tests each format of the profile in small sizes."""
        for form in profiles.PROFILES["lossless"].formats:
            for width, height in ((1, 1), (2, 1), (1, 7), (3, 2), (30, 2), (7, 7)):
                with self.subTest(f"{form} {width}x{height}"):
                    pipeline = Gst.parse_launch(
                        f"videotestsrc pattern=snow num-buffers=2 ! video/x-raw,format={form},width={width},height={height}"
                        f" ! tee name=both ! queue ! appsink name=before both. ! queue ! {profiles.FFV1} ! avdec_ffv1 !"
                        " appsink name=after")
                    profiles.suit_to_size(pipeline.get_by_name("ffv1"), width, height)
                    pipeline.set_state(Gst.State.PLAYING)
                    for _ in range(2):
                        before, after = (rows(pipeline.get_by_name(name).emit("try-pull-sample", 5 * Gst.SECOND))
                                         for name in ("before", "after"))
                        self.assertEqual(before, after)
                    pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    main()
