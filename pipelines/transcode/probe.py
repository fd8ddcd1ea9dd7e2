"""Reads the properties of a file by ffprobe: its streams, and how its picture is shown."""

import itertools
import math
import os
from fractions import Fraction

from gstreamer import GstVideo
from transcode.ffprobe import look, picture_of, probed

# Numbers of ISO/IEC 23091-2 by ffprobe's names; 2: unspecified.
MATRICES = {"gbr": 0, "bt709": 1, "fcc": 4, "bt470bg": 5, "smpte170m": 6, "smpte240m": 7, "ycgco": 8, "bt2020nc": 9,
            "bt2020c": 10, "smpte2085": 11, "chroma-derived-nc": 12, "chroma-derived-c": 13, "ictcp": 14, "ipt-c2": 15,
            "ycgco-re": 16, "ycgco-ro": 17}
TRANSFERS = {"bt709": 1, "bt470m": 4, "bt470bg": 5, "smpte170m": 6, "smpte240m": 7, "linear": 8, "log100": 9,
             "log316": 10, "iec61966-2-4": 11, "bt1361e": 12, "iec61966-2-1": 13, "bt2020-10": 14, "bt2020-12": 15,
             "smpte2084": 16, "smpte428": 17, "arib-std-b67": 18}
PRIMARIES = {"bt709": 1, "bt470m": 4, "bt470bg": 5, "smpte170m": 6, "smpte240m": 7, "film": 8, "bt2020": 9,
             "smpte428": 10, "smpte431": 11, "smpte432": 12, "ebu3213": 22}
# Directions of videoflip that turn a picture upright, by the signs of a display matrix and by EXIF's orientation.
TURNS = {(0, 1, -1, 0): "90r", (-1, 0, 0, -1): "180", (0, -1, 1, 0): "90l", (-1, 0, 0, 1): "horiz",
         (1, 0, 0, -1): "vert", (0, 1, 1, 0): "ul-lr", (0, -1, -1, 0): "ur-ll"}
# Kinds of side data that are kept (the GOP timecode as the timecode of the file), or that do not describe the picture.
TAKEN = ("Display Matrix", "3x3 displaymatrix", "Mastering display metadata", "Content light level metadata",
         "ATSC A53 Part 4 Closed Captions", "GOP timecode", "CPB properties",
         "H.26[45] User Data Unregistered SEI message", "Film grain parameters", "Palette", "AVPanScan")
EXIF = {"2": "horiz", "3": "180", "4": "vert", "5": "ul-lr", "6": "90r", "7": "ur-ll", "8": "90l"}


LEAD_IN = 0.1  # seconds: the sound before time 0 that decoders need is shorter
MAX_HIDDEN = 100_000  # packets that are read


class Input:
    """A file whose first video stream is `picture`, which begins `delay` seconds after `start` and lasts
    `length` seconds, or 0 if that is unknown; `others` are its other streams. `probed` is the result of look(). Sound may
    begin before the start: an edit list hides it, but decoders need it."""

    def __init__(self, path, known=None):
        if "%" in path:  # FFmpeg would read a picture with such a name as a sequence
            path = f"/proc/{os.getpid()}/fd/{os.open(path, os.O_RDONLY | os.O_CLOEXEC)}"
        self.path = path
        self.probed = known or look(path)
        holds, self.frame = self.probed["holds"], self.probed["frame"]
        self.format = holds.get("format", {})
        self.chapters = holds.get("chapters", [])
        self.picture = picture_of(holds)
        self.others = [stream for stream in holds["streams"] if stream is not self.picture]
        stated = float(self.format.get("start_time", 0))
        begins = float(self.picture.get("start_time", stated))
        self.start = stated if stated >= 0 else min(begins, 0.0)
        self.delay = max(begins - self.start, 0.0)
        self.rate = next(filter(None, map(fraction, (self.picture.get("avg_frame_rate"),
                                                     self.picture.get("r_frame_rate")))), None)
        self.length = self.stated_length()

    def begin_at(self, first):
        """Takes note of the first frame's time in the file, in seconds. The picture may begin later than the container
        says, because a recording or an edit can begin between key frames."""
        self.start = min(self.start, float(first))
        self.delay = float(first) - self.start

    def hidden(self, stream):
        """How many of a sound's first packets an edit list hides; 0 if they are no longer than a decoder's lead-in. FFmpeg 9 makes
        all of them a part of the lead-in, which containers without edit lists keep."""
        if "mov" not in self.format.get("format_name", ""):
            return 0
        packets = self.packets(stream, 1)
        lead_in = max(LEAD_IN, int(stream.get("initial_padding", 0)) / int(stream.get("sample_rate", 1)) + 0.001)
        if not packets or self.start - float(packets[0].get("pts_time", self.start)) <= lead_in:
            return 0
        return sum(1 for _ in itertools.takewhile(lambda packet: "D" in packet["flags"], self.packets(stream, MAX_HIDDEN)))

    def packets(self, stream, count):
        """ffprobe's description of a stream's first packets."""
        return probed(self.path, "-select_streams", str(stream["index"]), "-read_intervals", f"%+#{count}",
                      "-show_entries", "packet=pts_time,flags").get("packets", [])

    @property
    def has_alpha(self):
        """VP8 and VP9 may have a second picture, of how transparent the first is; it is not decoded."""
        return self.picture.get("tags", {}).get("alpha_mode") == "1"

    def stated_length(self):
        """Seconds that the picture lasts according to the file, or 0."""
        stated = max(float(self.picture.get("duration", 0)), seconds(self.picture.get("tags", {}).get("DURATION")))
        return stated or (0 if self.others else float(self.format.get("duration", 0)))

    @property
    def all_side_data(self):
        return self.frame.get("side_data_list", []) + self.picture.get("side_data_list", [])

    def side_data(self, kind):
        return next((data for data in self.all_side_data if data.get("side_data_type") == kind), None)

    @property
    def lost_side_data(self):
        """ffprobe's names of the picture's side data that is not kept."""
        return sorted({data.get("side_data_type", "unknown") for data in self.all_side_data} - {*TAKEN})

    @property
    def timecode(self):
        """The time code of the first frame, or None."""
        stated = [holder.get("tags", {}).get("timecode", "")
                for holder in (self.format, self.picture, *self.others, self.frame)]
        stated[-1] = stated[-1].replace("00:00:00:00", "")  # of MPEG-2, which has one in any case
        return next(filter(None, stated), None)

    @property
    def turn(self):
        """The direction in which videoflip turns the picture upright, or None."""
        stated = self.side_data("Display Matrix")
        if not stated:
            return EXIF.get(self.frame.get("tags", {}).get("Orientation", "").strip())
        return TURNS.get(tuple(round(number) if abs(number - round(number)) < 0.01 else number
                               for number in self.matrix(stated)))

    @staticmethod
    def matrix(stated):
        """The first two numbers of the first two rows of a display matrix, each row scaled to length 1."""
        rows = [[int(number) for number in line.split(":")[1].split()[:2]]
                for line in stated["displaymatrix"].strip().splitlines()[:2]]
        return [number / (math.hypot(*row) or 1) for row in rows for number in row]

    @property
    def angle(self):
        """Degrees to the right that a display matrix turns the picture, if it is not a quarter turn. Else 0."""
        stated = self.side_data("Display Matrix")
        if not stated or self.turn:
            return 0
        across, down = self.matrix(stated)[:2]
        return round(math.degrees(math.atan2(down, across)), 1)

    @property
    def fields(self):
        """"top-field-first", "bottom-field-first", or None for progressive pictures."""
        if self.frame.get("interlaced_frame") != 1:
            return None
        return "top-field-first" if self.frame.get("top_field_first") == 1 else "bottom-field-first"

    def iso_colors(self, form, height, guess=True):
        """Primaries, transfer and matrix as numbers of ISO/IEC 23091-2, and whether the range is full, for pictures of
        a format. With `guess`, a matrix that the file does not specify becomes the matrix that players assume."""
        stated, pixels = self.frame, self.picture.get("pix_fmt", "")
        full = stated.get("color_range") == "pc" or pixels.startswith("yuvj") or (
            pixels.startswith("gray") and stated.get("color_range") != "tv")
        matrix = MATRICES.get(stated.get("color_space"), 2)
        if "RGB" in form or "BGR" in form:
            matrix, full = 0, True
        elif guess and matrix in (0, 2):
            matrix = 1 if height > 576 and not form.startswith("GRAY") else 6
        return (PRIMARIES.get(stated.get("color_primaries"), 2), TRANSFERS.get(stated.get("color_transfer"), 2), matrix,
                full)

    def colorimetry(self, form, height, guess=True):
        """iso_colors() as the colorimetry of caps."""
        primaries, transfer, matrix, full = self.iso_colors(form, height, guess)
        known = GstVideo.video_color_matrix_from_iso(matrix)
        if matrix != 2 and not int(known):  # GStreamer converts to RGB and back by another matrix
            known = GstVideo.video_color_matrix_from_iso(6)
        return ":".join(str(int(number)) for number in (
            1 if full else 2, known,
            GstVideo.video_transfer_function_from_iso(transfer), GstVideo.video_color_primaries_from_iso(primaries)))

    @property
    def light(self):
        """Metadata for HDR displays: red, green, blue and white (x and y of each, in 1/50000), maximum and minimum luminance
        (1/10000 cd/m²), and as a second list the maximum and average light of frames (cd/m²). A list is empty if the file
        does not specify all its numbers."""
        display, level = self.side_data("Mastering display metadata"), self.side_data("Content light level metadata")
        stated = []
        if display and "red_x" in display and "max_luminance" in display:
            stated = [round(Fraction(display[f"{name}_{axis}"]) * 50000)
                    for name in ("red", "green", "blue", "white_point") for axis in "xy"]
            stated += [round(Fraction(display[f"{name}_luminance"]) * 10000) for name in ("max", "min")]
        return stated, [level["max_content"], level["max_average"]] if level else []


def fraction(text):
    """A positive fraction in ffprobe's notation, or None."""
    top, _, bottom = (text or "").partition("/")
    return Fraction(int(top), int(bottom)) if top.isdigit() and bottom.isdigit() and int(top) * int(bottom) else None


def ratio_of(text):
    """The pixel aspect ratio that ffprobe writes as 4:3; 1 if it is unknown."""
    width, _, height = (text or "").partition(":")
    known = width.isdigit() and height.isdigit() and int(width) * int(height)
    return Fraction(int(width), int(height)) if known else Fraction(1)


def seconds(text):
    """Seconds of a Matroska tag such as 00:00:02.040000000; 0 for other texts."""
    parts = (text or "").split(":")
    return sum(float(part) * 60**power for power, part in enumerate(reversed(parts))) if len(parts) == 3 else 0.0
