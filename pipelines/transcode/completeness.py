"""Decides whether an input is whole: whether all pictures that its container announces can be read and decoded."""

import os
import struct
import subprocess
import tempfile

from probe import QUIET, input_of

# Codecs whose packets may be single fields, or pictures that are never shown.
UNEVEN = ("h264", "hevc", "vc1", "wmv3", "mpeg2video", "vp8", "vp9", "av1")
# Containers with a length in the header, and without a better sign of a missing end.
TELL_LENGTH = ("matroska,webm", "flv", "asf", "mxf", "nut", "rm")
MP4 = "mov,mp4,m4a,3gp,3g2,mj2"
BOXES = (b"ftyp", b"mdat", b"moof", b"moov", b"mfra", b"sidx", b"styp", b"free", b"skip", b"uuid")  # at the top level of MP4

PS_PACK, PS_TAIL = b"\0\0\1\xba", 1 << 18  # how a pack of MPEG-PS begins; bytes at the end that hold a whole pack


class PacketCount:
    """Lists the packets of a stream by ffprobe while the file is transcoded."""

    def __init__(self, path, stream, *options):
        self.lines, self.errors = (tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") for _ in range(2))
        self.process = subprocess.Popen(
            ["ffprobe", "-v", "error", *options, "-select_streams", str(stream), "-show_entries",
             "packet=size,flags", "-of", "csv=p=0", input_of(path)], stdout=self.lines, stderr=self.errors, **QUIET)

    def result(self):
        """Waits for ffprobe. Returns how many packets there are, and how many of them are shown from the first key frame on.
        An edit list hides packets; empty packets repeat a picture."""
        self.process.wait()
        self.lines.seek(0)
        packets = [line.rstrip("\n").split(",") for line in self.lines if "," in line]
        keys = [number for number, packet in enumerate(packets) if "K" in packet[1]]
        shown = [packet for packet in packets[keys[0] if keys else 0:] if packet[0] != "0" and "D" not in packet[1]]
        return len(packets), len(shown)

    def damage(self, container):
        """The first error that the container's reader printed, after result(); None without errors."""
        self.errors.seek(0)
        said = (line.split("] ", 1)[-1].strip() for line in self.errors if line.startswith(f"[{container} @"))
        return next(said, None)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.lines.close()
        self.errors.close()


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
    least = shown / 2 if source.picture.get("codec_name") in UNEVEN else shown
    if decoder.problem or decoder.damaged or decoder.frames < least:
        return f"{decoder.frames} frames could be decoded of {shown} packets: it is cut off or damaged"
    counted = int(source.picture.get("nb_frames", 0))
    if not counted and form == MP4 and (missing := missing_bytes(source.path)):  # in fragments
        return f"its last {missing} bytes are missing: it is cut off"
    if found < counted and not holds_all(source, form, counted, found):
        return f"{found} packets are there of {counted}: it is cut off or damaged"
    damage = packets.damage(form)
    return damage and f"it is damaged: {damage}"


def holds_all(source, form, counted, found):
    """Whether a stream of fewer packets than the header counts is whole nevertheless."""
    if form == "avi":  # an empty chunk repeats a picture, and ffprobe lists no packet for it
        sizes = chunks_of(source.path, source.picture["index"])
        return bool(sizes) and found >= sum(size > 0 for size in sizes)
    if form == MP4:  # an edit list can leave packets out
        count = PacketCount(source.path, source.picture["index"], "-ignore_editlist", "1")
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
