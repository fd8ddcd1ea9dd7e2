"""Reads exports of regions-transcode with other programs. exports_test.py runs it in .venv/python.

  read_exports.py TABLE.csv TRACKS.mot.txt MASKS.coco.json OUT.npz
"""

import contextlib
import os
import sys
import warnings

import numpy

table, tracks, masks, out = sys.argv[1:]
warnings.simplefilter("ignore")
with open(os.devnull, "w", encoding="utf-8") as quiet, contextlib.redirect_stdout(quiet):
    import motmetrics
    import pandas
    import supervision
    from pycocotools.coco import COCO

    found = {f"pandas {name}": column.to_numpy() for name, column in pandas.read_csv(table).items()}

    told = motmetrics.io.loadtxt(tracks, fmt="mot15-2D")
    found |= {f"motmetrics {name}": told.reset_index()[name].to_numpy()
              for name in ("FrameId", "Id", "X", "Y", "Width", "Height")}
    compared = motmetrics.MOTAccumulator(auto_id=True)
    for _, frame in told.groupby(level="FrameId"):
        ids, boxes = frame.index.get_level_values("Id"), frame[["X", "Y", "Width", "Height"]].to_numpy()
        compared.update(ids, ids, abs(boxes[:, None] - boxes).sum(2))
    summary = motmetrics.metrics.create().compute(compared, metrics=["mota", "num_switches", "num_unique_objects"])
    found |= {f"motmetrics {name}": summary[name].to_numpy() for name in summary}

    coco = COCO(masks)
    found["pycocotools"] = numpy.stack([
        sum((coco.annToMask(one) * number for number, one in enumerate(coco.imgToAnns[image], 1)),
            numpy.zeros((coco.imgs[image]["height"], coco.imgs[image]["width"]), int)) for image in sorted(coco.imgs)])

    read = supervision.DetectionDataset.from_coco(os.path.dirname(masks), masks, force_masks=True)
    found["supervision"] = numpy.stack([sum((mask.astype(int) * number for number, mask in enumerate(one.mask, 1)))
                                        for one in read.annotations.values()])
numpy.savez(out, **found)
