"""Shapes of the diagrams, written as SVG. Each run writes the same bytes."""

from html import escape

FONT = "DejaVu Sans, Verdana, sans-serif"
INK, FAINT, ACCENT = "#1f2933", "#9aa5b1", "#c0392b"
PAPER, BOX = "#ffffff", "#eef2f6"
# Light colours of regions; black text is legible on each.
COLORS = ("#a6cee3", "#fdbf6f", "#b2df8a", "#fb9a99", "#cab2d6", "#ffff99", "#e0c3a0", "#b3e2cd", "#f4cae4", "#cbd5e8")


def color_of(number):
    return COLORS[number % len(COLORS)]


class Drawing:
    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self.lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" font-family="{FONT}">', f"<title>{escape(title)}</title>",
                      '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
                      f'orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="{INK}"/></marker></defs>']
        self.rect(0, 0, width, height, PAPER, None, 6)

    def rect(self, x, y, width, height, fill="none", stroke=INK, round_=0, thick=1, dash=""):
        self.lines.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{round_}" fill="{fill}"' +
                          (f' stroke="{stroke}" stroke-width="{thick}"' if stroke else "") +
                          (f' stroke-dasharray="{dash}"' if dash else "") + "/>")

    def line(self, x1, y1, x2, y2, stroke=INK, thick=1, dash=""):
        self.lines.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{stroke}" stroke-width="{thick}"' +
                          (f' stroke-dasharray="{dash}"' if dash else "") + "/>")

    def circle(self, x, y, radius, fill, stroke=INK):
        self.lines.append(f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}" stroke="{stroke}"/>')

    def text(self, x, y, words, size=13, anchor="start", bold=False, fill=INK):
        weight = ' font-weight="bold"' if bold else ""
        self.lines.append(f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{fill}"{weight}>'
                          f"{escape(str(words))}</text>")

    def arrow(self, *points, dash=""):
        """Along the points (x, y); the head is at the last."""
        path = " ".join(f"{'ML'[i > 0]}{x} {y}" for i, (x, y) in enumerate(points))
        self.lines.append(f'<path d="{path}" fill="none" stroke="{INK}" stroke-width="1.5" marker-end="url(#head)"' +
                          (f' stroke-dasharray="{dash}"' if dash else "") + "/>")

    def box(self, x, y, width, height, title, *words, fill=BOX):
        """A phase: a title, and lines of small text below it."""
        self.rect(x, y, width, height, fill, INK, 5)
        top = y + height / 2 - 8 * len(words) + 5
        self.text(x + width / 2, f"{top:g}", title, 13, "middle", True)
        for i, line in enumerate(words):
            self.text(x + width / 2, f"{top + 17 + 15 * i:g}", line, 11, "middle")

    def grid(self, x, y, cell, rows, fill, label=lambda value: "", size=10):
        """A picture: `fill` and `label` make a colour and a text of each value."""
        width, height = len(rows[0]), len(rows)
        for j, row in enumerate(rows):
            start = 0
            for i in range(1, width + 1):  # a rectangle per run of one colour
                if i == width or fill(row[i]) != fill(row[start]):
                    self.rect(x + start * cell, y + j * cell, (i - start) * cell, cell, fill(row[start]), None)
                    start = i
        lines = "".join([f"M{x + i * cell} {y}v{height * cell}" for i in range(width + 1)] +
                        [f"M{x} {y + j * cell}h{width * cell}" for j in range(height + 1)])
        self.lines.append(f'<path d="{lines}" stroke="#c8d0d8"/>')
        for j, row in enumerate(rows):
            for i, value in enumerate(row):
                if label(value):
                    middle = f"{x + (i + 0.5) * cell:g}", f"{y + (j + 0.5) * cell + size * 0.36:g}"
                    self.text(*middle, label(value), size, "middle")

    def table(self, x, y, widths, rows, height=20):
        """The first row is the head."""
        for j, row in enumerate(rows):
            at = x
            for width, words in zip(widths, row):
                self.rect(at, y + j * height, width, height, BOX if j == 0 else PAPER, FAINT)
                self.text(at + width / 2, y + j * height + height - 6, words, 11, "middle", j == 0)
                at += width

    def caption(self, x, y, number, words):
        """The number and name of a phase."""
        self.circle(x + 9, y - 5, 9, INK)
        self.text(x + 9, y - 1, number, 11, "middle", True, PAPER)
        self.text(x + 24, y, words, 13, bold=True)

    def made(self):
        return "\n".join([*self.lines, "</svg>", ""])
