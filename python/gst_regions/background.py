"""Foreground of streams of pictures: BackgroundCut."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _arrays, _core, _devices
from ._arrays import Array
from ._label_arguments import most_threads
from ._parameters import Parameters, Value, described

CHANNELS = ("RGB", "BGR")


@described(_core.background_fields())
class BackgroundCut(Parameters):
    """Foreground of a video by a background model and an exact minimum cut, picture by picture.

    The algorithm of the element `graphcutbg`; used as `cv2.BackgroundSubtractorMOG2`. The first picture becomes the
    model, and is all background. A picture of another size or type begins anew. May be used by several threads, whose
    pictures come one after another.

    Parameters
    ----------
    channels : str
        "RGB", or "BGR" as OpenCV has it: the order of colours.
    background : uint8 array, optional
        A picture without foreground that the model starts from, of the size of those that come.
    exclusion : uint8 array of shape (H, W), optional
        Where it is 128 or more is always background and teaches nothing.
    threads : int
        As for `label`. The result does not depend on it.
    {parameters}

    Attributes
    ----------
    flow : the last cut's value, in the algorithm's own unit
    exact : whether the last cut is a minimum cut; else it was stopped by `max_iterations` or `time_budget`
    restarted : whether the model began anew with the last picture, as all of it changed

    Raises
    ------
    TypeError
        There is no such parameter, or its value is of a wrong type.
    ValueError
        A value is beyond the limits.
    """

    _words = _core.background_fields()

    def __init__(self, *, channels: str = "RGB", background: Array | None = None, exclusion: Array | None = None,
                 threads: int = 0, **parameters: Value) -> None:
        if channels not in CHANNELS:
            raise ValueError(f"channels is {channels!r}, must be RGB or BGR")
        self._is_bgr = channels == "BGR"
        self._threads = most_threads(threads)
        self._stream = _core.BackgroundCut()
        self.set(**parameters)
        if background is not None:
            self._stream.give_background(_arrays.picture(_devices.hosted(background), "background"), self._is_bgr)
        if exclusion is not None:
            self._stream.give_exclusion(_arrays.picture(_devices.hosted(exclusion), "exclusion", channels=()))

    @property
    def flow(self) -> int:
        return int(self._stream.report()[0])

    @property
    def exact(self) -> bool:
        return bool(self._stream.report()[1])

    @property
    def restarted(self) -> bool:
        return bool(self._stream.report()[2])

    def apply(self, image: Array, out: Array | None = None, *, mask: Array | None = None, stream: Any = None) -> Array:
        """The foreground of the next picture.

        Parameters
        ----------
        image : uint8 array of shape (H, W), (H, W, 3) or (H, W, 4)
            Gray, colours, or colours and an alpha that is not looked at.
        out : uint8 array of shape (H, W), optional
            Written and returned in place of a new array; C-contiguous.
        mask : uint8 array of two axes, optional
            What is known of the foreground already, of any size, for `source` "mask" or "both".
        stream : optional
            As for `label`: of pictures on a device, a call waits for the picture before, not for its own.

        Returns
        -------
        uint8 array of shape (H, W): 255 in the foreground, else 0

        Raises
        ------
        TypeError
            A picture is not uint8.
        ValueError
            A picture has another shape, or `background` or `exclusion` another size than it.
        """
        if device := _devices.on_device(image):
            with _devices.on_stream(device, stream):
                return self._apply_on_device(device, out, mask)
        pixels = _arrays.picture(image, "image")
        place = _arrays.written(out, pixels.shape[:2], np.uint8, pixels, "image")
        known = None if mask is None else _arrays.picture(mask, "mask", channels=())
        self._stream.apply(pixels, self._is_bgr, known, place, (self._threads, *_arrays.HOST))
        return _arrays.given(place, out, image)

    def _apply_on_device(self, image: _devices.DeviceArray, out: Array | None, mask: Array | None) -> Array:
        _arrays.expect_picture(image, "image")
        place = image.place()
        known = None
        if mask is not None:
            told = _devices.beside(mask, "mask", image, "image")
            _arrays.expect_picture(told, "mask", channels=())
            known = told.packed().capsule(place)
        at = _devices.written(out, image.shape[:2], np.dtype(np.uint8), image, "image")
        self._stream.apply(image.packed().capsule(place), self._is_bgr, known, image.library.capsule(at, place), place)
        return image.library.finished(at, place) if out is None else out
