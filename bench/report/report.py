#!/usr/bin/env python3
"""Writes docs/performance.md, docs/benchmarks and the plots from the records in bench/results; no
figure in them is typed by hand."""
import os
import sys

import cuts
import labelling
import packages
import performance
import pipelines
import segments
import superpixels
import volumes
from records import Figures, of_gpu, of_suite, records
from tables import table

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
WRITTEN = "Written by `bench/run --report` from the records in `bench/results`; do not edit.\n"


class Report:
    """All that the records say."""

    def __init__(self, found):
        self.gpu = of_gpu(found)
        self.cpus = [cpu for cpu in (labelling.Cpu(Figures(record)) for record in found.values())
                     if cpu.figures.makers(backend="cpu")]
        self.with_opencv = next((cpu for cpu in self.cpus if cpu.opencv()), None)
        self.cuts_on_gpus, self.cuts_on_cpus = cuts.all_cuts(found)
        self.transcode, self.beside = of_suite("transcode"), superpixels.beside_peers()
        self.cubes = volumes.Cpu(of_suite("volumes-cpu"))
        self.package = packages.Cpu(of_suite("python"))
        has_python = self.gpu and self.gpu.select(what="python device")
        self.package_on_gpu = packages.Gpu(self.gpu if has_python else of_suite("python-gpu"))
        self.archives = segments.Archives()

    def asked_on_gpu(self):
        labels = labelling.Gpu(self.gpu)
        return [*labels.asked(), *pipelines.asked_of_labelling(self.gpu),
                *[row for each in self.cuts_on_gpus for row in each.asked_on_gpu()],
                *pipelines.asked_of_graphcutbg(self.gpu),
                *pipelines.asked_of_streams(self.gpu), *pipelines.asked_of_live(self.gpu),
                *superpixels.asked_on_gpu(self.gpu), *labels.tracking(), *volumes.Gpu(self.gpu).asked(),
                *self.package_on_gpu.asked(), *self.archives.asked_on_gpu()]

    def asked_on_cpu(self):
        return [*self.with_opencv.asked(),
                *[row for each in self.cuts_on_cpus for row in each.asked_on_cpu()],
                *cuts.asked_of_foreground(), *cuts.asked_of_motion(), *superpixels.asked_on_cpu(self.beside),
                *superpixels.asked_of_quality(), *pipelines.asked_of_transcode(self.transcode),
                *self.cubes.asked(), *self.package.asked(), *self.archives.asked_on_cpu()]

    def pages(self):
        """{file below docs/benchmarks: (title, parts)}."""
        wanted, gpu = ["what", "wanted", "measured", ""], self.gpu
        return {
            "asked.md": ("What was asked for", [
                *(["## On the GPU\n", table(wanted, self.asked_on_gpu())] if gpu else []),
                *(["## On the CPU\n", table(wanted, self.asked_on_cpu())]
                  if self.with_opencv else [])]),
            "labelling.md": ("Labelling pictures", [
                *(labelling.Gpu(gpu).part() if gpu else []),
                *[part for each in self.cpus for part in each.part()],
                *labelling.tracks_part()]),
            "volumes.md": ("Labelling volumes", [
                *(volumes.Gpu(gpu).part() if gpu else []), *self.cubes.part()]),
            "pipelines.md": ("Whole pipelines", [
                *(pipelines.gpu_part(gpu) if gpu else []),
                *[part for each in self.cpus for part in pipelines.cpu_part(each.figures)],
                *pipelines.transcode_part(self.transcode)]),
            "archives.md": ("Archives", self.archives.part()),
            "superpixels.md": ("Superpixels", [
                *(superpixels.gpu_part(gpu) + superpixels.ladder_part(gpu) if gpu else []),
                *superpixels.cpu_part(self.beside), *superpixels.quality_part(),
                *superpixels.stability_part()]),
            "python.md": ("The Python package", [*self.package_on_gpu.part(), *self.package.part()]),
            "cuts.md": ("Minimum cuts and foregrounds", [
                *[part for each in self.cuts_on_gpus + self.cuts_on_cpus for part in each.part()],
                *cuts.foreground_part(), *cuts.motion_part()])}


def texts(report):
    """{file below docs: its text}."""
    pages = {"performance.md": ("Performance", performance.parts(report)),
             **{"benchmarks/" + name: page for name, page in report.pages().items()}}
    return {name: "\n".join([f"# {title}\n", WRITTEN, *parts])
            for name, (title, parts) in pages.items()}


def write(docs=DOCS):
    import plots  # here, since the text needs no matplotlib
    report = Report(records())
    if not report.gpu and not report.cpus:
        sys.exit("report: no records in bench/results")
    for folder in ("plots", "benchmarks"):
        os.makedirs(os.path.join(docs, folder), exist_ok=True)
    plots.draw(os.path.join(docs, "plots"), report.gpu,
               report.with_opencv and report.with_opencv.figures)
    for name, text in texts(report).items():
        with open(os.path.join(docs, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    write()
