#!/usr/bin/python3
"""How regions-transcode runs its jobs, which are stand-ins: some at once, killed, interrupted, on devices."""

import asyncio
import os
import signal
import unittest
import unittest.mock

import media
import stand_in_jobs


class Jobs(stand_in_jobs.Case):
    def test_a_job_that_is_killed(self):
        killed, good = self.inputs("killed.avi", "good.avi")
        said = self.ran(killed, good)
        self.assertEqual(said.status, 1)
        self.assertEqual(said.err, f"regions-transcode: {killed}: the job was ended by SIGKILL\n"
                         f"regions-transcode: 1 of 2 inputs failed: {killed}\n")
        self.assertEqual(self.files(self.out), ["good.mp4", "good.mp4.made.json"])

    def interrupted(self, name, *numbers):
        """A run that gets signals while its first job works."""
        first, second = self.inputs(name, "good.avi")
        numbers = list(numbers)
        hear = self.program.Screen.hear

        def heard(screen, source, said, written=()):
            hear(screen, source, said, written)
            if "note" in said:
                os.kill(os.getpid(), numbers.pop(0))

        interrupt = self.program.Queue.interrupt

        def again(queue):
            interrupt(queue)
            if numbers:
                asyncio.get_running_loop().call_later(0.3, os.kill, os.getpid(), numbers.pop(0))

        with (unittest.mock.patch.object(self.program.Screen, "hear", heard),
              unittest.mock.patch.object(self.program.Queue, "interrupt", again)):
            said = self.ran(first, second)
        self.assertEqual(said.status, 130)
        self.assertEqual(said.err, f"{first}: note: waits\nregions-transcode: interrupted; finished files stay, and the"
                         " same command goes on\n")
        self.assertEqual(said.out, "")
        self.assertFalse(os.path.exists(second + ".settings"), "no other job begins")
        self.assertEqual(self.files(self.out), [])

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.interrupted("polite.avi", number)
        self.interrupted("deaf.avi", signal.SIGINT, signal.SIGTERM)

    def test_jobs_at_once(self):
        """As many as asked for, each slot with a device of its own where there are several."""
        names = self.inputs(*(f"good{i}.avi" for i in range(5)))
        self.replace(self.program, "cuda_devices", lambda: 2)
        running, most = set(), []
        transcode = self.program.Queue.transcode

        async def counted(queue, source, outputs, slot):
            running.add(source)
            most.append(len(running))
            try:
                return await transcode(queue, source, outputs, slot)
            finally:
                running.discard(source)

        self.replace(self.program.Queue, "transcode", counted)
        for jobs, at_once in ((1, 1), (2, 2), (9, 5)):
            most.clear()
            self.assertEqual(self.ran(*names, "--force", "-j", str(jobs)).status, 0)
            self.assertEqual(max(most), at_once)
            devices = [self.settings(name)["device"] for name in names]
            self.assertEqual(set(devices), {0} if jobs == 1 else {0, 1})
        self.assertEqual(devices, [0, 1, 0, 1, 0])
        self.assertEqual([self.program.device_for(slot, 3) for slot in range(5)], [0, 1, 2, 0, 1])
        self.assertEqual([self.program.device_for(4, devices) for devices in (0, 1, 2)], [-1, -1, 0])

    def test_inputs_are_taken_in_their_order(self):
        names = self.inputs("good3.avi", "good1.avi", "good2.avi")
        lines = self.ran(*names).out.splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], names)

    def test_how_many_devices_there_are(self):
        program = stand_in_jobs.loaded()
        for starts, counts, number, expected in ((0, 0, 3, 3), (1, 0, 3, 0), (0, 1, 3, 0), (0, 0, 0, 0)):
            def count(pointer, counts=counts, number=number):
                pointer._obj.value = number
                return counts

            driver = unittest.mock.Mock(cuInit=lambda flags, s=starts: s if flags == 0 else 99, cuDeviceGetCount=count)
            with unittest.mock.patch.object(program.ctypes, "CDLL", lambda name, driver=driver: (
                    driver if name == "libcuda.so.1" else None)):
                self.assertEqual(program.cuda_devices(), expected)
        with unittest.mock.patch.object(program.ctypes, "CDLL", side_effect=OSError):
            self.assertEqual(program.cuda_devices(), 0)


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
