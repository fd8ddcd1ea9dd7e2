#!/usr/bin/python3
"""The commands of measure.py, with fake programs. This is the only test of the chains for a GPU that needs no GPU."""

import sys
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import measure  # noqa: E402  (after the path)


class Programs:
    env = {}

    def of(self, name):
        return name


class Runner:
    """Gives a row for each command, as if the clip had ten frames."""

    env = None

    def __init__(self):
        self.rows, self.failures, self.commands = [], [], []

    def say(self, text):
        pass

    def run(self, command, name, env=None):
        self.commands.append(command)
        options = dict(zip(command, command[1:]))
        streams = int(options.get("--streams", "1").split(",")[0])
        self.rows.append({"latency_us": 1, "frames": 10 * streams, "streams": streams,
                          "from": options.get("--from", "")})


class Pipelines(unittest.TestCase):
    def commands(self, cuda, clips):
        runner = Runner()
        measure.pipelines(runner, Programs(), cuda, clips)
        self.assertEqual(runner.failures, [])
        return runner.commands

    def test_pipeline_commands_any_machine_are_strings_with_a_device(self):
        for cuda in (False, True):
            for command in self.commands(cuda, {"people": "/clips/people.mp4"} if cuda else None):
                self.assertEqual([word for word in command if not isinstance(word, str)], [], command)
                chain = command[command.index("--chain") + 1]
                self.assertNotIn("{", chain)
                if chain != "identity":
                    self.assertIn("device=cuda" if cuda else "device=cpu", chain)

    def test_people_clip_given_is_measured_with_every_chain(self):
        several = [command for command in self.commands(True, {"people": "/clips/people.mp4"})
                   if "1,4,8" in command or ("1,8,16" in command and "--from" in command)]
        chains = {command[command.index("--chain") + 1] for command in several}
        self.assertEqual((len(several), len(chains)), (12, 6))

    def test_four_gpus_lost_frame_is_a_failure(self):
        class Losing(Runner):
            def run(self, command, name, env=None):
                super().run(command, name, env)
                if "64" in command and command.count("--from") == 4:
                    self.rows[-1]["frames"] -= 1
        for runner, lost in (Runner(), 0), (Losing(), 1):
            with unittest.mock.patch.object(measure, "lines", return_value=["GPU"] * 4):
                measure.gpus(runner, Programs(), "/clips/people.mp4", turns=1)
            self.assertEqual([command[-1] for command in runner.commands], ["16", "32", "64"])
            self.assertEqual(len(runner.failures), lost)


if __name__ == "__main__":
    unittest.main()
