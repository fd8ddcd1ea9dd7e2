#!/usr/bin/env python3
"""Zones: the events of tables, against matplotlib's paths on random scenes and against the element regionevents."""

import copy
import itertools
import json
import math
import pathlib
import re
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

import gst_regions
import numpy
from references import reference, run_elements

YARD = {"id": "yard", "points": [[50, 0], [100, 0], [100, 80], [50, 80]]}
GATE = {"id": "gate", "points": [[50, 0], [50, 80]]}
COLUMNS = [("label", "i8"), ("track", "i8"), *((f"bbox-{k}", "f8") for k in range(4)),
           *((f"centroid-{k}", "f8") for k in range(2))]


def table_of(boxes, tracks=None):
    """A table of objects with these boxes: first column, first row, width and height."""
    table = numpy.zeros(len(boxes), COLUMNS)
    for at, (x, y, width, height) in enumerate(boxes):
        table[at] = (at + 1, at + 1 if tracks is None else tracks[at], y, x, y + height, x + width,
                     y + (height - 1) / 2, x + (width - 1) / 2)
    return table


def without_tracks(table):
    return {name: table[name] for name in table.dtype.names if name != "track"}


def walk(*columns):
    """Tables of an object of 10 x 20 pixels, with its middle at these columns."""
    return [table_of([(x - 5, 30, 10, 20)]) for x in columns]


def names(events):
    return [event["event"] for event in events]


def fields(events, *wanted):
    return [tuple(event.get(name) for name in wanted) for event in events]


class Scene:
    """A random scene: polygons (one of them with a hole), a circle and lines, and objects that move at random."""

    FRAMES, TRACKS = 12, 6

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.rings = [[self.ring(100)] for _ in range(3)]
        middle = numpy.mean(self.rings[2][0], 0)
        self.rings[2].append((self.rings[2][0] - middle) * 0.2 + middle)
        self.circle = (*self.random.uniform(0, (320, 240)), self.random.uniform(10, 70))
        self.ends = self.random.uniform(0, (320, 240), (3, 2, 2))
        start = self.random.uniform((20, 40), (300, 220), (self.TRACKS, 2))
        steps = self.random.uniform(-25, 25, (self.FRAMES, self.TRACKS, 2))
        self.places = start + steps.cumsum(0)  # [frame, track] x, y of the middle of the lowest row

    def ring(self, size):
        """A ring around a point. The angles of its corners increase, so it is simple."""
        corners = self.random.integers(3, 12)
        angles = numpy.linspace(0, 2 * math.pi, corners, endpoint=False)
        radius = self.random.uniform(size / 3, size, corners)[:, None]
        return self.random.uniform(0, (320, 240)) + numpy.stack([numpy.cos(angles), numpy.sin(angles)], 1) * radius

    def rules(self):
        zones = [{"id": f"polygon {at}", "rings": [ring.tolist() for ring in rings]} for at, rings in enumerate(self.rings)]
        zones.append({"id": "circle", "center": list(self.circle[:2]), "radius": self.circle[2]})
        return {"zones": zones,
                "lines": [{"id": f"line {at}", "points": ends.tolist()} for at, ends in enumerate(self.ends)]}

    def tables(self):
        for places in self.places:
            yield table_of([(x - 5, y - 19.5, 10, 20) for x, y in places])

    def insides(self, path_of):
        """Which places are inside each zone, as arrays of [frame, track]."""
        flat = self.places.reshape(-1, 2)
        for at, rings in enumerate(self.rings):
            parity = sum(path_of(ring).contains_points(flat).astype(int) for ring in rings) % 2
            yield f"polygon {at}", parity.reshape(self.places.shape[:2]) == 1
        x, y, radius = self.circle
        yield "circle", numpy.hypot(self.places[..., 0] - x, self.places[..., 1] - y) < radius

    def expected(self, path_of):
        events = set()
        for zone, inside in self.insides(path_of):
            before = numpy.vstack([numpy.zeros((1, self.TRACKS), bool), inside[:-1]])
            for name, changed in (("enter", inside & ~before), ("leave", before & ~inside)):
                events |= {(name, zone, track + 1, frame) for frame, track in numpy.argwhere(changed)}
        for at, (start, end) in enumerate(self.ends):
            line = path_of(numpy.array([start, end]), closed=False)
            for frame, track in itertools.product(range(1, self.FRAMES), range(self.TRACKS)):
                move = self.places[frame - 1:frame + 1, track]
                if not line.intersects_path(path_of(move, closed=False), filled=False):
                    continue
                turn = numpy.linalg.det([end - start, move[1] - start])  # positive: to the right, as y points down
                events.add((f"crossing {'right' if turn > 0 else 'left'}", f"line {at}", track + 1, frame))
        return events


class Oracle(unittest.TestCase):
    def test_zones_random_scenes_have_the_events_of_matplotlib(self):
        paths = reference("matplotlib.path")

        def path_of(points, closed=True):
            return paths.Path(numpy.vstack([points, points[:1]]) if closed else points, closed=closed)

        count = 0
        for seed in range(1000):
            scene = Scene(seed)
            zones, found = gst_regions.Zones(scene.rules()), set()
            for frame, table in enumerate(scene.tables()):
                for event in zones.update(table):
                    side = f" {event['side']}" if "side" in event else ""
                    found.add((event["event"] + side, event.get("zone") or event["line"], event["track"], frame))
            expected = scene.expected(path_of)
            self.assertEqual(found, expected, f"seed {seed}")
            count += len(expected)
        self.assertGreater(count, 10000)

    def test_zones_share_of_area_random_labels_equals_the_pixels_inside_the_path(self):
        paths = reference("matplotlib.path")
        y, x = numpy.mgrid[:60, :80] + 0.5
        centers, inside_counts = numpy.stack([x.ravel(), y.ravel()], 1), set()
        for seed in range(100):
            random = numpy.random.default_rng(seed)
            ring = Scene(seed).ring(50) * 0.25
            labels = gst_regions.label(random.random((60, 80)) > 0.6)
            inside = paths.Path(numpy.vstack([ring, ring[:1]]), closed=True).contains_points(centers).reshape(60, 80)
            table = gst_regions.regionprops_table(labels)
            shares = [inside[labels == label].mean() for label in table["label"]]
            zones = gst_regions.Zones([{"id": "a", "points": ring.tolist(), "anchor": "area", "min-share": 0.5,
                                        "motion-share": 0.1, "occupancy": True}])
            zones.update(table, labels)
            expected = {int(label) for label, share in zip(table["label"], shares) if share >= 0.5}
            self.assertEqual({visit.label for visit in zones.visits}, expected, f"seed {seed}")
            self.assertEqual(zones.zones["a"]["count"], len(expected))
            if inside.any():
                self.assertAlmostEqual(zones.zones["a"]["foreground"], (labels > 0)[inside].mean())
            inside_counts.add(len(expected))
        self.assertGreater(len(inside_counts), 5)

    def test_zones_of_a_video_report_the_events_of_regionevents(self):
        random = numpy.random.default_rng(3)
        frames = []
        for at in range(40):
            frame = numpy.zeros((80, 100), numpy.uint8)
            for phase in range(3):
                x = 40 + int(35 * math.sin(at / 5 + 2 * phase))
                frame[5 + 25 * phase:25 + 25 * phase, x:x + 12 + random.integers(3)] = 255
            frames.append(frame)
        rules = {"zones": [YARD | {"loitering-time": 0.2, "occupancy": True, "hysteresis": 2},
                           YARD | {"id": "half", "anchor": "area", "min-share": 0.6, "crowding-objects": 2}],
                 "lines": [GATE | {"anchor": "centroid"}]}
        tracker, zones, expected = gst_regions.Tracker(), gst_regions.Zones(rules), []
        for frame in frames:
            labels, table = tracker.apply(frame)
            expected += zones.update(table, labels)
        chain = ["cclabel", "device=cpu", "threshold=0.5", "track=true", "output=none", "attach-labels=always", "!",
                 "regionevents", f"rules={json.dumps(rules)}", "!", "fakesink"]
        found = [event_of(line) for line in run_elements(chain, frames, "-m").splitlines() if "regions-event," in line]
        self.assertEqual(found, [{name: plain(value) for name, value in event.items()} for event in expected])
        self.assertEqual({"enter", "leave", "occupancy", "loitering", "crossing", "crowding", "crowding-end"},
                         set(names(expected)))


def plain(value):
    return value if isinstance(value, (str, bool)) else round(float(value), 6)


def event_of(line):
    """An event in the output of gst-launch-1.0 -m."""
    event = {}
    for name, kind, text in re.findall(r"([\w-]+)=\((\w+)\)([^,;]+)", line):
        divisor = 1e9 if name in ("time", "dwell") else 1
        event[name] = (text.strip('"') if kind == "string" else text == "true" if kind == "boolean" else
                       round(float(text) / divisor, 6))
    return event


class Updates(unittest.TestCase):
    def test_zones_of_an_object_that_passes_report_each_event_with_its_fields(self):
        zones = gst_regions.Zones({"zones": [YARD | {"loitering-time": 0.04}], "lines": [GATE]}, fps=25)
        events = [event for table in walk(30, 60, 80, 120) for event in zones.update(table)]
        self.assertEqual(names(events), ["crossing", "enter", "loitering", "leave"])
        self.assertEqual(events[0], {"event": "crossing", "line": "gate", "time": 0.04, "track": 1, "id": 1, "x": 60.0,
                                     "y": 49.5, "side": "left"})
        self.assertEqual(fields(events[1:], "zone", "time", "track", "id", "x", "y", "dwell", "lost"),
                         [("yard", 0.04, 1, 1, 60.0, 49.5, None, None), ("yard", 0.08, 1, 1, 80.0, 49.5, 0.04, None),
                          ("yard", 0.12, 1, 1, 120.0, 49.5, 0.08, False)])
        self.assertEqual(zones.zones, {"yard": {"count": 0, "entered": 1, "left": 1}})
        self.assertEqual(zones.lines, {"gate": {"to_left": 1, "to_right": 0}})

    def test_zones_events_are_valid_for_the_json_schema(self):
        jsonschema = reference("jsonschema")
        schema = json.loads((pathlib.Path(__file__).parents[2] / "docs" / "events.schema.json").read_text("utf-8"))
        zone = YARD | {"occupancy": True, "loitering-time": 0.1, "stopped-time": 0.1, "removed-time": 0.1,
                       "abandoned-time": 0.1, "crowding-objects": 1, "direction-distance": 5, "motion-share": 0.01,
                       "object-retention": 0.1}
        zones, found = gst_regions.Zones({"zones": [zone], "lines": [GATE]}), []
        labels = numpy.zeros((80, 100), int)
        labels[30:50, 55:65] = 1
        tables = walk(60, 60, 60, 60, 60, 60, 80, 90, 30, 60, 60, 60, 60, 60) + [table_of([])] * 5
        for table in tables:
            found += zones.update(table, labels * bool(len(table)))
        for change in ("covered", "none"):
            found += zones.update(table_of([]), labels * 0, scene_change=change)
        for event in found:
            jsonschema.validate(event, schema)
        self.assertEqual(set(names(found)), set(schema["properties"]["event"]["enum"]))

    def test_zones_of_tables_in_every_form_report_equal_events(self):
        pandas = reference("pandas")
        want = None
        forms = {"array": lambda table: table, "dict": lambda table: {name: table[name] for name in table.dtype.names},
                 "lists": lambda table: {name: table[name].tolist() for name in table.dtype.names},
                 "underscores": lambda table: {name.replace("-", "_"): table[name] for name in table.dtype.names},
                 "pandas": pandas.DataFrame}
        for form, made in forms.items():
            zones = gst_regions.Zones({"zones": [YARD], "lines": [GATE | {"anchor": "centroid"}]})
            found = [event for table in walk(30, 60, 120, 60) for event in zones.update(made(table))]
            want = want or found
            self.assertEqual(found, want, form)
        self.assertEqual(len(want), 4)

    def test_zones_of_regionprops_table_count_objects_without_tracks(self):
        labels = numpy.zeros((80, 100), numpy.uint16)
        labels[10:20, 60:70], labels[40:50, 70:90], labels[5:9, 5:9] = 5, 7, 1
        zones = gst_regions.Zones([YARD | {"occupancy": True}])
        for table in (gst_regions.regionprops_table(labels), gst_regions.regionprops_table(labels, properties=["bbox", "label"])):
            zones.reset()
            self.assertEqual(zones.update(table), [{"event": "occupancy", "zone": "yard", "time": 0.0, "count": 2}])
            self.assertEqual(zones.visits, [("yard", 5, 0, None), ("yard", 7, 0, None)])

    def test_zones_rules_in_every_form_are_equal(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "rules.json")
            path.write_text(json.dumps([YARD]), encoding="utf-8")
            points = numpy.array(YARD["points"], numpy.float32)
            for rules in (path, str(path), f"\n {json.dumps([YARD])}", [YARD], {"zones": [YARD]}, (YARD,),
                          {"zones": [{"id": "yard", "points": points}]}, {"zones": [{"id": "yard", "points": list(points)}]}):
                zones = gst_regions.Zones(rules)
                self.assertEqual([names(zones.update(table)) for table in walk(30, 60)], [[], ["enter"]], rules)

    def test_zones_rules_of_another_size_are_scaled_to_the_shape(self):
        drawn = {"width": 200, "height": 160, "zones": [YARD | {"points": [[100, 0], [200, 0], [200, 160], [100, 160]]}]}
        fractions = {"units": "fractions", "zones": [YARD | {"points": [[0.5, 0], [1, 0], [1, 1], [0.5, 1]]}]}
        for rules in (drawn, fractions):
            zones = gst_regions.Zones(rules, shape=(80, 100))
            self.assertEqual([names(zones.update(table)) for table in walk(40, 60)], [[], ["enter"]])
            zones = gst_regions.Zones(rules)  # the size of the labels
            labels = numpy.ones((80, 100), int)
            self.assertEqual([names(zones.update(table, labels)) for table in walk(40, 60)], [[], ["enter"]])
        self.assertEqual(gst_regions.Zones(drawn).update(walk(60)[0]), [])  # pixels of 200 x 160

    def test_zones_set_rules_keeps_counts_of_rules_with_the_same_id(self):
        zones = gst_regions.Zones({"zones": [YARD], "lines": [GATE]})
        for table in walk(30, 60):
            zones.update(table)
        zones.set_rules([YARD | {"points": [[20, 0], [100, 0], [100, 80], [20, 80]]}, YARD | {"id": "new"}])
        self.assertEqual((zones.zones["yard"]["count"], zones.zones["new"]["count"], zones.lines), (1, 0, {}))
        self.assertEqual(fields(zones.update(walk(40)[0]), "event", "zone"), [])
        self.assertEqual(fields(zones.update(walk(60)[0]), "event", "zone"), [("enter", "new")])
        with self.assertRaisesRegex(ValueError, "zone 'yard': hysteresis is -1"):
            zones.set_rules([YARD | {"hysteresis": -1}])
        self.assertEqual(set(zones.zones), {"yard", "new"})

    def test_zones_time_that_goes_back_forgets_the_objects(self):
        zones = gst_regions.Zones([YARD])
        self.assertEqual(names(zones.update(walk(60)[0], time=10)), ["enter"])
        self.assertEqual(names(zones.update(walk(60)[0], time=3)), ["enter"])
        self.assertEqual(fields(zones.update(walk(30)[0], time=5.5), "event", "dwell", "time"), [("leave", 2.5, 5.5)])
        self.assertEqual(fields(zones.update(walk(60)[0]), "time"), [(5.54,)])

    def test_zones_during_a_change_of_the_scene_no_object_leaves(self):
        zones = gst_regions.Zones([YARD | {"object-retention": 0}])
        events = zones.update(walk(60)[0])
        for _ in range(10):
            events += zones.update(table_of([]), scene_change="covered")
        events += zones.update(walk(60)[0])
        self.assertEqual(fields(events, "event", "change", "dwell"), [
            ("enter", None, None), ("scene-change", "covered", None), ("scene-steady", "covered", 0.4)])

    def test_zones_reset_forgets_objects_counts_and_time(self):
        zones = gst_regions.Zones([YARD])
        for table in walk(30, 60):
            zones.update(table)
        zones.reset()
        self.assertEqual((zones.zones["yard"]["entered"], zones.visits), (0, []))
        self.assertEqual(fields(zones.update(walk(60)[0]), "event", "time"), [("enter", 0.0)])

    def test_zones_object_whose_track_is_lost_leaves_after_the_retention(self):
        zones = gst_regions.Zones([YARD | {"object-retention": 0.1}])
        zones.update(walk(60)[0])
        events = [event for _ in range(5) for event in zones.update(table_of([]))]
        self.assertEqual(fields(events, "event", "id", "lost", "dwell"), [("leave", 0, True, 0.0)])

    def test_zones_labels_with_huge_numbers_are_found(self):
        labels = numpy.zeros((80, 100), numpy.uint64)
        labels[10:20, 60:70], labels[40:50, 40:70] = 2**63 + 5, 7
        zones = gst_regions.Zones([YARD | {"anchor": "area", "occupancy": True, "min-share": 0.7}])
        zones.update(gst_regions.regionprops_table(labels), labels)
        self.assertEqual([visit.label for visit in zones.visits], [2**63 + 5])
        table = {**without_tracks(walk(60)[0]), "label": [2**40]}
        zones = gst_regions.Zones([YARD])
        zones.update(table)
        self.assertEqual([visit.label for visit in zones.visits], [2**40])

    def test_zones_shared_by_threads_finish_all_calls(self):
        zones = gst_regions.Zones({"zones": [YARD | {"motion-share": 0.5}], "lines": [GATE]})
        labels = numpy.ones((80, 100), numpy.int32)

        def work():
            for table in walk(*[30, 60] * 50):
                zones.update(table, labels, time=1)
                zones.set_rules({"zones": [YARD | {"motion-share": 0.4}], "lines": [GATE]})
                self.assertEqual((set(zones.zones), set(zones.lines)), ({"yard"}, {"gate"}))
                zones.visits  # noqa: B018

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())


class Refusals(unittest.TestCase):
    def expect(self, error, text, call):
        with self.assertRaisesRegex(error, text):
            call()

    def test_zones_wrong_rules_are_refused_with_their_place(self):
        crossed = [[0, 0], [10, 10], [10, 0], [0, 10]]
        for rules, text in (([YARD | {"points": crossed}], "zone 'yard' is not a simple area"),
                            ([YARD | {"points": []}], "zone 'yard': ring 1 has 0 different points"),
                            ([YARD | {"colour": 3}], "zone 'yard'.*unknown key 'colour'"),
                            ([YARD, YARD], "the id 'yard' occurs twice"),
                            ("[{", "no valid JSON"), ([YARD | {"hysteresis": math.nan}], "no valid JSON")):
            self.expect(ValueError, text, lambda: gst_regions.Zones(rules))
        for rules, text in ((5, "rules is of type int"), (b"[]", "rules is of type bytes"), (None, "rules is of type NoneType"),
                            ([YARD | {"points": {1, 2}}], "rules cannot be written as JSON: .*type set")):
            self.expect(TypeError, text, lambda: gst_regions.Zones(rules))
        self.expect(FileNotFoundError, "no such file", lambda: gst_regions.Zones("/no such file"))
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"\xff\xfe{")
            file.flush()
            self.expect(ValueError, "is not a text file in UTF-8", lambda: gst_regions.Zones(file.name))

    def test_zones_rules_that_do_not_fit_the_picture_are_refused(self):
        table = walk(60)[0]
        self.expect(ValueError, "rules are for 100x100 pixels, but the video has 100x80", lambda: gst_regions.Zones(
            {"width": 100, "height": 100, "zones": [YARD]}, shape=(80, 100)).update(table))
        self.expect(ValueError, "zone 'yard' is outside of the picture", lambda: gst_regions.Zones([YARD], shape=(9, 9)).update(table))
        self.expect(ValueError, "fractions require the size of the picture: pass shape or labels",
                    lambda: gst_regions.Zones({"units": "fractions", "zones": [YARD]}).update(table))
        for shape in ((0, 5), (70000, 5)):
            self.expect(ValueError, "shape is", lambda: gst_regions.Zones([YARD], shape=shape))
        for shape in (5, (1, 2, 3), "ab"):
            self.expect(TypeError, "shape is", lambda: gst_regions.Zones([YARD], shape=shape))

    def test_zones_wrong_arguments_are_refused(self):
        table, labels = walk(60)[0], numpy.zeros((80, 100), int)
        labels[30:50, 55:65] = 1
        zones, share = gst_regions.Zones([YARD]), gst_regions.Zones([YARD | {"anchor": "area"}])
        for error, text, call in (
                (TypeError, "fps is of type bool", lambda: gst_regions.Zones([YARD], fps=True)),
                (ValueError, "surrogates", lambda: gst_regions.Zones('[{"id": "\ud800"}]')),
                (TypeError, "labels has elements of type bool, must have integers", lambda: share.update(table, labels > 0)),
                (ValueError, "labels has the negative label -1", lambda: share.update(table, -labels)),
                (TypeError, "fps is of type str", lambda: gst_regions.Zones([YARD], fps="25")),
                (ValueError, "fps is 0", lambda: gst_regions.Zones([YARD], fps=0)),
                (TypeError, "scene_change is of type bool", lambda: zones.update(table, scene_change=True)),
                (ValueError, "scene_change is 'gone', which is not a change", lambda: zones.update(table, scene_change="gone")),
                (TypeError, "time is of type str", lambda: zones.update(table, time="now")),
                (ValueError, "time is nan", lambda: zones.update(table, time=math.nan)),
                (ValueError, "time is -1", lambda: zones.update(table, time=-1)),
                (TypeError, "table is of type int", lambda: zones.update(3)),
                (ValueError, "no boxes of pictures", lambda: zones.update({"label": [1]})),
                (ValueError, "no boxes of pictures", lambda: zones.update(gst_regions.regionprops_table(labels[None]))),
                (ValueError, "column bbox-2 has 2 values, must have 1", lambda: zones.update(
                    {**{name: table[name] for name in table.dtype.names}, "bbox-2": [1, 2]})),
                (ValueError, "row 0 has the empty box 30, 55, 30, 65", lambda: zones.update(table_of([(55, 30, 10, 0)]))),
                (ValueError, "column bbox-1 has a value that is not finite", lambda: zones.update(
                    table_of([(math.nan, 30, 10, 5)]))),
                (TypeError, "column bbox-0 has elements of type", lambda: zones.update(
                    {f"bbox-{k}": numpy.array(["a"]) for k in range(4)})),
                (ValueError, "column track has the negative value -1", lambda: zones.update(table_of([(55, 30, 5, 5)], [-1]))),
                (TypeError, "column track has elements of type float64", lambda: zones.update(
                    {**without_tracks(table), "track": [1.5]})),
                (ValueError, "zone 'yard' requires the pixels of the objects; pass labels", lambda: share.update(table)),
                (ValueError, "label 1 of the table is not in labels", lambda: share.update(table, labels * 0)),
                (ValueError, "label 1 of the table is not in labels", lambda: share.update(table, labels * 5)),
                (ValueError, "labels has 3 axes, must have 2", lambda: share.update(table, labels[None])),
                (TypeError, "must have integers", lambda: share.update(table, labels * 1.0)),
                (ValueError, "no column label", lambda: share.update({f"bbox-{k}": table[f"bbox-{k}"] for k in range(4)}, labels)),
                (ValueError, "line 'gate' has the anchor centroid, but table has no columns", lambda: gst_regions.Zones(
                    {"lines": [GATE | {"anchor": "centroid"}]}).update({f"bbox-{k}": table[f"bbox-{k}"] for k in range(4)})),
                (ValueError, r"labels has shape \(80, 100\), must have \(80, 99\)", lambda: gst_regions.Zones(
                    [YARD], shape=(80, 99)).update(table, labels))):
            self.expect(error, text, call)
        self.assertEqual(names(zones.update(table)), ["enter"])  # refused tables changed nothing
        self.assertEqual(zones.visits[0].dwell, 0)

    def test_zones_copies_are_refused(self):
        self.expect(TypeError, "cannot be copied", lambda: copy.copy(gst_regions.Zones([YARD])))


def stand_in():
    """A package that looks like supervision for the conversion."""
    module = types.ModuleType("supervision")
    module.Detections = lambda **found: types.SimpleNamespace(**{
        name: None for name in ("mask", "confidence", "class_id", "tracker_id")} | {"data": {}} | found)
    return module


class Supervision(unittest.TestCase):
    def detections(self, **found):
        return stand_in().Detections(**found)

    def test_from_supervision_of_a_converted_table_returns_its_columns(self):
        mask = numpy.zeros((20, 30), bool)
        mask[2:5, 7:17] = mask[10:12, 1:3] = True
        labels, table = gst_regions.Tracker().apply(mask)
        modules = [stand_in()]
        try:
            modules.append(reference("supervision"))
        except unittest.SkipTest:
            pass
        for module in modules:
            with mock.patch.dict(sys.modules, supervision=module):
                found, again = gst_regions.from_supervision(gst_regions.to_supervision(table, labels), return_labels=True)
                numpy.testing.assert_array_equal(again, labels)
                for name in ("label", "track", "area", "bbox_0", "bbox_1", "bbox_2", "bbox_3", "centroid_0", "centroid_1"):
                    numpy.testing.assert_array_equal(found[name], table[name], name)
                twice = gst_regions.from_supervision(gst_regions.to_supervision(found))
                for name in found.dtype.names:
                    if "centroid" not in name:
                        numpy.testing.assert_array_equal(twice[name], found[name], name)

    def test_from_supervision_of_a_detector_keeps_boxes_classes_and_confidences(self):
        found = gst_regions.from_supervision(self.detections(
            xyxy=numpy.array([[1.5, 2, 11.5, 22], [0, 0, 4, 4]], numpy.float32), class_id=numpy.array([3, 1]),
            confidence=numpy.array([0.5, 0.25], numpy.float32), tracker_id=numpy.array([8, -1])))
        self.assertEqual(found.tolist(), [(1, 8, 200.0, 2, 1.5, 22, 11.5, 11.5, 6.0, 3, 0.5),
                                          (2, 0, 16.0, 0, 0, 4, 4, 1.5, 1.5, 1, 0.25)])
        with mock.patch.dict(sys.modules, supervision=stand_in()):
            back = gst_regions.to_supervision(found)
        self.assertEqual((back.class_id.tolist(), back.confidence.tolist(), back.xyxy.tolist()),
                         ([3, 1], [0.5, 0.25], [[1.5, 2, 11.5, 22], [0, 0, 4, 4]]))

    def test_from_supervision_tables_are_accepted_by_zones(self):
        zones = gst_regions.Zones([YARD])
        for left, expected in ((20, []), (60, ["enter"])):
            table = gst_regions.from_supervision(self.detections(
                xyxy=numpy.array([[left, 20, left + 10.5, 40]]), tracker_id=numpy.array([4])))
            self.assertEqual(names(zones.update(table)), expected)
        empty = self.detections(xyxy=numpy.empty((0, 4), numpy.float32), tracker_id=numpy.array([], int))
        self.assertEqual(zones.update(gst_regions.from_supervision(empty)), [])

    def test_from_supervision_wrong_detections_are_refused(self):
        box = numpy.array([[1.0, 2, 3, 4]])
        for error, text, call in (
                (TypeError, "detections is of type int", lambda: gst_regions.from_supervision(3)),
                (ValueError, "a box that is not finite", lambda: gst_regions.from_supervision(
                    self.detections(xyxy=box * math.inf))),
                (ValueError, r"xyxy of shape \(1, 5\), must have \(n, 4\)", lambda: gst_regions.from_supervision(
                    self.detections(xyxy=numpy.ones((1, 5))))),
                (ValueError, "3 values of area for 1 boxes", lambda: gst_regions.from_supervision(
                    self.detections(xyxy=box, data={"area": [1, 2, 3]}))),
                (ValueError, "2 values of tracker_id for 1 boxes", lambda: gst_regions.from_supervision(
                    self.detections(xyxy=box, tracker_id=numpy.array([1, 2])))),
                (ValueError, "no masks", lambda: gst_regions.from_supervision(self.detections(xyxy=box), return_labels=True))):
            with self.assertRaisesRegex(error, text):
                call()


if __name__ == "__main__":
    unittest.main(verbosity=2)
