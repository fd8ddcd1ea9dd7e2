#!/usr/bin/python3
"""Jobs as processes and the starter that forks them (transcode/processes.py, starter.py)."""

import asyncio
import json
import os
import signal
import sys
import tempfile
import unittest.mock

import media
from cases import main
from transcode import processes  # after cases, which sets the path


# Reports its settings, its starter and its environment, and then ends as the settings say.
JOB = """import json, os, signal, sys
channel, settings = int(sys.argv[1]), json.loads(sys.argv[3])
files = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
os.write(channel, json.dumps({"length": len(sys.argv[3]), "starter": os.getppid(), "word": os.environ.get("WORD"),
                              "has_gstreamer": "gstreamer" in sys.modules, "files": files,
                              "sockets": sum(os.readlink(f"/proc/self/fd/{number}").startswith("socket:")
                                             for number in os.listdir("/proc/self/fd")
                                             if os.path.exists(f"/proc/self/fd/{number}"))}).encode() + b"\\n")
if settings.get("end") == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if settings.get("end") == "orphaned":
    os.kill(os.getppid(), signal.SIGKILL)
if settings.get("end") == "waits":
    sys.stdin.read()
    os.write(channel, b'{"problem": "nothing waits for it"}\\n')
"""


class Jobs(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.program = os.path.join(folder, "job.py")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(JOB)
        self.enterContext(unittest.mock.patch.object(processes, "JOB", self.program))

    def run_jobs(self, *settings, begun=lambda process: None, wrapper=()):
        """The messages and the problem of each job."""
        async def run_all():
            told = [[] for _ in settings]
            problems = await asyncio.gather(*(processes.run("file", one, heard.append, begun, wrapper)
                                              for one, heard in zip(settings, told, strict=True)))
            return list(zip(told, problems, strict=True))
        return asyncio.run(run_all())

    def run_job(self, settings=None, **options):
        (told, problem), = self.run_jobs(settings or {}, **options)
        return told[0], problem

    def test_jobs_started_at_once_are_forked_by_one_starter_process(self):
        jobs = self.run_jobs(*[{}] * 20)
        self.assertEqual({problem for _, problem in jobs}, {None})
        self.assertEqual(len({told[0]["starter"] for told, _ in jobs}), 1)
        told, problem = self.run_job()
        self.assertEqual((told["starter"], problem), (jobs[0][0][0]["starter"], None))

    def test_jobs_of_a_forked_starter_inherit_no_socket_and_no_file_that_is_to_be_closed(self):
        code = f"""import asyncio, json, os
from transcode import processes
processes.JOB = {self.program!r}
file = open(processes.JOB)
processes.Starter.fork(file.close)
messages = []
print(json.dumps([os.getpid(), asyncio.run(processes.run("file", {{}}, messages.append)), messages]))
print(os.path.exists(f"/proc/self/fd/{{file.fileno()}}"))"""
        said, is_open = media.run(sys.executable, "-c", code, cwd=media.ROOT / "pipelines").splitlines()
        number, problem, (job,) = json.loads(said)
        self.assertEqual((problem, job["sockets"], job["has_gstreamer"], is_open), (None, 0, True, "True"))
        self.assertNotIn(self.program, job["files"])
        self.assertNotEqual(job["starter"], number)

    def test_libraries_are_loaded_when_openblas_may_start_no_thread(self):
        """Libraries of FFmpeg use OpenBLAS, and threads do not survive the fork."""
        folder = os.path.dirname(self.program)
        with open(os.path.join(folder, "av.py"), "w", encoding="utf-8") as file:
            file.write("import os\nprint(os.environ.get('OPENBLAS_NUM_THREADS'), len(os.listdir('/proc/self/task')))\n")
        code = f"import sys\nfrom transcode import starter\nsys.path.insert(0, {folder!r})\nstarter.load_libraries()"
        self.assertEqual(media.run(sys.executable, "-c", code, cwd=media.ROOT / "pipelines"), "1 1\n")

    def run_while_one_waits(self, between=lambda: None):
        """The messages of a job, and of another job that ran to its end meanwhile."""
        async def run_both():
            begun = asyncio.get_running_loop().create_future()
            first = asyncio.ensure_future(processes.run("file", {"end": "waits"}, told.append, begun.set_result))
            process = await begun
            while not told:
                await asyncio.sleep(0.01)
            between()
            self.assertIsNone(await processes.run("file", {}, told.append))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(await first, "the job was ended by SIGTERM")

        told = []
        asyncio.run(run_both())
        return told

    def test_job_process_inherits_no_socket_of_other_jobs(self):
        """The ends of jobs that run at once would not be seen, nor the end of the program."""
        self.assertEqual([job["sockets"] for job in self.run_while_one_waits()], [0, 0])

    def test_job_settings_of_megabytes_arrive_complete(self):
        text = "x" * 2**22
        told, problem = self.run_job({"text": text})
        self.assertEqual((told["length"], problem), (len(text) + len('{"text": ""}'), None))

    def test_job_when_killed_has_a_problem_that_names_the_signal(self):
        for number in (signal.SIGKILL, signal.SIGSEGV):
            (_, problem), = self.run_jobs({"end": "waits"}, begun=lambda process, sent=number: process.send_signal(sent))
            self.assertEqual(problem, f"the job was ended by {number.name}")
        self.assertEqual(self.run_job({"end": "killed"})[1], "the job was ended by SIGKILL")

    def test_job_after_the_starter_process_was_killed_gets_another_starter_process(self):
        told, problem = self.run_job({"end": "orphaned"})
        self.assertEqual(problem, "the job ended because the process that started it ended")
        after, problem = self.run_job()
        self.assertIsNone(problem)
        self.assertNotEqual(after["starter"], told["starter"])

    def test_job_after_a_starter_process_died_gets_another_one_also_while_the_first_seems_to_live(self):
        """A process that is killed closes its sockets one after another."""
        with unittest.mock.patch.object(processes.Starter, "has_ended", return_value=False):
            told, _ = self.run_job({"end": "orphaned"})
            after, problem = self.run_job()
        self.assertIsNone(problem)
        self.assertNotEqual(after["starter"], told["starter"])

    def test_job_after_a_change_of_the_environment_has_the_new_environment(self):
        """A job of the previous starter is still reported to its end."""
        self.addCleanup(os.environ.pop, "WORD", None)
        before, after = self.run_while_one_waits(lambda: os.environ.update(WORD="another"))
        self.assertEqual((before["word"], after["word"]), (None, "another"))
        wrapped, _ = self.run_job(wrapper=("/usr/bin/env", "WORD=wrapped"))
        self.assertEqual(wrapped["word"], "wrapped")

    def test_jobs_initialise_gstreamer_themselves_if_it_would_load_a_driver_into_the_starter(self):
        """Drivers do not survive the fork."""
        self.assertTrue(self.run_job()[0]["has_gstreamer"], "otherwise the starter has initialised it for all jobs")
        folder = os.path.dirname(self.program)
        with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write("import mmap\nwith open(__file__.replace('sitecustomize.py', 'libcuda.so.1'), 'w+b') as library:\n"
                       "    library.truncate(4096)\n    loaded = mmap.mmap(library.fileno(), 4096)\n")
        told, problem = self.run_job(wrapper=("/usr/bin/env", f"PYTHONPATH={folder}"))
        self.assertEqual((told["has_gstreamer"], problem), (False, None))

    def test_job_whose_wrapper_command_fails_reports_that_the_process_that_started_it_ended(self):
        for wrapper in (("/usr/bin/false",), ("/usr/bin/sleep", "0.1", "--help")):
            asked = self.run_jobs({}, {}, wrapper=wrapper)
            self.assertEqual([problem for _, problem in asked], ["the job ended because the process that started it ended"] * 2)

    def test_requests_to_a_dead_starter_process_end_without_hanging(self):
        """A request after them gets the error ECONNRESET, and later requests get EPIPE."""
        starter = processes.Starter.program(("/bin/sh", "-c", "sleep 0.2"))
        self.addCleanup(starter.requests.close)
        channel = os.open(os.devnull, os.O_WRONLY)
        self.addCleanup(os.close, channel)
        for _ in range(3):
            process = processes.Process(*starter.start([processes.JOB, "file", "{}"], channel))
            self.addCleanup(process.close)
            starter.process.wait()
            asyncio.run(process.begun())
            self.assertIsNone(asyncio.run(process.wait()))


if __name__ == "__main__":
    main()
