"""Writes the final file: ffmpeg joins the finished picture with all other streams of the source.

GStreamer 1.22 cannot do this: uritranscodebin encodes sound again even with avoid-reencoding, qtdemux drops packets that
an edit list of MP4 hides (the lead-in of AAC, and the last packet: 172 of 174), and its muxers support few kinds of
streams. ffmpeg copies each stream that the container can hold. A note names each other stream.
"""

import contextlib
import os
import subprocess
import threading

import sound
import timeline
import verifying
from decoding import av
from probe import QUIET, input_of, last_line  # noqa: F401  (used by callers)
from profiles import h264_tags

NAMES = {"audio": "sound", "video": "second video", "data": "data track", "subtitle": "track of subtitles"}
# H.264's numbers of FFmpeg's chroma locations.
CHROMA_SITES = {"left": 0, "center": 1, "topleft": 2, "top": 3, "bottomleft": 4, "bottom": 5}
QUICKTIME = "com.apple.quicktime."
BRANDS = ("major_brand", "minor_version", "compatible_brands")
MP4_TAGS = {"album", "album_artist", "artist", "comment", "composer", "copyright", "description", "genre", "title"}
NOT_COPIED = {"second video": "one video is kept", "data track": "data tracks are not copied"}


def is_cover(stream):
    return bool(stream.get("disposition", {}).get("attached_pic"))


def way_of(stream, profile):
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


def plan(source, profile, with_sound):
    """How the other streams get into a file of the profile: ffmpeg's options, the number of streams in the output, and a
    sentence on each stream that is changed or left out."""
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
            way, note = sound.way_of(source, stream, profile) if with_sound else (None, None)
            notes += [note] if note else []
        else:
            way = way_of(stream, profile)
            if way is None:
                why = NOT_COPIED.get(name, f"{profile.container} files cannot hold it")
                notes.append(f"its {name} ({codec}) is left out: {why}")
        if not way:
            continue
        if way[0] != "copy" and codec in ("ass", "ssa"):  # other texts lose nothing
            notes.append(f"its {codec} {NAMES[kind]} is encoded as {way[0]}: {profile.container} files cannot hold it")
        options += ["-map", f"1:{stream['index']}", f"-c:{kept}", *sound.numbered(way, kept)]
        if kind == "audio" and way == ["copy"] and not profile.edit_lists and (hidden := source.hidden(stream)):
            options += [f"-bsf:{kept}", rf"noise=drop=lt(n\,{hidden})"]  # leaves these packets out
        if is_cover(stream):
            options += [f"-disposition:{kept}", "attached_pic"]
        kept += 1
    # Muxers write their own titles, which empty ones remove.
    for name, value in ({"language": "", "title": ""} | verifying.film_tags(source.picture)).items():
        options += ["-metadata:s:v:0", f"{name}={value}"]
    options += key_options(source, profile)
    if source.timecode:
        options += ["-metadata", f"timecode={source.timecode}"]
    return options, kept, notes


def key_options(source, profile):
    """Options that remove tags on the input's container, and that let MP4 store tags of QuickTime. ffmpeg then stores all
    tags of the file in that way, where players do not look for a title, so a file with ordinary tags keeps those."""
    options = [word for name in source.format.get("tags", {}) if name.lower() in BRANDS for word in ("-metadata", f"{name}=")]
    names = {key.lower() for key in verifying.film_tags(source.format)}
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
    """Streams of a file whose times jump, at the times of the picture (see timeline.py): a pipe's file descriptor, from
    which ffmpeg reads a NUT file that holds them in this order."""
    reader, writer = os.pipe()
    threading.Thread(target=write_corrected, args=(path, indexes, writer)).start()
    return reader


def write_corrected(path, indexes, writer):
    # If this fails, or ffmpeg ends early, ffmpeg reports it.
    with contextlib.suppress(av.error.FFmpegError, OSError), os.fdopen(writer, "wb") as pipe:
        with av.open("file:" + path, metadata_errors="replace") as file, av.open(pipe, "w", format="nut") as nut:
            add = getattr(nut, "add_stream_from_template", None) or (lambda stream: nut.add_stream(template=stream))
            copies = {index: add(file.streams[index]) for index in indexes}
            times = timeline.Timeline()
            for packet in file.demux():
                times.correct(packet)
                copy = copies.get(packet.stream.index)
                if copy and packet.dts is not None and packet.size:
                    packet.stream = copy
                    nut.mux(packet)


def inputs(source, options, has_jumps):
    """ffmpeg's options for the file that other streams come from, the mapping options of plan() for it, and file descriptors
    to be open meanwhile."""
    # ffmpeg 5 would count from the first stream that is mapped if the offset were exactly that of the file's start.
    odd = 1e-6 if source.format.get("format_name") in timeline.FORMATS else 0
    begin = ["-itsoffset", f"{odd - source.start:.6f}"]
    words = [*begin, "-i", input_of(source.path)]
    places = [number for number, word in enumerate(options) if options[number - 1:number] == ["-map"]]
    if not has_jumps or not places:
        return words, options, ()
    reader = at_corrected_times(source.path, [int(options[place].partition(":")[2]) for place in places])
    for stream, place in enumerate(places):
        options[place] = f"2:{stream}"
    return [*words, *begin, "-f", "nut", "-i", f"/proc/self/fd/{reader}"], options, (reader,)


def color_options(source, profile, colors):
    """Options that write colours into the container and, if the profile has a filter for that, into the stream."""
    primaries, transfer, matrix, is_full = colors
    options = [word for name, value in (("color_primaries", primaries), ("color_trc", transfer), ("colorspace", matrix),
                                        ("color_range", 2 if is_full else 1)) for word in (f"-{name}:v:0", str(value))]
    site = CHROMA_SITES.get(source.frame.get("chroma_location"))
    if site is not None:
        options += ["-chroma_sample_location:v:0", source.frame["chroma_location"]]
    elif source.picture.get("pix_fmt", "").startswith("yuv420p"):
        site = CHROMA_SITES["left"]  # as players assume; x264enc may state the centre
    if profile.color_tags:
        options += ["-bsf:v:0", profile.color_tags(*colors) + (f":chroma_sample_loc_type={site}" if site is not None and (
            profile.color_tags is h264_tags) else "")]
    return options


def add(picture, source, profile, out, errors, with_sound=True, colors=None, has_jumps=False):
    """Starts ffmpeg. `picture` (or ffmpeg's words for that input) and `out` are file descriptors, `errors` is a file.
    `colors`: the result of Input.iso_colors if the output is to state it. `has_jumps`: whether the source's times jump.
    Returns the process and a sentence on each stream that changes."""
    options, kept, notes = plan(source, profile, with_sound)
    covers, files = attached(source, kept) if profile.attachments else ([], [])
    if colors:
        options += color_options(source, profile, colors)
    others, options, readers = inputs(source, options, has_jumps)
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
    return process, notes
