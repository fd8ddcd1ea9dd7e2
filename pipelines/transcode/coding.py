"""The end of a job's pipeline: pictures as the filter makes them become a file as the profile wants it."""

from gstreamer import Gst, GstVideo
from profiles import CONVERT, RGB, coded_format

BOXED = ("I420", "Y42B", "Y444")  # what videobox can extend


def tail(caps, decoded, source, profile, fd):
    """Encoder, muxer and file for pictures of these caps, with the input's colours: a bin, what
    Input.iso_colors tells if the file is to tell it, else None, and a sentence on how pixels change, or
    None. `decoded`: caps before the filter."""
    width, height = caps.get_value("width"), caps.get_value("height")
    made = caps.get_value("format")
    # Gray pictures of a filter are labels and masks, which have no colours of the input.
    info = GstVideo.VideoFormat.get_info(GstVideo.VideoFormat.from_string(
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
        # What the input does not tell, the output does not, whatever was assumed to convert pixels.
        told = source.colorimetry(form, height, guess=False)
        named = f"capssetter join=false caps={profile.coded},colorimetry=(string){told} !"
        colors = source.iso_colors
    box = f"videobox fill=black right={-right} bottom={-bottom} ! " if right or bottom else ""
    # videoscale acts where the size changes in mid-stream: a file has one size.
    made = Gst.parse_bin_from_description(
        f"{CONVERT} ! videoscale add-borders=true ! {like} ! {box}queue !"
        f" {profile.encoder} ! {named} {profile.muxer} ! fdsink sync=false fd={fd}", True)
    if encoder := made.get_by_name("x264"):
        encoder.set_property("option-string", source.light)
    made.sinkpads[0].set_offset(-round(source.delay * Gst.SECOND))  # ffmpeg adds it
    return made, colors, change(info, form) if form else None


def change(info, form):
    """What is lost when a picture is coded in another format; None where nothing is."""
    to = GstVideo.VideoFormat.get_info(GstVideo.VideoFormat.from_string(form))
    kept = (info.depth[0] <= to.depth[0] and info.name.startswith(RGB) == to.name.startswith(RGB)
            and (info.n_components == 1 or (info.w_sub[1], info.h_sub[1]) == (to.w_sub[1], to.h_sub[1]))
            and (info.n_components < 4 or to.n_components == 4))
    return None if kept else f"its {info.name} pixels are coded as {form}"
