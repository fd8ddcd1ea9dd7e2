"""Jobs as processes of their own: a decoder that crashes takes nothing else with it."""

import asyncio
import json
import os
import signal


async def run(command, settings, hear, begun=lambda process: None):
    """Runs a job: a program as job.py is one, started by `command`. `hear(said)` gets what it tells, `begun(process)`
    the process. Returns what went wrong, or None."""
    problem = None
    reader, writer = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *command, str(writer), json.dumps(settings), stdin=asyncio.subprocess.PIPE, pass_fds=(writer,),
        process_group=0)
    os.close(writer)
    begun(process)
    parts = []  # what a job that is killed cannot remove itself
    told = asyncio.StreamReader(limit=2**30)  # a line holds the plan of a file
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(told), os.fdopen(reader, "rb"))
    while line := await told.readline():
        said = json.loads(line)
        if "part" in said:
            parts.append(said["part"])
        elif "problem" in said:
            problem = said["problem"]
        else:
            hear(said)
    status = await process.wait()
    transport.close()
    if status < 0:
        for part in filter(os.path.exists, parts):
            os.remove(part)
        return f"the process was ended by {signal.Signals(-status).name}"
    return problem or (f"the job ended with status {status}" if status else None)
