"""A headless Chromium for tests, driven by its DevTools protocol. A test is skipped if Chromium is not installed."""

import asyncio
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

import aiohttp
import media

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WAIT = 30 * media.PATIENCE


class Browser:
    """A browser with one page."""

    def __init__(self, test, width=1280, height=900, scheme="light"):
        if not PROGRAM:
            test.skipTest("chromium is not installed: pipelines/setup --tests installs it")
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        test.addCleanup(folder.cleanup)
        self.process = subprocess.Popen(
            [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio", "--no-first-run",
             "--no-proxy-server", "--autoplay-policy=no-user-gesture-required", "--disable-features=WebRtcHideLocalIpsWithMdns",
             "--remote-debugging-port=0", f"--user-data-dir={folder.name}", f"--window-size={width},{height}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={name: value for name, value in os.environ.items() if name != "LD_PRELOAD"})  # of sanitizers
        test.addCleanup(self.stop)
        self.loop = asyncio.new_event_loop()
        test.addCleanup(self.loop.close)
        for line in self.process.stderr:
            if "DevTools listening on " in line:
                port = int(line.split("ws://")[1].split("/")[0].rsplit(":", 1)[1])
                break
        else:
            raise AssertionError("chromium does not start")
        self.number, self.problems = 0, []  # problems: errors that the page reported
        self.loop.run_until_complete(self.open(port))
        test.addCleanup(lambda: self.loop.run_until_complete(self.session.close()))
        for domain in ("Page", "Runtime", "Log"):
            self.command(domain + ".enable")
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def open(self, port):
        self.session = aiohttp.ClientSession()
        async with self.session.get(f"http://127.0.0.1:{port}/json/list") as answer:
            address = next(page["webSocketDebuggerUrl"] for page in await answer.json() if page["type"] == "page")
        self.socket = await self.session.ws_connect(address, max_msg_size=0)

    def stop(self):
        """Ends the browser as if it had been killed."""
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def command(self, method, **parameters):
        return self.loop.run_until_complete(self.reply(method, parameters))

    async def reply(self, method, parameters):
        self.number += 1
        await self.socket.send_str(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads((await self.socket.receive(timeout=WAIT)).data)
            if message.get("method") == "Runtime.exceptionThrown":
                details = message["params"]["exceptionDetails"]
                self.problems.append(details.get("exception", {}).get("description") or details["text"])
            elif message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
                self.problems.append(message["params"]["entry"]["text"] + " " + message["params"]["entry"].get("url", ""))
            if message.get("id") == self.number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]

    def go(self, address):
        self.command("Page.navigate", url=address)

    def run(self, script):
        """The value of JavaScript, which may be a promise."""
        found = self.command("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise AssertionError(f"{script}: {found['exceptionDetails'].get('exception', {}).get('description')}")
        return found["result"].get("value")

    def until(self, script, seconds=WAIT):
        """The first true value of JavaScript."""
        end = time.monotonic() + seconds
        while not (found := self.run(script)):
            if time.monotonic() > end:
                raise AssertionError(f"{script} stayed {found!r}; the page reported {self.problems};"
                                     f" page: {self.run('document.body.innerText')}")
            time.sleep(0.05)
        return found

    def drag(self, start, end):
        """Presses the mouse at a point of the page, moves it, and releases it."""
        for kind, (x, y), buttons in (("mouseMoved", start, 0), ("mousePressed", start, 1), ("mouseMoved", end, 1),
                                      ("mouseReleased", end, 0)):
            self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, buttons=buttons, clickCount=1,
                         button="none" if kind == "mouseMoved" else "left")

    def click(self, x, y):
        self.drag((x, y), (x, y))

    def press(self, selector):
        """Clicks the middle of an element."""
        self.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
        x, y, width, height = self.box(selector)
        self.click(x + width / 2, y + height / 2)

    def box(self, selector):
        """Left, top, width and height of an element in the window."""
        return self.run(f"(b => [b.x, b.y, b.width, b.height])(document.querySelector({json.dumps(selector)})"
                        ".getBoundingClientRect())")

    def key(self, name, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code,
                         **({"text": text} if text and kind == "keyDown" else {}))

    def picture(self, quality=None):
        """A screenshot as PNG, or as JPEG of a quality."""
        kind = {"format": "jpeg", "quality": quality} if quality else {"format": "png"}
        return base64.b64decode(self.command("Page.captureScreenshot", **kind)["data"])
