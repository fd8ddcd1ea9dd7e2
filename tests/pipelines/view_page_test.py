#!/usr/bin/python3
"""The page of pipelines/view in a real browser: the picture moves, boxes fit the objects of the same frame, clicks, zones,
properties, events and clips, WebRTC, and a server that starts again."""

import json
import signal
import time

import media
from browser import Browser
from cases import main
from viewing import SIDE, ViewCase, until

# In the page: left, top, right and bottom of the bright area of the picture that is shown, and of the box that is drawn on it.
# One task reads them, so they belong to one state of the page.
MEASURE = """(() => {
  const drawing = document.querySelector(".drawing"), shown = document.querySelector(".picture :not([hidden])");
  const rect = drawing.querySelector(".regions rect");
  if (!rect || !drawing.dataset.pts) return null;
  const width = shown.videoWidth || shown.width, height = shown.videoHeight || shown.height;
  if (!width) return null;
  const canvas = Object.assign(document.createElement("canvas"), {width, height});
  const context = canvas.getContext("2d");
  context.drawImage(shown, 0, 0);
  const pixels = context.getImageData(0, 0, width, height).data;
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; ++y) for (let x = 0; x < width; ++x) if (pixels[4 * (y * width + x)] > 127) {
    left = Math.min(left, x); top = Math.min(top, y); right = Math.max(right, x + 1); bottom = Math.max(bottom, y + 1);
  }
  const [x, y, w, h] = ["x", "y", "width", "height"].map((name) => Number(rect.getAttribute(name)));
  return {pts: drawing.dataset.pts, picture: [left, top, right, bottom], box: [x, y, x + w, y + h]};
})()"""


class Page(ViewCase):
    def open(self, *words, source=None, **options):
        """Starts the program and shows its page."""
        self.program = self.view(source or self.square(20), "--loop", *words, **options)
        self.browser = Browser(self)
        self.browser.go(self.program.address)
        self.browser.until("document.querySelector('.drawing')?.dataset.pts")

    def tearDown(self):
        if hasattr(self, "browser"):
            self.assertEqual(self.browser.problems, [], "the page reported nothing")
        super().tearDown()

    def choose(self, transport):
        self.browser.run("document.querySelector('#transport').value = " + json.dumps(transport) + ";"
                         "document.querySelector('#transport').dispatchEvent(new Event('change'))")

    def expect_in_step(self, script, count=30):
        """Measures frames as they are shown."""
        measured = {}
        end = time.monotonic() + 60 * media.PATIENCE
        while len(measured) < count and time.monotonic() < end:
            found = self.browser.run(script)
            if found and found["picture"][0] < found["picture"][2]:
                measured[found["pts"]] = found
        self.assertGreaterEqual(len(measured), count, "the picture moves")
        for found in measured.values():
            difference = max(abs(a - b) for a, b in zip(found["picture"], found["box"]))
            self.assertLessEqual(difference, 2, found)
        return [found["box"][0] for found in measured.values()]

    def point(self, x, y):
        """The place in the window of a point of the picture."""
        left, top, width, height = self.browser.box(".drawing")
        return left + width * x / 320, top + height * y / 240

    def test_page_draws_boxes_on_the_objects_of_the_same_jpeg_picture(self):
        self.open()
        places = self.expect_in_step(MEASURE)
        self.assertGreater(max(places) - min(places), 30, "the object moves")

    def test_page_draws_boxes_on_the_objects_of_the_same_webrtc_frame(self):
        self.open()
        if not self.program.get("/api/streams")["webrtc"]:
            self.skipTest(self.program.get("/api/streams")["no-webrtc"])
        self.choose("video")
        self.browser.until("streams[0].peer?.connectionState === 'connected'")
        self.expect_in_step(MEASURE)
        received = self.browser.run("streams[0].peer.getStats().then((all) => Math.max(...[...all.values()]"
                                    ".map((each) => each.framesDecoded ?? 0)))")
        self.assertGreater(received, 20, "the frames came by WebRTC")
        self.choose("pictures")
        self.expect_in_step(MEASURE, 5)

    def test_page_when_webrtc_fails_returns_to_jpeg_pictures(self):
        self.open()
        self.browser.run("RTCPeerConnection.prototype.setRemoteDescription = () => Promise.reject(new Error('refused'))")
        self.choose("video")
        self.browser.until("document.querySelector('#problem').innerText.includes('showing JPEG pictures')"
                           " || document.querySelector('#transport option[value=video]').disabled")
        self.choose("pictures")
        self.expect_in_step(MEASURE, 5)

    def test_page_a_click_on_an_object_selects_its_track(self):
        self.open()
        self.browser.run("document.querySelector('.drawing').scrollIntoView({block: 'start', behavior: 'instant'})")
        for _ in range(20):  # the object moves on between the measurement and the click
            box = self.browser.run(MEASURE)["box"]
            self.browser.click(*self.point((box[0] + box[2]) / 2, (box[1] + box[3]) / 2))
            if self.browser.run("document.querySelector('rect.selected')?.dataset.track"):
                break
        self.browser.until("document.querySelector('rect.selected')?.dataset.track === '1'")
        self.browser.until("document.querySelector('.trail').getAttribute('d').split('L').length > 20")
        self.browser.key("Escape")
        self.browser.until("!document.querySelector('rect.selected')")

    def test_page_a_zone_and_a_line_that_are_drawn_are_saved_for_regionevents(self):
        file = self.folder / "rules.json"
        self.open("--rules", file)
        self.browser.press("#draw-zone")
        self.browser.run("document.querySelector('.drawing').scrollIntoView({block: 'start', behavior: 'instant'})")
        self.browser.drag(self.point(160, 20), self.point(300, 220))
        self.browser.until("document.querySelectorAll('.rules line').length === 4")
        self.browser.press("#draw-line")
        self.browser.run("document.querySelector('#name').value = 'gate'")
        self.browser.run("document.querySelector('.drawing').scrollIntoView({block: 'start', behavior: 'instant'})")
        self.browser.drag(self.point(150, 10), self.point(150, 230))
        self.browser.until("document.querySelectorAll('.rules line').length === 5")
        rules = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual((rules["width"], rules["height"]), (320, 240))
        zone, line = rules["zones"][0], rules["lines"][0]
        self.assertEqual((zone["id"], line["id"]), ("zone 1", "gate"))
        for points, expected in ((zone["points"], [[160, 20], [300, 20], [300, 220], [160, 220]]),
                                 (line["points"], [[150, 10], [150, 230]])):
            for point, near in zip(points, expected, strict=True):
                self.assertLess(max(abs(point[0] - near[0]), abs(point[1] - near[1])), 1.5)
        self.browser.until("document.querySelector('.counts').innerText.match(/gate: [1-9]/)")
        self.browser.until("[...document.querySelectorAll('#events strong')].some((each) => each.innerText.includes('zone 1'))")
        # Not by the mouse: new events above the button move it.
        self.browser.run("document.querySelector('#shapes li:nth-child(1) button').click()")
        self.browser.until("document.querySelectorAll('.rules line').length === 1")
        self.assertEqual([rule["id"] for kind in ("zones", "lines") for rule in self.program.get("/api/streams/0/rules")[kind]],
                         ["gate"])

    def test_page_a_line_is_added_to_rules_of_every_form(self):
        self.open()
        gate = {"id": "old", "points": [[10, 10], [20, 20]]}
        for rules, list_of, scale in (
                ([gate], lambda found: found, (1, 1)),
                ({"lines": [gate]}, lambda found: found["lines"], (1, 1)),
                ({"width": 640, "height": 480, "tripwires": [gate]}, lambda found: found["tripwires"], (2, 2)),
                ({"units": "fractions", "lines": [{"id": "old", "points": [[0.1, 0.1], [0.2, 0.2]]}]},
                 lambda found: found["lines"], (1 / 320, 1 / 240))):
            with self.subTest(rules):
                self.assertEqual(self.program.ask("/api/streams/0/rules", rules)[0], 200)
                self.browser.until(f"JSON.stringify(rules) === JSON.stringify({json.dumps(rules)})")
                self.browser.press("#draw-line")
                self.browser.run("document.querySelector('.drawing').scrollIntoView({block: 'start', behavior: 'instant'})")
                self.browser.drag(self.point(200, 40), self.point(240, 200))
                self.browser.until("document.querySelectorAll('.rules line').length === 2")
                found = self.program.get("/api/streams/0/rules")
                old, new = list_of(found)
                self.assertEqual((old["id"], new["id"]), ("old", "line 1"))
                for point, near in zip(new["points"], ((200, 40), (240, 200)), strict=True):
                    self.assertLess(max(abs(a / by - b) for a, by, b in zip(point, scale, near)), 1.5)

    def test_page_a_zone_is_drawn_by_keyboard_alone(self):
        self.open()
        self.browser.run("document.querySelector('.drawing').focus()")
        self.browser.key("z")
        for keys in (("ArrowLeft",) * 8, ("ArrowUp",) * 8, ("ArrowRight",) * 16):
            for key in keys:
                self.browser.key(key)
            self.browser.key(" ", 32, " ")
        self.browser.key("Enter", 13)
        self.browser.until("document.querySelectorAll('.rules line').length === 3")

    def test_page_rules_that_are_refused_show_the_reason(self):
        self.open()
        self.browser.run("document.querySelector('#editor details').open = true;"
                         "document.querySelector('#text').value = '{\"zones\": [{\"id\": \"z\", \"points\": [[0, 0]]}]}'")
        self.browser.press("#save")
        self.browser.until("document.querySelector('#refused').innerText.includes('ring 1 has 1 different points')")
        self.browser.problems.clear()  # the browser reports the status 400
        self.assertEqual(self.program.get("/api/streams/0/rules"), {})

    def test_page_a_property_that_is_changed_acts_and_survives_a_reload(self):
        self.open()
        field = "document.querySelector('#properties input[name=min-area]')"
        self.browser.run(f"{field}.value = '5000'; {field}.dispatchEvent(new Event('change'))")
        self.browser.until("!document.querySelector('.regions rect')")
        self.browser.command("Page.reload")
        self.browser.until("document.querySelector('.drawing')?.dataset.pts")
        self.assertEqual(self.browser.until(f"{field}?.value"), "5000")
        self.browser.run(f"{field}.value = '-3'; {field}.dispatchEvent(new Event('change'))")
        self.browser.until(f"{field}.parentElement.querySelector('em').innerText.includes('expected a number from 0')")
        self.browser.problems.clear()  # the browser reports the status 400

    def test_page_outlines_follow_the_pixels(self):
        self.open()
        self.browser.press("#outlines")
        path = self.browser.until("document.querySelector('.outlines path')?.getAttribute('d')")
        self.assertEqual((path.count("v1"), path.count("H")), (2 * SIDE, 2), "each row has two ends")

    def test_page_an_event_plays_its_clip(self):
        record = self.folder / "record"
        self.open("--rules", self.rules_file(), "--record", record, "--before", "1", "--after", "1",
                  source=self.square(20, "in.mp4", ("-c:v", "libx264", "-g", "25")))
        until(lambda: any(entry["clip"] is True for entry in self.program.events()), what="a clip")
        self.browser.until("document.querySelector('#events li:last-child img').naturalWidth === 320")
        self.browser.until("document.querySelector('#events li:last-child').innerText.includes('crossing gate')")
        self.browser.until("!document.querySelector('#events li:last-child').innerText.includes('recording')")
        self.browser.run("document.querySelector('#events li:last-child button').click()")  # new events move the list
        self.browser.until("document.querySelector('#clip video').currentTime > 0.3")
        self.assertEqual(self.browser.run("document.querySelector('#clip video').videoWidth"), 320)
        self.browser.press("#close")
        self.assertFalse(self.browser.run("document.querySelector('#clip').open"))

    def test_page_connects_again_after_the_server_restarts(self):
        self.open("--rules", self.rules_file())
        port, clip = self.program.port, self.folder / "in.mkv"
        self.program.stop(signal.SIGKILL)
        self.browser.until("document.querySelector('.state').innerText.includes('not connected')")
        before = self.browser.run("document.querySelector('.drawing').dataset.pts")
        self.program = self.view(clip, "--loop", port=port)
        self.browser.until("document.querySelector('.state').innerText === 'playing'")
        self.browser.until(f"document.querySelector('.drawing').dataset.pts !== '{before}'")
        self.browser.problems.clear()  # the browser reports each try
        self.expect_in_step(MEASURE, 5)

    def test_page_of_a_killed_browser_is_forgotten(self):
        self.open()
        self.browser.stop()
        self.browser.problems.clear()
        other = Browser(self)
        other.go(self.program.address)
        other.until("document.querySelector('.drawing')?.dataset.pts")

    def test_page_names_of_zones_are_text_and_no_markup(self):
        name = "<img src=x onerror=alert(1)>"
        self.open("--rules", self.rules_file({"width": 320, "height": 240, "lines": [
            {"id": name, "points": [[150, 0], [150, 240]], "object-retention": 5}]}))
        self.browser.until("document.querySelector('#shapes').innerText.includes('onerror')")
        self.browser.until("document.querySelector('#events').innerText.includes('onerror')")
        self.assertEqual(self.browser.run("document.querySelectorAll('img[src=x]').length"), 0)

    def test_page_fits_a_phone_in_dark_colors(self):
        self.program = self.view(self.square(), "--loop")
        self.browser = Browser(self, 390, 800, "dark")
        self.browser.command("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=2, mobile=True)
        self.browser.go(self.program.address)
        self.browser.until("document.querySelector('.drawing')?.dataset.pts")
        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 390)
        self.assertEqual(self.browser.run("getComputedStyle(document.body).backgroundColor"), "rgb(13, 17, 23)")


if __name__ == "__main__":
    main()
