"""Continues tracks from one segment of a file to the next. The warm-up frames of a segment are the last frames of the
previous segment, so both segments have regions of these frames. Regions that overlap there belong to the same track."""

LEAST_OVERLAP = 0.5  # smallest intersection over union of the boxes of the same region


def overlap(one, other):
    """Returns the intersection over union of the bounding boxes of two regions."""
    width = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
    height = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
    both = max(width, 0) * max(height, 0)
    return both / (one["width"] * one["height"] + other["width"] * other["height"] - both)


def followed(table):
    """Returns the regions with tracks in a frame's table (see exports.table_of), as dictionaries."""
    regions = (dict(zip(table["columns"], region)) for region in table["regions"])
    return [region for region in regions if region.get("first-seen") is not None and region["track"]]


class Tracks:
    """Renumbers the tracks of a file's segments, in the order of the segments. New ids start at 1 and are unique in the
    file."""

    def __init__(self):
        self.names = {}  # by the track's id in its segment: its id in the file, and the time of its first frame
        self.used = 0  # the greatest id so far
        self.seen = {}  # by time: tables of the previous segment, with ids of the file

    def begin(self, warm):
        """Begins a segment. `warm`: the tables of its warm-up frames. Their tracks get the ids of overlapping tracks in
        the previous segment."""
        self.names = {}
        taken = set()
        for table in reversed(warm):  # the last frames are the most reliable: the filter has learnt longest
            before = self.seen.get(table["time"])
            pairs = sorted(((overlap(old, new), old, new) for old in (followed(before) if before else ())
                            for new in followed(table)), key=lambda pair: -pair[0])
            for share, old, new in pairs:
                if share >= LEAST_OVERLAP and new["track"] not in self.names and old["track"] not in taken:
                    self.names[new["track"]] = old["track"], old["first-seen"]
                    taken.add(old["track"])
        self.seen = {}

    def rename(self, table):
        """Renumbers the tracks in the table of a frame. Without tracking, `track` is the region's id and stays
        unchanged. Sets `last-track` to the greatest id so far."""
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
