"""A real browser, Chromium without a window, which its debugging protocol controls over a pipe."""
import base64
import fcntl
import json
import os
import select
import shutil
import struct
import subprocess
import tempfile
import time

from harness import PATIENCE

PICTURES = os.environ.get("WEFT_PICTURES")  # If this names a folder, the pictures for docs/ are written there.
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)
PHONE = {"width": 375, "height": 667, "deviceScaleFactor": 2, "mobile": True}
DESK = {"width": 900, "height": 560, "deviceScaleFactor": 1, "mobile": False}


class Chromium:
    """One browser process; each page has its own cookies and storage."""

    def __init__(self):
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.to = os.pipe()
        self.back, from_browser = os.pipe()

        def descriptors():  # The browser reads from descriptor 3 and writes to 4.
            ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_browser, from_browser)]
            os.dup2(ends[0], 3), os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--no-proxy-server", f"--user-data-dir={self.home.name}", "about:blank"],
            preexec_fn=descriptors, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_browser), os.close(from_browser)
        self.bytes, self.asked, self.errors = b"", 0, []

    def close(self):
        os.close(self.to)  # The browser ends when its pipe is closed.
        try:
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self.back)
            self.home.cleanup()

    def receive(self, by):
        while b"\0" not in self.bytes:
            ready, _, _ = select.select([self.back], [], [], max(0, by - time.monotonic()))
            assert ready, "the browser does not answer"
            more = os.read(self.back, 1 << 16)
            assert more, "the browser has ended"
            self.bytes += more
        one, _, self.bytes = self.bytes.partition(b"\0")
        return json.loads(one)

    def call(self, method, session=None, **params):
        self.asked += 1
        order = {"id": self.asked, "method": method, "params": params}
        if session is not None:
            order["sessionId"] = session
        left = json.dumps(order).encode() + b"\0"
        while left:
            left = left[os.write(self.to, left):]
        by = time.monotonic() + PATIENCE
        while (answer := self.receive(by)).get("id") != self.asked:
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(answer["params"]["exceptionDetails"])
        assert "error" not in answer, answer
        return answer["result"]

    def page(self, url, screen=None):
        return Page(self, url, screen or DESK)


class Page:
    def __init__(self, browser, url, screen):
        self.browser = browser
        context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable"), self.call("Runtime.enable")
        self.call("Emulation.setDeviceMetricsOverride", **screen)
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def run(self, script):
        """Returns the value of an expression, or of its promise once that is resolved."""
        got = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in got, got["exceptionDetails"]
        return got["result"].get("value")

    def until(self, condition):
        """Waits until the condition holds, and looks whenever the document changes."""
        by = time.monotonic() + PATIENCE
        held = None
        while held is not True and time.monotonic() < by:
            try:
                held = self.run(f"""new Promise(done => {{
                    const look = () => {{ if ({condition}) {{ watch.disconnect(); done(true) }} }}
                    const watch = new MutationObserver(look)
                    watch.observe(document, {{subtree: true, childList: true, characterData: true, attributes: true}})
                    addEventListener('load', () => {{ look(); done(false) }})
                    setTimeout(() => done(false), {PATIENCE * 900})
                    look()
                }})""")
            except AssertionError as e:
                if "context" not in str(e):  # Another document has replaced this one.
                    raise
        assert held is True, f"never: {condition}\n{self.run('document.body.innerText')}"

    def fill(self, selector, text):
        self.run(f"(e => {{ e.value = ''; e.focus() }})(document.querySelector({json.dumps(selector)}))")
        self.call("Input.insertText", text=text)

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      text="\r" if key == "Enter" and kind == "keyDown" else "")

    def enter(self):
        self.press("Enter", 13)

    def picture(self, name):
        """Takes a picture of the screen. It is drawn without a folder, too, which shows that it can be drawn."""
        png = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        assert min(struct.unpack(">II", png[16:24])) > 300, png[:24]
        if PICTURES is not None:
            with open(os.path.join(PICTURES, name), "wb") as file:
                file.write(png)
