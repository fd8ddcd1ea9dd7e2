#!/usr/bin/python3
"""pipelines/anonymize: no person of a clip remains visible, the rest of the picture and the sound stay as they are."""

import numpy
from scipy import ndimage

import media
from cases import Case, main, program, script

GREEN = ("replace-with=color", "replace-color=0xFF00FF00")
# A bright box moves over a texture, from the first frame on.
BOX = ("nullsrc=size=160x120:rate=25:duration=3,format=yuv420p,geq=lum='80+mod(X*7+Y*13\\,8)"
       "+140*between(X-2*N\\,-20\\,19)*between(Y\\,40\\,79)':cb=128:cr=128")


def is_green(pictures):
    return (abs(pictures.astype(int) - (0, 255, 0)) < 60).all(axis=-1)


def people_in(picture, scene):
    """The pixels of people in a frame of vtest.avi: tall parts that differ from the scene without people."""
    differs = abs(picture.astype(int) - scene).sum(axis=-1) > 75
    labels, _ = ndimage.label(ndimage.binary_closing(differs, iterations=2))
    people = []
    for index, place in enumerate(ndimage.find_objects(labels), 1):
        height, width = (part.stop - part.start for part in place)
        inside = (labels[place] == index) & differs[place]
        if inside.sum() >= 250 and height >= 30 and height > 1.1 * width:
            whole = numpy.zeros(differs.shape, bool)
            whole[place] = inside
            people.append(whole)
    return people


class Anonymize(Case):
    def people_clip(self):
        """The first 200 frames of vtest.avi, with sound."""
        clip = self.folder / "people.mkv"
        media.run("ffmpeg", "-v", "error", "-i", media.CLIP, "-f", "lavfi", "-i", "sine=duration=20", "-frames:v", "200",
                  "-c:v", "copy", "-c:a", "flac", clip)
        return clip

    def test_people_of_vtest_are_hidden_in_every_frame_and_sound_is_kept(self):
        clip, out = self.people_clip(), self.folder / "out.mp4"
        samples = self.folder / "samples.mkv"
        media.run("ffmpeg", "-v", "error", "-i", media.CLIP, "-vf", "framestep=16", "-c:v", "ffv1", samples)
        scene = numpy.median(media.frames(samples, "rgb24"), axis=0)
        script("anonymize", clip, out, *GREEN)
        self.assertEqual(media.times(out), media.times(clip))
        self.assertEqual(media.sound_sum(out), media.sound_sum(clip))
        before, after = media.frames(clip, "rgb24"), media.frames(out, "rgb24")
        hidden = is_green(after)
        pixels = visible = 0
        for picture, mask in zip(before, hidden, strict=True):
            for person in people_in(picture, scene):
                pixels += person.sum()
                visible += (person & ~mask).sum()
                self.assertLess((person & ~mask).sum(), person.sum() / 2, "a person is visible")
        self.assertGreater(pixels, 500_000)
        self.assertLessEqual(visible, 0.03 * pixels)
        self.assertLess(hidden.mean(), 0.2, "most of the picture stays")
        unchanged = abs(before.astype(int) - after)[~ndimage.binary_dilation(hidden, iterations=4)]
        self.assertLess(unchanged.mean(), 8)

    def test_moving_box_becomes_blocks_or_vanishes(self):
        clip = media.make(self.folder / "box.mkv", BOX, "-c:v", "ffv1")
        before = media.frames(clip, "gray").astype(int)
        scene = numpy.median(before, axis=0)
        for properties, vanishes in (([], False), (["replace-with=model"], True)):
            out = self.folder / "out.mp4"
            script("anonymize", clip, out, *properties)
            after = media.frames(out, "gray").astype(int)
            self.assertEqual(after.shape, before.shape)
            box = before - scene > 100
            self.assertTrue(box.any(axis=(1, 2))[0], "from the first frame on")
            difference = abs(after - scene)[box]
            if vanishes:
                self.assertLess(numpy.quantile(difference, 0.99), 30)
            else:
                self.assertGreater(numpy.median(difference), 30, "blocks of the box's colour")
                steps = abs(numpy.diff(after, axis=2))[box[:, :, 1:] & box[:, :, :-1]]
                self.assertLess((steps > 12).mean(), 0.15, "few borders between blocks")

    def test_known_background_is_not_learnt_again(self):
        clip = media.make(self.folder / "box.mkv", BOX, "-c:v", "ffv1")
        model = self.folder / "model"
        script("anonymize", clip, self.folder / "out.mp4", f"model-location={model}", *GREEN)
        self.assertTrue(model.exists())
        # Without a model, the foreground of the first frames is unknown, so the whole picture is hidden.
        self.assertTrue(is_green(media.frames(self.folder / "out.mp4", "rgb24")[0]).all())
        script("anonymize", clip, self.folder / "again.mp4", f"model-location={model}", *GREEN)
        self.assertFalse(is_green(media.frames(self.folder / "again.mp4", "rgb24")[0]).all())

    def test_wrong_arguments_are_refused_before_the_first_pass(self):
        clip = media.make(self.folder / "box.mkv", BOX, "-c:v", "ffv1")
        out = self.folder / "out.mp4"
        for status, reason, arguments in (
                (2, "is the input and would be overwritten", (clip, clip)),
                (2, "graphcutbg grow=300: expected", (clip, out, "grow=300")),
                (1, "cannot be read: No such file or directory", (self.folder / "none", out)),
                (2, "required: OUT.mp4", (clip,))):
            said = program(media.script("anonymize"), *arguments)
            self.assertEqual((said.status, said.out), (status, ""))
            self.assertIn(reason, said.err)
            self.assertEqual(self.files(), ["box.mkv"])

    def test_too_few_frames_to_learn_the_place_are_refused(self):
        clip = media.make(self.folder / "short.mkv", BOX, "-frames:v", "9", "-c:v", "ffv1")
        said = program(media.script("anonymize"), clip, self.out)
        self.assertEqual((said.status, said.out), (1, ""))
        self.assertEqual(said.err, f"anonymize: {clip}: has 9 frames, but at least 10 are needed to find the place without"
                         " people; give a picture of it as background-image\n")
        self.assertEqual(self.files(), ["short.mkv"])

    def test_damaged_input_ends_the_program_once(self):
        text = self.folder / "text"
        text.write_text("no picture\n" * 50)
        said = program(media.script("anonymize"), text, self.out)
        self.assertEqual((said.status, said.out), (1, ""))
        self.assertEqual(said.err.count("\n"), 1, said.err)


if __name__ == "__main__":
    main()
