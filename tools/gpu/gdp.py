"""Reads streams of GStreamer's gdppay: buffers with their times."""
import hashlib
import struct

HEADER = 62  # bytes; at 4: type of the payload, its length, presentation time in ns
BUFFER = 1


def timed_digests(pipe):
    """[(time in ns, SHA-256 of the bytes)] of each buffer in a stream of gdppay, in order."""
    found = []
    while header := pipe.read(HEADER):
        if len(header) < HEADER:
            raise ValueError("a stream of gdppay ends within a header")
        kind, length, time = struct.unpack(">HIQ", header[4:18])
        payload = pipe.read(length)
        if len(payload) < length:
            raise ValueError("a stream of gdppay ends within a buffer")
        if kind == BUFFER:
            found.append((time, hashlib.sha256(payload).hexdigest()))
    return found
