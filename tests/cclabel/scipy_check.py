#!/usr/bin/env python3
"""Compares cclabel with SciPy's ndimage.label and OpenCV's connectedComponentsWithStats.

usage: scipy_check.py LABEL_FILE

Labels random pictures and photographs (Debian's opencv-doc) with both connectivities, and random volumes with
the connectivities of volumes, which OpenCV lacks. Renumbers SciPy's labels by the first pixels of the regions.
Exits with 77 and a reason if a package is missing.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import cv2
    import numpy as np
    from scipy import ndimage
except ImportError as missing:
    print(f"SKIP: {missing} (install python3-scipy and python3-opencv)")
    sys.exit(77)

PHOTOGRAPHS = pathlib.Path("/usr/share/doc/opencv-doc/examples/data")
LINE = np.dtype([(name, "<f8") for name in (
    "left", "top", "right", "bottom", "area", "x", "y", "mean", "first_x", "first_y", "front",
    "back", "z", "first_z")])


def random_pictures(count):
    """Gray noise, plain or blurred to blobs, in four sizes."""
    generator = np.random.default_rng(20)
    for k in range(count):
        width, height = [(64, 48), (131, 97), (33, 200), (257, 63)][k % 4]
        picture = generator.integers(0, 256, (height, width), dtype=np.uint8)
        if k % 3:
            blurred = ndimage.gaussian_filter(picture.astype(float), 0.5 + k % 5)
            lift = generator.integers(-8, 9)
            picture = np.clip((blurred - blurred.mean()) * 6 + 128 + lift, 0, 255).astype(np.uint8)
        yield f"random {k}", picture


def photographs():
    """Each photograph, unchanged and shifted so that its median is at the threshold."""
    for path in sorted([*PHOTOGRAPHS.glob("*.jpg"), *PHOTOGRAPHS.glob("*.png")]):
        picture = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        if picture is None:
            continue
        scale = min(1.0, 320 / max(picture.shape))
        picture = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        yield path.name, picture
        moved = picture.astype(int) + 128 - int(np.median(picture))
        yield path.name + " at its median", np.clip(moved, 0, 255).astype(np.uint8)


def ours(program, picture, connectivity, folder, holes=0):
    """Labels and table as label_file writes them, of a picture or volume."""
    height, width = picture.shape[-2:]
    depth = picture.size // (height * width)
    (folder / "in").write_bytes(picture.tobytes())
    subprocess.run([program, str(width), str(height), str(depth), str(connectivity), folder / "in",
                    folder / "out", str(holes)], check=True)
    data = (folder / "out").read_bytes()
    labels = np.frombuffer(data, "<u4", picture.size).reshape(picture.shape)
    total = int(np.frombuffer(data, "<u4", 1, labels.nbytes)[0])
    table = np.frombuffer(data, LINE, total, labels.nbytes + 4)
    assert len(data) == labels.nbytes + 4 + table.nbytes, "label_file wrote another length"
    return labels, table


def in_raster_order(labels):
    """Renumbers the regions by their first pixels."""
    values, first = np.unique(labels, return_index=True)
    order = np.argsort(first[values > 0])
    renamed = np.zeros(int(values.max()) + 1, np.uint32)
    renamed[values[values > 0][order]] = np.arange(1, order.size + 1)
    return renamed[labels]


def check(program, name, picture, connectivity, folder):
    """Raises AssertionError unless both peers agree with us."""
    labels, table = ours(program, picture, connectivity, folder)
    foreground = picture >= 128
    structure = ndimage.generate_binary_structure(2, 1 if connectivity == 4 else 2)
    expected = in_raster_order(ndimage.label(foreground, structure)[0])
    assert np.array_equal(labels, expected), "labels differ from SciPy's"

    count, peer, stats, centroids = cv2.connectedComponentsWithStats(
        foreground.astype(np.uint8), connectivity=connectivity)
    assert len(table) == count - 1, f"{len(table)} regions, OpenCV finds {count - 1}"
    if count == 1:
        return
    values, first = np.unique(peer, return_index=True)
    label_of = labels.ravel()[first[values > 0]]  # ours, of OpenCV's 1, 2, …
    mine = table[label_of - 1]
    stats, centroids = stats[1:], centroids[1:]
    for field, value in (
            ("left", stats[:, cv2.CC_STAT_LEFT]), ("top", stats[:, cv2.CC_STAT_TOP]),
            ("right", stats[:, cv2.CC_STAT_LEFT] + stats[:, cv2.CC_STAT_WIDTH] - 1),
            ("bottom", stats[:, cv2.CC_STAT_TOP] + stats[:, cv2.CC_STAT_HEIGHT] - 1),
            ("area", stats[:, cv2.CC_STAT_AREA])):
        assert np.array_equal(mine[field], value), f"{field} differs from OpenCV's"
    assert np.allclose(mine["x"], centroids[:, 0], rtol=0, atol=1e-9), "centroid x differs"
    assert np.allclose(mine["y"], centroids[:, 1], rtol=0, atol=1e-9), "centroid y differs"
    means = ndimage.mean(picture, labels, np.arange(1, count))
    assert np.allclose(table["mean"], means, rtol=0, atol=1e-9), "mean gray differs from SciPy's"


def random_volumes(count):
    """Gray noise, plain or blurred to blobs, in four sizes."""
    generator = np.random.default_rng(30)
    for k in range(count):
        shape = [(20, 31, 65), (33, 16, 128), (9, 50, 40), (64, 7, 131)][k % 4]  # z, y, x
        volume = generator.integers(0, 256, shape, dtype=np.uint8)
        if k % 3:
            blurred = ndimage.gaussian_filter(volume.astype(float), 0.4 + 0.4 * (k % 4))
            lift = generator.integers(-40, 5)
            volume = np.clip((blurred - blurred.mean()) * 5 + 128 + lift, 0, 255).astype(np.uint8)
        yield f"volume {k}", volume


def check_volume(program, name, volume, connectivity, folder):
    """Raises AssertionError unless SciPy agrees with us."""
    labels, table = ours(program, volume, connectivity, folder)
    structure = ndimage.generate_binary_structure(3, {6: 1, 18: 2, 26: 3}[connectivity])
    expected, count = ndimage.label(volume >= 128, structure)
    assert np.array_equal(labels, in_raster_order(expected)), "labels differ from SciPy's"
    assert len(table) == count, f"{len(table)} regions, SciPy finds {count}"
    if count == 0:
        return
    index = np.arange(1, count + 1)
    assert np.array_equal(table["area"], ndimage.sum_labels(labels > 0, labels, index)), "area"
    boxes = ndimage.find_objects(labels.astype(np.int32))
    for axis, (low, high) in enumerate((("front", "back"), ("top", "bottom"), ("left", "right"))):
        assert np.array_equal(table[low], [box[axis].start for box in boxes]), f"{low} differs"
        assert np.array_equal(table[high], [box[axis].stop - 1 for box in boxes]), f"{high} differs"
    centres = np.array(ndimage.center_of_mass(labels > 0, labels, index))
    for axis, field in enumerate("zyx"):
        assert np.allclose(table[field], centres[:, axis], rtol=0, atol=1e-9), f"centroid {field}"
    means = ndimage.mean(volume, labels, index)
    assert np.allclose(table["mean"], means, rtol=0, atol=1e-9), "mean gray differs from SciPy's"


def check_holes(program, name, volume, connectivity, folder):
    """Raises AssertionError unless SciPy fills and labels the same."""
    volume = 255 - volume  # dark noise in white
    structure = ndimage.generate_binary_structure(3, {6: 1, 18: 2, 26: 3}[connectivity])
    around = ndimage.generate_binary_structure(3, 3 if connectivity == 6 else 1)
    foreground = volume >= 128
    filled = ndimage.binary_fill_holes(foreground, around)
    labels, _ = ours(program, volume, connectivity, folder, holes=volume.size)
    expected, _ = ndimage.label(filled, structure)
    assert np.array_equal(labels, in_raster_order(expected)), "labels differ from SciPy's"
    # Up to the size that half of the holes have.
    holes, count = ndimage.label(filled & ~foreground, around)
    if count == 0:
        return
    sizes = ndimage.sum_labels(holes > 0, holes, np.arange(1, count + 1))
    most = int(np.median(sizes))
    small = np.isin(holes, 1 + np.flatnonzero(sizes <= most))
    labels, _ = ours(program, volume, connectivity, folder, holes=most)
    expected, _ = ndimage.label(foreground | small, structure)
    assert np.array_equal(labels, in_raster_order(expected)), f"with holes up to {most}"


def main():
    program = sys.argv[1]
    cases = [(check, (4, 8), *case) for case in (*random_pictures(150), *photographs())]
    cases += [(check_volume, (6, 18, 26), *case) for case in random_volumes(60)]
    cases += [(check_holes, (6, 18, 26), *case) for case in random_volumes(16)]
    tried = failed = 0
    with tempfile.TemporaryDirectory() as name:
        for compare, connectivities, title, picture in cases:
            for connectivity in connectivities:
                tried += 1
                try:
                    compare(program, title, picture, connectivity, pathlib.Path(name))
                except AssertionError as wrong:
                    failed += 1
                    print(f"FAIL: {title}, {'x'.join(map(str, picture.shape[::-1]))}, "
                          f"{connectivity}-connected: {wrong}")
    print(f"{tried} cases, {failed} failed")
    if not any(PHOTOGRAPHS.glob("*.jpg")):
        print("no photographs: opencv-doc is not installed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
