"""Tables of volumes: cubes of 26, 18 and 6 neighbours, and 64 thresholds at once."""
from phrases import number, table


def gpu_times(figures):
    """{(side, content, neighbours, thresholds): microseconds} of graphs replayed on the GPU."""
    return {(row["depth"], row["content"], row["connectivity"], row["thresholds"]): row["us"]
            for row in figures.select(what="volume", backend="cuda", clock="graph")}


def musts(figures, anchors, verdict):
    """Rows of what was asked for: [what, wanted, measured, verdict]."""
    took = gpu_times(figures)
    rows = []
    for side in (128, 256):
        best = anchors["volumes_26_us"][str(side)]
        ours = {content: took[side, content, 26, 1] for content in best
                if (side, content, 26, 1) in took}
        if ours:
            slower = [content for content in ours if ours[content] > best[content][0]]
            worst = max(ours, key=lambda content: ours[content] / best[content][0])
            rows.append([f"volume {side}³, 26 neighbours, every content, of the best peer's time",
                         "≤ 1.00", f"{ours[worst] / best[worst][0]:.2f} ({worst})",
                         verdict(not slower)])
        dearer = [(took[side, content, neighbours, 1] / us, f"{content}, {neighbours}")
                  for content, us in ours.items() for neighbours in (6, 18)
                  if (side, content, neighbours, 1) in took]
        if dearer:
            most, where = max(dearer)
            rows.append([f"volume {side}³, 6 and 18 neighbours, of the time of 26", "≤ 1.00",
                         f"{most:.2f} ({where})", verdict(most <= 1)])
        for content, (peer, _) in anchors["volumes_64_thresholds_ms"][str(side)].items():
            us = took.get((side, content, 26, 64))
            if us:
                rows.append([f"64 thresholds of a volume {side}³, {content}, all labels written",
                             f"≤ {peer} ms", number(us / 1000, " ms"),
                             verdict(us / 1000 <= peer)])
    return rows


def part(figures, anchors):
    """The section of the report."""
    took = gpu_times(figures)
    if not took:
        return []
    sides = sorted({key[0] for key in took})
    contents = dict.fromkeys(key[1] for key in took if key[3] == 1)
    lines = []
    for content in contents:
        line = [content]
        for side in sides:
            line += [number(took[side, content, n, 1]) if (side, content, n, 1) in took else "–"
                     for n in (26, 18, 6)]
            peer = anchors["volumes_26_us"].get(str(side), {}).get(content)
            line.append(f"{peer[0]:g} {peer[1]}" if peer else "–")
        lines.append(line)
    many = [[f"{side}³ {content}", number(us / 1000), f"{peer[0]:g} {peer[1]}" if peer else "–"]
            for (side, content, _, thresholds), us in took.items() if thresholds == 64
            for peer in [anchors["volumes_64_thresholds_ms"].get(str(side), {}).get(content)]]
    heads = [head for side in sides
             for head in (f"{side}³: 26", "18", "6", "best peer, 26")]
    return ["## Volumes on the GPU\n",
            "Microseconds a binary volume, u8 in, u32 labels out, numbered 1..n, graph replays. "
            "Peers (YACCLAB's 3D algorithms) were measured elsewhere on the same kind of GPU, and "
            "do not number their labels.\n",
            table(["content", *heads], lines),
            "64 thresholds of one volume at once, all 64 label volumes written, milliseconds:\n",
            table(["volume", "cclabel", "best peer"], many)]
