"""Diagrams of connected-component labelling: pictures, volumes, propagation, tracking."""

from .regions import Forest, forest_of, label, labels_of, neighbours, pixels, records
from .svg import ACCENT, INK, PAPER, Drawing, color_of

PICTURE = pixels("""
................
.##....##....#..
.##...####..##..
......#..#.##...
..#####..###....
..#.........##..
..###..##...##..
.......##.......""")
TILE = 8


def region_color(value):
    return color_of(value - 1) if value else PAPER


def number_text(value):
    return str(value) if value else ""


def cclabel():
    d = Drawing(960, 480, "cclabel: bits, tiles, seams, numbers, table")
    cell = 17
    width, height = 16 * cell, 8 * cell
    xs, top, below = (20, 344, 668), 60, 300

    def same_tile(a, b):
        return a[0] // TILE == b[0] // TILE

    def tiles(x, y):
        for i in range(2):
            d.rect(x + i * TILE * cell, y, TILE * cell, height, "none", INK, 0, 2)

    d.caption(xs[0], 40, 1, "Threshold: one bit per pixel")
    d.grid(xs[0], top, cell, PICTURE, lambda bit: "#5b6b7b" if bit else PAPER)
    tiles(xs[0], top)
    d.text(xs[0], top + height + 18, "thick lines: tiles, one per thread block", 11)

    inside = forest_of(PICTURE, same_tile)
    parts = labels_of(PICTURE, inside)
    d.caption(xs[1], 40, 2, "Label tiles: union-find over runs")
    d.grid(xs[1], top, cell, parts, region_color, lambda v: chr(96 + v) if v else "")
    tiles(xs[1], top)
    d.text(xs[1], top + height + 18, "letters: components of one tile", 11)

    d.caption(xs[2], 40, 3, "Merge seams: union across edges")
    d.grid(xs[2], top, cell, parts, region_color, lambda v: chr(96 + v) if v else "")
    tiles(xs[2], top)
    merged = []
    for y, row in enumerate(PICTURE):
        for x, bit in enumerate(row):
            for nx, ny in neighbours(x, y):  # the straight link first: one link is enough
                if not (bit and ny >= 0 and 0 <= nx < 16 and PICTURE[ny][nx]) or same_tile((x, y), (nx, ny)):
                    continue
                pair = sorted((chr(96 + parts[y][x]), chr(96 + parts[ny][nx])))
                if pair not in merged:
                    ends = (xs[2], nx), (top, ny), (xs[2], x), (top, y)
                    d.line(*(start + place * cell + 9 for start, place in ends), ACCENT, 4)
                    merged.append(pair)
    pairs = ", ".join(" = ".join(pair) for pair in merged)
    d.text(xs[2], top + height + 18, f"red: {pairs} (the smaller root wins)", 11)

    final = label(PICTURE)
    d.caption(xs[0], below - 20, 4, "Number: raster order of first pixels")
    d.grid(xs[0], below, cell, final, region_color, number_text)
    d.text(xs[0], below + height + 18, "label map, the same on every device", 11)
    d.caption(xs[1], below - 20, 5, "Measure: sums per region")
    d.table(xs[1], below, (50, 130, 70), [("id", "x y width height", "area"), *records(final)], 22)
    d.text(xs[1], below + height + 18, "region table", 11)
    d.caption(xs[2], below - 20, 6, "Write: each pixel once")
    for i, (name, words) in enumerate((("labels", "1, 2, …"), ("colors", "a colour per region"),
                                       ("mask", "255 in regions"),
                                       ("overlay, none", "the picture"))):
        d.box(xs[2], below + 35 * i, 250, 28, f"{name}: {words}")
    for y, pairs in ((top + 68, ((0, 1), (1, 2))), (below + 68, ((0, 1), (1, 2)))):
        for a, _ in pairs:
            end = xs[a] + width if y < below or a == 0 else xs[1] + 250
            d.arrow((end + 8, y), (xs[a + 1] - 8, y))
    d.arrow((xs[2] + 60, top + height + 26), (xs[2] + 60, 246), (xs[0] + 60, 246), (xs[0] + 60, below - 38))
    return d.made()


SLICES = [pixels(text) for text in ("""
##......
##......
.....##.
.....##.
........""", """
........
..#.....
........
....#...
#...##..""", """
........
...##...
...##...
........
##...#..""")]


def volume_labels():
    """With 26 neighbours, in raster order of slices, rows and columns."""
    forest = Forest()
    voxels = [(z, y, x) for z, rows in enumerate(SLICES)
               for y, row in enumerate(rows) for x, bit in enumerate(row) if bit]
    links = []
    for voxel in voxels:
        for other in voxels:
            if other < voxel and all(abs(a - b) <= 1 for a, b in zip(voxel, other)):
                if voxel[0] != other[0] and forest.root(voxel) != forest.root(other):
                    links.append((other, voxel))
                forest.merge(voxel, other)
    numbers = {}
    for voxel in voxels:
        numbers.setdefault(forest.root(voxel), len(numbers) + 1)
    return [[[numbers[forest.root((z, y, x))] if bit else 0 for x, bit in enumerate(row)] for y, row in enumerate(rows)]
            for z, rows in enumerate(SLICES)], links


def volumes():
    d = Drawing(960, 440, "Volumes: bits, tiles, merged tiles, numbers, labels")
    cell = 18
    labels, links = volume_labels()
    centers = {}
    for z, rows in enumerate(labels):
        x0, y0 = 30 + z * 190, 60 + z * 34
        d.text(x0, y0 - 8, f"slice {z} (frame {z})", 12, bold=True)
        d.grid(x0, y0, cell, rows, region_color, number_text)
        d.rect(x0, y0, 8 * cell, 5 * cell, "none", INK, 0, 2)
        for y in range(5):
            for x in range(8):
                centers[z, y, x] = x0 + x * cell + 9, y0 + y * cell + 9
    for a, b in links:
        d.line(*centers[a], *centers[b], ACCENT, 2, "5 3")
    d.text(30, 262, "red: touching voxels of two slices that unite two components (26 neighbours); numbers: final labels", 11)
    d.text(660, 60, "A tile: 32×16×16 voxels", 12, bold=True)
    d.text(660, 80, "one bit per voxel, a word per row of 32", 11)
    d.text(660, 98, "two or four rows make a band", 11)
    d.text(660, 116, "node: linked columns of a band", 11)
    names = (("Label tiles", "bits, bands, nodes;", "union-find in", "shared memory"),
             ("Merge tiles", "nodes that touch", "earlier tiles; the", "smaller voxel wins"),
             ("Holes", "background with the", "dual connectivity,", "if asked for"),
             ("Number", "first voxels as", "bits, counted", "through"),
             ("Measure, filter", "runs of a word,", "summed by region", ""),
             ("Write", "component, node,", "then voxel", ""))
    for i, (title, *words) in enumerate(names):
        x = 20 + i * 156
        d.box(x, 300, 136, 100, title, *words)
        if i:
            d.arrow((x - 20, 350), (x - 2, 350))
    for x, words in ((20, "forest: one entry per component of a tile"), (488, "table: one record per region"),
                     (760, "label map, mask or colours")):
        d.text(x, 425, words, 11)
    return d.made()


def propagation():
    bits = pixels("""
######....
.....#.##.
.###.#..#.
.#.#.####.
.###......""")
    width = 10
    cells = {(x, y): y * width + x + 1 for y, row in enumerate(bits) for x, bit in enumerate(row) if bit}

    def near(x, y):
        return [(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if (x + dx, y + dy) in cells]

    def straight(x, y):
        """The farthest cells that a straight line of cells links."""
        found = []
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            fx, fy = x, y
            while (fx + dx, fy + dy) in cells:
                fx, fy = fx + dx, fy + dy
            found.append((fx, fy))
        return found

    def step(now, far):
        after = {}
        for (x, y), own in now.items():
            best = max(now[place] for place in near(x, y) + (straight(x, y) if far else []))
            named = ((best - 1) % width, (best - 1) // width)
            after[x, y] = max(own, best, now[named] if far else 0)
        return after

    def passes(far):
        now, all_ = cells, []
        while True:
            after = step(now, far)
            if after == now:
                return all_
            all_.append(after)
            now = after

    slow, fast = passes(False), passes(True)
    d = Drawing(960, 420, "Label propagation")
    cell = 28
    shown = [(20, 60, "Start: each cell has its own number", cells),
             (350, 60, "Pass 1: largest label of the neighbours", slow[0]),
             (20, 255, "Pass 1 with straight lines and roots", fast[0]),
             (350, 255, "End: one label per region", fast[-1])]
    last = {value: i for i, value in enumerate(sorted(set(fast[-1].values())))}
    for x, y, words, values in shown:
        d.text(x, y - 12, words, 12, bold=True)
        rows = [[values.get((i, j), 0) for i in range(width)] for j in range(5)]
        final = values == fast[-1]

        def color(value, final=final):
            return PAPER if not value else color_of(last[value]) if final else "#dfe7ee"

        d.grid(x, y, cell, rows, color, number_text)
    d.text(680, 80, "A cell takes the largest label of", 12, bold=True)
    for i, words in enumerate(("• the cells that it is linked to (gather)",
                               "• the farthest cells that a straight", "   line links (one+max)",
                               "• the cell that its label names (roots)")):
        d.text(680, 105 + 20 * i, words, 11)
    d.text(680, 210, "Passes until nothing changes:", 12, bold=True)
    d.text(680, 235, f"• neighbours only: {len(slow)}", 11)
    d.text(680, 255, f"• with lines and roots: {len(fast)}", 11)
    d.text(680, 300, "At the end the largest cell of a region", 11)
    d.text(680, 318, "has given its number to all its cells.", 11)
    d.text(680, 336, "A last step numbers the regions 1…n.", 11)
    return d.made()


def tracking():
    before = label(pixels("""
................
.####...........
.####......###..
.####......###..
...........###..
................"""))
    after = label(pixels("""
...####.........
...####.........
...####...###...
..........###...
..........###..#
...............#"""))
    tracks = {1: 7, 2: 9}
    d = Drawing(960, 400, "Tracking: shared pixels, matches, tracks")
    cell = 17
    d.caption(20, 40, 1, "Regions of two frames")
    d.text(20, 62, "previous frame, with tracks", 11)
    d.grid(20, 70, cell, before, region_color, lambda v: str(tracks[v]) if v else "")
    d.text(20, 202, "this frame, with labels", 11)
    d.grid(20, 210, cell, after, lambda v: "#dfe7ee" if v else PAPER, number_text)
    shared = {}
    for old, new in zip(before, after):
        for a, b in zip(old, new):
            if a and b:
                shared[a, b] = shared.get((a, b), 0) + 1
    d.caption(345, 40, 2, "Count shared pixels")
    counts = [(tracks[a], b, n) for (a, b), n in sorted(shared.items())]
    d.table(345, 70, (60, 60, 70), [("track", "label", "pixels"), *counts], 22)
    d.text(345, 160, "exact sums, so the order", 11)
    d.text(345, 176, "of threads does not matter", 11)
    d.caption(590, 40, 3, "Match")
    d.box(590, 60, 340, 62, "by pixels", "each other's largest share, if position,", "size and colour agree")
    d.box(590, 136, 340, 62, "by motion", "the rest: predicted position at constant", "speed, best bids first")
    d.caption(590, 235, 4, "Result")
    largest = {b: tracks[a] for (a, b), n in shared.items() if n == max(m for (_, c), m in shared.items() if c == b)}
    rows = [(v, largest.get(v, "10 (new)")) for v, _, _ in records(after)]
    d.table(590, 250, (60, 90), [("label", "track"), *rows], 22)
    d.text(760, 290, "speed and size of each", 11)
    d.text(760, 306, "track are updated", 11)
    d.arrow((300, 120), (337, 100))
    d.arrow((300, 260), (337, 130))
    d.arrow((545, 100), (582, 95))
    d.arrow((760, 202), (760, 222), (680, 222), (680, 230))
    d.arrow((748, 340), (748, 372), (8, 372), (8, 120), (17, 120), dash="5 4")
    d.text(440, 366, "this frame is the previous frame of the next step", 11, "middle")
    return d.made()
