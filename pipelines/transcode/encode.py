"""Writes the output. tail() is the last part of a job's pipeline: it encodes the filter's pictures as the profile says.
join() writes the final file: ffmpeg joins the finished picture with all other streams of the source.

GStreamer 1.22 cannot join them: uritranscodebin encodes sound again even with avoid-reencoding, qtdemux drops packets that
an edit list of MP4 hides (the lead-in of AAC, and the last packet: 172 of 174), and its muxers support few kinds of
streams. ffmpeg copies each stream that the container can hold. A note names each other stream.

Sound is copied if the container holds it and players play it there, else encoded. If ffmpeg fails, each way is tried with
one frame of sound, and ffmpeg runs again without the sound that cannot be written."""

import contextlib
import os
import subprocess
import threading
from math import ceil

from gstreamer import Gst, VideoFormat
from transcode.decode import JUMPING, Timeline, av, copied_stream
from transcode.ffprobe import QUIET, input_of, last_line, probed
from transcode.profiles import CONVERT, RGB, coded_format, h264_tags, suit_to_size
from transcode.verify import film_tags

BOXED = ("I420", "Y42B", "Y444")  # formats that videobox can extend
MIN_TIMESCALE = 10000  # units per second: times that do not follow the frame rate are right to 0.1 ms
MAX_TIMESCALE = 1000000
NAMES = {"audio": "sound", "video": "second video", "data": "data track", "subtitle": "track of subtitles"}
# H.264's numbers of FFmpeg's chroma locations.
CHROMA_SITES = {"left": 0, "center": 1, "topleft": 2, "top": 3, "bottomleft": 4, "bottom": 5}
QUICKTIME = "com.apple.quicktime."
BRANDS = ("major_brand", "minor_version", "compatible_brands")
MP4_TAGS = {"album", "album_artist", "artist", "comment", "composer", "copyright", "description", "genre", "title"}
NOT_COPIED = {"second video": "one video is kept", "data track": "data tracks are not copied"}
# Layouts of libopus, from which ffmpeg takes the nearest. It would drop the low frequencies of the layouts in WITH_LOW.
OPUS_LAYOUTS = "mono|stereo|3.0|quad|5.0|5.1|6.1|7.1"
WITH_LOW = {"2.1": "5.1", "3.1": "5.1"}
MAX_CHANNELS = 8  # of Opus and of AAC


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
    lost = pixel_change(info, form) if form else None
    return part, colors, [note for note in (lost, padding_note(width, height, right, bottom, profile)) if note]


def timescale(rate):
    """Units per second of an MP4 track. A frame of the rate (a Fraction or None) lasts a whole number of them. mp4mux would
    take the numerator of the rate times 100, which is coarse for low rates (250 ms for four frames in 120 s)."""
    numerator = rate.limit_denominator(65536).numerator if rate else MAX_TIMESCALE
    return numerator * ceil(MIN_TIMESCALE / numerator) if numerator < MAX_TIMESCALE else MAX_TIMESCALE


def padding_note(width, height, right, bottom, profile):
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


def pixel_change(info, form):
    """A sentence on a loss of bits, chroma or transparency by another format, or None."""
    to = VideoFormat.get_info(VideoFormat.from_string(form))
    kept = (info.depth[0] <= to.depth[0] and info.name.startswith(RGB) == to.name.startswith(RGB)
            and (info.n_components == 1 or (info.w_sub[1], info.h_sub[1]) == (to.w_sub[1], to.h_sub[1]))
            and (info.n_components < 4 or to.n_components == 4))
    return None if kept else f"its {info.name} pixels are coded as {form}"


def join(picture, source, profile, out, errors, streams, colors=None, has_jumps=False):
    """Starts ffmpeg. `picture` (or ffmpeg's words for that input) and `out` are file descriptors, `errors` is a file.
    `streams`: the result of plan_streams(). `colors`: the result of Input.iso_colors if the output is to state it.
    `has_jumps`: whether the source's times jump. Returns the process."""
    options, kept, _ = streams
    covers, files = attached(source, kept) if profile.attachments else ([], [])
    options = options + chroma_options(source) + (color_options(source, profile, colors) if colors else [])
    others, options, readers = join_inputs(source, options, has_jumps)
    inherited = (out, *files, *readers)
    if isinstance(picture, list):
        options += ["-disposition:v:0", "default"]  # as single videos have it
    else:
        inherited = (picture, *inherited)
        picture = ["-i", f"/proc/self/fd/{picture}"]
    # -copyts: ffmpeg would count times from the first stream that is mapped, and close jumps by its own rules.
    command = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-copyts", "-itsoffset", f"{source.delay:.6f}", *picture,
               *others, "-map", "0:v", "-c", "copy", "-map_metadata", "1", "-map_chapters", "1", *options, *covers,
               # Sound may begin before time 0. All other streams would move by that time.
               "-avoid_negative_ts", "disabled", "-f", profile.container, f"/proc/self/fd/{out}"]
    # Its own process group: Ctrl-C reaches the job, and the job ends ffmpeg.
    process = subprocess.Popen(command, stderr=errors, process_group=0, pass_fds=inherited, **QUIET)
    for file in (*files, *readers):
        os.close(file)
    return process


def is_cover(stream):
    return bool(stream.get("disposition", {}).get("attached_pic"))


def stream_way(stream, profile):
    """ffmpeg's codec for a stream without sound in a file of the profile: None if it cannot be kept, an empty list if it is
    not a stream there."""
    kind, codec = stream.get("codec_type"), stream.get("codec_name")
    if stream.get("codec_tag_string") in ("tmcd", "text") and kind == "data":
        return []  # time codes and chapters of MP4: ffmpeg writes them again from metadata
    if kind == "subtitle":
        return [profile.subtitles[codec]] if codec in profile.subtitles else None
    if kind == "attachment":
        return ["copy"] if profile.attachments else None
    if is_cover(stream):
        return [] if profile.attachments else ["copy"] if profile.covers else None
    return None


def plan_streams(source, profile, with_sound=True, is_tried=False):
    """How the other streams get into a file of the profile: ffmpeg's options, the number of streams in the output, and a
    sentence on each stream that is changed or left out. `is_tried`: sound is first tried, see sound_way()."""
    options, kept = [], 1  # number of streams so far: the picture
    notes = [f"its {what} cannot be stored by {profile.meaning}" for what, lost in (
        ("field order (both fields stay in one frame)", source.fields and not profile.fields),
        ("incomplete metadata of the mastering display",
         source.side_data("Mastering display metadata") and not source.light[0]),
        ("transparency", source.has_alpha)) if lost]
    notes += [f"its {kind} is left out" for kind in source.lost_side_data]
    if source.angle:
        notes.append(f"its display matrix turns pictures by {source.angle:g}°, which is not a quarter turn: they stay as they are")
    for stream in source.others:
        kind, codec = stream.get("codec_type", "unknown"), stream.get("codec_name", "unknown")
        name = "cover picture" if is_cover(stream) else NAMES.get(kind, kind)
        if kind == "audio":
            way, note = sound_way(source, stream, profile, is_tried) if with_sound else (None, None)
            notes += [note] if note else []
        else:
            way = stream_way(stream, profile)
            if way is None:
                why = NOT_COPIED.get(name, f"{profile.container} files cannot hold it")
                notes.append(f"its {name} ({codec}) is left out: {why}")
        if not way:
            continue
        if way[0] != "copy" and codec in ("ass", "ssa"):  # other texts lose nothing
            notes.append(f"its {codec} {NAMES[kind]} is encoded as {way[0]}: {profile.container} files cannot hold it")
        options += ["-map", f"1:{stream['index']}", f"-c:{kept}", *numbered(way, kept)]
        if kind == "audio" and way == ["copy"] and not profile.edit_lists and (hidden := source.hidden(stream)):
            options += [f"-bsf:{kept}", rf"noise=drop=lt(n\,{hidden})"]  # leaves these packets out
        if is_cover(stream):
            options += [f"-disposition:{kept}", "attached_pic"]
        kept += 1
    # Muxers write their own titles, which empty ones remove.
    for name, value in ({"language": "", "title": ""} | film_tags(source.picture)).items():
        options += ["-metadata:s:v:0", f"{name}={value}"]
    options += key_options(source, profile)
    if source.timecode:
        options += ["-metadata", f"timecode={source.timecode}"]
    return options, kept, notes


def key_options(source, profile):
    """Options that remove tags on the input's container, and that let MP4 store tags of QuickTime. ffmpeg then stores all
    tags of the file in that way, where players do not look for a title, so a file with ordinary tags keeps those."""
    options = [word for name in source.format.get("tags", {}) if name.lower() in BRANDS for word in ("-metadata", f"{name}=")]
    names = {key.lower() for key in film_tags(source.format)}
    if profile.container == "mp4" and any(name.startswith(QUICKTIME) for name in names) and not names & MP4_TAGS:
        options += ["-movflags", "use_metadata_tags"]
    return options


def attached(source, kept):
    """Cover pictures as attachments of Matroska, because ffmpeg would turn them into videos. Returns options, and files that
    must stay open until ffmpeg has started."""
    options, files = [], []
    for number, stream in enumerate(filter(is_cover, source.others), kept):
        picture = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", input_of(source.path), "-map",
                                  f"0:{stream['index']}", "-c", "copy", "-f", "image2pipe", "-"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False).stdout
        files.append(os.memfd_create("cover"))
        os.write(files[-1], picture)
        kind = {"mjpeg": "jpeg"}.get(stream.get("codec_name"), stream.get("codec_name"))
        name = f"cover.{'jpg' if kind == 'jpeg' else kind}"
        options += ["-attach", f"/proc/self/fd/{files[-1]}", f"-metadata:s:{number}", f"mimetype=image/{kind}",
                    f"-metadata:s:{number}", f"filename={name}"]
    return options, files


def at_corrected_times(path, indexes):
    """Streams of a file whose times jump, at the times of the picture (see decode.Timeline): a pipe's file descriptor, from
    which ffmpeg reads a NUT file that holds them in this order."""
    reader, writer = os.pipe()
    threading.Thread(target=write_corrected, args=(path, indexes, writer)).start()
    return reader


def write_corrected(path, indexes, writer):
    # If this fails, or ffmpeg ends early, ffmpeg reports it.
    with contextlib.suppress(av.error.FFmpegError, OSError), os.fdopen(writer, "wb") as pipe:
        with av.open("file:" + path, metadata_errors="replace") as file, av.open(pipe, "w", format="nut") as nut:
            copies = {index: copied_stream(nut, file.streams[index]) for index in indexes}
            times = Timeline()
            for packet in file.demux():
                times.correct(packet)
                copy = copies.get(packet.stream.index)
                if copy and packet.dts is not None and packet.size:
                    packet.stream = copy
                    nut.mux(packet)


def join_inputs(source, options, has_jumps):
    """ffmpeg's options for the file that other streams come from, the mapping options of plan_streams() for it, and file descriptors
    to be open meanwhile."""
    # ffmpeg 5 would count from the first stream that is mapped if the offset were exactly that of the file's start.
    odd = 1e-6 if source.format.get("format_name") in JUMPING else 0
    begin = ["-itsoffset", f"{odd - source.start:.6f}"]
    words = [*begin, "-i", input_of(source.path)]
    places = [number for number, word in enumerate(options) if options[number - 1:number] == ["-map"]]
    if not has_jumps or not places:
        return words, options, ()
    reader = at_corrected_times(source.path, [int(options[place].partition(":")[2]) for place in places])
    for stream, place in enumerate(places):
        options[place] = f"2:{stream}"
    return [*words, *begin, "-f", "nut", "-i", f"/proc/self/fd/{reader}"], options, (reader,)


def chroma_options(source):
    """Options that write into the container where chroma is. If the input does not state that, GStreamer 1.28 writes the centre
    for small pictures. Players assume the left."""
    form, place = source.picture.get("pix_fmt", ""), source.frame.get("chroma_location")
    if not form.startswith(("yuv", "yuyv", "uyvy", "nv", "p0")) or "444" in form:
        return []
    return ["-chroma_sample_location:v:0", place if place in CHROMA_SITES else "left"]


def color_options(source, profile, colors):
    """Options that write colours into the container and, if the profile has a filter for that, into the stream."""
    primaries, transfer, matrix, is_full = colors
    options = [word for name, value in (("color_primaries", primaries), ("color_trc", transfer), ("colorspace", matrix),
                                        ("color_range", 2 if is_full else 1)) for word in (f"-{name}:v:0", str(value))]
    site = CHROMA_SITES.get(source.frame.get("chroma_location"))
    if site is None and source.picture.get("pix_fmt", "").startswith("yuv420p"):
        site = CHROMA_SITES["left"]  # as players assume; x264enc may state the centre
    if profile.color_tags:
        options += ["-bsf:v:0", profile.color_tags(*colors) + (f":chroma_sample_loc_type={site}" if site is not None and (
            profile.color_tags is h264_tags) else "")]
    return options


def sound_encoding(stream, profile):
    """ffmpeg's codec and options for a stream; {n} stands for its number in the output."""
    options = [profile.sound_encoder]
    channels = min(int(stream.get("channels", 2)), MAX_CHANNELS)
    if profile.sound_kbits:
        options += ["-b:{n}", f"{profile.sound_kbits * channels}k"]
    if profile.sound_encoder == "libopus":
        layouts = WITH_LOW.get(stream.get("channel_layout"), OPUS_LAYOUTS)
        options += ["-filter:{n}", f"aformat=channel_layouts={layouts}"]
    return options


def numbered(options, number):
    return [option.replace("{n}", str(number)) for option in options]


def try_sound(source, stream, options, container):
    """Writes the first frame of a stream in this way. Returns why ffmpeg cannot do that, or None, and the number of channels
    that were written."""
    scratch = os.memfd_create("sound")
    path = f"/proc/{os.getpid()}/fd/{scratch}"
    command = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", input_of(source.path), "-map", f"0:{stream['index']}", "-c:0",
               *numbered(options, 0), "-frames:0", "1", "-f", container, path]
    try:
        tried = subprocess.run(command, stderr=subprocess.PIPE, check=False, **QUIET)
        if tried.returncode:
            return last_line(tried.stderr), 0
        if options[0] == "copy" or int(stream.get("channels", 2)) <= 2:
            return None, stream.get("channels")
        return None, probed(path, "-show_entries", "stream=channels")["streams"][0]["channels"]
    finally:
        os.close(scratch)


def sound_way(source, stream, profile, is_tried=True):
    """ffmpeg's codec and options for a stream, and a sentence on how it changes. Either may be None. `is_tried`: a way that
    fails for the first frame is not used."""
    codec, channels = stream.get("codec_name", "unknown"), stream.get("channels")
    reason = profile.sound_reason
    if profile.sound is None or codec in profile.sound:
        options = ["copy", *(["-strict", "experimental"] if codec in profile.experimental_sound else [])]
        reason = try_sound(source, stream, options, profile.container)[0] if is_tried else None
        if not reason:
            return options, None
    options, found = sound_encoding(stream, profile), channels
    if is_tried or (channels or 0) > 2:  # ffmpeg chooses how many channels it writes
        why, found = try_sound(source, stream, options, profile.container)
        if why:
            return None, f"its sound ({codec}) is left out: {why}"
    mixed = f", {channels} channels mixed into {found}" if channels and found < channels else ""
    return options, f"its {codec} sound is encoded as {options[0]}{mixed}: {reason}"
