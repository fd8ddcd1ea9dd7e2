"""Why a video gives no frame: no decoder is installed for it, or the decoder finds nothing."""

from decoding import av
from probe import InputProblem

# PyAV 10 to 16 raise these for a file that cannot be opened or decoded. A stream without a decoder would give a
# RuntimeError or an AttributeError: see expect_decoder().
FILE_ERRORS = (av.error.FFmpegError, OSError, MemoryError)


def error_reason(error):
    """The text of an exception, without a file's name."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def expect_decoder(stream):
    """Raises InputProblem if PyAV's FFmpeg cannot decode a stream of ffprobe's."""
    name = stream.get("codec_name", "unknown")
    try:
        av.codec.Codec(name, "r")
    except ValueError as unknown:  # PyAV's UnknownCodecError is in different modules in different versions
        codec = "unknown codec" if name == "unknown" else f"codec {name}"
        raise InputProblem(f"no decoder is installed for its video: {codec}"
                           f" (tag {stream.get('codec_tag_string', 'none')})") from unknown


def why_no_frame(source):
    """Why no frame of an Input can be decoded. Reads the file up to the first packet that the decoder refuses."""
    packets = 0
    try:
        with av.open("file:" + source.path, metadata_errors="replace") as file:
            for packet in file.demux(file.streams[source.picture["index"]]):
                packets += packet.size > 0
                try:
                    packet.decode()
                except av.error.EOFError:
                    break
                except av.error.FFmpegError as error:
                    return f"the decoder refuses its packets ({error_reason(error)})"
    except FILE_ERRORS as error:
        return error_reason(error)
    return f"the decoder makes no picture of its {packets} packets" if packets else "it holds no packets of video"
