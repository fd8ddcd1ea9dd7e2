"""Writes the regions of all frames in formats for other programs: tables, tracks and masks. Each class receives frames
through write() and close(), as sidecars.LabelVideo does."""

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
    """Rounds the numbers in a dictionary to their significant decimals."""
    return {name: shortest(round(value, DIGITS.get(name, OTHER_DIGITS))) if isinstance(value, float) else value
            for name, value in fields.items()}


def rounded_column(name, values):
    """Rounds the numbers of one column, as rounded() does. Columns of integers are returned unchanged."""
    if not any(isinstance(value, float) for value in values):
        return values
    numbers = numpy.round(numpy.array(values, float), DIGITS.get(name, OTHER_DIGITS)).tolist()  # None becomes NaN
    return [None if value is None else shortest(number) for value, number in zip(values, numbers)]


def shortest(number):
    return int(number) if number.is_integer() else number


def table_of(number, time, buffer):
    """Returns the regions of a frame as a table (see gstreamer.regions_table) with rounded numbers."""
    table = gstreamer.regions_table(buffer)
    if table is None:
        raise SidecarProblem(f"frame {number} has no `regions` metadata: add an element to the filter that finds"
                             " regions, such as cclabel")
    columns, regions = table.pop("columns"), table.pop("regions")
    values = [rounded_column(name, column) for name, column in zip(columns, zip(*regions))]
    return rounded({"frame": number, "time": time / Gst.SECOND} | table) | {
        "columns": columns, "regions": list(zip(*values))}


class NamedFile(io.FileIO):
    """A file descriptor whose error messages contain the path of the file."""

    def __init__(self, fd, path):
        super().__init__(fd, "w", closefd=False)
        self.path = path

    def write(self, data):
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, f"{self.path} cannot be written: {why(error)}") from error


class Lines:
    """A text file written line by line. Error messages contain `path`."""

    def __init__(self, fd, path="the output"):
        buffered = io.BufferedWriter(NamedFile(fd, path))
        self.file = io.TextIOWrapper(buffered, encoding="utf-8", newline="")

    def write(self, number, time, buffer, _caps):
        self.add(table_of(number, time, buffer))

    def close(self):
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
                area, box = int(numpy.count_nonzero(mask)), box_of(mask)
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
    sides = [numpy.flatnonzero(mask.any(axis)) for axis in (0, 1)]
    return [int(side[0]) for side in sides] + [int(side[-1] - side[0]) + 1 for side in sides]


def runs_of(mask):
    """Returns the run lengths of a mask, column by column: pixels outside, inside, outside, and so on alternately."""
    pixels = mask.T.ravel()
    changes = numpy.flatnonzero(pixels[1:] != pixels[:-1]) + 1
    runs = numpy.diff(numpy.concatenate(([0], changes, [pixels.size]))).tolist()
    return [0, *runs] if pixels[0] else runs


WRITERS = {"jsonl": JsonLines, "csv": Csv, "mot": Mot, "coco-rle": Coco}
