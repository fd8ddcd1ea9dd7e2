"""Writes the regions of each frame to files next to the video: tables, tracks and masks for other programs, and label maps
as a video (regions-transcode --labels). Each class receives frames through write() and close()."""

import csv
import io
import itertools
import json

from gstreamer import Gst, first_structure, picked, regions_table
from standard_streams import why
from transcode.profiles import suit_to_size

DIGITS = {"time": 6, "cx": 2, "cy": 2, "cz": 2, "red": 1, "green": 1, "blue": 1}  # seconds, pixels, levels
OTHER_DIGITS = 4


class SidecarProblem(Exception):
    """A frame cannot be written to a sidecar file. The message gives the reason."""


def rounded(fields):
    """Rounds the numbers in a dictionary to their significant decimals."""
    return {name: shortest(round(value, DIGITS.get(name, OTHER_DIGITS))) if isinstance(value, float) else value
            for name, value in fields.items()}


def rounded_column(name, values):
    """Rounds the numbers of one column, as rounded() does. Columns of integers are returned unchanged."""
    if not any(isinstance(value, float) for value in values):
        return values
    import numpy  # loaded here, because most jobs write no tables, and loading takes about 0.1 s

    numbers = numpy.round(numpy.array(values, float), DIGITS.get(name, OTHER_DIGITS)).tolist()  # None becomes NaN
    return [None if value is None else shortest(number) for value, number in zip(values, numbers)]


def shortest(number):
    return int(number) if number.is_integer() else number


def table_of(number, time, buffer):
    """Returns the regions of a frame as a table (see gstreamer.regions_table) with rounded numbers."""
    table = regions_table(buffer)
    if table is None:
        raise SidecarProblem(f"frame {number} has no `regions` metadata: add an element to the filter that finds"
                             " regions, such as cclabel")
    columns, regions = table.pop("columns"), table.pop("regions")
    values = [rounded_column(name, column) for name, column in zip(columns, zip(*regions))]
    return rounded({"frame": number, "time": time / Gst.SECOND} | table) | {
        "columns": columns, "regions": list(zip(*values))}


class NamedFile(io.FileIO):
    """A file descriptor whose error messages contain the path of the file. If `is_discarded` is set, nothing more is
    written."""

    is_discarded = False

    def __init__(self, fd, path):
        super().__init__(fd, "w", closefd=False)
        self.path = path

    def write(self, data):
        if self.is_discarded:
            return len(data)
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, f"{self.path} cannot be written: {why(error)}") from error


class Lines:
    """A text file written line by line. Error messages contain `path`."""

    def __init__(self, fd, path="the output"):
        self.raw = NamedFile(fd, path)
        self.file = io.TextIOWrapper(io.BufferedWriter(self.raw), encoding="utf-8", newline="")

    def write(self, number, time, buffer, _caps):
        self.add(table_of(number, time, buffer))

    def close(self):
        self.file.close()

    def discard(self):
        """Closes the file, without the lines that are still in memory. The file's owner then removes it and closes its
        descriptor, whose number another file can get."""
        self.raw.is_discarded = True
        self.file.close()


class JsonLines(Lines):
    """One JSON object per frame: its number, its time in seconds, and the `regions` metadata. The field names of
    regions are written once per frame, in `columns`. Each region is a list of values in the same order. This takes a
    third of the space of one object per region."""

    def add(self, table):
        self.file.write(json.dumps(table, separators=(",", ":")) + "\n")

    def copy(self, line, number):
        """Adds a line of another file of JSON lines, with a new frame number."""
        self.file.write(f'{{"frame":{number}{line[line.index(","):]}')


class Csv(Lines):
    """One row per region, for spreadsheets and pandas."""

    columns = None  # the columns of the first frame with regions; later frames use the same

    def add(self, table):
        if not table["regions"]:
            return
        writer = csv.writer(self.file, lineterminator="\n")
        if not self.columns:
            self.columns = table["columns"]
            writer.writerow(["frame", "time", *self.columns])
        writer.writerows([table["frame"], table["time"], *region] for region in picked(table, *self.columns))


class Mot(Lines):
    """Tracks in the format of MOTChallenge. Frame numbers and pixel coordinates start at 1."""

    def add(self, table):
        for first, track, x, y, width, height in picked(table, "first-seen", "track", "x", "y", "width", "height"):
            if first is None:  # without tracking, `track` is the region's id
                raise SidecarProblem(f"frame {table['frame']} has no tracks: --export mot requires cclabel track=true")
            if track == 0:  # the region has not been seen long enough to get a track
                continue
            self.file.write(f"{table['frame'] + 1},{track},{x + 1},{y + 1},{width},{height},1,-1,-1,-1\n")


class Coco(Lines):
    """Masks in the format of COCO: each frame is an image, and each mask is a list of run lengths."""

    def __init__(self, fd, path="the output"):
        super().__init__(fd, path)
        self.images, self.annotations = [], []

    def write(self, number, time, buffer, _caps):
        table, labels = table_of(number, time, buffer), label_map(buffer, number)
        height, width = labels.shape
        self.images.append({"id": number + 1, "width": width, "height": height, "file_name": f"frame {number}"})
        written = set()
        for label, area, track, first, *box in picked(table, "id", "area", "track", "first-seen", "x", "y", "width",
                                                      "height"):
            if label in written:  # several tracks may share one region; its mask is written once
                continue
            written.add(label)
            mask = labels == label
            if mask.any():  # in a shared region, `area` and `box` belong to one track, not to the whole region
                area, box = int(mask.sum()), box_of(mask)
            self.annotations.append({
                "id": len(self.annotations) + 1, "image_id": number + 1, "category_id": 1, "iscrowd": 1,
                "area": area, "bbox": box,
                "segmentation": {"size": [height, width], "counts": runs_of(mask)},
                **({} if first is None or track == 0 else {"track_id": track})})

    def append(self, path, before, names):
        """Adds the file of a segment. `before`: the number of frames before the segment. `names`: the ids of its tracks
        in the whole file (see tracks.Tracks)."""
        with open(path, encoding="utf-8") as file:
            segment = json.load(file)
        for image in segment["images"]:
            number = image["id"] + before
            self.images.append(image | {"id": number, "file_name": f"frame {number - 1}"})
        for found in segment["annotations"]:
            found |= {"id": len(self.annotations) + 1, "image_id": found["image_id"] + before}
            if "track_id" in found:
                found["track_id"] = names[found["track_id"]][0]
            self.annotations.append(found)

    def close(self):
        json.dump({"images": self.images, "annotations": self.annotations,
                   "categories": [{"id": 1, "name": "region"}]}, self.file, separators=(",", ":"))
        super().close()


def box_of(mask):
    """Returns x, y, width and height of the bounding box of a mask."""
    sides = [mask.any(axis).nonzero()[0] for axis in (0, 1)]
    return [int(side[0]) for side in sides] + [int(side[-1] - side[0]) + 1 for side in sides]


def runs_of(mask):
    """Returns the run lengths of a mask, column by column: pixels outside, inside, outside, and so on alternately."""
    pixels = mask.T.ravel()
    changes = (pixels[1:] != pixels[:-1]).nonzero()[0] + 1
    runs = [end - start for start, end in itertools.pairwise([0, *changes.tolist(), pixels.size])]
    return [0, *runs] if pixels[0] else runs


class LabelVideo:
    """The label of every pixel as a 16-bit gray video, lossless: FFV1 in Matroska."""

    BRANCH = ("appsrc name=labels format=time block=true max-bytes=50000000 ! queue !"
              " avenc_ffv1 name=labels-encoder ! matroskamux ! fdsink sync=false fd={}")

    def __init__(self, pipeline):
        self.source, self.encoder = pipeline.get_by_name("labels"), pipeline.get_by_name("labels-encoder")
        self.size = None

    def write(self, number, time, buffer, caps):
        labels = label_map(buffer, number)
        height, width = labels.shape
        if self.size is None:
            self.size = labels.shape
            suit_to_size(self.encoder, width, height)
            rate = first_structure(caps).get_value("framerate")
            self.source.set_property("caps", Gst.Caps.from_string(
                f"video/x-raw,format=GRAY16_LE,width={width},height={height},"
                f"framerate={rate.num}/{rate.denom},colorimetry=1:4:0:0"))
        if labels.shape != self.size:
            raise SidecarProblem(f"frame {number} has {width} x {height} labels, but earlier frames have {self.size[1]}"
                                 f" x {self.size[0]}: a label video requires one size")
        most = labels.max(initial=0)
        if most > 65535:
            raise SidecarProblem(f"frame {number} has the label {most}: a 16-bit label video requires labels up to 65535")
        out = Gst.Buffer.new_wrapped(rows_of_16_bits(labels))
        out.pts, out.duration = time, buffer.duration
        if self.source.emit("push-buffer", out) == Gst.FlowReturn.ERROR:
            raise SidecarProblem(f"frame {number} cannot be written to the label video: its encoder has stopped")

    def close(self):
        self.source.emit("end-of-stream")


def rows_of_16_bits(labels):
    """The bytes of a picture GRAY16_LE. GStreamer's row size is a multiple of 4 bytes."""
    import numpy

    height, width = labels.shape
    rows = numpy.zeros((height, (width + 1) // 2 * 2), numpy.uint16)
    rows[:, :width] = labels
    return rows.tobytes()


def label_map(buffer, number):
    """Returns the label map attached to a frame as an array [row][column]. With several thresholds, the label maps are
    stacked from top to bottom, as in the pictures of output=labels."""
    meta = buffer.get_custom_meta("regions")
    structure = meta.get_structure() if meta else None
    if not structure or not structure.has_field("labels"):
        raise SidecarProblem(f"frame {number} has no label map: add an element to the filter that attaches one, such as"
                             " cclabel")
    import numpy

    kind = numpy.uint8 if structure.get_value("labels-format") == "GRAY8" else numpy.uint32
    labels = structure.get_value("labels")
    of = "labels-" if structure.has_field("labels-width") else ""  # set if the picture was scaled after labelling
    layers = structure.get_value("layers") if structure.has_field("layers") else 1
    shape = structure.get_value(of + "height") * layers, structure.get_value(of + "width")
    mapped, view = labels.map(Gst.MapFlags.READ)
    if not mapped:
        raise SidecarProblem(f"the label map of frame {number} cannot be mapped for reading")
    try:
        if view.size != numpy.prod(shape) * kind().itemsize:
            raise SidecarProblem(f"the label map of frame {number} has {view.size} bytes; expected"
                                 f" {numpy.prod(shape) * kind().itemsize} bytes for {shape[1]} x {shape[0]} labels")
        return numpy.frombuffer(view.data, kind).reshape(shape).astype(numpy.uint32)
    finally:
        labels.unmap(view)


WRITERS = {"jsonl": JsonLines, "csv": Csv, "mot": Mot, "coco-rle": Coco}
