#!/usr/bin/python3
"""docs/rules.schema.json and the program agree: every example is valid for both, and faults are refused by both."""

import json
import sys

import jsonschema
import media
from cases import Case, main
from transcode import event_lines

sys.path.insert(0, str(media.ROOT / "tests"))
from documents import blocks_of  # noqa: E402

DOCS = media.ROOT / "docs"
SCHEMA = json.loads((DOCS / "rules.schema.json").read_text(encoding="utf-8"))
ZONE = {"id": "yard", "points": [[0, 0], [9, 0], [9, 9]]}
LINE = {"id": "gate", "points": [[0, 0], [9, 9]]}
# Rules that docs/events.md names as valid.
VALID = [
    {}, {"zones": []}, [], [ZONE], [ZONE, LINE], {"zones": [ZONE], "lines": [LINE]}, {"tripwires": [LINE]},
    {"units": "fractions", "zones": [ZONE]}, {"width": 20, "height": 10, "zones": [ZONE]}, {"comment": {"any": "thing"}},
    [{"id": "a", "center": [5, 5], "radius": 2}], [{"id": "a", "type": "circle", "center": {"x": 5, "y": 5}, "radius": 2.5}],
    [{"id": "a", "type": "polygon", "points": [{"x": 0, "y": 0}, {"x": 9, "y": 0}, {"x": 9, "y": 9}]}],
    [{"id": "a", "rings": [[[0, 0], [9, 0], [9, 9]], [[5, 1], [8, 1], [8, 4]]]}],
    [ZONE | {"color": {"r": 255, "g": 0}, "anchor": "area", "min-share": 1, "loitering-time": 604800}],
    {"lines": [LINE | {"direction": "left", "anchor": "centroid"}]},
    # The rules of DL Streamer's gvaanalytics.
    {"zones": [{"id": "z", "type": "polygon", "points": [{"x": 1, "y": 1}, {"x": 9, "y": 1}, {"x": 9, "y": 9}], "thickness": 3,
                "track-dwell-time": True, "object-retention": 3.0, "color": {"r": 255, "g": 0, "b": 0}}],
     "tripwires": [{"id": "t", "points": [{"x": 1, "y": 1}, {"x": 9, "y": 1}], "thickness": 2}]},
]
INVALID = [
    5, "[]", [5], [None], {"zone": []}, {"zones": ZONE}, {"zones": [ZONE | {"colour": {}}]}, {"zones": [ZONE | {"id": ""}]},
    [ZONE | {"id": "x" * 129}], [ZONE | {"id": 5}], [{"id": "a"}], [{"points": ZONE["points"]}], [ZONE | {"anchor": "feet"}],
    [ZONE | {"hysteresis": -1}], [ZONE | {"hysteresis": "5"}], [ZONE | {"hysteresis": 65536}], [ZONE | {"enter": 1}],
    [ZONE | {"crowding-objects": 1.5}], [ZONE | {"color": {"r": 256}}], [ZONE | {"color": {"red": 5}}],
    [ZONE | {"points": [[0, 0, 0], [9, 0], [9, 9]]}], [ZONE | {"points": [[0, 0], [9, 0], ["9", 9]]}],
    [ZONE | {"points": [[0, 0], [9, 0], [1e7, 9]]}], [ZONE | {"points": [{"x": 0}, [9, 0], [9, 9]]}],
    [{"id": "a", "center": [5, 5], "radius": 0}], [{"id": "a", "center": [5, 5]}], {"lines": [LINE | {"points": [[0, 0]]}]},
    {"lines": [LINE | {"direction": "up"}]}, {"lines": [LINE | {"anchor": "area"}]}, {"width": 20, "zones": [ZONE]},
    {"width": 0, "height": 5}, {"units": "metres"}, {"units": "fractions", "width": 20, "height": 10, "zones": [ZONE]},
    {"zones": [ZONE | {"id": str(at)} for at in range(257)]},
]


class Rules(Case):
    def read(self, rules):
        """Reads rules as regions-transcode does, by the element regionevents."""
        path = self.folder / "rules.json"
        path.write_text(json.dumps(rules), encoding="utf-8")
        return event_lines.rules_in(path)

    def test_rules_that_are_valid_are_accepted_by_schema_and_program(self):
        for rules in VALID:
            with self.subTest(rules):
                jsonschema.validate(rules, SCHEMA)
                self.read(rules)

    def test_rules_with_a_fault_are_refused_by_schema_and_program(self):
        for rules in INVALID:
            with self.subTest(rules):
                with self.assertRaises(jsonschema.ValidationError):
                    jsonschema.validate(rules, SCHEMA)
                with self.assertRaisesRegex(event_lines.BadRules, "rules.json: "):
                    self.read(rules)

    def test_rules_in_the_documents_are_valid(self):
        count = 0
        for path in [*DOCS.glob("*.md"), *DOCS.glob("elements/*.md"), *DOCS.glob("guides/*.md"), media.ROOT / "README.md"]:
            for block in blocks_of(path.read_text(encoding="utf-8")):
                if block.language == "json" and any(f'"{key}"' in block.text for key in ("zones", "lines", "points")):
                    with self.subTest(f"{path}:\n{block.text}"):
                        rules = json.loads(block.text)
                        jsonschema.validate(rules, SCHEMA)
                        self.read(rules)
                    count += 1
        self.assertGreater(count, 5)
        yard = json.loads((DOCS / "pictures" / "yard.json").read_text(encoding="utf-8"))
        jsonschema.validate(yard, SCHEMA)
        self.read(yard)


if __name__ == "__main__":
    main()
