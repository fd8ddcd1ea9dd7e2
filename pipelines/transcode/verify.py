"""Checks files before and after the work. lack() decides whether an input is whole: whether all pictures that its container
announces can be read and decoded. notes() compares a finished file with its input: each property of the picture and each
tag that the file lost becomes a note."""

import contextlib
import ctypes
import gc
import os
import re
import signal
import struct
import tempfile

from transcode.decode import FILE_ERRORS, av, copied_stream
from transcode.ffprobe import Call, InputProblem, input_of
from transcode.probe import MATRICES, PRIMARIES, TRANSFERS, ratio_of

# Codecs whose packets may be single fields, or pictures that are never shown.
UNEVEN = ("h264", "hevc", "vc1", "wmv3", "mpeg2video", "vp8", "vp9", "av1")
# Containers with a length in the header, and without a better sign of a missing end.
TELL_LENGTH = ("matroska,webm", "flv", "asf", "mxf", "nut", "rm")
MP4 = "mov,mp4,m4a,3gp,3g2,mj2"
BOXES = (b"ftyp", b"mdat", b"moof", b"moov", b"mfra", b"sidx", b"styp", b"free", b"skip", b"uuid")  # at the top level of MP4

PS_PACK, PS_TAIL = b"\0\0\1\xba", 1 << 18  # how a pack of MPEG-PS begins; bytes at the end that hold a whole pack
ENTRIES = ("format_tags:stream=index,codec_type:stream_tags:frame=stream_index,width,color_range,color_space,color_transfer,"
           "color_primaries,chroma_location,interlaced_frame,top_field_first,sample_aspect_ratio,pix_fmt:"
           "frame_side_data=side_data_type:stream_side_data=side_data_type")
FEW_PACKETS, MORE_PACKETS = 8, 40  # of all streams. 8 usually hold the picture's first frame. All of them are decoded.
# Tags that describe the input's file format or the program that wrote it (also in AVI, MXF, ASF and FLV).
TECHNICAL = re.compile(
    r"(encoder|encoder_options|software|major_brand|minor_version|compatible_brands|handler_name|vendor_id|duration|rotate"
    r"|timecode|alpha_mode|stereo_mode|mimetype|filename|bps|number_of_.*|_statistics.*|.*source_id|variant_bitrate"
    r"|uid|.*_uid|.*umid|operational_pattern_ul|company_name|product_.*|application_platform|toolkit_version.*"
    r"|wmfsdk.*|isvbr|deviceconformancetemplate|metadatacreator|has(audio|video|metadata|keyframes)|canseektoend"
    r"|last(timestamp|keyframe.*)|(audio|video|data)size)(-[a-z]{3})?", re.IGNORECASE)
NO_TIME = "1970-01-01T00:00:00"  # FFmpeg 9 reads this from ASF files without a time
EQUAL_MATRICES = {5: 6}  # two names of one matrix
LIGHT = ("Mastering display metadata", "Content light level metadata")
# FFmpeg's format framecrc states the flags of packets that are not just key frames.
FLAGS, KEY, HIDDEN = re.compile(r", F=0x([0-9A-F]+)"), 1, 4
EMPTY = "# empty\n"  # a packet without data, in the lists of write_packets()


class PacketCount:
    """Lists the packets of a stream in another process while the file is transcoded. The process is a fork of the job, because
    ffprobe needs 0.1 s to load FFmpeg's libraries. FFmpeg's messages about damage are read from its standard error."""

    def __init__(self, path, stream, **options):
        self.lines, self.errors = (tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") for _ in range(2))
        self.process = os.fork()
        if not self.process:
            try:
                self.list_packets(path, stream, options)
            finally:
                os._exit(0)

    def list_packets(self, path, stream, options):
        """Runs in the process. Objects of other threads must not be freed here, because only one thread survives a fork."""
        gc.disable()
        signal.set_wakeup_fd(-1)
        for number, to in ((os.open(os.devnull, os.O_RDWR), 0), (self.lines.fileno(), 1), (self.errors.fileno(), 2)):
            os.dup2(number, to)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        av.logging.restore_default_callback()
        print_errors_only()
        write_packets(path, stream, 1, options)

    def result(self):
        """Waits for the process. Returns how many packets there are, and how many of them are shown from the first key frame on.
        An edit list hides packets; empty packets repeat a picture."""
        self.wait()
        return counts_in(self.lines)

    def wait(self):
        if self.process:
            os.waitpid(self.process, 0)
            self.process = None

    def damage(self, container):
        """The first error that the container's reader printed, after result(); None without errors."""
        self.errors.seek(0)
        said = (line.split("] ", 1)[-1].strip() for line in self.errors if line.startswith(f"[{container} @"))
        return next(said, None)

    def close(self):
        if self.process:
            os.kill(self.process, signal.SIGKILL)
            self.wait()
        self.lines.close()
        self.errors.close()


def print_errors_only():
    """Lets FFmpeg print errors, but no warnings. PyAV 10 has no function for it, so FFmpeg's own is called."""
    if hasattr(av.logging, "set_libav_level"):
        av.logging.set_libav_level(av.logging.ERROR)
        return
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        library = next(line.split()[-1] for line in maps if "/libavutil" in line)
    ctypes.CDLL(library).av_log_set_level(av.logging.ERROR)


def write_packets(path, stream, descriptor, options=None):
    """Writes a line per packet of a stream to a file descriptor: FFmpeg's format framecrc, because PyAV 10 lacks flags."""
    with contextlib.suppress(*FILE_ERRORS), av.open(input_of(path), options=options, metadata_errors="replace") as file:
        empty = 0
        name = f"/proc/self/fd/{descriptor}"
        with av.open(name, "w", format="framecrc") as listed:
            copy = copied_stream(listed, file.streams[stream])
            for number, packet in enumerate(file.demux(file.streams[stream])):
                if packet.size:
                    packet.pts = packet.dts = number
                    packet.stream = copy
                    listed.mux(packet)
                else:
                    empty += packet.dts is not None  # the last packet says that the file has ended
        with open(name, "a", encoding="utf-8") as lines:
            lines.writelines([EMPTY] * empty)


def counts_in(lines):
    """The numbers of packets, and of shown packets from the first key frame on, in a file of write_packets()."""
    lines.seek(0)
    rows = [row for row in lines if not row.startswith("#") or row == EMPTY]
    stated = [FLAGS.search(row) for row in rows if row != EMPTY]
    flags = [int(each[1], 16) if each else KEY for each in stated]
    begin = next((number for number, flag in enumerate(flags) if flag & KEY), 0)
    return len(rows), sum(not flag & HIDDEN for flag in flags[begin:])


def written_frames(path):
    """How many frames of the picture a finished file shows, without the packets that its edit list hides. This process reads
    the file, because ffprobe needs 0.1 s to load FFmpeg's libraries."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as lines:
        write_packets(path, 0, lines.fileno())
        return counts_in(lines)[1]


def lack(source, decoder, end, packets):
    """Why the input of a job is not whole, or None. `end`: seconds at which its last frame ends; `packets`: the PacketCount of
    its picture."""
    form = source.format.get("format_name")
    found, shown = packets.result()
    if form == "mpeg" and not ends_with_packet(source.path):
        return "its last packet is incomplete: it is cut off"
    length = source.length if form in TELL_LENGTH else 0
    # Some programs write the time of the end into the header, others the length.
    if length and end + source.start < length - max(1, length / 50):
        return f"ends after {end:.1f} s of {length:.1f} s: it is cut off or damaged"
    counted = int(source.picture.get("nb_frames", 0))
    if found < counted and not holds_all(source, form, counted, found):
        return f"{found} packets are there of {counted}: it is cut off or damaged"
    least = shown / 2 if source.picture.get("codec_name") in UNEVEN else shown
    if decoder.problem or decoder.damaged or decoder.frames < least:
        return f"{decoder.frames} frames could be decoded of {shown} packets: it is cut off or damaged"
    if not counted and form == MP4 and (missing := missing_bytes(source.path)):  # in fragments
        return f"its last {missing} bytes are missing: it is cut off"
    damage = packets.damage(form)
    return damage and f"it is damaged: {damage}"


def holds_all(source, form, counted, found):
    """Whether a stream of fewer packets than the header counts is whole nevertheless."""
    if form == "avi":  # an empty chunk repeats a picture, and FFmpeg reads no packet from it
        sizes = chunks_of(source.path, source.picture["index"])
        return bool(sizes) and found >= sum(size > 0 for size in sizes)
    if form == MP4:  # an edit list can leave packets out
        count = PacketCount(source.path, source.picture["index"], ignore_editlist="1")
        try:
            return count.result()[0] >= counted
        finally:
            count.close()
    return False


def missing_bytes(path):
    """How many bytes an MP4 file would need beyond its end to hold its last box whole. Other data after
    the last box does not count."""
    with open(path, "rb") as file:
        size, position = os.fstat(file.fileno()).st_size, 0
        while position + 8 <= size:
            file.seek(position)
            header = file.read(16)
            length, = struct.unpack(">I", header[:4])
            if length == 1 and len(header) == 16:
                length, = struct.unpack(">Q", header[8:])
            if length < 8 or header[4:8] not in BOXES:  # 0: the box ends with the file
                return 0
            position += length
        return max(position - size, 0)


def ends_with_packet(path):
    """Whether the last packet of an MPEG program stream ends with the file. Its length is in its header."""
    with open(path, "rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - PS_TAIL, 0))
        data = file.read()
    position = data.find(PS_PACK)
    while 0 <= position and position + 4 <= len(data) and data[position:position + 3] == PS_PACK[:3]:
        code, header = data[position + 3], data[position + 4:position + 14]
        if code == 0xB9:  # the end of the program
            return True
        if code == 0xBA:  # a pack header, of MPEG-2 with stuffing or of MPEG-1
            position += 14 + (header[9] & 7 if len(header) == 10 else 0) if header[:1] and header[0] >> 6 == 1 else 12
        else:
            position += 6 + int.from_bytes(header[:2], "big") if len(header) >= 2 else 6
    return position <= len(data)


def chunks_of(path, stream):
    """Sizes of all chunks of a video stream in an AVI file, or None if the structure of the file is damaged."""
    try:
        with open(path, "rb") as file:
            names = tuple(f"{stream:02}{kind}".encode() for kind in ("dc", "db"))
            return list(walk(file, 0, os.fstat(file.fileno()).st_size, names))
    except ValueError:
        return None


def walk(file, position, end, names):
    """Yields the sizes of chunks with these names within RIFF lists. Raises ValueError if a list does not end where it
    should."""
    at_top = position == 0
    while position + 8 <= end:
        file.seek(position)
        name, length, kind = struct.unpack("<4sI4s", file.read(12).ljust(12))
        if at_top and name != b"RIFF" and position:  # other data after the last list
            return
        if not name.strip().isalnum():
            raise ValueError(name)
        if name in (b"RIFF", b"LIST") and kind in (b"AVI ", b"AVIX", b"movi", b"rec "):
            yield from walk(file, position + 12, position + 8 + length, names)
        elif name in names:
            yield length
        position += 8 + length + length % 2
    if position not in (end, end + 1):
        raise ValueError(position)


def inspection(path, packets=FEW_PACKETS):
    """A call of ffprobe that waits until the file is written."""
    return Call(path, "-read_intervals", f"%+#{packets}", "-show_entries", ENTRIES, waits=True)


def inspect(path, begun):
    """The tags, streams and first frames of a file. `begun`: the result of inspection()."""
    found = {}
    with contextlib.suppress(InputProblem):
        found = begun.answer()
        if not first_frame(found):
            found = inspection(path, MORE_PACKETS).answer()
    return found


def first_frame(found):
    """The first frame of the file's first stream, or None."""
    return next((frame for frame in found.get("frames", []) if frame.get("stream_index") == 0), None)


def notes(found, source, profile, colors, ratio):
    """Sentences on losses of a file, compared with an Input. `found`: the result of inspect() for the file. `colors`: the result of
    Input.iso_colors() that it is to state, or None. `ratio`: the pixel aspect ratio that it is to have."""
    frame = first_frame(found)
    picture = next((stream for stream in found.get("streams", []) if stream.get("index") == 0), {})
    lost = lost_tags(source, profile, found)
    if not frame:
        return lost
    kinds = {data.get("side_data_type") for holder in (frame, picture) for data in holder.get("side_data_list", [])}
    return lost + [f"its {what} cannot be stored by {profile.meaning}, which says {now}" for what, now in (
        *(changed_colors(source, frame, colors) if colors else ()), *changed_fields(source, profile, frame),
        *changed_ratio(frame, ratio), *changed_light(source, profile, colors, kinds))]


def changed_colors(source, frame, colors):
    """Names and values of colour properties that the frame does not state as meant, and its own values."""
    primaries, transfer, matrix, is_full = colors
    for what, entry, numbers, meant in (("colour primaries", "color_primaries", PRIMARIES, primaries),
                                        ("transfer function", "color_transfer", TRANSFERS, transfer),
                                        ("colour matrix", "color_space", MATRICES, matrix)):
        now = frame.get(entry, "unknown")
        number = numbers.get(now, 2)
        if EQUAL_MATRICES.get(number, number) != EQUAL_MATRICES.get(meant, meant):
            name = next((name for name, number in numbers.items() if number == meant), "unknown")
            yield f"{what} ({name})", now
    now = frame.get("color_range", "tv")
    if (now == "pc") != is_full:
        yield f"colour range ({'pc' if is_full else 'tv'})", now
    before, now = source.frame.get("chroma_location"), frame.get("chroma_location", "unspecified")
    subsampled = all("420" in form for form in (source.picture.get("pix_fmt", ""), frame.get("pix_fmt", "")))
    if subsampled and before not in (None, "unspecified", now):
        yield f"chroma location ({before})", now


def changed_fields(source, profile, frame):
    if profile.fields:
        first = "bottom" if frame.get("top_field_first") == 0 else "top"
        now = f"{first}-field-first" if frame.get("interlaced_frame") == 1 else None
        if now != source.fields:
            yield f"field order ({source.fields or 'progressive'})", now or "progressive"


def changed_ratio(frame, ratio):
    now = ratio_of(frame.get("sample_aspect_ratio"))
    if abs(now - ratio) * frame.get("width", 1) > 1 and abs(now / ratio - 1) > 0.01:  # Matroska stores whole pixels
        yield f"pixel aspect ratio ({ratio.numerator}:{ratio.denominator})", f"{now.numerator}:{now.denominator}"


def changed_light(source, profile, colors, kinds):
    if colors and profile.container != "mp4":  # the H.264 in MP4 has it, but not all versions of FFmpeg read it
        for told, kind in zip(source.light, LIGHT):
            if told and kind not in kinds:
                yield kind, "nothing"


def film_tags(holder):
    """The tags of a file or stream that are not technical."""
    return {key: value for key, value in holder.get("tags", {}).items() if not TECHNICAL.fullmatch(key)}


def lost_tags(source, profile, found):
    """A note on tags of the file and of its kept streams that the output does not have."""
    holders = [found.get("format", {}), *found.get("streams", [])]
    kept = {(key.lower(), value.strip()) for holder in holders for key, value in holder.get("tags", {}).items()}
    keys = {key for key, _ in kept}

    def is_lost(key, value):
        key = key.lower()
        if (key == "language" and value == "und") or (key == "creation_time" and (key in keys or value.startswith(NO_TIME))):
            return False
        return (key, value.strip()) not in kept and (re.sub(r"-[a-z]{3}$", "", key), value.strip()) not in kept

    lost = [key for holder in (source.format, source.picture, *kept_streams(source, found))
            for key, value in film_tags(holder).items() if value.strip() and is_lost(key, value)]
    names = ", ".join(sorted(set(lost)))
    return [f"its tag{'s' * (len(set(lost)) > 1)} {names} cannot be stored by {profile.meaning}"] if lost else []


def kept_streams(source, found):
    """The sound and subtitle streams of the input, if the output has the same number. Tags of streams that are left out do not
    count."""
    def count(streams, kind):
        return sum(1 for stream in streams if stream.get("codec_type") == kind)

    return [stream for stream in source.others if (kind := stream.get("codec_type")) in ("audio", "subtitle")
            and count(source.others, kind) == count(found.get("streams", []), kind)]
