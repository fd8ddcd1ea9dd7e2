"""Clips of walkers with exact tracks. Cut-outs (composites.py) walk over the background of a real recording with its
noise. They cross, walk together for a while, stop, and pass behind a pole. A seed determines everything.
"""
import cv2
import numpy as np

import composites

SCENES = ("crossing", "together", "pole", "stop", "crowd")
SIZE = (360, 640)  # height, width
FRAMES, FIRST = 300, 60  # before FIRST nothing moves, so that the background can be learnt
SEEN = 0.15  # minimum visible share of a walker's pixels


class Walker:
    """A cut-out, and the position of its feet in each frame."""

    def __init__(self, random, pictures, background, way):
        self.height = int(random.integers(64, 96))
        self.width = int(self.height * random.uniform(0.36, 0.5))
        # While walking, the figure alternates between four pictures with different legs.
        self.covers = [composites.silhouette(random, self.height, self.width) for _ in range(4)]
        picture = pictures[random.integers(len(pictures))]
        zoom = 1.05 * max(self.height / picture.shape[0], self.width / picture.shape[1])
        picture = cv2.resize(picture, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_AREA)
        look = picture[:self.height, :self.width].astype(np.float32)
        # Clothes of one colour that differs from the background's.
        colour = random.uniform(20, 235, 3)
        while abs(colour - background.mean(axis=(0, 1))).max() < 50:
            colour = random.uniform(20, 235, 3)
        self.look = np.clip(colour + (look - look.mean(axis=(0, 1))) * 0.25, 0, 255)
        self.way = way  # [frame] (x of the middle, y of the feet)

    def place(self, frame):
        x, y = self.way[frame]
        return int(round(x - self.width / 2)), int(round(y - self.height))

    def cover(self, frame):
        moved = frame > 0 and self.way[frame] != self.way[frame - 1]
        return self.covers[frame // 3 % 4 if moved else 0]


def ways_of(scene, random):
    """[walker][frame] (x, y)"""
    height, width = SIZE

    def walk(start, x, y, speed, pause=(0, 0), up=0.0):
        way, moved = [], 0.0
        for frame in range(FRAMES):
            if frame >= start and not pause[0] <= frame < pause[1]:
                moved += 1
            way.append((x + speed * moved, y + up * moved) if frame >= start else (-500.0, y))
        return way

    def from_side(right, y, speed, start=FIRST, **rest):
        return walk(start, width + 40 if right else -40, y, -speed if right else speed, **rest)

    lane = random.uniform(170, 300)
    if scene == "crossing":  # pairs in nearly the same lane, in opposite directions
        return [from_side(k % 2, lane + random.uniform(-8, 8), random.uniform(2.4, 4.2),
                          FIRST + int(random.integers(0, 50))) for k in range(4)]
    if scene == "together":  # a slow walker is overtaken in the same lane
        slow = random.uniform(2.0, 2.4)
        return [from_side(0, lane + random.uniform(-6, 6), slow),
                from_side(0, lane + random.uniform(-6, 6), slow * 1.5, FIRST + int(random.integers(30, 50))),
                from_side(1, lane + random.uniform(-60, -40), slow * 1.3, FIRST + 30)]
    if scene == "stop":  # one walker stops, others pass on both sides
        stop = FIRST + int(random.integers(60, 90))
        return [from_side(0, lane, 3.2, pause=(stop, stop + 60)),
                from_side(1, lane + random.uniform(4, 12), random.uniform(3, 4), FIRST + 50),
                from_side(0, lane - random.uniform(4, 12), random.uniform(3, 4), FIRST + 90)]
    if scene == "pole":
        return [from_side(k % 2, lane + 45 * (k - 1), random.uniform(2.2, 4), FIRST + int(random.integers(0, 40)))
                for k in range(3)]
    return [from_side(int(random.integers(2)), random.uniform(110, height - 15), random.uniform(1.8, 4.2),
                      FIRST + int(random.integers(0, 120)), up=random.uniform(-0.2, 0.2)) for _ in range(10)]


def clip(scene, seed, recording):
    """Yields frames as (picture, boxes): uint8 BGR, and (walker, x, y, width, height) for each visible walker. A box
    is cut off at the picture's borders, but includes parts that are hidden by others."""
    random = np.random.default_rng([seed, SCENES.index(scene)])
    height, width = SIZE
    top = recording.background.shape[0] - height
    left = random.integers(recording.background.shape[1] - width + 1)
    still = recording.background[top:top + height, left:left + width]
    noise = recording.noise[:, top:top + height, left:left + width]
    pictures = composites.photographs()
    walkers = [Walker(random, pictures, still, way) for way in ways_of(scene, random)]
    pole = (int(width * random.uniform(0.4, 0.6)), int(random.integers(24, 48))) if scene == "pole" else (0, 0)
    for frame in range(FRAMES):
        picture = still.copy()
        owner = np.full(SIZE, -1)  # the walker at each pixel
        places = [walker.place(frame) for walker in walkers]
        # Walkers with lower feet are nearer.
        for k in sorted(range(len(walkers)), key=lambda k: walkers[k].way[frame][1]):
            cover = walkers[k].cover(frame)
            composites.paste(picture, walkers[k].look, cover, *places[k])
            mine = np.zeros(SIZE, np.float32)
            composites.paste(mine, 1.0, cover, *places[k])
            owner[mine >= 0.5] = k
        behind = slice(pole[0], pole[0] + pole[1])
        picture[:, behind] = still[:, behind]
        owner[:, behind] = -1
        boxes = []
        for k, (x, y) in enumerate(places):
            inside = [max(x, 0), max(y, 0), min(x + walkers[k].width, width), min(y + walkers[k].height, height)]
            if (owner == k).sum() >= SEEN * (walkers[k].cover(frame) >= 0.5).sum():
                boxes.append((k, inside[0], inside[1], inside[2] - inside[0], inside[3] - inside[1]))
        picture += noise[frame % len(noise)]
        yield np.clip(np.rint(picture), 0, 255).astype(np.uint8), boxes
