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
        return measure.Programs(os.path.join(HERE, "bin"), os.path.join(HERE, "bench", "peers"),
                                sys.executable, env=self.env)

    def algorithms(self):
        measure.gpu_algorithms(self.runner, self.programs(), self.quick)

    def peers(self):
        measure.gpu_peers(self.runner, self.programs(), self.quick)

    def cpu(self):
        measure.cpu_beside_peers(self.runner, self.programs(), [measure.HD, measure.SQUARE], "1,2",
                                 0.05, "cv2")

    def superpixels(self):
        measure.superpixels(self.runner, self.programs())
        measure.superpixel_ladder(self.runner, self.programs())

    def volumes(self):
        """Volumes, many thresholds, the founding papers' methods, and what tracking adds."""
        cases = [("cclabel_volumes", ["--cuda", "--sizes", "64" if self.quick else "128,256"]),
                 ("cclabel_historic", ["--quick"] if self.quick else ["--sides", "128"])]
        cases += [("cclabel_tracking", ["--cuda", "--discs", discs])
                  for discs in ("300", "1000", "2000")]
        if not self.quick:
            cases += [("cclabel_volumes", ["--cuda", "--thresholds"]),
                      ("cclabel_historic", ["--sides", "256", "smooth-cube"])]
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
                             "--seconds", "0.5", "--streams", "8", plain], name,
                            env=self.env | {measure.CONNECTIONS: "32"})
            os.remove(plain)

    def pipelines(self):
        clips = {name: os.path.join(HERE, file) for name, file in self.pack["clips"].items()
                 if name != "walkers"}
        measure.pipelines(self.runner, self.programs(), True, clips, self.quick)
