"""Background subtraction: the class BackgroundCut."""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import Array, max_threads
from ._parameters import Parameters, documents_parameters

CHANNELS = ("RGB", "BGR")
PARTS = ("background", "foreground")


class BackgroundParameters(TypedDict, total=False):
    """The parameters of BackgroundCut, for type checkers."""

    source: str
    lambda_: float
    sigma: float
    neighbours: str
    var_threshold: float
    shadow: float
    shadow_darkest: float
    foreground_colors: bool
    learning_rate: float
    history: int
    freeze: bool
    mask_foreground: int
    mask_background: int
    warm_start: bool
    max_iterations: int
    time_budget: int
    feather: int
    replace_with: str
    replace_color: str
    blur: int
    pixelate: int
    grow: int
    hold: int


@documents_parameters(_core.background_fields())
class BackgroundCut(Parameters):
    """Separates moving foreground from the background of a video, picture by picture.

    A background model rates each pixel, and an exact minimum cut finds the foreground. This is the algorithm of the
    element `graphcutbg`. It is used like `cv2.BackgroundSubtractorMOG2`. The first picture initialises the model and is
    background everywhere. A picture of another size or type restarts the model. Several threads may use one object; it
    processes their pictures one after another.

    Parameters
    ----------
    channels : str
        Order of the colour channels: "RGB", or "BGR" as in OpenCV.
    background : uint8 array, optional
        A picture without foreground that initialises the model. It has the size of the pictures of the video.
    exclusion : uint8 array of shape (H, W), optional
        Pixels where it is 128 or more are always background and do not update the model.
    replace : str, optional
        "background" or "foreground". `apply` then returns the picture with this part replaced instead of the mask, like
        the element with `output=replace`. `replace_with` selects the new content.
    replace_image : uint8 array, optional
        The new content for `replace_with="image"`. It has the size of the pictures of the video.
    threads : int
        Maximum number of CPU threads, as for `label`. The result does not depend on it.
    {parameters}

    Attributes
    ----------
    background : the learned background picture
    replace : the replaced part, or None
    flow : value of the last cut, in the internal unit of the algorithm
    exact : True if the last cut is a minimum cut, False if `max_iterations` or `time_budget` stopped it early
    restarted : True if the last picture restarted the model, because the whole picture changed, or because it had
        another size or type than the picture before
    scene_change : the sudden change of the whole picture that the last picture shows: "light", "infrared", "covered",
        "moved", "defocused", "frozen" or "other"; else "none". `docs/events.md` describes them. With a change, no pixel
        is foreground, except with `freeze` or a mask.
    Each parameter is also an attribute, and can be set between two pictures.

    Raises
    ------
    TypeError
        A parameter does not exist, or its value has the wrong type.
    ValueError
        A value is outside its range.
    """

    _fields = _core.background_fields()
    _state_name = "background model exists"

    source: str
    lambda_: float
    sigma: float
    neighbours: str
    var_threshold: float
    shadow: float
    shadow_darkest: float
    foreground_colors: bool
    learning_rate: float
    history: int
    freeze: bool
    mask_foreground: int
    mask_background: int
    warm_start: bool
    max_iterations: int
    time_budget: int
    feather: int
    replace_with: str
    replace_color: str
    blur: int
    pixelate: int
    grow: int
    hold: int

    def __init__(self, *, channels: str = "RGB", background: Array | None = None, exclusion: Array | None = None,
                 replace: str | None = None, replace_image: Array | None = None, threads: int = 0,
                 **parameters: Unpack[BackgroundParameters]) -> None:
        if channels not in CHANNELS:
            raise ValueError(f"channels is {channels!r}, must be 'RGB' or 'BGR'")
        if replace is not None and replace not in PARTS:
            raise ValueError(f"replace is {replace!r}, must be 'background', 'foreground' or None")
        self._replace = replace
        self._channels = channels
        self._is_bgr = channels == "BGR"
        self._is_gray = False  # whether the last picture was gray
        self._threads = max_threads(threads)
        self._algorithm = _core.BackgroundCut(replace or "")
        self._pictures: dict[str, NDArray[np.uint8]] = {}  # copies of the pictures of the constructor, by name
        self.set(**parameters)
        for name, picture in (("background", background), ("exclusion", exclusion), ("replace_image", replace_image)):
            if picture is not None:
                self._give(name, picture)

    def _give(self, name: str, picture: Array) -> None:
        """Passes a picture of the constructor to the algorithm."""
        on_host = _device_arrays.to_host(picture)
        if name == "exclusion":
            pixels = _arrays.as_picture(on_host, name, channels=())
            self._algorithm.give_exclusion(pixels)
        else:
            pixels = _arrays.as_picture(on_host, name)
            give = self._algorithm.give_background if name == "background" else self._algorithm.give_replace_image
            give(pixels, self._is_bgr)
        self._pictures[name] = pixels.copy()

    @property
    def channels(self) -> str:
        """Order of the colour channels: "RGB" or "BGR"."""
        return self._channels

    @property
    def replace(self) -> str | None:
        """The part that apply() replaces: "background", "foreground", or None if it returns masks."""
        return self._replace

    @property
    def background(self) -> NDArray[np.uint8]:
        """The learned background: the most frequent colour of each pixel, rounded by up to 3 of 255 steps.

        A picture of shape (H, W) after gray pictures, else of shape (H, W, 3) in the order of `channels`. The cut waits
        for the last picture.

        Raises
        ------
        ValueError
            No picture has been processed yet.
        """
        model = self._algorithm.state()
        if not model:
            raise ValueError(f"no {self._state_name} yet; call apply() first")
        # The words 2 and 3 are the width and the height. The last words are the colours of the background as packed
        # luma and chroma (BT.601, full range): see core/graphcutbg/stored_model.hpp.
        words = np.frombuffer(model, "<u4")
        width, height = map(int, words[2:4])
        colors = words[-width * height:].reshape(height, width)
        luma = (colors & 255).astype(np.uint8)
        if self._is_gray:
            return luma
        blue_part, red_part = ((colors >> shift & 255).astype(np.float32) - 128 for shift in (8, 16))
        rgb = luma[..., np.newaxis] + np.stack(
            [1.402 * red_part, -0.344136 * blue_part - 0.714136 * red_part, 1.772 * blue_part], -1)
        picture = np.clip(np.rint(rgb), 0, 255).astype(np.uint8)
        return np.ascontiguousarray(picture[..., ::-1]) if self._is_bgr else picture

    def __getstate__(self) -> dict[str, Any]:
        return {"channels": self._channels, "threads": self._threads, "parameters": self.parameters,
                "replace": self._replace, "pictures": self._pictures, "model": self._algorithm.state(), "is_gray": self._is_gray}

    def __setstate__(self, state: dict[str, Any]) -> None:
        BackgroundCut.__init__(self, channels=state["channels"], threads=state["threads"], replace=state["replace"],
                               **state["parameters"], **state["pictures"])
        self._is_gray = state["is_gray"]
        if state["model"]:
            self._algorithm.load(state["model"])

    @property
    def flow(self) -> int:
        return int(self._algorithm.report()[0])

    @property
    def exact(self) -> bool:
        return bool(self._algorithm.report()[1])

    @property
    def restarted(self) -> bool:
        return bool(self._algorithm.report()[2])

    @property
    def scene_change(self) -> str:
        return str(self._algorithm.report()[3])

    def apply(self, image: Array, out: Array | None = None, *, mask: Array | None = None, stream: Any = None) -> Array:
        """Returns the foreground of the next picture, or the picture with a part replaced, and updates the model.

        Parameters
        ----------
        image : uint8 array of shape (H, W), (H, W, 3) or (H, W, 4)
            Gray, colour, or colour with an alpha channel, which is ignored.
        out : uint8 array of the shape of the result, optional
            C-contiguous array that is written and returned instead of a new array.
        mask : uint8 array of shape (h, w), optional
            A foreground estimate of any size, 0 to 255. `source` "mask" requires it, and "both" uses it.
        stream : optional
            CUDA stream, as for `label`. A call for an image on a device waits only for the previous picture.

        Returns
        -------
        uint8 array of shape (H, W), 255 in the foreground and 0 in the background. With `replace`, an array of the shape of
        `image`; an alpha channel stays as it is.

        Raises
        ------
        TypeError
            `image`, `mask` or `out` is not uint8.
        ValueError
            An array has another shape than stated, or a picture of the constructor has another size than `image`. Or
            `replace_with` is "image", but `replace_image` was not given.
        """
        if self._replace and self.replace_with == "image" and "replace_image" not in self._pictures:
            raise ValueError("replace_with is 'image', which requires replace_image, a picture")
        if device_array := _device_arrays.as_device_array(image):
            with _device_arrays.on_stream(device_array, stream):
                return self._apply_on_device(device_array, out, mask)
        pixels = _arrays.as_picture(image, "image")
        result = _arrays.separate_output(out, self._result_shape(pixels.shape), np.uint8, pixels, "image")
        estimate = None
        if mask is not None:
            estimate = _arrays.as_picture(mask, "mask", channels=())
            _arrays.warn_of_dark_mask(estimate, "mask", self.mask_foreground)
        self._algorithm.apply(pixels, self._is_bgr, estimate, result, (self._threads, *_arrays.CPU_TARGET))
        self._is_gray = pixels.ndim == 2
        return _arrays.result_of(result, out, image)

    def _result_shape(self, image_shape: tuple[int, ...]) -> tuple[int, ...]:
        return image_shape if self._replace else image_shape[:2]

    def _apply_on_device(self, image: _device_arrays.DeviceArray, out: Array | None, mask: Array | None) -> Array:
        _arrays.expect_picture(image, "image")
        target = image.target()
        estimate = None
        if mask is not None:
            device_mask = _device_arrays.expect_same_device(mask, "mask", image, "image")
            _arrays.expect_picture(device_mask, "mask", channels=())
            estimate = device_mask.packed().capsule(target)
        result = _device_arrays.separate_output(out, self._result_shape(image.shape), np.dtype(np.uint8), image, "image")
        output_capsule = image.library.capsule(result, target)
        self._algorithm.apply(image.packed().capsule(target), self._is_bgr, estimate, output_capsule, target)
        self._is_gray = image.ndim == 2
        return image.library.finished(result, target) if out is None else out


def refine(image: Array, mask: Array, *, margin: int = 8, channels: str = "RGB", threads: int = 0,
           **parameters: Unpack[BackgroundParameters]) -> Array:
    """Moves the border of a coarse mask to the edges of a picture, by an exact minimum cut.

    Pixels further from the border than `margin` keep their label. For the others, the contrast between neighbours decides,
    and the colours of object and surroundings, which are learnt around the object. This is `graphcutbg source=mask
    foreground-colors=true`.

    Parameters
    ----------
    image : uint8 array of shape (H, W), (H, W, 3) or (H, W, 4)
        Gray, colour, or colour with an alpha channel, which is ignored.
    mask : bool or uint8 array of shape (H, W)
        The coarse mask. Nonzero is foreground.
    margin : int
        The largest error of the mask, in pixels and along each axis. 0: the mask is certain everywhere.
    channels : str
        Order of the colour channels: "RGB" or "BGR".
    threads : int
        Maximum number of CPU threads, as for `label`. The result does not depend on it.
    parameters : optional
        Parameters of `BackgroundCut`, such as `sigma`. The default of `lambda_` is 4 here.

    Returns
    -------
    uint8 array of shape (H, W), 255 in the foreground and 0 in the background

    Raises
    ------
    TypeError
        `image` or `mask` has the wrong type, or a parameter does not exist.
    ValueError
        The arrays have another shape than stated, or `margin` is negative.
    """
    if margin < 0:
        raise ValueError(f"margin is {margin}, must be at least 0")
    pixels = _arrays.as_picture(_device_arrays.to_host(image), "image")
    coarse = np.asarray(_device_arrays.to_host(mask))
    if coarse.dtype not in (np.bool_, np.uint8):
        raise TypeError(f"mask has type {coarse.dtype}, must be bool or uint8")
    if coarse.shape != pixels.shape[:2]:
        raise ValueError(f"mask has shape {coarse.shape}, must have that of the image, {pixels.shape[:2]}")
    outside, inside = (_within(coarse != 0, margin, combine) for combine in (np.logical_or, np.logical_and))
    refined = np.zeros(coarse.shape, np.uint8)
    if not outside.any():
        return refined
    # Only surroundings of twice the margin: colours further away say little about the border.
    part = tuple(slice(max(0, places.min() - 2 * margin), places.max() + 2 * margin + 1) for places in outside.nonzero())
    certain = np.where(inside, 255, np.where(outside, 128, 0)).astype(np.uint8)[part]
    settings: BackgroundParameters = {"source": "mask", "foreground_colors": True, "lambda_": 4.0, **parameters}
    cut = BackgroundCut(channels=channels, threads=threads)
    cut.set(**settings)
    refined[part] = cut.apply(np.ascontiguousarray(pixels[part]), mask=np.ascontiguousarray(certain))
    return refined


def _within(mask: NDArray[np.bool_], margin: int, combine: np.ufunc) -> NDArray[np.bool_]:
    """Combines each pixel with all pixels up to `margin` pixels away along both axes, inside the picture."""
    for axis in (0, 1):
        whole = mask.swapaxes(0, axis)
        combined = whole.copy()
        for step in range(1, min(margin, len(whole) - 1) + 1):
            combine(combined[step:], whole[:-step], out=combined[step:])
            combine(combined[:-step], whole[step:], out=combined[:-step])
        mask = combined.swapaxes(0, axis)
    return mask
