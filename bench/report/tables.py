"""How the report says numbers, verdicts and tables."""
import operator
import re

SIGNS = {"≤": operator.le, "<": operator.lt, "≥": operator.ge, ">": operator.gt}


def number(value, unit=""):
    if value is None:
        return "–"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}{unit}"


def times(value):
    return number(value, "×")


def short(value):
    """Three digits, without zeros behind."""
    return "–" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def threads(count):
    return "1 thread" if count == 1 else f"{count} threads"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def pivot(heads, cells, columns=None):
    """Of cells (key, column, text): a line for each key, which is a tuple with a part for each of
    `heads`, and a column for each column; the later of two texts counts."""
    lines = {}
    for key, column, text in cells:
        lines.setdefault(key, {})[column] = text
    columns = columns or dict.fromkeys(column for line in lines.values() for column in line)
    return table([*heads, *map(str, columns)],
                 [[*map(str, key), *[line.get(column, "–") for column in columns]]
                  for key, line in lines.items()])


def verdict(holds):
    return "not measured" if holds is None else "holds" if holds else "**does not hold**"


def asked(what, wanted, value, shown=None, bound=None, right=True):
    """A row of what was asked for. `wanted` is a sign, a number and its unit, as in "≤ 50 µs";
    `bound` is that number where `wanted` rounds it, `shown` says the value in other words. A value
    that is not `right` holds in no case."""
    sign, limit, unit = re.match(r"(\S) ([\d.]+)(.*)", wanted).groups()
    least = float(limit) if bound is None else bound
    holds = None if value is None else bool(right and SIGNS[sign](value, least))
    return [what, wanted, number(value, unit) if value is None or shown is None else shown,
            verdict(holds)]


def asked_of_all(what, good, count, wanted="all", shown="{} of {}"):
    return [what, wanted, shown.format(good, count), verdict(good == count if count else None)]


def machine_of(figures):
    facts = figures.record
    gpu = f"{facts['gpu']}, driver {facts['driver']}; " if "gpu" in facts else ""
    return (f"{gpu}{facts['cpu']}, {facts['cores']} cores, load {facts['load_before']:.1f} before; "
            f"commit {facts['commit']}, {facts['date']}.\n")
