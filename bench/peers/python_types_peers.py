#!/usr/bin/env python3
"""Times the Python package gst_regions and other packages on arrays that python_peers.py does not have.

These are label images of all element types, Fortran order, tables, small pictures and floods. Options and rows have the
format of python_peers.py.
"""
import itertools

import numpy
import python_peers
from python_peers import Case, blobs, noise

import gst_regions

SIZES = (64, 512, 2048, 4096)
NEIGHBOURS = {2: 8, 3: 26}


def values(shape, count, kind):
    """Noise of `count` values."""
    return numpy.random.default_rng(29).integers(0, count, shape).astype(kind)


def segments(shape, kind, sigma):
    """Smooth regions of the values 0 to 7."""
    layers = [blobs(shape, sigma + k) for k in range(3)]
    return (layers[0] + 2 * layers[1] + 4 * layers[2]).astype(kind)


def tiles(make, side):
    """Pictures of this side, cut from a larger one. Small pictures differ from call to call: a processor learns the branches
    of a small picture that it sees again and again."""
    count = 4 if side <= 512 else 1
    whole = make((count * side, count * side))
    return [whole[y:y + side, x:x + side].copy() for y in range(0, count * side, side) for x in range(0, count * side, side)]


def label_case(images, package="cc3d", **what):
    """Labels of equal values with all neighbours, compared with cc3d or SciPy. Each call has the next image."""
    neighbours = NEIGHBOURS[images[0].ndim]
    size = "x".join(map(str, reversed(images[0].shape)))
    ours, others = itertools.cycle(images), itertools.cycle(images)

    def theirs(module):
        if package == "cc3d":
            return module.connected_components(next(others), connectivity=neighbours)
        return module.label(next(others), numpy.ones([3] * images[0].ndim))[0]
    return Case(package, theirs, lambda threads: gst_regions.label(next(ours), threads=threads), size=size,
                neighbours=neighbours, **what)


def label_cases(depth):
    for side in SIZES:
        for kind in ("int64", "int32", "float32"):
            yield label_case(tiles(lambda shape, k=kind: values(shape, 4, k), side), task="label", content=f"{kind}, 4 values")
        zeros_and_ones = tiles(lambda shape: values(shape, 2, "int64"), side)
        yield label_case(zeros_and_ones, task="label", content="int64, 0 and 1")
        yield label_case(zeros_and_ones, "scipy.ndimage", task="label", content="int64, 0 and 1")
        yield label_case([numpy.arange(side * side).reshape(side, side) + 1], task="label", content="int64, all different")
        yield label_case(tiles(lambda shape: segments(shape, "int64", 4), side), task="label", content="int64, segments")
        yield label_case([numpy.asfortranarray(mask) for mask in tiles(lambda shape: noise(shape, 0.4), side)],
                         task="label", content="bool, Fortran order")
    cube = (depth,) * 3
    for kind in ("uint8", "int64"):
        for sigma in (3, 10):
            yield label_case([segments(cube, kind, sigma)], task="volume", content=f"{kind}, segments of {sigma} voxels")
    for content, mask in (("noise 0.2", noise(cube, 0.2)), ("blobs", blobs(cube))):
        yield label_case([numpy.asfortranarray(mask)], task="volume", content=f"{content}, Fortran order")


def table_cases(width, height):
    def with_table(mask):
        return lambda threads: gst_regions.label(mask, threads=threads, return_table=True)[0]
    shapes = [(16, 16), (32, 32), (64, 64), (height, width)]
    for shape in shapes:
        for content, mask in (("noise 0.3", noise(shape, 0.3)), ("blobs", blobs(shape, 3))):
            picture = mask.astype(numpy.uint8)
            what = {"size": f"{shape[1]}x{shape[0]}", "neighbours": 8}
            yield Case("cv2", lambda cv2, p=picture: cv2.connectedComponentsWithStats(p)[1], with_table(picture),
                       task="label", content=f"{content}, with table", **what)
            if shape[0] <= 32:
                for package, function in (
                        ("cv2", lambda cv2, p=picture: cv2.connectedComponents(p)[1]),
                        ("kornia_rs", lambda m, p=picture[..., None]: m.imgproc.connected_components(p)[1])):
                    yield Case(package, function, lambda threads, p=picture: gst_regions.label(p, threads=threads),
                               task="call", content=content, **what)
    labels = gst_regions.label(noise((height, width), 0.3))
    intensity = numpy.random.default_rng(31).random(labels.shape)
    numbers = numpy.arange(1, labels.max() + 1)
    what = {"task": "regionprops", "size": f"{width}x{height}"}
    yield Case("cc3d", lambda cc3d: cc3d.statistics(labels.astype(numpy.uint32))["voxel_counts"][1:],
               lambda _: gst_regions.regionprops_table(labels)["area"], content="noise 0.3", **what)
    yield Case("fast_regionprops", lambda m: m.regionprops_table_fast(labels, properties=python_peers.PROPERTIES)["area"],
               lambda _: gst_regions.regionprops_table(labels)["area"], content="noise 0.3", **what)
    yield Case("scipy.ndimage", lambda m: m.mean(intensity, labels, numbers),
               lambda _: gst_regions.regionprops_table(labels, intensity)["intensity_mean"],
               content="noise 0.3, mean intensity", **what)


def flood_cases():
    for side in (512, 2048, 10000):
        picture = numpy.zeros((side, side), numpy.uint8)
        picture[10:40, 10:40] = 5
        what = {"task": "label", "size": f"{side}x{side}", "neighbours": 8, "content": "flood of 30x30 pixels"}
        yield Case("cv2", lambda cv2, p=picture: flood_by_cv2(cv2, p, (20, 20)),
                   lambda _, p=picture: gst_regions.flood(p, (20, 20)), **what)
        if side < 10000:
            yield Case("skimage.morphology", lambda m, p=picture: m.flood(p, (20, 20)),
                       lambda _, p=picture: gst_regions.flood(p, (20, 20)), **what)


def flood_by_cv2(cv2, picture, seed):
    mask = numpy.zeros([side + 2 for side in picture.shape], numpy.uint8)
    cv2.floodFill(picture, mask, seed, 0, 0, 0, 8 | cv2.FLOODFILL_MASK_ONLY | 1 << 8)
    return mask[1:-1, 1:-1]


def cases(masks, width, height, depth):
    yield from label_cases(depth)
    yield from table_cases(width, height)
    yield from flood_cases()


def is_equal(task, wanted, found):
    """Whether both answers are equal, except for the numbers of labels."""
    if task == "regionprops":
        return numpy.allclose(wanted, found)
    return python_peers.same_components(wanted, found)


if __name__ == "__main__":
    python_peers.cases, python_peers.is_equal = cases, is_equal
    python_peers.main()
