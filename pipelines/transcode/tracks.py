"""Tracks that go on from one segment of a file to the next, by the regions of frames that both saw: the last ones of a
segment are those that warmed up the filter of the next."""

LEAST_OVERLAP = 0.5  # of two boxes, intersection over union, to be the same region


def overlap(one, other):
    """Intersection over union of two regions' boxes."""
    width = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
    height = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
    both = max(width, 0) * max(height, 0)
    return both / (one["width"] * one["height"] + other["width"] * other["height"] - both)


def followed(table):
    """The regions of a frame that have tracks (see exports.table_of), as dictionaries."""
    regions = (dict(zip(table["columns"], region)) for region in table["regions"])
    return [region for region in regions if region.get("first-seen") is not None and region["track"]]


class Tracks:
    """Renumbers the tracks of a file's segments, in their order: ids are unique in the file, from 1 on."""

    def __init__(self):
        self.names = {}  # by a segment's track: id in the file, and the time of its first frame
        self.used = 0
        self.seen = {}  # by time: tables of the segment before, with ids of the file

    def begin(self, warm):
        """A segment begins, whose filter warmed up on these tables."""
        self.names = {}
        taken = set()
        for table in reversed(warm):  # the last frames know best
            before = self.seen.get(table["time"])
            pairs = sorted(((overlap(old, new), old, new) for old in (followed(before) if before else ())
                            for new in followed(table)), key=lambda pair: -pair[0])
            for share, old, new in pairs:
                if share >= LEAST_OVERLAP and new["track"] not in self.names and old["track"] not in taken:
                    self.names[new["track"]] = old["track"], old["first-seen"]
                    taken.add(old["track"])
        self.seen = {}

    def rename(self, table):
        """Of a frame that stays; one whose regions are not followed stays as it is, their track is their id.
        `last-track` is the greatest id so far."""
        if "first-seen" in table["columns"]:
            track, first = map(table["columns"].index, ("track", "first-seen"))
            for region in table["regions"]:
                if region[first] is None or not region[track]:
                    continue
                if region[track] not in self.names:
                    self.used += 1
                    self.names[region[track]] = self.used, region[first]
                region[track], region[first] = self.names[region[track]]
        if "last-track" in table:
            table["last-track"] = self.used
        self.seen[table["time"]] = table
