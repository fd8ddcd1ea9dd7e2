"""Superpixels: the function slic."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _device_arrays
from ._arrays import Array, threads_for
from ._parameters import with_argument_names
from .tables import table_of

MAX_SIDE = 65535  # the longest axis
MAX_ITERATIONS = 100
DEFAULT_MAX_SIZE = 3  # the default of max_size_factor
# The arguments of `slic` for the fields of the algorithm.
FIELD_ARGUMENTS = {"superpixels": "n_segments", "iterations": "max_num_iter", "min-size": "min_size_factor"}


class Options(TypedDict, total=False):
    """Keyword arguments of `slic` that do not change the type of the result."""

    sigma: float | Sequence[float]
    spacing: Sequence[float] | None
    convert2lab: bool | None
    enforce_connectivity: bool
    min_size_factor: float
    max_size_factor: float
    slic_zero: bool
    start_label: int
    mask: NDArray[Any] | None
    channel_axis: int | None
    out: NDArray[np.int32] | None
    threads: int


Labels = NDArray[np.int32]


@overload
def slic(image: NDArray[Any], n_segments: float = ..., compactness: float = ..., max_num_iter: int = ..., *,
         return_table: Literal[False] = ..., return_adjacency: Literal[False] = ...,
         **options: Unpack[Options]) -> Labels: ...
@overload
def slic(image: NDArray[Any], n_segments: float = ..., compactness: float = ..., max_num_iter: int = ..., *,
         return_table: Literal[True], return_adjacency: Literal[False] = ...,
         **options: Unpack[Options]) -> tuple[Labels, NDArray[Any]]: ...
@overload
def slic(image: NDArray[Any], n_segments: float = ..., compactness: float = ..., max_num_iter: int = ..., *,
         return_table: Literal[False] = ..., return_adjacency: Literal[True],
         **options: Unpack[Options]) -> tuple[Labels, NDArray[np.int32]]: ...
@overload
def slic(image: NDArray[Any], n_segments: float = ..., compactness: float = ..., max_num_iter: int = ..., *,
         return_table: Literal[True], return_adjacency: Literal[True],
         **options: Unpack[Options]) -> tuple[Labels, NDArray[Any], NDArray[np.int32]]: ...
@overload  # for lists, and for arrays of other libraries
def slic(image: Array, n_segments: float = ..., compactness: float = ..., max_num_iter: int = ...,
         sigma: float | Sequence[float] = ..., spacing: Sequence[float] | None = ..., convert2lab: bool | None = ...,
         enforce_connectivity: bool = ..., min_size_factor: float = ..., max_size_factor: float = ...,
         slic_zero: bool = ..., start_label: int = ..., mask: Array | None = ..., *, channel_axis: int | None = ...,
         return_table: bool = ..., return_adjacency: bool = ..., out: Array | None = ..., threads: int = ...,
         stream: Any = ...) -> Any: ...
def slic(image: Array, n_segments: float = 100, compactness: float = 10.0, max_num_iter: int = 10,
         sigma: float | Sequence[float] = 0, spacing: Sequence[float] | None = None, convert2lab: bool | None = None,
         enforce_connectivity: bool = True, min_size_factor: float = 0.5, max_size_factor: float = 3,
         slic_zero: bool = False, start_label: int = 1, mask: Array | None = None, *, channel_axis: int | None = -1,
         return_table: bool = False, return_adjacency: bool = False, out: Array | None = None, threads: int = 0,
         stream: Any = None) -> Any:
    """Divides a picture or volume into superpixels: compact, connected regions of similar colour.

    It has the arguments of `skimage.segmentation.slic`. uint8 pictures without further options are processed by the
    algorithm of the element `slicsuperpixel`, which is many times as fast. Its borders differ slightly from
    scikit-image where a pixel fits two superpixels about equally well, and gray pictures are compared by lightness.
    Everything else is processed in double precision by the published method, by one thread.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, C), (D, H, W) or (D, H, W, C)
        Gray, colour or any number C of channels, of any integer or floating-point type. On a CUDA device, a uint8 array
        of shape (H, W) or (H, W, 3), without the options from `sigma` on that differ from their defaults, except
        `convert2lab`, `min_size_factor`, `slic_zero` and `start_label`.
    n_segments : number
        Approximate number of superpixels, at least 1; fractions are rounded down. The fast algorithm uses an initial
        grid with cells of at most 512 × 512 pixels.
    compactness : float
        Colour distance that counts as much as the spacing of the superpixels, above 0. A higher value makes superpixels
        more compact. In CIELAB, distances are in its units. Otherwise, the values of the image are scaled to 0 to 1
        first. The fast algorithm accepts 0 to 1000 and compares gray pictures by lightness, 0 to 100.
    max_num_iter : int
        Maximum number of iterations, 0 to 100.
    sigma : number, or one number per axis of the picture or volume
        Standard deviation of the Gaussian filter that smooths the image first; 0: no filter.
    spacing : sequence of numbers, optional
        Distance of neighbouring pixels along each axis. The default is 1.
    convert2lab : bool, optional
        Compare colours in CIELAB. The default is True for 3 channels. False compares the values of the image.
    enforce_connectivity : bool
        Merge small pieces of superpixels, so that each superpixel is connected.
    min_size_factor, max_size_factor : float
        Minimum and maximum size of a superpixel (fraction of the mean size). A smaller one is merged into a neighbour.
        The fast algorithm accepts a minimum of 0 to 1, and has no maximum.
    slic_zero : bool
        Use SLICO, which adapts the compactness of each superpixel.
    start_label : int
        The lowest label, 0 or 1.
    mask : array of the image's shape without channels, optional
        Superpixels are computed where the mask is not 0. Other pixels get the label `start_label` - 1.
    channel_axis : int, optional
        The axis of the channels. None means that the image has no channels. An image with two axes never has channels.
    return_table : bool
        Also return the table of `regionprops_table` with mean gray, or with mean R, G, B (`intensity_mean_0` …).
    return_adjacency : bool
        Also return the pairs of superpixels that have a common border.
    out : int32 array of the labels' shape, optional
        C-contiguous array that is written and returned instead of a new array.
    threads : int
        Maximum number of CPU threads, as for `label`. The result does not depend on it.
    stream : optional
        CUDA stream, as for `label`. Tables and pairs are always NumPy arrays. For an image on a device, the image and
        the labels are copied to the host for them.

    Returns
    -------
    labels : int32 array of the image's shape without channels, in raster order of the first pixel of each superpixel
    table : structured array; with `return_table` only
    pairs : int32 array of shape (m, 2), sorted, each with the lower label first; with `return_adjacency` only

    Raises
    ------
    TypeError
        The type of the image is not supported, or `out` is not int32.
    ValueError
        The image has another shape, has no elements or has NaN or infinite values inside the mask, an axis has more than
        65535 elements, or a parameter is out of range.
    """
    segments = _arrays.number_of(n_segments, "n_segments")
    if not 1 <= segments < math.inf:
        raise ValueError(f"n_segments is {n_segments}, must be at least 1")
    if start_label not in (0, 1):
        raise ValueError(f"start_label is {start_label}, must be 0 or 1")
    device_array = _device_arrays.as_device_array(image)
    is_simple = (mask is None and spacing is None and enforce_connectivity and not np.any(sigma)
                 and max_size_factor == DEFAULT_MAX_SIZE)
    options = Segmentation(math.floor(segments), compactness, max_num_iter, min_size_factor, slic_zero)
    picture: Any = device_array or as_values(image)
    is_fast = is_simple and _suits_fast_algorithm(picture, channel_axis, convert2lab)
    if device_array and not is_fast:
        raise ValueError(f"image is an array of shape {picture.shape} and type {picture.dtype} on a CUDA device, must be "
                         "uint8 with 1 or 3 channels and without mask, sigma, spacing and size limits; copy it to the "
                         "host")
    if is_fast:
        with with_argument_names(FIELD_ARGUMENTS):
            labels, host_labels, intensity = _fast_labels(picture, options, convert2lab is not False, out, threads,
                                                          stream, return_table or return_adjacency, image)
        if start_label == 0:
            labels = _shifted(labels, out, device_array)
    else:
        if convert2lab and picture.ndim == 2 and channel_axis is not None:
            raise ValueError("image has no channels, must have 3 for convert2lab=True")
        volume = _as_volume(picture, channel_axis)
        host_labels = volume.labels(options, sigma, spacing, convert2lab, enforce_connectivity, max_size_factor, mask)
        intensity = volume.image
        result = _arrays.output_array(out, host_labels.shape, np.int32)
        np.add(host_labels, start_label - 1, out=result)
        labels = _arrays.result_of(result, out, image)
    results = [labels]
    if return_table:
        table = table_of(host_labels, int(host_labels.max()), intensity)
        table["label"] += start_label - 1
        results.append(table)
    if return_adjacency:
        pairs = np.frombuffer(bytearray(_core.touching(host_labels)), np.int32).reshape(-1, 2)
        results.append(pairs + np.int32(start_label - 1))
    return results[0] if len(results) == 1 else tuple(results)


class Segmentation(NamedTuple):
    """The parameters that both algorithms use."""

    n_segments: int
    compactness: float
    max_num_iter: int
    min_size_factor: float
    slic_zero: bool


def as_values(image: Array) -> NDArray[Any]:
    """Converts the image to a NumPy array. float16 becomes float32."""
    if getattr(image, "dtype", None) == np.float16:
        image = np.asarray(image, np.float32)
    return _arrays.as_numpy(image, "image")


def _suits_fast_algorithm(image: Any, channel_axis: int | None, convert2lab: bool | None) -> bool:
    """Returns whether the algorithm of the element `slicsuperpixel` supports the image."""
    if image.dtype != np.uint8 or image.ndim not in (2, 3):
        return False
    if image.ndim == 2:
        return True
    return image.shape[2] == 3 and channel_axis in (-1, 2)


def _fast_labels(image: Any, options: Segmentation, uses_lab: bool, out: Array | None, threads: int, stream: Any,
                 needs_count: bool, original: Array) -> tuple[Array, NDArray[np.int32], NDArray[Any]]:
    """Returns the labels, and both labels and image on the host if `needs_count` is set."""
    settings = [("superpixels", str(options.n_segments)), ("compactness", repr(float(options.compactness))),
                ("iterations", str(options.max_num_iter)), ("color-space", "lab" if uses_lab else "rgb"),
                ("min-size", repr(float(options.min_size_factor))), ("variant", "slico" if options.slic_zero else "slic"),
                ("output", "none")]
    _arrays.expect_picture(image, "image", channels=(3,))
    if isinstance(image, _device_arrays.DeviceArray):
        with _device_arrays.on_stream(image, stream):
            labels = _device_arrays.separate_output(out, image.shape[:2], np.dtype(np.int32), image, "image")
            target = image.target()
            _core.slic(image.packed().capsule(target), image.library.capsule(labels, target), settings, needs_count,
                       target)
            labels = image.library.finished(labels, target) if out is None else out
        return labels, *((image.wrap(labels).host().copy(), image.host()) if needs_count else (labels, labels))
    pixels = _arrays.as_picture(image, "image", channels=(3,))
    result = _arrays.output_array(out, pixels.shape[:2], np.int32)
    _core.slic(pixels, result, settings, needs_count, (threads_for(result, threads), *_arrays.CPU_TARGET))
    host_labels = result.copy() if needs_count else result
    return _arrays.result_of(result, out, original), host_labels, pixels


def _shifted(labels: Array, out: Array | None, device_array: _device_arrays.DeviceArray | None) -> Array:
    """Returns the labels minus 1."""
    if out is None:
        return labels - 1
    if device_array:
        labels -= 1
        return labels
    values = _arrays.output_array(out, tuple(out.shape), np.int32)
    values -= 1
    return out


def _as_volume(image: NDArray[Any], channel_axis: int | None) -> Volume:
    """Converts an image to a volume with channels."""
    has_channels = channel_axis is not None and image.ndim > 2
    if image.ndim not in ((3, 4) if has_channels else (2, 3)):
        raise ValueError(f"image has {image.ndim} axes, must have 2 or 3, and one more for channels")
    if 0 in image.shape:
        raise ValueError(f"image has no elements: its shape is {image.shape}, each axis must have at least 1")
    if has_channels:
        image = np.moveaxis(image, operator.index(channel_axis), -1)  # type: ignore[arg-type]
    return Volume(image, has_channels)


class Volume:
    """An image for the general method: a volume with channels, and its relation to the axes of the image."""

    def __init__(self, image: NDArray[Any], has_channels: bool) -> None:
        self.image = image
        self.shape = image.shape[:-1] if has_channels else image.shape
        self.is_picture = len(self.shape) == 2
        self.has_channels = has_channels
        values = image if has_channels else image[..., None]
        self.values = (values[None] if self.is_picture else values).astype(np.float64)
        for side in self.shape:
            if side > MAX_SIDE:
                raise ValueError(f"an axis has {side} elements, must be 1 to {MAX_SIDE}")

    def labels(self, options: Segmentation, sigma: float | Sequence[float], spacing: Sequence[float] | None,
               convert2lab: bool | None, enforce_connectivity: bool, max_size_factor: float,
               mask: Array | None) -> NDArray[np.int32]:
        """Returns the labels 1, 2, … of the superpixels, and 0 outside the mask."""
        if not options.compactness > 0:
            raise ValueError(f"compactness is {options.compactness}, must be above 0 for this image")
        if not 0 <= options.max_num_iter <= MAX_ITERATIONS:
            raise ValueError(f"max_num_iter is {options.max_num_iter}, must be 0 to {MAX_ITERATIONS}")
        inside = self._inside(mask)
        distances = self._per_axis(spacing, "spacing", 1)
        if (distances <= 0).any():
            raise ValueError(f"spacing is {spacing}, must be above 0")
        sides = np.asarray(sigma, float)
        deviations = np.full(3, sides) / distances if sides.ndim == 0 else self._per_axis(sigma, "sigma", 0)
        image = self._prepared(inside, deviations, convert2lab) / options.compactness
        shape = self.values.shape[:3]
        places, step = (_grid_centers(shape, options.n_segments) if inside is None
                        else _mask_centers(inside, options.n_segments, self.has_channels))
        centers = np.ascontiguousarray(np.concatenate([places, np.zeros((len(places), image.shape[3]))], 1))
        reach = [2 * part.step if part.step else 2 for part in _regular_grid(shape, len(places))]
        clusters = np.empty(shape, np.int32)
        for ignores_color in (False,) if inside is None else (True, False):
            _core.cluster_pixels(image, inside, centers, reach, step, options.max_num_iter, distances.tolist(),
                                 options.slic_zero, ignores_color, clusters)
        lost = clusters < 0  # no search window contains these pixels
        clusters[lost if inside is None else lost & inside] = len(places) if enforce_connectivity else 0
        if enforce_connectivity:
            mean_size = (clusters.size if inside is None else int(inside.sum())) / len(places)
            _core.connect_clusters(clusters, int(options.min_size_factor * mean_size),
                                   max(1, int(max_size_factor * mean_size)))
        clusters += 1
        return clusters[0] if self.is_picture else clusters

    def _inside(self, mask: Array | None) -> NDArray[np.bool_] | None:
        if mask is None:
            return None
        inside = np.ascontiguousarray(_arrays.as_numpy(mask, "mask") != 0)
        if inside.shape != self.shape:
            raise ValueError(f"mask has shape {inside.shape}, must have {self.shape}, the shape of the image without "
                             "channels")
        if not inside.any():
            raise ValueError("mask is 0 everywhere, must have at least one other element")
        return inside[None] if self.is_picture else inside

    def _per_axis(self, numbers: Any, name: str, missing: float) -> NDArray[np.float64]:
        """Returns an argument with one number per axis as three numbers. `missing` is for the axis of a picture."""
        if numbers is None:
            return np.ones(3)
        array = np.asarray(numbers, float)
        axes = len(self.shape)
        if array.shape == (3,) and self.is_picture:
            warnings.warn(f"Input image is 2D: {name} number of elements must be 2. In the future, a ValueError will be "
                          "raised.", FutureWarning, stacklevel=4)
            return array
        if array.shape != (axes,):
            raise ValueError(f"{name} has shape {array.shape}, must have {axes} numbers, one for each axis")
        return np.array([missing, *array]) if self.is_picture else array

    def _prepared(self, inside: NDArray[np.bool_] | None, deviations: NDArray[np.float64],
                  convert2lab: bool | None) -> NDArray[np.float64]:
        """Returns the image scaled to 0 to 1, in CIELAB if requested, and smoothed."""
        values = self.values if inside is None else self.values[inside]
        least, most = values.min(), values.max()
        if not (np.isfinite(least) and np.isfinite(most)):
            raise ValueError("image has NaN or infinite values, must have finite values inside the mask")
        image = (self.values - least) / (most - least or 1)
        channels = image.shape[3] if self.has_channels else 1
        if convert2lab and self.has_channels and channels != 3:
            raise ValueError(f"image has {channels} channels, must have 3 for convert2lab=True")
        if inside is not None:
            image[~inside] = 0  # values outside the mask may be infinite
        if channels == 3 and convert2lab is not False:
            image = _lab_of(image)
        for axis, deviation in enumerate(deviations):
            if deviation > 0:
                image = _smoothed(image, axis, float(deviation))
        return np.ascontiguousarray(image)


def _lab_of(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """Converts sRGB (0 to 1) to CIELAB with the white point D65 (IEC 61966-2-1, CIE 15)."""
    linear = np.where(rgb > 0.04045, ((np.maximum(rgb, 0) + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    to_xyz = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
    xyz = linear @ to_xyz.T / (0.95047, 1, 1.08883)
    x, y, z = np.moveaxis(np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116), -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], -1)


def _smoothed(image: NDArray[np.float64], axis: int, deviation: float) -> NDArray[np.float64]:
    """Applies a Gaussian filter along one axis. Beyond the border, the image is mirrored."""
    radius = int(4 * deviation + 0.5)
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / deviation) ** 2)
    weights /= weights.sum()
    wide = np.pad(image, [(radius, radius) if k == axis else (0, 0) for k in range(image.ndim)], "symmetric")
    side = image.shape[axis]
    smooth = np.zeros_like(image)
    for k, weight in enumerate(weights):
        smooth += weight * wide[tuple(slice(k, k + side) if j == axis else slice(None) for j in range(image.ndim))]
    return smooth


def _regular_grid(shape: tuple[int, ...], points: int) -> list[slice]:
    """Returns slices that select about `points` elements of an array, at equal distances along all axes."""
    axes = len(shape)
    order = np.argsort(shape)
    sides = np.sort(shape).astype(float)
    if sides.prod() <= points:
        return [slice(None)] * axes
    steps = np.full(axes, (sides.prod() / points) ** (1 / axes))
    for axis in range(axes):  # a short axis gets one point, and the other axes get more
        if (sides >= steps).all():
            break
        steps[axis] = sides[axis]
        if axis + 1 < axes:
            steps[axis + 1:] = (sides[axis + 1:].prod() / points) ** (1 / (axes - axis - 1))
    grid = [slice(None)] * axes
    for axis, step in zip(order, steps):
        grid[axis] = slice(int(step // 2), None, int(np.round(step)))
    return grid


def _grid_centers(shape: tuple[int, ...], count: int) -> tuple[NDArray[np.float64], float]:
    """Returns the first places of about `count` clusters, and the largest distance of neighbours along an axis."""
    grid = _regular_grid(shape, count)
    places = np.stack([index.ravel() for index in np.meshgrid(*(np.arange(side)[part] for side, part in zip(shape, grid)),
                                                             indexing="ij")], 1)
    return places.astype(float), float(max(part.step or 1 for part in grid))


def _mask_centers(inside: NDArray[np.bool_], count: int,
                  has_channels: bool) -> tuple[NDArray[np.float64], float]:
    """Like _grid_centers(), for places inside a mask: the result of k-means from random pixels (maskSLIC)."""
    pixels = np.argwhere(inside).astype(float)
    random = np.random.RandomState(123)  # always the same pixels
    chosen = np.sort(random.choice(len(pixels), min(count, len(pixels)), replace=False))
    axes = 2 if has_channels else 3  # as in scikit-image, so that the results are equal
    dense = 10 ** axes * count  # this many pixels are enough to determine the means
    samples = pixels
    if len(pixels) > dense:
        samples = pixels[np.sort(random.choice(len(pixels), dense, replace=False))]
    places = pixels[chosen]
    _core.move_to_means(np.ascontiguousarray(samples), places, 5)
    if len(places) == 1:
        return places, 1.0
    offsets = np.zeros(3)
    for k, place in enumerate(places):
        distances = ((places - place) ** 2).sum(1)
        distances[k] = np.inf
        offsets += np.abs(place - places[distances.argmin()])
    return places, float((offsets / len(places)).max()) or 1.0
