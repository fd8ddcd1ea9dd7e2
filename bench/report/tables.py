"""Formats numbers, noise and tables for the benchmark pages."""


def number(value, unit=""):
    if value is None:
        return "–"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}{unit}"


def times(value):
    return number(value, "×")


def short(value):
    """Three significant digits without trailing zeros."""
    return "–" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def milliseconds(us):
    """Microseconds as milliseconds."""
    return short(us and us / 1000)


def noise(median, fastest):
    """How far the median of the repeated runs is above the fastest run, in percent."""
    if not median or not fastest:
        return "–"
    above = 100 * (median / fastest - 1)
    return f"{above:.0f} %" if above >= 9.5 else f"{above:.1f} %"


def largest_noise(pairs):
    """The noise of the pair (median, fastest) that has most; "–" if no pair is complete."""
    measured = [(median, fastest) for median, fastest in pairs if median and fastest]
    return noise(*max(measured, key=lambda pair: pair[0] / pair[1])) if measured else "–"


def threads(count):
    return "1 thread" if count == 1 else f"{count} threads"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def pivot(heads, cells, columns=None):
    """A table from cells (key, column, text). Each key is a row; it is a tuple with one part per entry of `heads`.
    If a cell occurs twice, the later text is used."""
    lines = {}
    for key, column, text in cells:
        lines.setdefault(key, {})[column] = text
    columns = columns or dict.fromkeys(column for line in lines.values() for column in line)
    return table([*heads, *map(str, columns)],
                 [[*map(str, key), *[line.get(column, "–") for column in columns]]
                  for key, line in lines.items()])


def machine_of(figures):
    """The sentence that names machine, commit and date of a record."""
    facts = figures.record
    gpu = f"{facts['gpu']}, driver {facts['driver']}; " if "gpu" in facts else ""
    load = f" (load {facts['load_before']:.1f} at the start)" if "load_before" in facts else ""
    return (f"Measured on {gpu}{facts['cpu']}, {facts['cores']} cores{load}; commit "
            f"{facts['commit']}, {facts['date']}.\n")


def devices(*every):
    """The devices of these records, as text; "–" without any record."""
    names = dict.fromkeys(figures.record.get("gpu") or f"{figures.record['cpu']} ({figures.record['cores']} cores)"
                          for figures in every if figures and figures.rows)
    return "; ".join(names) or "–"
