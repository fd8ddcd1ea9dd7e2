"""Small labelling algorithms for the pictures in the diagrams: the data that they show is computed."""


def pixels(text):
    return [[character == "#" for character in line] for line in text.split()]


class Forest:
    """Union-find: the root of a tree is its smallest node."""

    def __init__(self):
        self.parent = {}

    def root(self, node):
        while self.parent.setdefault(node, node) != node:
            node = self.parent[node]
        return node

    def merge(self, a, b):
        a, b = sorted((self.root(a), self.root(b)))
        self.parent[b] = a


def neighbours(x, y):
    """The neighbours before (x, y) in raster order, with 8 neighbours."""
    return ((x - 1, y), (x - 1, y - 1), (x, y - 1), (x + 1, y - 1))


def forest_of(bits, linked):
    """A forest of (y, x), united where `linked` says that neighbours may be."""
    forest = Forest()
    for y, row in enumerate(bits):
        for x, is_set in enumerate(row):
            if not is_set:
                continue
            forest.root((y, x))
            for nx, ny in neighbours(x, y):
                if 0 <= nx < len(row) and ny >= 0 and bits[ny][nx] and linked((x, y), (nx, ny)):
                    forest.merge((y, x), (ny, nx))
    return forest


def labels_of(bits, forest):
    """1..n in raster order of first pixels, 0 for background."""
    numbers = {}
    return [[numbers.setdefault(forest.root((y, x)), len(numbers) + 1) if is_set else 0 for x, is_set in enumerate(row)]
            for y, row in enumerate(bits)]


def label(bits):
    return labels_of(bits, forest_of(bits, lambda a, b: True))


def records(labels):
    """[(label, "x y width height", area)]"""
    found = {}
    for y, row in enumerate(labels):
        for x, value in enumerate(row):
            if value:
                found.setdefault(value, []).append((x, y))
    rows = []
    for value, places in sorted(found.items()):
        xs, ys = zip(*places)
        box = f"{min(xs)} {min(ys)} {max(xs) - min(xs) + 1} {max(ys) - min(ys) + 1}"
        rows.append((value, box, len(places)))
    return rows
