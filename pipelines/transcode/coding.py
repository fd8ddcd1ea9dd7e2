"""The end of a job's pipeline: pictures as the filter makes them become a file as the profile wants it."""

from gstreamer import Gst, VideoFormat
from profiles import CONVERT, RGB, coded_format, suit_to_size

BOXED = ("I420", "Y42B", "Y444")  # what videobox can extend


def tail(caps, decoded, source, profile, fd):
    """Encoder, muxer and file for pictures of these caps, with the input's colours: a bin, what
    Input.iso_colors() tells if the file is to tell it, else None, and a sentence on how pixels change, or
    None. `decoded`: caps before the filter."""
    width, height = caps.get_value("width"), caps.get_value("height")
    made = caps.get_value("format")
    # Gray pictures of a filter are labels and masks, which have no colours of the input.
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
        # What the input does not tell, the output does not: players assume of it what was assumed of the input,
        # but where its new height lets them assume another matrix.
        rows = decoded.get_value("height")
        guess = source.colorimetry(form, rows) != source.colorimetry(form, height)
        named = (f"capssetter join=false caps={profile.coded},"
                 f"colorimetry=(string){source.colorimetry(form, rows, guess)} !")
        colors = source.iso_colors(form, rows, guess)
    display, level = source.light if colors else ([], [])
    if display:
        # GStreamer's Matroska takes luminance for 1/50000 cd/m² (seen with 1.22).
        in_file = ":".join(map(str, display[:8] + [5 * light for light in display[8:]]))
        named += f" capssetter caps={profile.coded},mastering-display-info=(string){in_file} !"
    if level:
        named += f" capssetter caps={profile.coded},content-light-level=(string){level[0]}:{level[1]} !"
    box = f"videobox fill=black right={-right} bottom={-bottom} ! " if right or bottom else ""
    # videoscale acts where the size changes in mid-stream: a file has one size.
    made = Gst.parse_bin_from_description(
        f"{CONVERT} ! videoscale add-borders=true ! {like} ! {box}queue !"
        f" {profile.encoder} ! {named} {profile.muxer} ! fdsink sync=false fd={fd}", True)
    if encoder := made.get_by_name("ffv1"):
        suit_to_size(encoder, width, height)
    if encoder := made.get_by_name("x264"):
        encoder.set_property("option-string", x264_light(display, level))
    made.sinkpads[0].set_offset(-round(source.delay * Gst.SECOND))  # ffmpeg adds it
    return made, colors, change(info, form) if form else None


def x264_light(display, level):
    """Of Input.light, as x264 takes it."""
    told = []
    if display:
        red, green, blue, white, light = (f"({x},{y})" for x, y in zip(display[::2], display[1::2]))
        told.append(f"mastering-display=G{green}B{blue}R{red}WP{white}L{light}")
    if level:
        told.append(f"cll={level[0]},{level[1]}")
    return ":".join(told)


def change(info, form):
    """What is lost when a picture is coded in another format; None where nothing is."""
    to = VideoFormat.get_info(VideoFormat.from_string(form))
    kept = (info.depth[0] <= to.depth[0] and info.name.startswith(RGB) == to.name.startswith(RGB)
            and (info.n_components == 1 or (info.w_sub[1], info.h_sub[1]) == (to.w_sub[1], to.h_sub[1]))
            and (info.n_components < 4 or to.n_components == 4))
    return None if kept else f"its {info.name} pixels are coded as {form}"
