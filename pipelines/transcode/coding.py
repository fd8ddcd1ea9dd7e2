"""The last part of a job's pipeline: encodes the filter's pictures as the profile says and writes them into a file."""

from math import ceil

from gstreamer import Gst, VideoFormat
from profiles import CONVERT, RGB, coded_format, suit_to_size

BOXED = ("I420", "Y42B", "Y444")  # formats that videobox can extend
MIN_TIMESCALE = 10000  # units per second: times that do not follow the frame rate are right to 0.1 ms
MAX_TIMESCALE = 1000000


def tail(caps, decoded, source, profile, fd):
    """Encoder, muxer and file for pictures of these caps, with the input's colours. Returns a bin, the result of
    Input.iso_colors() if the file is to state it (else None), and a sentence on each change of the pixels. `decoded`: caps
    before the filter."""
    width, height = caps.get_value("width"), caps.get_value("height")
    made = caps.get_value("format")
    # Gray pictures of a filter are labels and masks, which do not have the input's colours.
    info = VideoFormat.get_info(VideoFormat.from_string(
        made if made.startswith("GRAY") else decoded.get_value("format")))
    right, bottom = (max(side + side % 2 * profile.even, profile.least) - side for side in (width, height))
    form = coded_format(info, profile)
    if (right or bottom) and form not in BOXED:
        form = "I420"
    like = f"video/x-raw,width={width},height={height}" + (f",format={form}" if form else "")
    named, colors = "", None
    is_rgb, is_gray = (decoded.get_value("format").startswith(kind) for kind in (RGB, "GRAY"))
    if form and not is_rgb and (is_gray or not form.startswith("GRAY")):
        like += f",colorimetry={decoded.get_string('colorimetry')}"
        # If the input does not state its colours, neither does the output: players assume the same of both. They assume a
        # matrix by the height, so the output states the matrix if its height leads to another assumption.
        rows = decoded.get_value("height")
        guess = source.colorimetry(form, rows) != source.colorimetry(form, height)
        named = (f"capssetter join=false caps={profile.coded},"
                 f"colorimetry=(string){source.colorimetry(form, rows, guess)} !")
        colors = source.iso_colors(form, rows, guess)
    display, level = source.light if colors else ([], [])
    if display:
        # GStreamer's Matroska muxer takes luminance for 1/50000 cd/m² (seen with 1.22).
        in_file = ":".join(map(str, display[:8] + [5 * light for light in display[8:]]))
        named += f" capssetter caps={profile.coded},mastering-display-info=(string){in_file} !"
    if level:
        named += f" capssetter caps={profile.coded},content-light-level=(string){level[0]}:{level[1]} !"
    box = f"videobox fill=black right={-right} bottom={-bottom} ! " if right or bottom else ""
    if box and is_rgb and form == "I420":
        # videobox drops the colorimetry. Without it x264enc would state a transfer function and primaries.
        matrix = f"colorimetry=(string)2:{3 if height > 576 else 4}:0:0"
        like += f",{matrix}"
        box += f"capssetter caps=video/x-raw,{matrix} ! "
    # The file has one size, so videoscale acts if the filter changes the size inside the stream.
    part = Gst.parse_bin_from_description(
        f"{CONVERT} ! videoscale add-borders=true ! {like} ! {box}queue !"
        f" {profile.encoder} ! {named} {profile.muxer} name=muxer ! fdsink sync=false fd={fd}", True)
    if encoder := part.get_by_name("ffv1"):
        suit_to_size(encoder, width, height)
    if encoder := part.get_by_name("x264"):
        encoder.set_property("option-string", x264_light(display, level))
    if (muxer := part.get_by_name("muxer")).find_property("trak-timescale"):
        muxer.set_property("trak-timescale", timescale(source.rate))
    part.sinkpads[0].set_offset(-round(source.delay * Gst.SECOND))  # ffmpeg adds it
    lost = change(info, form) if form else None
    return part, colors, [note for note in (lost, padding(width, height, right, bottom, profile)) if note]


def timescale(rate):
    """Units per second of an MP4 track. A frame of the rate (a Fraction or None) lasts a whole number of them. mp4mux would
    take the numerator of the rate times 100, which is coarse for low rates (250 ms for four frames in 120 s)."""
    numerator = rate.limit_denominator(65536).numerator if rate else MAX_TIMESCALE
    return numerator * ceil(MIN_TIMESCALE / numerator) if numerator < MAX_TIMESCALE else MAX_TIMESCALE


def padding(width, height, right, bottom, profile):
    """A sentence on black pixels that are added to reach a size which the encoder takes, or None."""
    where = " and ".join(name for name, size in (("on the right", right), ("at the bottom", bottom)) if size)
    return where and (f"its pictures of {width}x{height} get black pixels {where}, to {width + right}x{height + bottom}:"
                      f" {profile.meaning} holds {'even ' if profile.even else ''}sides from {profile.least} on")


def x264_light(display, level):
    """Input.light as options of x264."""
    options = []
    if display:
        red, green, blue, white, light = (f"({x},{y})" for x, y in zip(display[::2], display[1::2]))
        options.append(f"mastering-display=G{green}B{blue}R{red}WP{white}L{light}")
    if level:
        options.append(f"cll={level[0]},{level[1]}")
    return ":".join(options)


def change(info, form):
    """A sentence on a loss of bits, chroma or transparency by another format, or None."""
    to = VideoFormat.get_info(VideoFormat.from_string(form))
    kept = (info.depth[0] <= to.depth[0] and info.name.startswith(RGB) == to.name.startswith(RGB)
            and (info.n_components == 1 or (info.w_sub[1], info.h_sub[1]) == (to.w_sub[1], to.h_sub[1]))
            and (info.n_components < 4 or to.n_components == 4))
    return None if kept else f"its {info.name} pixels are coded as {form}"
