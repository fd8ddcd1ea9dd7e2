#!/usr/bin/env python3
"""BackgroundCut and Tracker against the elements that run the same algorithms, and on known videos."""

import copy
import os
import pathlib
import pickle
import sys
import tempfile
import threading
import types
import unittest
import warnings
from unittest import mock

import gst_regions
import numpy
from gst_regions import background, tracking
from hypothesis import given
from hypothesis import strategies as st
from references import run_elements

SIZE = (72, 96)


def video(count, channels=3, seed=7):
    """A noisy background, a bright square that moves to the right, and a dark square that moves down."""
    choose = numpy.random.default_rng(seed)
    scene = choose.integers(60, 120, (*SIZE, channels))
    frames = []
    for i in range(count):
        frame = scene + choose.integers(-3, 4, scene.shape)
        if i >= 2:
            frame[10:26, 3 * i:3 * i + 14] = (220, 200, 40)[:channels]
            frame[2 * i:2 * i + 12, 70:84] = (10, 30, 90)[:channels]
        frames.append(frame.clip(0, 255).astype(numpy.uint8))
    return frames


def moving_squares(k):
    """A mask of 50 x 70 pixels in which three squares move, the first behind the second."""
    mask = numpy.zeros((50, 70), bool)
    mask[10:20, 3 * k:3 * k + 10] = True
    mask[12:24, 30:42] = True
    mask[30 + k:38 + k, 50:58] = True
    return mask


def by_element(element, frames, out_type):
    """The output of the element for these frames."""
    with tempfile.TemporaryDirectory() as folder:
        sink = pathlib.Path(folder, "out")
        run_elements([*element.split(), "!", "filesink", f"location={sink}"], frames)
        return numpy.fromfile(sink, out_type).reshape(len(frames), *SIZE)


class ObjectTest(unittest.TestCase):
    """An object of two colours on a ground of two other colours."""

    def setUp(self):
        y, x = numpy.mgrid[:120, :160]
        self.truth = (x - 70) ** 2 / 1600 + (y - 60) ** 2 / 900 < 1
        colors = numpy.where(self.truth[..., None], numpy.where(x[..., None] < 70, (200, 60, 40), (230, 190, 60)),
                             numpy.where(y[..., None] < 50, (40, 90, 160), (70, 140, 70)))
        noise = numpy.random.default_rng(3).integers(-9, 10, colors.shape)
        self.image = (colors + noise).astype(numpy.uint8)

    def overlap(self, mask):
        """Intersection over union with the truth."""
        return (self.truth & (mask != 0)).sum() / (self.truth | (mask != 0)).sum()


class Refine(ObjectTest):
    def test_refine_moves_the_border_of_coarse_masks_to_the_object(self):
        eroded = background._within(self.truth, 6, numpy.logical_and)
        for mask in (eroded, background._within(self.truth, 6, numpy.logical_or), numpy.roll(self.truth, (5, -6), (0, 1))):
            self.assertLess(self.overlap(mask), 0.85)
            refined = gst_regions.refine(self.image, mask)
            self.assertEqual((refined.dtype, refined.shape), (numpy.uint8, mask.shape))
            self.assertGreater(self.overlap(refined), 0.97)
        bgr = gst_regions.refine(self.image[..., ::-1], eroded.astype(numpy.uint8), channels="BGR", threads=1)
        numpy.testing.assert_array_equal(bgr, gst_regions.refine(self.image, eroded))

    def test_refine_without_margin_returns_the_mask(self):
        mask = numpy.random.default_rng(1).integers(0, 2, self.truth.shape).astype(bool)
        numpy.testing.assert_array_equal(gst_regions.refine(self.image, mask, margin=0), mask * numpy.uint8(255))

    def test_refine_of_small_and_uniform_masks_returns_an_array(self):
        for shape in ((1, 1), (1, 9), (9, 1), (30, 3)):
            for value in (False, True):
                found = gst_regions.refine(numpy.full(shape, 7, numpy.uint8), numpy.full(shape, value), margin=50)
                numpy.testing.assert_array_equal(found, numpy.full(shape, 255 * value))

    def test_refine_with_wrong_arguments_raises(self):
        for error, reason, arguments in (
                (ValueError, "margin is -1, must be at least 0", {"margin": -1}),
                (ValueError, "must have that of the image", {"mask": numpy.zeros((3, 3), bool)}),
                (TypeError, "mask has type float64, must be bool or uint8", {"mask": self.truth.astype(float)}),
                (TypeError, "lambd", {"lambd": 3}), (TypeError, "replace", {"replace": "foreground"})):
            with self.assertRaisesRegex(error, reason):
                gst_regions.refine(self.image, **{"mask": self.truth, **arguments})


class CutBox(ObjectTest):
    """The object in its box, and a second object in the upper left corner."""

    def setUp(self):
        super().setUp()
        self.image[5:25, 8:32] = self.image[5:25, 8:32] // 4 + numpy.array([10, 150, 160], numpy.uint8)
        self.boxes = [(29, 29, 82, 62), (7, 4, 26, 22)]

    def test_cut_box_finds_the_object_of_each_box(self):
        masks = gst_regions.cut_box(self.image, self.boxes)
        self.assertEqual((masks.dtype, masks.shape), (bool, (2, *self.truth.shape)))
        self.assertGreater(self.overlap(masks[0]), 0.97)
        numpy.testing.assert_array_equal(masks[1].nonzero()[0][[0, -1]], [5, 24])
        self.assertGreater(masks[1][5:25, 8:32].mean(), 0.97)
        self.assertEqual((masks[0] & masks[1]).sum(), 0)
        labels = gst_regions.cut_box(self.image, self.boxes, as_labels=True)
        self.assertEqual(labels.dtype, numpy.int32)
        numpy.testing.assert_array_equal(labels, masks[0] + 2 * masks[1])
        for boxes in (numpy.array(self.boxes, numpy.float32), numpy.array(self.boxes, numpy.uint8)):
            numpy.testing.assert_array_equal(gst_regions.cut_box(self.image, boxes, threads=1), masks)
        bgr = gst_regions.cut_box(self.image[..., ::-1], self.boxes, channels="BGR")
        numpy.testing.assert_array_equal(bgr, masks)
        smooth = gst_regions.cut_box(self.image, self.boxes, lambda_=32, sigma=200)
        self.assertFalse(numpy.array_equal(smooth, masks))

    def test_cut_box_clips_boxes_and_leaves_those_without_pixels_empty(self):
        boxes = [(-5, -9, 1e9, 1e12), (500, 0, 9, 9), (10, 10, 0, 5), (-9, 3, 9, 9), (-1e300, 0, 5, 5)]
        masks = gst_regions.cut_box(self.image, boxes)
        self.assertEqual(masks[1:].sum(), 0)
        whole = gst_regions.cut_box(self.image, [(0, 0, 160, 120)])
        numpy.testing.assert_array_equal(masks[:1], whole)
        for boxes in ([], numpy.zeros((0, 4))):
            self.assertEqual(gst_regions.cut_box(self.image, boxes).shape, (0, *self.truth.shape))
        # All pixels that a box touches count.
        numpy.testing.assert_array_equal(gst_regions.cut_box(self.image, [(28.6, 29.4, 81.9, 61.2)]),
                                         gst_regions.cut_box(self.image, [(28, 29, 83, 62)]))

    def test_cut_box_of_tiny_and_gray_pictures_returns_masks(self):
        for shape in ((1, 1), (1, 9), (9, 1, 3), (30, 3, 4)):
            masks = gst_regions.cut_box(numpy.full(shape, 7, numpy.uint8), [(0, 0, 9, 9), (0, 0, 1, 1)])
            self.assertEqual(masks.shape, (2, *shape[:2]))

    def test_cut_box_with_wrong_arguments_raises(self):
        nan, inf = float("nan"), float("inf")
        for error, reason, arguments in (
                (ValueError, r"boxes\[1\] is \(1.0, nan, 3.0, 4.0\), must have finite", {"boxes": [(1, 2, 3, 4), (1, nan, 3, 4)]}),
                (ValueError, r"must have finite numbers", {"boxes": [(1, 2, inf, 4)]}),
                (ValueError, r"boxes\[0\] has width -3 and height 4", {"boxes": [(1, 2, -3, 4)]}),
                (ValueError, r"boxes has shape \(4,\), must have \(n, 4\)", {"boxes": (1, 2, 3, 4)}),
                (ValueError, r"must have \(n, 4\)", {"boxes": [(1, 2, 3)]}),
                (ValueError, "boxes has 257 rows, must have at most 256", {"boxes": numpy.ones((257, 4))}),
                (TypeError, "boxes has elements of type <U1, must have numbers", {"boxes": [list("abcd")]}),
                (TypeError, "image has elements of type float64", {"image": self.image / 255}),
                (ValueError, "lambda_ ", {"lambda_": 99}),
                (ValueError, "channels is 'RGBA'", {"channels": "RGBA"})):
            with self.assertRaisesRegex(error, reason):
                gst_regions.cut_box(**{"image": self.image, "boxes": self.boxes, **arguments})

    def test_background_cut_with_source_boxes_raises(self):
        with self.assertRaisesRegex(ValueError, "has no boxes; use cut_box"):
            gst_regions.BackgroundCut(source="boxes").apply(self.image)


class Background(unittest.TestCase):
    def test_masks_of_background_cut_equal_those_of_the_element(self):
        frames = video(12)
        for parameters, text in (({}, ""), ({"lambda_": 3.0, "var_threshold": 20, "warm_start": True, "neighbours": "8"},
                                            "lambda=3 var-threshold=20 warm-start=true neighbours=8")):
            want = by_element(f"graphcutbg device=cpu output=mask {text} ! video/x-raw,format=GRAY8", frames,
                              numpy.uint8)
            cut = gst_regions.BackgroundCut(**parameters)
            for i, frame in enumerate(frames):
                numpy.testing.assert_array_equal(cut.apply(frame), want[i], f"frame {i} with {text}")

    def test_background_cut_finds_moving_squares_as_foreground(self):
        frames = video(12)
        cut = gst_regions.BackgroundCut()
        # The maximum flow is unique, so warm starts and other threads give the same flow.
        warm, masks = gst_regions.BackgroundCut(warm_start=True, threads=2), []
        for frame in frames:
            masks.append(cut.apply(frame))
            warm.apply(frame)
            self.assertEqual((cut.flow, cut.flow > 0), (warm.flow, bool(masks[-1].any())))
        self.assertFalse(masks[0].any())
        self.assertEqual((masks[8].dtype, set(numpy.unique(masks[8]))), (numpy.uint8, {0, 255}))
        self.assertTrue((masks[8][12:24, 26:36] == 255).all())
        self.assertTrue((masks[8][18:26, 72:82] == 255).all())
        self.assertLess((masks[8] > 0).sum(), 600)
        self.assertTrue(cut.exact)
        cut.reset()
        self.assertFalse(cut.apply(frames[8]).any())

    def test_background_cut_with_other_channel_order_or_threads_returns_equal_masks(self):
        frames = video(8)
        right, left = gst_regions.BackgroundCut(threads=1), gst_regions.BackgroundCut(channels="BGR", threads=2)
        for frame in frames:
            numpy.testing.assert_array_equal(right.apply(frame), left.apply(frame[..., ::-1]))
        with_alpha = gst_regions.BackgroundCut()
        want = gst_regions.BackgroundCut()
        for frame in frames:
            numpy.testing.assert_array_equal(with_alpha.apply(numpy.dstack([frame, frame[..., 0]])), want.apply(frame))

    def test_background_cut_uses_background_exclusion_and_mask_pictures(self):
        frames = video(8)
        cut = gst_regions.BackgroundCut(background=video(1)[0])
        self.assertTrue(cut.apply(frames[5])[12:24, 18:28].all())
        exclusion = numpy.zeros(SIZE, numpy.uint8)
        exclusion[:, :50] = 255
        cut = gst_regions.BackgroundCut(background=video(1)[0], exclusion=exclusion)
        mask = cut.apply(frames[5])
        self.assertFalse(mask[:, :50].any())
        self.assertTrue(mask[12:20, 72:82].all())
        with self.assertRaisesRegex(ValueError, "the picture has 96x71 pixels; the frames have 96x72"):
            gst_regions.BackgroundCut(background=frames[0][1:]).apply(frames[0])
        cut = gst_regions.BackgroundCut(source="mask")
        self.assertTrue((cut.apply(frames[5], mask=exclusion)[:, :45] == 255).all())
        with self.assertRaisesRegex(ValueError, "source=mask, but no mask is attached to the frame"):
            cut.apply(frames[5])
        self.assertTrue(cut.apply(frames[5], mask=exclusion).any())

    def test_background_cut_with_replace_returns_the_pictures_of_the_element(self):
        frames = video(12)
        for parameters, text in (({"replace": "foreground", "replace_with": "pixelate", "pixelate": 6, "grow": 2, "hold": 3},
                                  "replace=foreground replace-with=pixelate pixelate=6 grow=2 hold=3"),
                                 ({"replace": "background", "replace_with": "color", "replace_color": "0xff00b140"},
                                  "replace-with=color replace-color=0xff00b140"),
                                 ({"replace": "foreground", "replace_with": "model", "feather": 2, "lambda_": 4},
                                  "replace=foreground replace-with=model feather=2 lambda=4"),
                                 ({"replace": "background"}, "replace-with=blur")):
            line = f"graphcutbg device=cpu output=replace {text} ! video/x-raw,format=RGB"
            with tempfile.TemporaryDirectory() as folder:
                sink = pathlib.Path(folder, "out")
                run_elements([*line.split(), "!", "filesink", f"location={sink}"], frames)
                want = numpy.fromfile(sink, numpy.uint8).reshape(len(frames), *SIZE, 3)
            cut, bgr = (gst_regions.BackgroundCut(**parameters, channels=channels) for channels in ("RGB", "BGR"))
            for i, frame in enumerate(frames):
                numpy.testing.assert_array_equal(cut.apply(frame), want[i], f"frame {i} with {text}")
                numpy.testing.assert_array_equal(bgr.apply(frame[..., ::-1])[..., ::-1], want[i])
            self.assertTrue((want[-1] != frames[-1]).any() and (want[-1] == frames[-1]).any())

    def test_background_cut_with_replace_accepts_gray_alpha_and_out(self):
        frames = video(6, 1)
        gray, alpha = gst_regions.BackgroundCut(replace="foreground"), gst_regions.BackgroundCut(replace="foreground")
        for frame in frames:
            out = numpy.zeros(SIZE, numpy.uint8)
            self.assertIs(gray.apply(frame[..., 0], out), out)
            found = alpha.apply(numpy.dstack([frame, frame, frame, frame // 2]))
            numpy.testing.assert_array_equal(found[..., 3], frame[..., 0] // 2)
        self.assertTrue((out != frames[-1][..., 0]).any())
        with self.assertRaisesRegex(ValueError, "out"):
            gst_regions.BackgroundCut(replace="foreground").apply(numpy.dstack([out, out, out]), out)

    def test_background_cut_with_replace_image_shows_the_image(self):
        frames = video(8)
        beach = numpy.full((*SIZE, 3), (9, 90, 200), numpy.uint8)
        cut = gst_regions.BackgroundCut(background=video(1)[0], replace="background", replace_with="image",
                                        replace_image=beach)
        masks = gst_regions.BackgroundCut(background=video(1)[0])
        for each in (cut, copy.copy(cut), pickle.loads(pickle.dumps(cut))):
            self.assertEqual(each.replace, "background")
            masks.reset()
            for frame in frames:
                mask = masks.apply(frame)[..., None] > 0
                numpy.testing.assert_array_equal(each.apply(frame), numpy.where(mask, frame, beach))
        with self.assertRaisesRegex(ValueError, "replace_with is 'image', which requires replace_image"):
            gst_regions.BackgroundCut(replace="background", replace_with="image").apply(frames[0])
        with self.assertRaisesRegex(ValueError, "the picture has"):
            gst_regions.BackgroundCut(replace="background", replace_with="image", replace_image=beach[1:]).apply(frames[0])
        for part in ("people", "", 1):
            with self.assertRaisesRegex(ValueError, "replace is .*, must be 'background', 'foreground' or None"):
                gst_regions.BackgroundCut(replace=part)
        self.assertIsNone(gst_regions.BackgroundCut().replace)
        with self.assertRaises(AttributeError):
            cut.replace = "foreground"

    def test_background_cut_writes_out_and_starts_a_new_stream_at_another_size(self):
        cut = gst_regions.BackgroundCut()
        out = numpy.full(SIZE, 7, numpy.uint8)
        for frame in video(4):
            self.assertIs(cut.apply(frame, out), out)
        self.assertEqual(set(numpy.unique(out)), {0, 255})
        self.assertFalse(cut.apply(video(4)[3][:40, :50]).any())  # another size starts a new stream
        self.assertEqual(cut.apply(numpy.zeros((1, 1), numpy.uint8)).tolist(), [[0]])

    def test_background_copies_continue_independently(self):
        frames = video(8)
        still = video(1)[0]
        exclusion = numpy.zeros(SIZE, numpy.uint8)
        exclusion[:, :30] = 255
        for how in ({}, {"channels": "BGR", "background": still, "exclusion": exclusion, "lambda_": 4, "threads": 1}):
            cut = gst_regions.BackgroundCut(**how)
            self.assertEqual(copy.copy(cut).parameters, cut.parameters)  # without a model
            for frame in frames[:5]:
                cut.apply(frame)
            copies = [copy.copy(cut), copy.deepcopy(cut), pickle.loads(pickle.dumps(cut))]
            want = [cut.apply(frame) for frame in frames[5:]]
            for other in copies:
                self.assertEqual((other.parameters, other.channels), (cut.parameters, cut.channels))
                for frame, mask in zip(frames[5:], want):
                    numpy.testing.assert_array_equal(other.apply(frame), mask)

    def test_background_saved_model_continues(self):
        frames = video(8)
        cut = gst_regions.BackgroundCut()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "model")
            with self.assertRaisesRegex(ValueError, "no background model exists yet"):
                cut.save(path)
            for frame in frames[:5]:
                cut.apply(frame)
            cut.save(path)
            want = [cut.apply(frame) for frame in frames[5:]]
            other = gst_regions.BackgroundCut()
            other.apply(frames[0][:20])  # another size; load() replaces this model
            other.load(path)
            for frame, mask in zip(frames[5:], want):
                numpy.testing.assert_array_equal(other.apply(frame), mask)
            other.load(path)
            with self.assertRaises(ValueError):
                other.apply(frames[0][:20])
            path.write_bytes(b"")
            with self.assertRaisesRegex(ValueError, "is empty"):
                other.load(path)
            path.write_bytes(b"no model")
            other.load(path)
            with self.assertRaises(ValueError):
                other.apply(frames[0])

    def test_background_other_size_restarts_and_reports_it(self):
        cut = gst_regions.BackgroundCut()
        frames = video(3)
        seen = []
        for frame in (frames[0], frames[1], frames[2][:40], frames[2][:40], frames[2][:40, :, 0]):
            cut.apply(frame)
            seen.append(cut.restarted)
        self.assertEqual(seen, [False, False, True, False, True])

    def test_background_covered_camera_is_a_change_of_the_scene_without_foreground(self):
        choose = numpy.random.default_rng(5)
        scene = numpy.kron(choose.integers(20, 90, (40, 60, 3)), numpy.ones((3, 3, 1))).astype(int)
        scene += (numpy.arange(120)[:, None] + numpy.arange(180))[..., None] // 3
        cut = gst_regions.BackgroundCut()
        self.assertEqual(cut.scene_change, "none")
        for k in range(45):
            frame = numpy.full_like(scene, 25) if 30 <= k < 40 else scene.copy()
            if k >= 15 and not 30 <= k < 40:
                frame[40:60, 3 * k:3 * k + 20] = 230
            foreground = cut.apply((frame + choose.integers(-2, 3, scene.shape)).clip(0, 255).astype(numpy.uint8))
            self.assertEqual(cut.scene_change, "covered" if 30 <= k < 40 else "none", k)
            if k >= 15:
                wanted = 0 if cut.scene_change == "covered" else 400
                self.assertLess(abs(int((foreground > 0).sum()) - wanted), 40, k)

    def test_background_of_the_cut_is_the_picture_that_most_frames_show(self):
        choose = numpy.random.default_rng(3)
        scene = choose.integers(0, 256, (30, 40, 3), numpy.uint8)
        for channels, picture, change in (("RGB", scene, slice(None)), ("BGR", scene, slice(None)),
                                          ("RGB", numpy.concatenate([scene, scene[..., :1]], -1), slice(3)),
                                          ("RGB", scene[..., 1], slice(None))):
            cut = gst_regions.BackgroundCut(channels=channels)
            with self.assertRaisesRegex(ValueError, "no background model exists yet"):
                cut.background
            for k in range(20):
                frame = picture.copy()
                frame[10:15, k:k + 5] = 255 - frame[10:15, k:k + 5]
                cut.apply(frame)
            want = picture[..., change] if picture.ndim == 3 else picture
            for each in (cut, copy.copy(cut)):
                found = each.background
                self.assertEqual((found.dtype, found.shape), (numpy.uint8, want.shape))
                self.assertLessEqual(numpy.abs(found[:, 30:].astype(int) - want[:, 30:]).max(), 3)
            with self.assertRaises(AttributeError):
                cut.background = want

    def test_tracker_when_copied_pickled_or_saved_continues_with_the_same_tracks(self):
        choose = numpy.random.default_rng(11)
        frames = [choose.random((50, 70)) < 0.3 for _ in range(3)] + [moving_squares(k) for k in range(12)]
        tracker = gst_regions.Tracker(min_area=2, track_birth=2, threads=1)
        copies = [copy.copy(tracker)]  # without tracks
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "tracks")
            with self.assertRaisesRegex(ValueError, "no tracks exist yet"):
                tracker.save(path)
            for k, frame in enumerate(frames):
                wanted = tracker.apply(frame)
                for other in copies:
                    labels, table = other.apply(frame)
                    numpy.testing.assert_array_equal(labels, wanted[0])
                    numpy.testing.assert_array_equal(table, wanted[1])
                    self.assertEqual((other.changes, other.events), (tracker.changes, tracker.events))
                if k % 4 == 2:
                    tracker.save(path)
                    loaded = gst_regions.Tracker(min_area=2, track_birth=2)
                    loaded.apply(frame[:20])  # another size; load() replaces these tracks
                    loaded.load(path)
                    copies += [copy.deepcopy(tracker), pickle.loads(pickle.dumps(tracker)), loaded]

    def test_tracker_load_of_unsuitable_tracks_raises_an_error(self):
        tracker = gst_regions.Tracker()
        tracker.apply(moving_squares(0))
        state = tracker.__getstate__()["tracks"]
        self.assertGreater(len(state), 32)
        damaged = bytearray(state)
        damaged[-1] = 255  # a label without a track
        for words, stored, picture in (("for 70x50 pixels; the frames have 70x20", state, moving_squares(0)[:20]),
                                       ("truncated", state[:-1], moving_squares(0)),
                                       ("extra bytes", state + b"1", moving_squares(0)),
                                       ("damaged", bytes(damaged), moving_squares(0)),
                                       ("not stored tracks", b"x" * 100, moving_squares(0)),
                                       ("truncated", b"x", moving_squares(0))):
            with tempfile.TemporaryDirectory() as folder, self.subTest(words):
                path = pathlib.Path(folder, "tracks")
                path.write_bytes(stored)
                other = gst_regions.Tracker()
                other.load(path)
                with self.assertRaisesRegex(ValueError, words):
                    other.apply(picture)
                other.reset()  # discards the tracks of the file
                other.apply(picture)

    def test_tracker_events_of_known_motion_have_the_ids(self):
        tracker = gst_regions.Tracker(track_memory=2)
        picture = numpy.zeros((40, 80), bool)

        def apply(*columns):
            frame = picture.copy()
            for first, last in columns:
                frame[10:20, first:last] = True
            tracker.apply(frame)
            return tracker.events
        self.assertEqual(tracker.events, ([], [], [], []))
        self.assertEqual(apply((10, 20), (30, 40)).born, [1, 2])
        for step in range(1, 4):  # both squares approach
            self.assertEqual(apply((10 + 2 * step, 20 + 2 * step), (30 - step, 40 - step)), ([], [], [], []))
        merged = apply((18, 36))
        self.assertEqual((merged.born, merged.ended, len(merged.merged)), ([], [], 1))
        self.assertEqual(sorted(merged.merged[0]), [1, 2])
        self.assertEqual(merged.lost, [merged.merged[0][0]])
        found = [apply() for _ in range(5)]
        self.assertEqual([events.merged for events in found], [[]] * 5)
        self.assertEqual(sorted(sum((events.ended for events in found), [])), [1, 2])
        self.assertEqual(apply((60, 70)).born, [3])

    @given(st.integers(0, 2**32))
    def test_tracker_events_of_random_pictures_agree_with_the_numbers(self, seed):
        choose = numpy.random.default_rng(seed)
        tracker = gst_regions.Tracker(max_regions=int(choose.integers(2, 60)), track_birth=int(choose.integers(1, 4)),
                                      track_memory=int(choose.integers(0, 4)))
        alive, ended, picture = set(), set(), choose.random((20, 30)) < 0.3
        for _ in range(12):
            picture = numpy.where(choose.random(picture.shape) < 0.1, choose.random(picture.shape) < 0.3, picture)
            _, table = tracker.apply(picture)
            events, changes = tracker.events, tracker.changes
            self.assertEqual((len(events.ended), len(events.merged), len(events.lost)),
                             (changes["deaths"], changes["merges"], changes["lost"]))
            self.assertGreaterEqual(len(events.born), changes["births"])
            self.assertFalse(alive & set(events.born))
            self.assertFalse(ended & (set(events.born) | set(table["track"].tolist())))
            ended |= set(events.ended)
            alive = (alive | set(events.born)) - set(events.ended)
            self.assertEqual(alive, (set(table["track"].tolist()) | set(events.lost)) - {0})

    def test_warm_cut_cannot_be_copied(self):
        for function in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "cannot be copied or pickled"):
                function(gst_regions.WarmCut())

    def test_tracker_colors_of_16_bits_are_refused(self):
        with self.assertRaisesRegex(TypeError, "image has elements of type uint16, must have uint8"):
            gst_regions.Tracker().apply(numpy.ones((1, 1, 3), numpy.uint16))

    @given(st.data())
    def test_background_cut_and_tracker_with_a_random_array_return_or_raise_an_error(self, data):
        shape = data.draw(st.lists(st.integers(0, 5), max_size=4))
        kind = data.draw(st.sampled_from(["uint8", "bool", "uint16", "float64"]))
        image = numpy.ones(shape, kind)
        for stream in (gst_regions.BackgroundCut(threads=1), gst_regions.Tracker(threads=1)):
            try:
                stream.apply(image)
            except (TypeError, ValueError) as error:
                self.assertIn("image", str(error))


class Parameters(unittest.TestCase):
    def test_parameters_of_background_cut_return_given_and_set_values(self):
        cut = gst_regions.BackgroundCut(lambda_=4, freeze=True)
        self.assertEqual((cut.parameters["lambda_"], cut.parameters["freeze"]), (4.0, True))
        self.assertEqual(cut.parameters["history"], 500)
        cut.set(history=20)
        self.assertEqual(cut.parameters["history"], 20)
        self.assertIn("learning_rate : float, 0 to 1", gst_regions.BackgroundCut.__doc__)

    def test_stream_parameters_are_attributes(self):
        cut = gst_regions.BackgroundCut(history=20)
        cut.learning_rate = 0.5
        cut.lambda_ = 3
        self.assertEqual((cut.parameters["learning_rate"], cut.lambda_, cut.history), (0.5, 3.0, 20))
        self.assertEqual(repr(cut), "BackgroundCut(lambda_=3.0, learning_rate=0.5, history=20)")
        self.assertEqual(repr(gst_regions.Tracker(min_area=4)), "Tracker(min_area=4)")
        for stream in (cut, gst_regions.Tracker()):
            with self.assertRaisesRegex(AttributeError, "no attribute 'learning_rat'; its parameters are"):
                stream.learning_rat = 1
        for name in ("flow", "exact", "restarted"):
            with self.assertRaises(AttributeError):
                setattr(cut, name, 1)
        with self.assertRaisesRegex(ValueError, "history is 0"):
            cut.history = 0

    def test_stream_parameters_of_the_type_hints_are_the_fields(self):
        for owner, hints in ((gst_regions.BackgroundCut, background.BackgroundParameters),
                             (gst_regions.Tracker, tracking.TrackerParameters)):
            types = {name: type(value).__name__ for name, value in owner().parameters.items()}
            self.assertEqual(hints.__annotations__.keys(), types.keys())
            declared = {name: hint for name, hint in owner.__annotations__.items() if not name.startswith("_")}
            self.assertEqual(declared, types)

    def test_stream_parameters_invalid_value_error_names_it(self):
        for error, words, named in ((TypeError, "unknown parameter 'lambada'; expected one of", {"lambada": 3}),
                                    (TypeError, "unknown parameter 'output'", {"output": "mask"}),
                                    (TypeError, "unknown parameter 'model_location'", {"model_location": "x"}),
                                    (ValueError, "history", {"history": 0}), (ValueError, "lambda", {"lambda_": 33}),
                                    (ValueError, "lambda", {"lambda_": float("nan")}),
                                    (TypeError, "history is of type list", {"history": [1]}),
                                    (ValueError, "source", {"source": "camera"}),
                                    (ValueError, "channels is 'YUV', must be 'RGB' or 'BGR'", {"channels": "YUV"}),
                                    (ValueError, "threads is -1", {"threads": -1})):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                gst_regions.BackgroundCut(**named)
        with self.assertRaisesRegex(ValueError, "track_memory is -1"):
            gst_regions.Tracker(track_memory=-1)


class Tracks(unittest.TestCase):
    def test_tracks_of_tracker_equal_those_of_the_element(self):
        frames = [frame[..., 0] for frame in video(12)]
        want = by_element("cclabel device=cpu threshold=0.7 track=true output=labels label-values=track ! "
                          "video/x-raw,format=GRAY8", frames, numpy.uint8)
        tracker = gst_regions.Tracker(threshold=0.7)
        for i, frame in enumerate(frames):
            labels, table = tracker.apply(frame)
            numpy.testing.assert_array_equal(labels, gst_regions.label(frame, threshold=178.5))
            tracks = numpy.concatenate([[0], table["track"] + table["part_of"]])
            numpy.testing.assert_array_equal(tracks[labels], want[i], f"frame {i}")

    def test_tracker_keeps_the_tracks_of_moving_regions(self):
        tracker = gst_regions.Tracker()
        for i in range(10):
            mask = numpy.zeros((40, 60), bool)
            mask[30:36, 4 * i:4 * i + 8] = True  # the first track
            if i > 0:
                mask[2 * i:2 * i + 6, 45:53] = True  # the first label
            labels, table = tracker.apply(mask)
            self.assertEqual(table["track"].tolist(), [1] if i == 0 else [2, 1])
            numpy.testing.assert_array_equal(labels, gst_regions.label(mask))
            numpy.testing.assert_array_equal(table["area"], [48] * len(table))
        self.assertEqual(tracker.changes, {"births": 0, "deaths": 0, "splits": 0, "merges": 0, "lost": 0})
        tracker.apply(numpy.zeros((40, 60), bool))
        self.assertEqual(tracker.changes["lost"], 2)

    def test_tracker_names_the_object_of_a_piece_and_counts_frames_of_rest(self):
        tracker = gst_regions.Tracker()
        for i in range(40):
            mask = numpy.zeros((60, 120), bool)
            x = 4 + 3 * min(i, 20)
            mask[10:50, x:x + 14] = True
            if i >= 10:
                mask[26:30, x:x + 14] = False  # now the object is seen in two pieces
            _, table = tracker.apply(mask)
            self.assertEqual(table["track"].tolist(), [1] if i < 10 else [0, 1])
            self.assertEqual(table["part_of"].tolist(), [0] if i < 10 else [1, 0])
            self.assertLessEqual(abs(int(table["still"][-1]) - max(0, i - 20)), 1)

    def test_tracker_with_more_regions_than_max_regions_labels_all_and_tracks_ten(self):
        mask = numpy.zeros((8, 40), bool)
        mask[::2, ::2] = True
        labels, table = gst_regions.Tracker(max_regions=10).apply(mask)
        self.assertEqual((labels.max(), len(table)), (80, 80))
        self.assertEqual((table["track"] > 0).sum(), 10)


class Masks(unittest.TestCase):
    def test_streams_mask_of_zeros_and_ones_gives_a_warning(self):
        mask = (numpy.arange(48).reshape(6, 8) % 5 == 0).astype(numpy.uint8)
        with self.assertWarnsRegex(UserWarning, "image has only the values 0 and 1, and foreground begins at 127.5"):
            gst_regions.Tracker().apply(mask)
        with self.assertWarnsRegex(UserWarning, "mask has only the values 0 and 1, and foreground begins at 250"):
            gst_regions.BackgroundCut(source="mask").apply(mask, mask=mask)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gst_regions.Tracker().apply(mask.astype(bool))
            gst_regions.Tracker().apply(mask * 255)
            gst_regions.Tracker(threshold=0.002).apply(mask)
            gst_regions.Tracker(criterion="equal").apply(mask)
            gst_regions.Tracker().apply(mask * 0)

    def test_table_as_supervision_detections_has_boxes_masks_and_tracks(self):
        module = types.ModuleType("supervision")
        module.Detections = lambda **fields: types.SimpleNamespace(**fields)
        mask = numpy.zeros((20, 30), bool)
        mask[2:5, 7:17] = mask[10:12, 1:3] = True
        with mock.patch.dict(sys.modules, supervision=module):
            labels, table = gst_regions.Tracker().apply(mask)
            found = gst_regions.to_supervision(table, labels)
            self.assertEqual(found.xyxy.tolist(), [[7, 2, 17, 5], [1, 10, 3, 12]])
            self.assertEqual((found.tracker_id.tolist(), found.data["area"].tolist()), ([1, 2], [30, 4]))
            numpy.testing.assert_array_equal(found.mask.any(0), mask)
            self.assertIsNone(gst_regions.to_supervision(gst_regions.regionprops_table(labels)).tracker_id)
            with self.assertRaisesRegex(ValueError, "no boxes of pictures"):
                gst_regions.to_supervision(gst_regions.regionprops_table(labels[None]))


class Sharing(unittest.TestCase):
    def test_background_cut_and_tracker_when_shared_by_threads_finish_all_calls(self):
        cut, tracker = gst_regions.BackgroundCut(threads=2), gst_regions.Tracker()
        frames = video(6)

        def work():
            for frame in frames:
                cut.apply(frame)
                tracker.apply(frame)
                tracker.set(threshold=0.6, max_regions=50)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_masks_of_background_cut_after_fork_are_equal_in_both_processes(self):
        frames = video(8)
        cut, want = gst_regions.BackgroundCut(threads=2), gst_regions.BackgroundCut(threads=1)
        for frame in frames[:5]:
            cut.apply(frame)
            want.apply(frame)
        masks = [want.apply(frame) for frame in frames[5:]]
        child = os.fork()
        found = [cut.apply(frame) for frame in frames[5:]]
        equal = all((mask == other).all() for mask, other in zip(found, masks))
        if child == 0:
            os._exit(0 if equal else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertTrue(equal)


if __name__ == "__main__":
    unittest.main(verbosity=2)
