"""Clips in the manner of CDnet's categories, with exact masks: cut-outs of photographs move over photographs or over the
background of a real recording. A seed determines everything; for each seed there is one clip per kind. A kind that
begins with `grey-` is the grey version of that kind, or of a difficulty of composites.py.

Photographs and recording come from Debian's opencv-doc, see composites.py. Seeds up to 99 are for tuning. Other seeds
are for reports; nothing is tuned on them.
"""
import functools
import os

import cv2
import numpy as np

import composites
from composites import paste

SIZE, FRAMES, FIRST = (240, 320), 260, 60  # FIRST: the first frame that is scored
PLACES = ("leuvenA.jpg", "graf1.png", "building.jpg", "aloeL.jpg", "stuff.jpg", "basketball1.png", "left.jpg",
          "rubberwhale1.png", "box_in_scene.png", None)  # None: the recording
GREY = "grey-"


@functools.cache
def photographs():
    return composites.photographs()


def grid():
    return np.mgrid[0:SIZE[0], 0:SIZE[1]].astype(np.float32)


def place(random, recording, size):
    """A part of a photograph, at a scale at which it covers the size."""
    name = PLACES[random.integers(len(PLACES))]
    picture = recording.background if name is None else cv2.imread(os.path.join(composites.DATA, name))
    zoom = max(size[0] / picture.shape[0], size[1] / picture.shape[1]) * random.uniform(1.0, 1.3)
    picture = cv2.resize(picture, None, fx=zoom * 1.01, fy=zoom * 1.01,
                         interpolation=cv2.INTER_AREA if zoom < 1 else cv2.INTER_LINEAR)
    top = random.integers(picture.shape[0] - size[0] + 1)
    left = random.integers(picture.shape[1] - size[1] + 1)
    return picture[top:top + size[0], left:left + size[1]].astype(np.float32)


def smooth_noise(random, size, sigma):
    """A random field with mean 0 and standard deviation 1."""
    field = cv2.GaussianBlur(random.standard_normal(size).astype(np.float32), (0, 0), sigma)
    return field / max(1e-6, float(field.std()))


class Baseline:
    """Passers-by in front of a still background. Derived classes change parts of it."""
    actors, heights, speeds = 4, (36, 100), (1.0, 3.5)
    place_size = SIZE

    def __init__(self, random, recording):
        self.random = random
        self.still = place(random, recording, self.place_size)
        top = random.integers(recording.noise.shape[1] - SIZE[0] + 1)
        left = random.integers(recording.noise.shape[2] - SIZE[1] + 1)
        self.noise = recording.noise[:, top:top + SIZE[0], left:left + SIZE[1]]
        self.first = int(random.integers(len(self.noise)))
        self.cast = [self.actor() for _ in range(self.actors)]
        self.prepare()

    def prepare(self):
        """Draws the random values of the kind."""

    def actor(self):
        """An actor that crosses the picture. Most actors wear clothes with little texture."""
        actor = composites.Actor(self.random, photographs(), SIZE, self.still, FRAMES, False)
        actor.height = int(self.random.integers(*self.heights))
        actor.width = max(8, int(actor.height * self.random.uniform(0.4, 0.8)))
        actor.cover = composites.silhouette(self.random, actor.height, actor.width)
        if self.random.random() < 0.3:
            actor.cover = np.zeros_like(actor.cover)
            cv2.ellipse(actor.cover, (actor.width // 2, actor.height // 2),
                        (actor.width // 2 - 1, actor.height // 3), 0, 0, 360, 1.0, -1, cv2.LINE_AA)
        actor.look = cv2.resize(actor.look, (actor.width, actor.height), interpolation=cv2.INTER_AREA)
        if self.random.random() < 0.6:
            mean = actor.look.mean(axis=(0, 1))
            actor.look = mean + (actor.look - mean) * 0.25
        actor.x0 = self.random.uniform(-actor.width, SIZE[1])
        actor.y0 = self.random.uniform(0, SIZE[0] - actor.height)
        actor.dx = self.random.uniform(*self.speeds) * self.random.choice((-1, 1))
        actor.rest = (0, 0)
        return actor

    def at(self, k, frame):
        return self.cast[k].place(frame, SIZE)

    def scene(self, frame):
        return self.still.copy()

    def draw(self, frame):
        """The picture without noise, and the coverage of the foreground."""
        scene, mask = self.scene(frame), np.zeros(SIZE, np.float32)
        for k, actor in enumerate(self.cast):
            paste(scene, actor.look, actor.cover, *self.at(k, frame))
            paste(mask, 1.0, actor.cover, *self.at(k, frame))
        return self.seen(scene, frame), mask

    def seen(self, scene, frame):
        """The scene as the camera shows it."""
        return scene

    def clip(self):
        for frame in range(FRAMES):
            picture, mask = self.draw(frame)
            picture = picture + self.noise[(self.first + frame) % len(self.noise)]
            yield (np.clip(np.rint(picture), 0, 255).astype(np.uint8),
                   np.where(mask >= 0.5, 255, 0).astype(np.uint8))


class Busy(Baseline):
    actors = 9


class LowRate(Baseline):
    speeds = (12.0, 40.0)


class Stop(Baseline):
    """Half of the actors come in from a side, stop and stay."""

    def prepare(self):
        for actor in self.cast[:2]:
            first, stop = int(self.random.integers(20, 50)), int(self.random.integers(70, 120))
            x = self.random.uniform(10, SIZE[1] - actor.width - 10)
            outside = -actor.width if actor.dx > 0 else SIZE[1]
            actor.dx, actor.rest = (x - outside) / (stop - first), (first, stop)

    def at(self, k, frame):
        actor = self.cast[k]
        if k >= 2:
            return actor.place(frame, SIZE)
        first, stop = actor.rest
        outside = -actor.width if actor.dx > 0 else SIZE[1]
        return int(round(outside + actor.dx * (min(max(frame, first), stop) - first))), int(round(actor.y0))


class Ghost(Baseline):
    """Two objects are in the picture from the start and leave some time later."""

    def prepare(self):
        self.leave = self.random.integers(30, 130, 2)
        for actor in self.cast[:2]:
            actor.x0 = self.random.uniform(10, SIZE[1] - actor.width - 10)

    def at(self, k, frame):
        actor = self.cast[k]
        if k >= 2:
            return actor.place(frame, SIZE)
        gone = max(0, frame - self.leave[k])
        return int(round(actor.x0 + 2 * actor.dx * gone)), int(round(actor.y0))


class Night(Baseline):
    """Cars with headlights in the dark. Their beams and halos are not foreground."""
    actors, heights, speeds = 3, (24, 50), (1.5, 4.5)

    def prepare(self):
        self.dark = self.random.uniform(0.1, 0.22)
        self.noise = np.rint(self.noise * 1.6).astype(np.int8)
        for actor in self.cast:
            actor.width = int(actor.height * self.random.uniform(1.6, 2.2))
            actor.cover = np.zeros((actor.height, actor.width), np.float32)
            cv2.ellipse(actor.cover, (actor.width // 2, actor.height * 2 // 3),
                        (actor.width // 2 - 1, actor.height // 3), 0, 0, 360, 1.0, -1, cv2.LINE_AA)
            cv2.ellipse(actor.cover, (actor.width // 2, actor.height // 3),
                        (actor.width // 3, actor.height // 3), 0, 0, 360, 1.0, -1, cv2.LINE_AA)
            actor.look = cv2.resize(actor.look, (actor.width, actor.height)) * self.random.uniform(0.15, 0.5)
            actor.dy = 0.0

    def draw(self, frame):
        scene, mask, (ys, xs) = self.still * self.dark, np.zeros(SIZE, np.float32), grid()
        for k, actor in enumerate(self.cast):
            x, y = self.at(k, frame)
            ahead = 1 if actor.dx > 0 else -1
            front, low = x + (actor.width if ahead > 0 else 0), y + actor.height * 0.7
            along, down = (xs - front) * ahead, ys - low - actor.height * 0.2
            reach = np.clip(along / (2.5 * actor.height), 0, 2)
            beam = np.where(along > 0, np.exp(-reach ** 2 * 2 - (down / (0.25 * actor.height + 0.25 * along.clip(0))) ** 2), 0)
            halo = np.exp(-((xs - front) ** 2 + (ys - low) ** 2) / (2 * (0.4 * actor.height) ** 2))
            scene += (beam * 0.5)[..., None] * self.still + (halo * 70 + beam * 15)[..., None]
        for k, actor in enumerate(self.cast):
            x, y = self.at(k, frame)
            paste(scene, actor.look, actor.cover, x, y)
            paste(mask, 1.0, actor.cover, x, y)
            lamp = np.zeros((actor.height, actor.width), np.float32)
            edge = actor.width - 5 if actor.dx > 0 else 5
            cv2.circle(lamp, (edge, int(actor.height * 0.7)), max(2, actor.height // 10), 1.0, -1, cv2.LINE_AA)
            paste(scene, 250.0, lamp * actor.cover, x, y)
        return scene, mask


class Turbulence(Baseline):
    """Hot air in front of a far camera: everything trembles. Objects are small and slow."""
    heights, speeds = (16, 36), (0.4, 1.4)

    def prepare(self):
        self.still = cv2.GaussianBlur(self.still, (0, 0), 1.0)
        self.reach, self.size = self.random.uniform(1.0, 2.2), self.random.uniform(5, 12)
        tone = self.still.mean()
        for actor in self.cast:
            actor.look = tone + self.random.choice((-1, 1)) * self.random.uniform(30, 60) + (
                actor.look - actor.look.mean()) * 0.15

    def draw(self, frame):
        scene, mask = super().draw(frame)
        ys, xs = grid()
        dx, dy = (self.reach * smooth_noise(self.random, SIZE, self.size) for _ in range(2))
        return tuple(cv2.remap(one, xs + dx, ys + dy, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
                     for one in (grey_of(scene), mask))


class Pan(Baseline):
    """A camera that rests, turns, rests and turns back."""
    place_size = (300, 640)

    def prepare(self):
        speed = self.random.uniform(2, 6)
        self.start = self.random.uniform(0, 20, 2)
        steps = np.zeros((FRAMES, 2))
        for first, last, sign in ((80, 120, 1), (170, 210, -1)):
            steps[first:last] = sign * speed, sign * speed * 0.1
        self.offset = np.cumsum(steps, axis=0) + self.start

    def draw(self, frame):
        x, y = self.offset[frame]
        scene = cv2.warpAffine(self.still, np.float32([[1, 0, -x], [0, 1, -y]]), SIZE[::-1], flags=cv2.INTER_LINEAR)
        mask = np.zeros(SIZE, np.float32)
        for k, actor in enumerate(self.cast):
            left, top = self.at(k, frame)
            paste(scene, actor.look, actor.cover, left, top)
            paste(mask, 1.0, actor.cover, left, top)
        return scene, mask


class Jitter(Baseline):
    """A camera that trembles by up to 2 to 4 pixels."""

    def prepare(self):
        most = int(self.random.integers(2, 5))
        offsets = np.zeros((FRAMES, 2))
        for i in range(1, FRAMES):
            offsets[i] = 0.6 * offsets[i - 1] + most * 0.5 * self.random.standard_normal(2)
        self.offset = offsets.clip(-most, most).astype(np.float32)

    def draw(self, frame):
        x, y = self.offset[frame]
        return tuple(cv2.warpAffine(one, np.float32([[1, 0, x], [0, 1, y]]), SIZE[::-1], flags=cv2.INTER_LINEAR,
                                    borderMode=cv2.BORDER_REFLECT) for one in super().draw(frame))


class Thermal(Baseline):
    """An infrared camera: grey, blurred, with warm and cold objects of one tone."""

    def prepare(self):
        mean = self.still.mean()
        self.still = mean * 0.6 + 20 + cv2.GaussianBlur(self.still - mean, (0, 0), 1.5) * 0.4
        self.noise = np.rint(self.noise * 0.6).astype(np.int8)
        for actor in self.cast:
            warm = self.random.uniform(40, 110) if self.random.random() < 0.6 else -self.random.uniform(25, 60)
            actor.look = cv2.GaussianBlur(self.still.mean() + warm + (actor.look - actor.look.mean()) * 0.12, (0, 0), 1.5)

    def seen(self, scene, frame):
        return grey_of(cv2.GaussianBlur(scene, (0, 0), 0.8))


class Snow(Baseline):
    """Flakes of 1 to 5 pixels fall in front of the scene."""

    def prepare(self):
        count = int(self.random.integers(60, 220))
        self.flakes = self.random.uniform((0, 0, 3.5, -1.5, 0.6, 0.5), (SIZE[1], SIZE[0], 9, 1.5, 2.4, 0.95), (count, 6))
        self.still = self.still * 0.6 + 70

    def seen(self, scene, frame):
        cover = np.zeros((SIZE[0] * 4, SIZE[1] * 4), np.float32)
        for x, y, fall, drift, radius, tone in self.flakes:
            at = (x + drift * frame) % SIZE[1], (y + fall * frame) % SIZE[0]
            cv2.ellipse(cover, (int(at[0] * 4), int(at[1] * 4)), (max(1, int(radius * 4)), max(2, int(radius * 4 + fall))),
                        0, 0, 360, tone, -1)
        cover = cv2.resize(cover, SIZE[::-1], interpolation=cv2.INTER_AREA)[..., None]
        return scene + (240 - scene) * cover


class Water(Baseline):
    """Waves with glints fill the lower part of the picture."""

    def prepare(self):
        self.line = int(SIZE[0] * self.random.uniform(0.3, 0.6))
        self.waves = [(self.random.uniform(0.1, 0.5), self.random.uniform(0.2, 0.9), self.random.uniform(-0.9, 0.9),
                       self.random.uniform(0, 6.3)) for _ in range(7)]
        self.share, self.glint = self.random.uniform(0.01, 0.05), self.random.uniform(50, 130)
        self.still[self.line:] = cv2.GaussianBlur(self.still[self.line:], (0, 0), 4) * 0.7

    def scene(self, frame):
        ys, xs = grid()
        height = sum(np.sin(a * xs + b * ys + speed * frame + phase) for a, b, speed, phase in self.waves)
        scene = self.still.copy()
        wave = height[self.line:]
        scene[self.line:] += wave[..., None] * 2.5
        scene[self.line:] += (wave > np.quantile(wave, 1 - self.share))[..., None] * self.glint
        return cv2.GaussianBlur(scene, (0, 0), 0.5)


KINDS = {"baseline": Baseline, "busy": Busy, "low-rate": LowRate, "stop": Stop, "ghost": Ghost, "night": Night,
         "turbulence": Turbulence, "pan": Pan, "shake": Jitter, "thermal": Thermal, "snow": Snow, "water": Water}
GREY_KINDS = tuple(GREY + kind for kind in ("baseline", "stop", "shadow", "hard-shadow"))
EVERY = (*KINDS, *GREY_KINDS)


def grey_of(picture):
    """The luma of a picture, in all three channels."""
    return np.repeat((picture @ np.float32((0.114, 0.587, 0.299)))[..., None], 3, axis=2)


def clip(seed, kind, recording):
    """Yields frames as (picture, mask): uint8 BGR, and 255 in the foreground or 0."""
    colored = kind.removeprefix(GREY)
    if colored in KINDS:
        random = np.random.default_rng([seed, list(KINDS).index(colored), 52])
        frames = KINDS[colored](random, recording).clip()
    else:
        frames = composites.clip(seed, colored, recording, SIZE, FRAMES)
    for picture, mask in frames:
        if kind != colored:
            picture = np.rint(grey_of(picture.astype(np.float32))).astype(np.uint8)
        yield picture, mask
