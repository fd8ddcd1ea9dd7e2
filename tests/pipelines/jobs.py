"""What the tests of objects.py and of transcode/job.py share: jobs in the test's own process."""

import json
import os
import pathlib
import re
import unittest.mock

import inside
import job
import objects
import profiles

PLAIN = "testsrc2=size=64x48:rate=25:duration=0.4"
LABELLED = "cclabel min-area=4 output=none"


class JobCase(inside.Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"
        self.out.mkdir()

    def job(self, source, *kinds, filter=LABELLED, profile="mp4", status=0, kind=job.Job, **settings):
        """Runs a job of class `kind`; returns the messages that it sent."""
        names = {"video": "out" + profiles.PROFILES[profile].suffix, "jsonl": "out.jsonl", "labels": "out.labels.mkv"}
        self.outputs = {kind: str(self.out / names[kind]) for kind in kinds or ("video",)}
        settings |= {"source": str(source), "outputs": self.outputs, "filter": filter, "profile": profile}
        reader, writer = os.pipe()
        told = self.folder / "told"
        with open(told, "wb") as file:
            said = inside.called(job.main, os.dup(file.fileno()), json.dumps(settings), kind)
        os.close(reader)
        os.close(writer)
        self.errors = said.err
        self.assertEqual(said.status, status, told.read_text() + said.err)
        return [json.loads(line) for line in told.read_text().splitlines()]

    def problem(self, *arguments, status=1, **settings):
        """What a job says that fails and leaves nothing."""
        told = self.job(*arguments, status=status, **settings)
        self.assertEqual(self.files(self.out), [])
        self.assertEqual([one for one in told if "done" in one], [])
        problem, = [one["problem"] for one in told if "problem" in one]
        return problem

    def video(self):
        return pathlib.Path(self.outputs["video"])

    def half_done(self, **state):
        """A job whose pipeline did its work."""
        one = job.Job("in", {}, None, None, lambda **_: None)
        one.input = unittest.mock.Mock(length=0, start=0, rate=25, picture={"codec_name": "ffv1"}, format={})
        one.decoder = unittest.mock.Mock(frames=1, rate=25, problem=None, damaged=0, has_ended_without_frame=False)
        one.frames = 1
        for name, value in state.items():
            setattr(one, name, value)
        return one


class ObjectsCase(inside.Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def job(self, *arguments):
        """What it says, without the progress that a slow machine sees."""
        said = inside.called(objects.main, ["--out", str(self.out), *map(str, arguments)])
        return said._replace(out=re.sub(r"(?m)^\S+: frame \d+.*\n", "", said.out))

    def refused(self, status, text, *arguments):
        said = self.job(*arguments)
        self.assertEqual((said.status, said.out, said.err), (status, "", text))
        self.assertEqual(self.files(self.out) if self.out.exists() else [], [])
