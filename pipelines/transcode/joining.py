"""The file that is written: ffmpeg joins the finished picture and all else that the source holds.

GStreamer 1.22 cannot: uritranscodebin encodes sound anew even with avoid-reencoding, qtdemux holds back
packets that an MP4's edit list hides (the lead-in of AAC, and the last packet: 172 of 174), and its muxers
know few kinds of streams. ffmpeg copies what the container can hold; what it cannot is told.
"""

import os
import subprocess

import sound
from probe import QUIET, input_of, last_line  # noqa: F401  (callers tell what ffmpeg said)

NAMES = {"audio": "sound", "video": "second video", "data": "data track", "subtitle": "track of subtitles"}
NOT_COPIED = {"second video": "one video is kept", "data track": "data tracks are not copied"}


def is_cover(stream):
    return bool(stream.get("disposition", {}).get("attached_pic"))


def way_of(stream, profile):
    """ffmpeg's codec for a stream without sound in a file of the profile: None if it cannot be kept, an empty list if it is
    not a stream there."""
    kind, codec = stream.get("codec_type"), stream.get("codec_name")
    if stream.get("codec_tag_string") in ("tmcd", "text") and kind == "data":
        return []  # time codes and chapters of MP4, which are written anew of what they tell
    if kind == "subtitle":
        return [profile.subtitles[codec]] if codec in profile.subtitles else None
    if kind == "attachment":
        return ["copy"] if profile.attachments else None
    if is_cover(stream):
        return [] if profile.attachments else ["copy"] if profile.covers else None
    return None


def plan(source, profile, with_sound):
    """How the streams beside the picture get into a file of the profile: ffmpeg's options, how many there
    are then, and a sentence on each stream that is changed or left out."""
    options, kept = [], 1  # streams: the picture is there already
    notes = [f"its {what} cannot be told by {profile.meaning}" for what, lost in (
        ("order of fields (they stay lines of whole frames)", source.fields and not profile.fields),
        ("mastering display, which is not whole,",
         source.side_data("Mastering display metadata") and not source.light[0]),
        ("transparency", source.has_alpha)) if lost]
    notes += [f"its {kind} is left out" for kind in source.lost_side_data]
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
        if is_cover(stream):
            options += [f"-disposition:{kept}", "attached_pic"]
        kept += 1
    for name in ("language", "title"):  # muxers have titles of their own
        options += ["-metadata:s:v:0", f"{name}={source.picture.get('tags', {}).get(name, '')}"]
    if source.timecode:
        options += ["-metadata", f"timecode={source.timecode}"]
    return options, kept, notes


def attached(source, kept):
    """Cover pictures as attachments of Matroska, which ffmpeg would make videos of: options, and files to
    be open meanwhile."""
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


def add(picture, source, profile, out, errors, with_sound=True, colors=None):
    """Starts ffmpeg; `picture` (or ffmpeg's words for that input) and `out` are file descriptors, `errors` a file,
    `colors` what Input.iso_colors tells if the picture is to say the same. Returns the process and a sentence on each
    stream that is not as it was."""
    options, kept, notes = plan(source, profile, with_sound)
    covers, files = attached(source, kept) if profile.attachments else ([], [])
    if colors and profile.color_tags:
        options += ["-bsf:v:0", profile.color_tags(*colors)]
    inherited = (out, *files)
    if isinstance(picture, list):
        options += ["-disposition:v:0", "default"]  # as single videos have it
    else:
        inherited = (picture, *inherited)
        picture = ["-i", f"/proc/self/fd/{picture}"]
    command = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-itsoffset", f"{source.delay:.6f}", *picture,
               "-itsoffset", f"{-source.lead_in:.6f}", "-i", input_of(source.path), "-map", "0:v", "-c", "copy",
               "-map_metadata", "1", "-map_chapters", "1", *options, *covers,
               # The lead-in of sound stands before time 0; all else would move by it.
               "-avoid_negative_ts", "disabled", "-f", profile.container, f"/proc/self/fd/{out}"]
    # A process group of its own: Ctrl-C reaches the job, and the job ends it.
    process = subprocess.Popen(command, stderr=errors, process_group=0, pass_fds=inherited,
                               **QUIET)
    for file in files:
        os.close(file)
    return process, notes
