"""The parts of the GPU suite that take figures."""
import lzma
import os
import shutil
import sys

import measure

HERE = os.path.dirname(os.path.abspath(__file__))


class FigureParts:
    """Of a Suite: needs its runner, pack, env, folder, quick and program()."""

    def programs(self):
        return measure.Programs(
            self.program("algorithms"), self.program("picture"), self.program("pipeline"), None,
            os.path.join(HERE, "bench", "peers", "packages.py"), sys.executable, self.env)

    def algorithms(self):
        measure.gpu_algorithms(self.runner, self.programs(), self.quick)

    def peers(self):
        measure.gpu_peers(self.runner, self.programs(), self.quick)

    def cpu(self):
        measure.cpu_beside_peers(self.runner, self.programs(), [measure.HD, measure.SQUARE], "1,2",
                                 0.05, "cv2")

    def superpixels(self):
        measure.superpixels(self.runner, self.programs(), self.program("superpixels"))
        measure.superpixel_ablation(self.runner, self.programs(),
                                    self.program("superpixel-ablation"))

    def volumes(self):
        """Volumes, many thresholds, the founding papers' methods, and what tracking adds."""
        cases = [("volumes", ["--cuda", "--sizes", "64" if self.quick else "128,256"]),
                 ("labelling-ablation", ["--quick"] if self.quick else ["--side", "128"])]
        cases += [("labelling-tracking", ["--cuda", "1920", "1080", discs])
                  for discs in ("300", "1000", "2000")]
        if not self.quick:
            cases += [("volumes", ["--cuda", "--thresholds"]),
                      ("labelling-ablation", ["--side", "256", "smooth-cube"])]
        for name, options in cases:
            self.runner.run([self.program(name), "--json", *options], " ".join([name, *options]),
                            timeout=150, env=self.env)

    def cuts(self):
        """The minimum cuts of real graphs, if the pack has them."""
        folder = os.path.join(HERE, "instances")
        if not os.path.isdir(folder):
            self.runner.say("  no instances in this pack")
            return
        for name in sorted(os.listdir(folder)):
            plain = os.path.join(self.folder, name.removesuffix(".xz"))
            with lzma.open(os.path.join(folder, name)) as packed, open(plain, "wb") as file:
                shutil.copyfileobj(packed, file)
            self.runner.run([self.program("maxflow"), "--solver", "cuda", "--runs", "5",
                             "--seconds", "0.5", plain], name, env=self.env)
            os.remove(plain)

    def pipelines(self):
        clips = {name: os.path.join(HERE, file) for name, file in self.pack["clips"].items()
                 if name != "walkers"}
        measure.pipelines(self.runner, self.programs(), True, clips, self.quick)
