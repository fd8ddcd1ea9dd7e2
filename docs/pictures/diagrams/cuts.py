"""Diagrams of minimum cuts, and of the foreground that graphcutbg cuts out."""

from collections import deque

from .svg import ACCENT, INK, PAPER, Drawing

# Evidence of 7x4 pixels: above 0 for the foreground, below 0 for the background; and links between equal neighbours.
EVIDENCE = ((-6, -5, 2, 4, 3, -4, -6), (-5, 3, 6, -1, 5, 4, -5), (-6, 4, 5, 6, 6, 3, -6), (2, -5, 4, 5, 3, -5, -6))
LINK = 2
WIDTH, HEIGHT = 7, 4


class Graph:
    """Pixels, links of capacity LINK between neighbours, and a maximum flow by shortest augmenting paths."""

    def __init__(self):
        self.left = {}  # residual capacities
        for y in range(HEIGHT):
            for x in range(WIDTH):
                value = EVIDENCE[y][x]
                self.add("source", (x, y), max(value, 0), 0)
                self.add((x, y), "sink", max(-value, 0), 0)
                for other in ((x + 1, y), (x, y + 1)):
                    if other[0] < WIDTH and other[1] < HEIGHT:
                        self.add((x, y), other, LINK, LINK)
        self.flow = 0
        while path := self.path():
            amount = min(self.left[a][b] for a, b in path)
            for a, b in path:
                self.left[a][b] -= amount
                self.left[b][a] += amount
            self.flow += amount

    def add(self, a, b, capacity, back):
        self.left.setdefault(a, {})[b] = capacity
        self.left.setdefault(b, {})[a] = back

    def path(self):
        came, queue = {"source": None}, deque(["source"])
        while queue:
            node = queue.popleft()
            for other, capacity in self.left[node].items():
                if capacity > 0 and other not in came:
                    came[other] = node
                    queue.append(other)
        if "sink" not in came:
            return []
        path, node = [], "sink"
        while came[node] is not None:
            path.append((came[node], node))
            node = came[node]
        return path

    def foreground(self):
        """The largest source side: pixels that cannot reach the sink."""
        reaching, queue = {"sink"}, deque(["sink"])
        while queue:
            node = queue.popleft()
            for other in self.left[node]:
                if self.left[other][node] > 0 and other not in reaching:
                    reaching.add(other)
                    queue.append(other)
        return {(x, y) for y in range(HEIGHT) for x in range(WIDTH)} - reaching


def shade(value):
    strength = min(abs(value), 6) * 16
    if value > 0:
        return f"#{255 - strength:02x}{255 - strength // 3:02x}ff"
    return f"#ff{255 - strength // 2:02x}{255 - strength:02x}"


def lattice(d, x, y, step, fill, text, link):
    for j in range(HEIGHT):
        for i in range(WIDTH):
            for other in ((i + 1, j), (i, j + 1)):
                if other[0] < WIDTH and other[1] < HEIGHT:
                    d.line(x + i * step, y + j * step, x + other[0] * step, y + other[1] * step, *link((i, j), other))
    for j in range(HEIGHT):
        for i in range(WIDTH):
            d.circle(x + i * step, y + j * step, 13, fill(i, j))
            d.text(x + i * step, y + j * step + 4, text(i, j), 10, "middle")


def maxflow():
    graph = Graph()
    front = graph.foreground()
    d = Drawing(960, 500, "Minimum cut: weights, flow, cut, and the solvers")
    step = 40

    def used(a, b):
        """Thick and red: no capacity is left in one direction."""
        return (ACCENT, 3) if graph.left[a][b] == 0 or graph.left[b][a] == 0 else (INK, 1)

    d.caption(20, 40, 1, "Weights")
    lattice(d, 40, 80, step, lambda i, j: shade(EVIDENCE[j][i]),
            lambda i, j: f"{EVIDENCE[j][i]:+d}", lambda a, b: (INK, 1))
    d.text(20, 235, "blue: capacity from the source (foreground)", 11)
    d.text(20, 251, "orange: capacity to the sink (background)", 11)
    d.text(20, 267, f"lines: capacity {LINK} both ways", 11)
    d.caption(345, 40, 2, "Maximum flow")
    lattice(d, 365, 80, step, lambda i, j: shade(EVIDENCE[j][i]), lambda i, j: "", used)
    d.text(345, 235, "red: links that the flow fills in one direction", 11)
    d.text(345, 251, f"value of the flow: {graph.flow}", 11)
    d.caption(665, 40, 3, "Minimum cut")
    lattice(d, 685, 80, step, lambda i, j: "#7fb3d5" if (i, j) in front else PAPER, lambda i, j: "",
            lambda a, b: (ACCENT, 3, "4 3") if (a in front) != (b in front) else (INK, 1))
    cut = sum(LINK for y in range(HEIGHT) for x in range(WIDTH) for o in ((x + 1, y), (x, y + 1))
              if o[0] < WIDTH and o[1] < HEIGHT and ((x, y) in front) != (o in front))
    cut += sum(max(-v, 0) if (x, y) in front else max(v, 0)
               for y, row in enumerate(EVIDENCE) for x, v in enumerate(row))
    assert cut == graph.flow, "the cut of a maximum flow has its value"
    d.text(665, 235, "blue: pixels that cannot reach the sink", 11)
    d.text(665, 251, f"value of the cut: {cut}, the same", 11)
    d.arrow((310, 140), (340, 140))
    d.arrow((630, 140), (660, 140))
    d.text(20, 310, "Who finds the flow", 13, bold=True)
    solvers = (("CPU", "search trees grow breadth",
                "first from pixels with excess;", "strips on several threads,", "then joined"),
               ("CUDA, sparse", "each tile alone, then", "worklists of active tiles;",
                "heights of the others stay", ""),
               ("CUDA, resident", "the whole graph in shared", "memory, a warp per tile;",
                "one cut that has the GPU", "for itself"),
               ("CUDA, plain", "push-relabel on tiles;", "fallback where 16 bits", "are too few", ""))
    for i, (title, *words) in enumerate(solvers):
        d.box(20 + 235 * i, 325, 215, 105, title, *words)
    d.text(20, 460, "All end when no pixel with excess can reach the sink. The set of step 3 is the same for every "
           "maximum flow,", 11)
    d.text(20, 476, "so all solvers give the same mask, bit for bit.", 11)
    return d.made()


def graphcutbg():
    d = Drawing(960, 400, "graphcutbg: model, evidence, links, cut, output, update")
    d.box(20, 40, 150, 70, "frame", "luma and chroma,", "8 bits each")
    d.box(20, 230, 150, 84, "background model", "three Gaussians", "per pixel")
    d.box(230, 40, 160, 84, "1  survey the scene", "light, contrast,", "share of foreground")
    d.box(230, 160, 160, 100, "2  evidence", "log-likelihood ratio,", "less sway and shadow;", "masks from upstream")
    d.box(450, 40, 160, 84, "3  links", "cost of a border:", "less at strong contrast")
    d.box(450, 175, 160, 84, "4  minimum cut", "exact; see the", "page on cuts")
    d.box(670, 175, 120, 84, "mask", "foreground,", "background")
    d.box(670, 40, 260, 84, "5  composite", "feather, then tint, cut-out,", "other background, or mask alone")
    d.box(450, 310, 340, 64, "6  update the model", "background counts fully, foreground half,",
          "until it is background after some time")
    d.arrow((172, 75), (228, 75))
    d.arrow((95, 112), (95, 185), (228, 185))
    d.arrow((172, 250), (200, 250), (200, 230), (228, 230))
    d.arrow((310, 126), (310, 158))
    d.arrow((392, 75), (448, 75))
    d.arrow((392, 215), (448, 215))
    d.arrow((530, 126), (530, 173))
    d.arrow((612, 217), (668, 217))
    d.arrow((730, 173), (730, 126))
    d.arrow((730, 261), (730, 308))
    d.arrow((448, 342), (95, 342), (95, 316), dash="5 4")
    d.text(230, 334, "for the next frame", 11)
    return d.made()
