"""Regions of all frames in formats that others read: tables, tracks, masks. Each class takes frames as the
sidecars do."""

import csv
import json

import gstreamer
import numpy
from gstreamer import Gst
from sidecars import SidecarProblem, label_map

DIGITS = {"time": 6, "cx": 2, "cy": 2, "cz": 2, "red": 1, "green": 1, "blue": 1}  # seconds, pixels, levels


def rounded(fields):
    """Numbers with the digits that mean something."""
    return {name: shortest(round(value, DIGITS.get(name, 4))) if isinstance(value, float) else value
            for name, value in fields.items()}


def shortest(number):
    return int(number) if number.is_integer() else number


def table_of(number, time, buffer):
    """The regions of a frame."""
    table = gstreamer.regions_table(buffer)
    if table is None:
        raise SidecarProblem(f"frame {number} has no regions: no element of the filter finds any")
    table = rounded({"frame": number, "time": time / Gst.SECOND} | table)
    return table | {"regions": [rounded(region) for region in table["regions"]]}


class Lines:
    """A file of text, line by line."""

    def __init__(self, fd):
        self.file = open(fd, "w", encoding="utf-8", newline="", closefd=False)

    def write(self, number, time, buffer, _caps):
        self.add(table_of(number, time, buffer))

    def close(self):
        self.file.close()


class JsonLines(Lines):
    """One JSON object a frame: its number, its time in seconds, and the `regions` metadata. The names of a region's
    fields stand once a frame, in `columns`, and its numbers in the same order: a third of what objects take."""

    def add(self, table):
        regions = table.pop("regions")
        columns = list(dict.fromkeys(name for region in regions for name in region))
        table |= {"columns": columns, "regions": [[region.get(name) for name in columns] for region in regions]}
        self.file.write(json.dumps(table, separators=(",", ":")) + "\n")


class Csv(Lines):
    """One row a region, for spreadsheets and pandas."""

    writer = None

    def add(self, table):
        for region in table["regions"]:
            row = {"frame": table["frame"], "time": table["time"]} | region
            if not self.writer:
                self.writer = csv.DictWriter(self.file, list(row), restval="", extrasaction="ignore",
                                             lineterminator="\n")
                self.writer.writeheader()
            self.writer.writerow(row)


class Mot(Lines):
    """The tracks as MOTChallenge has them: frames, and pixels, count from 1."""

    def add(self, table):
        for region in table["regions"]:
            if "first-seen" not in region:  # of what is not followed, the track is the id
                raise SidecarProblem("regions have no tracks: MOT wants track=true of cclabel")
            self.file.write(",".join(str(value) for value in (
                table["frame"] + 1, region["track"], region["x"] + 1, region["y"] + 1, region["width"],
                region["height"], 1, -1, -1, -1)) + "\n")


class Coco(Lines):
    """Masks as COCO has them, each a list of run lengths; a frame is an image."""

    def __init__(self, fd):
        super().__init__(fd)
        self.images, self.annotations = [], []

    def write(self, number, time, buffer, _caps):
        table, labels = table_of(number, time, buffer), label_map(buffer, number)
        height, width = labels.shape
        self.images.append({"id": number + 1, "width": width, "height": height, "file_name": f"frame {number}"})
        for region in table["regions"]:
            self.annotations.append({
                "id": len(self.annotations) + 1, "image_id": number + 1, "category_id": 1, "iscrowd": 1,
                "area": region["area"], "bbox": [region[name] for name in ("x", "y", "width", "height")],
                "segmentation": {"size": [height, width], "counts": runs_of(labels == region["id"])},
                **({"track_id": region["track"]} if "first-seen" in region else {})})

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


def runs_of(mask):
    """How many pixels are out of a mask, in it, out of it, …, column by column."""
    pixels = mask.T.ravel()
    changes = numpy.flatnonzero(pixels[1:] != pixels[:-1]) + 1
    runs = numpy.diff(numpy.concatenate(([0], changes, [pixels.size]))).tolist()
    return [0, *runs] if pixels[0] else runs


WRITERS = {"jsonl": JsonLines, "csv": Csv, "mot": Mot, "coco-rle": Coco}
