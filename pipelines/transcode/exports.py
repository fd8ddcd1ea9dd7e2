"""Regions of all frames in formats that others read: tables, tracks, masks. Each class takes frames as the
sidecars do."""

import csv
import io
import json

import gstreamer
import numpy
from gstreamer import Gst, picked
from sidecars import SidecarProblem, label_map
from standard_streams import why

DIGITS = {"time": 6, "cx": 2, "cy": 2, "cz": 2, "red": 1, "green": 1, "blue": 1}  # seconds, pixels, levels
OTHER_DIGITS = 4


def rounded(fields):
    """Numbers with the digits that mean something."""
    return {name: shortest(round(value, DIGITS.get(name, OTHER_DIGITS))) if isinstance(value, float) else value
            for name, value in fields.items()}


def rounded_column(name, values):
    """As rounded(); whole numbers have their digits already."""
    if not any(isinstance(value, float) for value in values):
        return values
    numbers = numpy.round(numpy.array(values, float), DIGITS.get(name, OTHER_DIGITS)).tolist()  # None: NaN
    return [None if value is None else shortest(number) for value, number in zip(values, numbers)]


def shortest(number):
    return int(number) if number.is_integer() else number


def table_of(number, time, buffer):
    """The regions of a frame: see gstreamer.regions_table."""
    table = gstreamer.regions_table(buffer)
    if table is None:
        raise SidecarProblem(f"frame {number} has no regions: the filter has no element that finds regions, such as cclabel")
    columns, regions = table.pop("columns"), table.pop("regions")
    values = [rounded_column(name, column) for name, column in zip(columns, zip(*regions))]
    return rounded({"frame": number, "time": time / Gst.SECOND} | table) | {
        "columns": columns, "regions": list(zip(*values))}


class NamedFile(io.FileIO):
    """A file descriptor whose errors name the file."""

    def __init__(self, fd, path):
        super().__init__(fd, "w", closefd=False)
        self.path = path

    def write(self, data):
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, f"{self.path} cannot be written: {why(error)}") from error


class Lines:
    """A file of text, line by line. `path` is the name that errors give it."""

    def __init__(self, fd, path="the output"):
        buffered = io.BufferedWriter(NamedFile(fd, path))
        self.file = io.TextIOWrapper(buffered, encoding="utf-8", newline="")

    def write(self, number, time, buffer, _caps):
        self.add(table_of(number, time, buffer))

    def close(self):
        self.file.close()


class JsonLines(Lines):
    """One JSON object a frame: its number, its time in seconds, and the `regions` metadata. The names of a region's
    fields stand once a frame, in `columns`, and its numbers in the same order: a third of what objects take."""

    def add(self, table):
        self.file.write(json.dumps(table, separators=(",", ":")) + "\n")

    def copy(self, line, number):
        """Adds a line of another such file as that of a frame with another number."""
        self.file.write(f'{{"frame":{number}{line[line.index(","):]}')


class Csv(Lines):
    """One row a region, for spreadsheets and pandas."""

    columns = None  # of the first region's frame

    def add(self, table):
        if not table["regions"]:
            return
        writer = csv.writer(self.file, lineterminator="\n")
        if not self.columns:
            self.columns = table["columns"]
            writer.writerow(["frame", "time", *self.columns])
        writer.writerows([table["frame"], table["time"], *region] for region in picked(table, *self.columns))


class Mot(Lines):
    """The tracks as MOTChallenge has them: frames, and pixels, count from 1."""

    def add(self, table):
        for first, track, x, y, width, height in picked(table, "first-seen", "track", "x", "y", "width", "height"):
            if first is None:  # of what is not followed, the track is the id
                raise SidecarProblem("regions have no tracks: --export mot requires track=true on cclabel")
            if track == 0:  # not born yet
                continue
            self.file.write(f"{table['frame'] + 1},{track},{x + 1},{y + 1},{width},{height},1,-1,-1,-1\n")


class Coco(Lines):
    """Masks as COCO has them, each a list of run lengths; a frame is an image."""

    def __init__(self, fd, path="the output"):
        super().__init__(fd, path)
        self.images, self.annotations = [], []

    def write(self, number, time, buffer, _caps):
        table, labels = table_of(number, time, buffer), label_map(buffer, number)
        height, width = labels.shape
        self.images.append({"id": number + 1, "width": width, "height": height, "file_name": f"frame {number}"})
        told = set()
        for label, area, track, first, *box in picked(table, "id", "area", "track", "first-seen", "x", "y", "width",
                                                      "height"):
            if label in told:  # a track that shares the region has no pixels of its own
                continue
            told.add(label)
            mask = labels == label
            if mask.any():  # the record of a region that is shared has one track's box
                area, box = int(numpy.count_nonzero(mask)), box_of(mask)
            self.annotations.append({
                "id": len(self.annotations) + 1, "image_id": number + 1, "category_id": 1, "iscrowd": 1,
                "area": area, "bbox": box,
                "segmentation": {"size": [height, width], "counts": runs_of(mask)},
                **({} if first is None or track == 0 else {"track_id": track})})

    def append(self, path, before, names):
        """Adds what was written of a segment: `before` frames precede it, its tracks have `names` (tracks.Tracks)."""
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
    """x, y, width and height of the pixels in a mask."""
    sides = [numpy.flatnonzero(mask.any(axis)) for axis in (0, 1)]
    return [int(side[0]) for side in sides] + [int(side[-1] - side[0]) + 1 for side in sides]


def runs_of(mask):
    """How many pixels are out of a mask, in it, out of it, …, column by column."""
    pixels = mask.T.ravel()
    changes = numpy.flatnonzero(pixels[1:] != pixels[:-1]) + 1
    runs = numpy.diff(numpy.concatenate(([0], changes, [pixels.size]))).tolist()
    return [0, *runs] if pixels[0] else runs


WRITERS = {"jsonl": JsonLines, "csv": Csv, "mot": Mot, "coco-rle": Coco}
