"""Diagrams of slicsuperpixel and regionoverlay."""

from .regions import Forest, labels_of
from .svg import ACCENT, INK, PAPER, Drawing, color_of

WIDTH, HEIGHT, CELL = 24, 16, 8  # the picture, and its cells (pixels)
WEIGHT = 40  # of a squared distance of colours, where one of places counts 1


def picture():
    """Gray values 0..9: a dark field, a bright disk, a slope, and one speck."""
    rows = [[2 + (y > 10 - x // 6) * 3 for x in range(WIDTH)] for y in range(HEIGHT)]
    for y in range(HEIGHT):
        for x in range(WIDTH):
            if (x - 15) ** 2 + (y - 6) ** 2 <= 20:
                rows[y][x] = 9
    rows[3][4] = rows[3][5] = rows[12][21] = 8
    return rows


def assigned(gray, centers):
    """For each pixel, the number of the nearest cluster among the nine cells around its own."""
    def nearest(x, y):
        near = [n for n in range(6) if abs(n % 3 - x // CELL) <= 1 and abs(n // 3 - y // CELL) <= 1]
        return min(near, key=lambda n: ((x - centers[n][0]) ** 2 + (y - centers[n][1]) ** 2 +
                                        WEIGHT * (gray[y][x] - centers[n][2]) ** 2, n))
    return [[nearest(x, y) for x in range(WIDTH)] for y in range(HEIGHT)]


def averaged(gray, owners):
    centers = []
    for n in range(6):
        mine = [(x, y, gray[y][x]) for y in range(HEIGHT) for x in range(WIDTH) if owners[y][x] == n]
        centers.append(tuple(sum(values) / len(mine) for values in zip(*mine)))
    return centers


def fragments(owners):
    """Connected pixels of one cluster (4 neighbours), numbered in raster order of first pixels."""
    forest = Forest()
    for y in range(HEIGHT):
        for x in range(WIDTH):
            forest.root((y, x))
            for ny, nx in ((y - 1, x), (y, x - 1)):
                if ny >= 0 and nx >= 0 and owners[ny][nx] == owners[y][x]:
                    forest.merge((y, x), (ny, nx))
    return forest


def merge_small(gray, forest, least):
    """Each small fragment merges with the neighbour of the nearest mean; one round is enough here."""
    members = {}
    for y in range(HEIGHT):
        for x in range(WIDTH):
            members.setdefault(forest.root((y, x)), []).append((x, y))
    mean = {root: sum(gray[y][x] for x, y in places) / len(places) for root, places in members.items()}
    for root, places in sorted(members.items()):
        if len(places) >= least:
            continue
        around = {forest.root((y + dy, x + dx)) for x, y in places for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))
                  if 0 <= x + dx < WIDTH and 0 <= y + dy < HEIGHT} - {root}
        forest.merge(root, min(around, key=lambda other: (abs(mean[other] - mean[root]), other)))
    return forest


def borders(d, x, y, cell, labels):
    for j in range(HEIGHT):
        for i in range(WIDTH):
            if i + 1 < WIDTH and labels[j][i] != labels[j][i + 1]:
                d.line(x + (i + 1) * cell, y + j * cell, x + (i + 1) * cell, y + (j + 1) * cell, INK, 2)
            if j + 1 < HEIGHT and labels[j][i] != labels[j + 1][i]:
                d.line(x + i * cell, y + (j + 1) * cell, x + (i + 1) * cell, y + (j + 1) * cell, INK, 2)


def slicsuperpixel():
    gray = picture()
    seeds = [(CELL * (n % 3) + 4, CELL * (n // 3) + 4, gray[CELL * (n // 3) + 4][CELL * (n % 3) + 4]) for n in range(6)]
    centers = seeds
    for _ in range(5):
        owners = assigned(gray, centers)
        centers = averaged(gray, owners)
    owners = assigned(gray, centers)
    all_bits = [[True] * WIDTH for _ in range(HEIGHT)]
    parts = labels_of(all_bits, fragments(owners))
    final = labels_of(all_bits, merge_small(gray, fragments(owners), CELL * CELL // 4))
    d = Drawing(960, 550, "slicsuperpixel: seeds, iterations, fragments, merging, numbers")
    cell = 12
    width, height = WIDTH * cell, HEIGHT * cell
    xs, top, below = (20, 336, 652), 55, 330

    def shaded(value):
        return f"#{70 + 20 * value:02x}{70 + 20 * value:02x}{75 + 20 * value:02x}"

    def dots(x, y, places, fill):
        for px, py, _ in places:
            d.circle(f"{x + (px + 0.5) * cell:g}" if isinstance(px, int) else f"{x + (px + 0.5) * cell:.1f}",
                     f"{y + (py + 0.5) * cell:.1f}", 4, fill)

    d.caption(xs[0], 40, 1, "Seeds: one cluster per cell")
    d.grid(xs[0], top, cell, gray, shaded)
    for i in range(4):
        d.line(xs[0] + i * CELL * cell, top, xs[0] + i * CELL * cell, top + height, ACCENT, 1.5)
    for j in range(3):
        d.line(xs[0], top + j * CELL * cell, xs[0] + width, top + j * CELL * cell, ACCENT, 1.5)
    dots(xs[0], top, seeds, "#ffffff")
    d.caption(xs[1], 40, 2, "Iterate: assign and average")
    d.grid(xs[1], top, cell, owners, color_of)
    dots(xs[1], top, centers, INK)
    d.caption(xs[2], 40, 3, "Fragments: connected pixels")
    d.grid(xs[2], top, cell, owners, color_of)
    borders(d, xs[2], top, cell, parts)
    d.caption(xs[0], below - 15, 4, "Merge small fragments")
    d.grid(xs[0], below, cell, final, lambda v: color_of(v - 1))
    borders(d, xs[0], below, cell, final)
    d.caption(xs[1], below - 15, 5, "Number: raster order")
    d.grid(xs[1], below, cell, final, lambda v: color_of(v - 1))
    borders(d, xs[1], below, cell, final)
    for n in range(1, max(map(max, final)) + 1):
        places = [(x, y) for y in range(HEIGHT) for x in range(WIDTH) if final[y][x] == n]
        px, py = (sum(values) / len(places) for values in zip(*places))
        d.text(f"{xs[1] + (px + 0.5) * cell:.1f}", f"{below + (py + 0.5) * cell + 6:.1f}", n, 16, "middle", True)
    d.caption(xs[2], below - 15, 6, "Records: exact sums")
    count = max(map(max, final))
    values = {n: [gray[y][x] for y in range(HEIGHT) for x in range(WIDTH) if final[y][x] == n]
              for n in range(1, count + 1)}
    rows = [("id", "area", "mean"), *((n, len(v), f"{sum(v) / len(v):.1f}") for n, v in values.items())]
    d.table(xs[2], below, (50, 70, 80), rows, 19)
    notes = ("dots: cell centres; a seed moves to the least gradient nearby",
             f"{max(map(max, parts))} fragments of 6 clusters after 5 iterations",
             "lines: fragments, by union-find over runs")
    for x, words in zip(xs, notes):
        d.text(x, top + height + 15, words, 10)
    notes = f"{max(map(max, parts)) - count} small ones merge with the nearest mean", f"labels 1…{count}"
    for x, words in zip(xs, notes):
        d.text(x, below + height + 15, words, 10)
    for y in (top + height // 2, below + height // 2 - 30):
        for a in (0, 1):
            d.arrow((xs[a] + width + 4, y), (xs[a + 1] - 4, y))
    return d.made()


def regionoverlay():
    d = Drawing(960, 320, "regionoverlay: stamp, compose")
    cell = 13
    codes = [[0] * 16 for _ in range(10)]
    for code, (x0, y0, x1, y1) in ((1, (1, 1, 9, 6)), (2, (6, 3, 14, 8))):
        for y in range(y0, y1 + 1):
            for x in range(x0, x1 + 1):
                if x in (x0, x1) or y in (y0, y1):
                    codes[y][x] = max(codes[y][x], code)
    d.table(20, 70, (40, 110), [("id", "x y width height"), (1, "1 1 9 6"), (2, "6 3 9 6")], 22)
    d.text(20, 60, "region records", 12, bold=True)
    d.caption(205, 40, 1, "Stamp")
    d.grid(205, 60, cell, codes, lambda v: color_of(v + 1) if v else PAPER, lambda v: str(v) if v else "", 9)
    d.text(205, 210, "image of codes: the greater code wins,", 11)
    d.text(205, 226, "so the order of threads does not matter", 11)
    d.caption(560, 40, 2, "Compose")
    d.box(560, 60, 180, 128, "blocks of 2×2 pixels", "picture", "+ label map (outline, fill)", "+ codes (boxes, ids)",
          "one function for CPU", "and GPU")
    for i, words in enumerate(("picture", "label map, if attached", "digits")):
        d.box(205 + 190 * i, 265, 175, 34, words)
        d.arrow((292 + 190 * i, 263), (292 + 190 * i, 246), (650, 246), (650, 192))
    d.box(800, 90, 130, 68, "output", "the input's format,", "in place")
    d.arrow((172, 105), (201, 105))
    d.arrow((418, 125), (556, 125))
    d.arrow((742, 124), (796, 124))
    return d.made()
