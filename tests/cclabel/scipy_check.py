#!/usr/bin/env python3
"""Compares cclabel with SciPy's ndimage.label and OpenCV's connectedComponentsWithStats.

usage: scipy_check.py LABEL_FILE

Random pictures and photographs (Debian's opencv-doc), by edges and by corners. SciPy's labels are
renumbered by the regions' first pixels; ours are taken as they are. Exits 77, saying why, when a
package is missing.
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
    "left", "top", "right", "bottom", "area", "x", "y", "mean", "first_x", "first_y")])


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
    """Every photograph, as it is and with a threshold moved to its median."""
    for path in sorted([*PHOTOGRAPHS.glob("*.jpg"), *PHOTOGRAPHS.glob("*.png")]):
        picture = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        if picture is None:
            continue
        scale = min(1.0, 640 / max(picture.shape))
        picture = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        yield path.name, picture
        moved = picture.astype(int) + 128 - int(np.median(picture))
        yield path.name + " at its median", np.clip(moved, 0, 255).astype(np.uint8)


def ours(program, picture, connectivity, folder):
    """Labels and table as label_file writes them."""
    height, width = picture.shape
    (folder / "in").write_bytes(picture.tobytes())
    subprocess.run([program, str(width), str(height), str(connectivity), folder / "in",
                    folder / "out"], check=True)
    data = (folder / "out").read_bytes()
    labels = np.frombuffer(data, "<u4", width * height).reshape(height, width)
    total = int(np.frombuffer(data, "<u4", 1, labels.nbytes)[0])
    table = np.frombuffer(data, LINE, total, labels.nbytes + 4)
    assert len(data) == labels.nbytes + 4 + table.nbytes, "label_file wrote another length"
    return labels, table


def in_raster_order(labels):
    """The same regions, numbered by their first pixels."""
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


def main():
    program = sys.argv[1]
    cases = [*random_pictures(150), *photographs()]
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        for title, picture in cases:
            for connectivity in (4, 8):
                try:
                    check(program, title, picture, connectivity, pathlib.Path(name))
                except AssertionError as wrong:
                    failed += 1
                    print(f"FAIL: {title}, {picture.shape[1]}x{picture.shape[0]}, "
                          f"{connectivity}-connected: {wrong}")
    print(f"{2 * len(cases)} cases, {failed} failed")
    if not any(PHOTOGRAPHS.glob("*.jpg")):
        print("no photographs: opencv-doc is not installed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
