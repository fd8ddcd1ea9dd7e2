"""Clips with exact masks: cut-outs of photographs move over the background of a real recording, with the noise of that
recording. A seed determines everything; for each seed there is one clip per difficulty.

Photographs and recording come from Debian's opencv-doc.
"""
import dataclasses
import os

import cv2
import numpy as np

DATA = "/usr/share/doc/opencv-doc/examples/data"
PHOTOGRAPHS = ("messi5.jpg", "fruits.jpg", "baboon.jpg", "butterfly.jpg", "HappyFish.jpg",
               "apple.jpg", "orange.jpg", "squirrel_cls.jpg", "home.jpg", "starry_night.jpg",
               "board.jpg", "aero1.jpg")
DIFFICULTIES = ("plain", "camouflage", "shadow", "light", "waving")
HARDER = ("hard-shadow", "jitter", "bootstrap", "gradual", "jacket", "flicker")
EVERY = DIFFICULTIES + HARDER
SCORED = {"bootstrap": (15, 100)}  # frames; other clips are scored later
MOVED = 18  # a change by more gray levels is motion, not noise


@dataclasses.dataclass
class Recording:
    """A recording without moving objects: the median picture and the noise of each frame."""
    background: np.ndarray  # [height][width][3]
    noise: np.ndarray       # [frames][height][width][3], int8

    @staticmethod
    def read(path=os.path.join(DATA, "vtest.avi"), frames=160, spread=12):
        clip = cv2.VideoCapture(path)
        every = []
        while True:
            there, picture = clip.read()
            if not there:
                break
            every.append(picture)
        if not every:
            raise SystemExit(f"{path}: cannot read the video; Debian's package opencv-doc has it")
        background = np.median(np.stack(every[::spread]), axis=0)
        some = np.stack(every[:frames]).astype(np.int16)
        noise = some - np.round(background).astype(np.int16)
        moved = np.abs(noise).max(axis=3) > MOVED
        box = np.ones((7, 7), np.uint8)
        for i in range(frames):
            here = cv2.dilate(moved[i].astype(np.uint8), box).astype(bool)
            # Take the noise of the same pixel in another frame in which nothing moves there.
            for other in range(i + 17, i + 17 * 8, 17):
                there = here & ~moved[other % frames]
                noise[i][there] = noise[other % frames][there]
                here &= ~there
                if not here.any():
                    break
            noise[i][here] = 0
        return Recording(background.astype(np.float32), noise.clip(-MOVED, MOVED).astype(np.int8))


def photographs():
    pictures = [cv2.imread(os.path.join(DATA, name)) for name in PHOTOGRAPHS]
    return [picture for picture in pictures if picture is not None]


def silhouette(random, height, width):
    """Coverage (0..1) of a walking figure made of ellipses, with soft borders of one pixel."""
    scale = 8
    canvas = np.zeros((height * scale, width * scale), np.uint8)
    middle = width * scale // 2
    rows = height * scale

    def ellipse(x, y, half_width, half_height, angle=0.0):
        cv2.ellipse(canvas, (int(x), int(y)), (int(half_width), int(half_height)), angle, 0, 360,
                    255, -1)

    ellipse(middle, rows * 0.14, rows * 0.09, rows * 0.12)
    ellipse(middle, rows * 0.42, width * scale * random.uniform(0.24, 0.36), rows * 0.24)
    for side in (-1, 1):
        lean = random.uniform(2, 16)
        ellipse(middle + side * width * scale * 0.16, rows * 0.76, width * scale * 0.12,
                rows * 0.23, -side * lean)
        ellipse(middle + side * width * scale * 0.30, rows * 0.42, width * scale * 0.08,
                rows * 0.2, -side * lean)
    return cv2.resize(canvas, (width, height), interpolation=cv2.INTER_AREA) / np.float32(255)


class Actor:
    """A cut-out: its appearance, and its position in each frame."""

    def __init__(self, random, pictures, size, background, frames, hides):
        height, width = size
        self.height = int(random.integers(height // 6, height // 2))
        self.width = max(12, int(self.height * random.uniform(0.4, 0.8)))
        self.cover = silhouette(random, self.height, self.width)
        if random.random() < 0.3:  # an object that does not look like a person
            self.cover = np.zeros_like(self.cover)
            cv2.ellipse(self.cover, (self.width // 2, self.height // 2),
                        (self.width // 2 - 2, self.height // 3), 0, 0, 360, 1.0, -1, cv2.LINE_AA)
        picture = pictures[random.integers(len(pictures))]
        zoom = max(self.height / picture.shape[0], self.width / picture.shape[1])
        zoom *= random.uniform(1.0, 2.5)
        picture = cv2.resize(picture, None, fx=zoom * 1.01, fy=zoom * 1.01,
                             interpolation=cv2.INTER_AREA if zoom < 1 else cv2.INTER_LINEAR)
        top = random.integers(picture.shape[0] - self.height + 1)
        left = random.integers(picture.shape[1] - self.width + 1)
        self.look = picture[top:top + self.height, left:left + self.width].astype(np.float32)
        if hides:  # low contrast to the scene
            mean = background.reshape(-1, 3).mean(axis=0)
            shift = random.uniform(-22, 22)
            self.look = mean + shift + (self.look - self.look.mean(axis=(0, 1))) * 0.35
        self.x0 = random.uniform(-self.width, width)
        self.y0 = random.uniform(0, height - self.height)
        self.dx = random.uniform(1.0, 3.5) * random.choice((-1, 1))
        self.dy = random.uniform(-0.5, 0.5)
        self.period = width + 2 * self.width
        self.rest = sorted(random.integers(0, frames, 2)) if random.random() < 0.3 else (0, 0)
        self.rest = (self.rest[0], min(self.rest[1], self.rest[0] + 25))

    def wear(self, color):
        """Adds a jacket of this colour between neck and legs, which hides most of the texture."""
        rows = np.linspace(0, 1, self.height, dtype=np.float32)
        worn = np.clip((rows - 0.26) / 0.04, 0, 1) * np.clip((0.62 - rows) / 0.04, 0, 1)
        jacket = color + (self.look - self.look.mean(axis=(0, 1))) * 0.15
        self.look += (jacket - self.look) * worn[:, None, None]

    def shadow(self, slant, length):
        """Coverage of the shadow on the ground, and its offset from the actor's corner. It starts at the feet and falls
        towards the camera if the length is negative."""
        feet = self.height - 1
        rows = int(abs(length) * self.height) + 1
        left = min(0.0, slant * feet)
        move = np.float32([[1, -slant, slant * feet - left],
                           [0, length, -length * feet + (rows if length > 0 else 0)]])
        size = self.width + int(abs(slant) * self.height) + 1, rows + 1
        return (cv2.warpAffine(self.cover, move, size),
                int(left), feet - (rows if length > 0 else 0))

    def place(self, frame, size):
        moving = frame - max(0, min(frame, self.rest[1]) - self.rest[0])
        x = (self.x0 + self.width + self.dx * moving) % self.period - self.width
        y = self.y0 + self.dy * moving
        span = size[0] - self.height
        y = abs((y + 2 * span) % (2 * span) - span) if span > 0 else 0  # back and forth
        return int(round(x)), int(round(y))


def paste(target, look, cover, x, y):
    """Blends `look` into the target with the weights `cover`. Parts outside the target are cut off."""
    height, width = target.shape[:2]
    left, top = max(x, 0), max(y, 0)
    right, bottom = min(x + cover.shape[1], width), min(y + cover.shape[0], height)
    if left >= right or top >= bottom:
        return
    part = cover[top - y:bottom - y, left - x:right - x]
    value = look[top - y:bottom - y, left - x:right - x] if isinstance(look, np.ndarray) else look
    place = target[top:bottom, left:right]
    if target.ndim == 3:
        part = part[..., None]
    place += (value - place) * part


class Lamps:
    """Flickering light: mains in the whole picture, the cone of a lamp, and a screen whose picture changes."""

    def __init__(self, random, pictures, size):
        height, width = size
        self.random = random
        self.speed, self.phase = random.uniform(1.8, 2.8), random.uniform(0, 6.3)
        ys, xs = np.mgrid[0:height, 0:width].astype(np.float32)
        x, y = random.uniform(0.2, 0.8, 2) * (width, height)
        self.cone = np.exp(-((xs - x) ** 2 + (ys - y) ** 2) / (2 * (width / 8) ** 2))[..., None]
        self.place = int(random.integers(width - 48)), int(random.integers(height // 2))
        self.shows = [cv2.resize(pictures[k], (40, 30), interpolation=cv2.INTER_AREA).astype(np.float32)
                      for k in random.integers(0, len(pictures), 3)]

    def light(self, scene, frame):
        paste(scene, self.shows[frame // 7 % 3], np.ones((30, 40), np.float32), *self.place)
        scene *= 1 + 0.05 * np.sin(self.speed * frame + self.phase)
        scene *= 1 + self.cone * self.random.uniform(-0.25, 0.25)


def daylight(size, frame, phase):
    """A gain that changes slowly, and the soft shadow of a passing cloud."""
    height, width = size
    edge = -60 + 1.5 * frame + np.arange(width)[None, :] * 0.3 - np.arange(height)[:, None] * 0.2
    cloud = 1 / (1 + np.exp(-(edge - width * 0.3) / 25))
    gain = 1 + 0.25 * np.sin(frame * 0.026 + phase) - 0.3 * cloud
    return gain[..., None].astype(np.float32)


def shake(random, frames):
    """Offsets of a trembling camera in pixels: up to 1, 2 or 3 in each direction."""
    most = random.integers(1, 4)
    offsets = np.zeros((frames, 2))
    for i in range(1, frames):
        offsets[i] = 0.5 * offsets[i - 1] + most * 0.6 * random.standard_normal(2)
    return offsets.clip(-most, most).astype(np.float32)


def clip(seed, difficulty, recording, size=(300, 400), frames=300):
    """Yields frames as (picture, mask): uint8 BGR, and 255 in the foreground or 0."""
    random = np.random.default_rng([seed, EVERY.index(difficulty)])
    height, width = size
    top = random.integers(recording.background.shape[0] - height + 1)
    left = random.integers(recording.background.shape[1] - width + 1)
    still = recording.background[top:top + height, left:left + width]
    noise = recording.noise[:, top:top + height, left:left + width]
    first = random.integers(len(noise))
    hides = difficulty == "camouflage"
    actors = [Actor(random, photographs(), size, still, frames, hides and k < 3)
              for k in range(4)]
    ys, xs = np.mgrid[0:height, 0:width].astype(np.float32)
    centre = random.uniform(0.25, 0.75, 2) * (width, height)
    reach = np.clip(1.6 - 1.6 * np.hypot((xs - centre[0]) / width, (ys - centre[1]) / height) / 0.42,
                    0, 1)
    waves = random.uniform(0.15, 0.45, 4), random.uniform(0, 6.3, 4)
    steps = [(int(frames * random.uniform(0.5, 0.75)), random.choice((0.68, 0.8, 1.25, 1.4)))]
    drift = random.uniform(0.1, 0.18), random.uniform(0, 6.3)
    slant, dark = random.uniform(-0.9, 0.9), random.uniform(0.5, 0.75)
    if difficulty == "hard-shadow":  # lit only by the sky: dark and slightly blue
        sky = random.uniform(0.4, 0.65) * np.float32((1.08, 1.0, 0.94))
        length = random.uniform(0.4, 0.8) * random.choice((-1, 1))
    if difficulty == "jitter":
        offsets = shake(random, frames)
    if difficulty == "flicker":
        lamps = Lamps(random, photographs(), size)
    if difficulty == "bootstrap":  # all actors are in the first frame, and one of them rests
        for actor in actors:
            actor.x0 = random.uniform(0, width - actor.width)
            actor.rest = (0, 0)
        actors[0].rest = (0, 12)
    if difficulty == "jacket":
        for actor in actors:
            y = int(actor.y0)
            path = still[y + actor.height // 4:y + actor.height * 2 // 3]
            actor.wear(np.median(path.reshape(-1, 3), axis=0) + random.uniform(-12, 12))
    for i in range(frames):
        scene = still.copy()
        if difficulty == "waving":
            speed, phase = waves
            dx = 2.6 * (np.sin(speed[0] * i + phase[0] + ys / 9) +
                        0.5 * np.sin(speed[1] * i * 2.1 + phase[1] + xs / 13))
            dy = 1.2 * np.sin(speed[2] * i + phase[2] + xs / 17 + ys / 23)
            scene = cv2.remap(scene, np.float32(xs + dx * reach), np.float32(ys + dy * reach),
                              cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        places = [actor.place(i, size) for actor in actors]
        if difficulty == "shadow":
            shade = np.ones((height, width), np.float32)
            for actor, (x, y) in zip(actors, places):
                flat = cv2.warpAffine(
                    actor.cover, np.float32([[1, slant, max(0, -slant) * actor.height],
                                             [0, 0.45, actor.height * 0.55]]),
                    (actor.width + int(abs(slant) * actor.height), actor.height))
                paste(shade, dark, cv2.GaussianBlur(flat, (0, 0), 1.5),
                      x - int(max(0, -slant) * actor.height * 0.45), y)
            scene *= shade[..., None]
        if difficulty == "hard-shadow":
            shade = np.zeros((height, width), np.float32)
            for actor, (x, y) in zip(actors, places):
                flat, right, down = actor.shadow(slant, length)
                paste(shade, 1.0, cv2.GaussianBlur(flat, (0, 0), 0.5), x + right, y + down)
            scene *= 1 - shade[..., None] * (1 - sky)
        mask = np.zeros((height, width), np.float32)
        for actor, (x, y) in zip(actors, places):
            paste(scene, actor.look, actor.cover, x, y)
            paste(mask, 1.0, actor.cover, x, y)
        if difficulty == "light":
            gain = 1 + drift[0] * np.sin(i * 0.05 + drift[1])
            for start, factor in steps:
                if i >= start:
                    gain *= factor
            scene = scene * gain
        if difficulty == "gradual":
            scene = scene * daylight(size, i, drift[1])
        if difficulty == "flicker":
            lamps.light(scene, i)
        if difficulty == "jitter":
            move = np.float32([[1, 0, offsets[i][0]], [0, 1, offsets[i][1]]])
            scene, mask = (cv2.warpAffine(one, move, (width, height), flags=cv2.INTER_LINEAR,
                                          borderMode=cv2.BORDER_REFLECT) for one in (scene, mask))
        picture = scene + noise[(first + i) % len(noise)]
        yield (np.clip(np.rint(picture), 0, 255).astype(np.uint8),
               np.where(mask >= 0.5, 255, 0).astype(np.uint8))
