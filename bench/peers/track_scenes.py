"""Clips of walkers with exact tracks. Cut-outs (composites.py) walk over the background of a real recording with its
noise. They cross, walk together for a while, stop, and pass behind a pole. In the scenes HARDER, they walk over
photographs, too, and come in pieces, as pairs, in leaps, behind walls, small, in numbers, and to the border and back. A
seed determines everything. Seeds up to 99 are for tuning. Other seeds are for reports; nothing is tuned on them.
"""
import dataclasses

import cv2
import numpy as np

import categories
import composites

SCENES = ("crossing", "together", "pole", "stop", "crowd")
HARDER = ("pieces", "pair", "low-rate", "occlusion", "small", "many", "border", "texture", "meet")
EVERY = SCENES + HARDER
SIZE = (360, 640)  # height, width
FRAMES, FIRST = 300, 60  # before FIRST nothing moves, so that the background can be learnt
SEEN = 0.15  # minimum visible share of a walker's pixels


@dataclasses.dataclass
class Part:
    """The part of one walker in a scene."""
    way: list  # [frame] (x of the middle, y of the feet)
    heights: tuple = (64, 96)
    textured: bool = False  # clothes with the whole contrast of a photograph
    bare: tuple = ()        # (first, end) frames in which the waist has the background's colours


class Walker:
    """A cut-out, and the position of its feet in each frame."""

    def __init__(self, random, pictures, background, part):
        self.height = int(random.integers(*part.heights))
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
        contrast = 1.0 if part.textured else 0.25
        self.look = np.clip(colour + (look - look.mean(axis=(0, 1))) * contrast, 0, 255)
        self.way, self.bare = part.way, part.bare

    def place(self, frame):
        x, y = self.way[frame]
        return int(round(x - self.width / 2)), int(round(y - self.height))

    def cover(self, frame):
        moved = frame > 0 and self.way[frame] != self.way[frame - 1]
        return self.covers[frame // 3 % 4 if moved else 0]

    def shown(self, frame):
        """The cover without a bare waist."""
        cover = self.cover(frame)
        if any(first <= frame < end for first, end in self.bare):
            cover = cover.copy()
            cover[int(self.height * 0.44):int(self.height * 0.56)] = 0
        return cover


def walk(start, x, y, speed, pause=(0, 0), up=0.0):
    way, moved = [], 0.0
    for frame in range(FRAMES):
        if frame >= start and not pause[0] <= frame < pause[1]:
            moved += 1
        way.append((x + speed * moved, y + up * moved) if frame >= start else (-500.0, y))
    return way


def from_side(right, y, speed, start=FIRST, **rest):
    return walk(start, SIZE[1] + 40 if right else -40, y, -speed if right else speed, **rest)


def back_and_forth(start, low, high, y, speed):
    """Walks to the right until x = high, back until x = low, and so on."""
    way, x, step = [], low, speed
    for frame in range(FRAMES):
        if frame >= start:
            x += step
            step = -speed if x > high else speed if x < low else step
        way.append((x, y) if frame >= start else (-500.0, y))
    return way


def ways_of(scene, random):
    """[walker][frame] (x, y)"""
    height = SIZE[0]
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


def crowd(random, count, speeds, lanes, **part):
    return [Part(from_side(int(random.integers(2)), random.uniform(*lanes), random.uniform(*speeds),
                           FIRST + int(random.integers(0, 120)), up=random.uniform(-0.15, 0.15)), **part)
            for _ in range(count)]


def bare_times(random, kind):
    """Always, at first, for a while, or again and again."""
    if kind == 0:
        return ((0, FRAMES),)
    if kind == 1:
        return ((0, FIRST + int(random.integers(40, 70))),)
    first = FIRST + int(random.integers(30, 60))
    if kind == 2:
        return ((first, first + int(random.integers(20, 60))),)
    length = int(random.integers(6, 20))
    return tuple((start, start + length) for start in range(first, FRAMES, 2 * length))


def pairs(random):
    """Two or three walk side by side, and meet another group."""
    found = []
    for right in (0, 1):
        lane, speed, start = random.uniform(140, 330), random.uniform(1.8, 3.2), FIRST + int(random.integers(0, 40))
        for k in range(int(random.integers(2, 4))):
            way = from_side(right, lane + random.uniform(-4, 4), speed * random.uniform(0.99, 1.01), start)
            side, sway = random.uniform(30, 48) * k * (1 if right else -1), random.uniform(0, 3)
            pace = random.uniform(0.05, 0.15)
            found.append(Part([(x + side + sway * np.sin(pace * frame), y) for frame, (x, y) in enumerate(way)]))
    return found


def meeting(random):
    """Two walk up to each other, stop, and go back or on. A third one passes."""
    lane, middle, speed = random.uniform(150, 320), random.uniform(200, 440), random.uniform(2.2, 3.5)
    talk, found = int(random.integers(30, 60)), []
    for side in (-1, 1):
        way, x, state = [], middle + side * 260.0, 0
        goal = middle + side * random.uniform(14, 24)
        leave = side * random.choice((-1, 1))
        for frame in range(FRAMES):
            if frame >= FIRST and state == 0:
                x -= side * speed
                state = int((x - goal) * side <= 0)
            elif 0 < state <= talk:
                state += 1
            elif state > talk:
                x += leave * speed
            way.append((x, lane + side) if frame >= FIRST else (-500.0, lane))
        found.append(Part(way))
    return found + [Part(from_side(0, lane + random.uniform(-50, 50), random.uniform(2, 4), FIRST + 40))]


def parts_of(scene, random):
    height, width = SIZE
    if scene == "pieces":
        kinds = random.permutation(4)
        return [Part(from_side(k % 2, random.uniform(130, 340), random.uniform(1.8, 3.6),
                               FIRST + int(random.integers(0, 60))), bare=bare_times(random, kind))
                for k, kind in enumerate(kinds)]
    if scene == "pair":
        return pairs(random)
    if scene == "low-rate":
        return [Part(from_side(int(random.integers(2)), random.uniform(130, 340), random.uniform(12, 34),
                               FIRST + int(random.integers(0, 200)))) for _ in range(9)]
    if scene == "small":
        return crowd(random, 9, (1.0, 3.0), (60, 340), heights=(34, 46))
    if scene == "many":
        return crowd(random, 24, (1.2, 4.0), (70, 350), heights=(40, 70))
    if scene == "border":
        found = [Part(back_and_forth(FIRST + int(random.integers(0, 40)), low, low + random.uniform(80, 220),
                                     random.uniform(120, 350), random.uniform(2, 4))) for low in (-60.0, -20.0)]
        return found + [Part(back_and_forth(FIRST + int(random.integers(0, 40)), width - random.uniform(80, 220),
                                            width + right, random.uniform(120, 390), random.uniform(2, 4)))
                        for right in (60.0, 20.0)]
    if scene == "texture":
        return crowd(random, 6, (1.5, 4.0), (130, height - 15), textured=True)
    if scene == "meet":
        return meeting(random)
    return crowd(random, 6, (1.8, 4.2), (140, height - 15))


def hiding(scene, random):
    """Rectangles (left, top, right, bottom) that hide walkers."""
    height, width = SIZE
    if scene == "pole":
        left = int(width * random.uniform(0.4, 0.6))
        return [(left, 0, left + int(random.integers(24, 48)), height)]
    if scene != "occlusion":
        return []
    left, top = int(width * random.uniform(0.1, 0.3)), int(random.uniform(180, 260))
    pillar = int(width * random.uniform(0.6, 0.8))
    return [(left, top, left + int(random.integers(90, 160)), top + int(random.integers(40, 70))),
            (pillar, 0, pillar + int(random.integers(50, 100)), height)]


def clip(scene, seed, recording):
    """Yields frames as (picture, boxes): uint8 BGR, and (walker, x, y, width, height) for each visible walker. A box
    is cut off at the picture's borders, but includes parts that are hidden by others."""
    random = np.random.default_rng([seed, EVERY.index(scene)])
    height, width = SIZE
    top = recording.background.shape[0] - height
    left = random.integers(recording.background.shape[1] - width + 1)
    still = recording.background[top:top + height, left:left + width]
    noise = recording.noise[:, top:top + height, left:left + width]
    pictures = composites.photographs()
    if scene in HARDER:
        still, parts = categories.place(random, recording, SIZE), parts_of(scene, random)
    else:
        parts = [Part(way) for way in ways_of(scene, random)]
    walkers = [Walker(random, pictures, still, part) for part in parts]
    hides = hiding(scene, random)
    for frame in range(FRAMES):
        picture = still.copy()
        owner = np.full(SIZE, -1)  # the walker at each pixel
        places = [walker.place(frame) for walker in walkers]
        # Walkers with lower feet are nearer.
        for k in sorted(range(len(walkers)), key=lambda k: walkers[k].way[frame][1]):
            cover = walkers[k].shown(frame)
            composites.paste(picture, walkers[k].look, cover, *places[k])
            mine = np.zeros(SIZE, np.float32)
            composites.paste(mine, 1.0, cover, *places[k])
            owner[mine >= 0.5] = k
        for left, top, right, bottom in hides:
            picture[top:bottom, left:right] = still[top:bottom, left:right]
            owner[top:bottom, left:right] = -1
        boxes = []
        for k, (x, y) in enumerate(places):
            inside = [max(x, 0), max(y, 0), min(x + walkers[k].width, width), min(y + walkers[k].height, height)]
            if (owner == k).sum() >= SEEN * (walkers[k].cover(frame) >= 0.5).sum():
                boxes.append((k, inside[0], inside[1], inside[2] - inside[0], inside[3] - inside[1]))
        picture += noise[frame % len(noise)]
        yield np.clip(np.rint(picture), 0, 255).astype(np.uint8), boxes
