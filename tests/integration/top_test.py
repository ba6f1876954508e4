#!/usr/bin/env python3
"""weft top on a terminal that the test reads: tmux; one test makes a picture of it."""
import base64
import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
import unittest

from browser import CHROMIUM, Chromium
from harness import PATIENCE, Cluster, built, eventually, has, patient
from shop import open_shop
from styled import as_page

WEFT, MODULE = built("cli", "weft"), built("tests", "test_modules.so")
# This script prints how top ended, and whether the terminal is as it was before.
SCRIPT = 'echo $$ >shell; set -m; before=$(stty -g); "$@"; code=$?; ' \
         '[ "$before" = "$(stty -g)" ] && echo "ended with $code, restored"; exec cat'


class Terminal:
    """A window of a tmux server of its own. The test looks at its contents whenever something was written to it."""

    def __init__(self, cluster, width, height, *command, **env):
        self.folder = os.path.join(cluster.folder.name, f"tmux{width}x{height}")
        os.mkdir(self.folder)
        self.env = dict(cluster.env, TERM="xterm-256color", **env)
        self.env.pop("TMUX", None)
        written = os.path.join(self.folder, "written")
        os.mkfifo(written)
        self.written = os.open(written, os.O_RDWR | os.O_NONBLOCK)
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), "-c", self.folder, "cat", ";",
                  "pipe-pane", "-O", f"exec cat >{written}", ";",
                  "respawn-pane", "-k", "-c", self.folder, "sh", "-c", SCRIPT, "sh", *command)

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", os.path.join(self.folder, "s"), "-f", "/dev/null", *words], env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f"tmux {words}: {done.stderr}"
        return done.stdout

    def text(self, *how):
        return self.tmux("capture-pane", "-p", *how)

    def until(self, what, holds):
        """Returns the contents of the window once holds(text) is true."""
        by = time.monotonic() + PATIENCE
        while not holds(text := self.text()):
            ready = select.select([self.written], [], [], max(0, by - time.monotonic()))[0]
            assert ready, f"the terminal never {what}:\n{text}"
            os.read(self.written, 1 << 16)
        return text

    def shows(self, *parts):
        return self.until(f"shows {parts}", lambda text: all(part in text for part in parts))

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def close(self):
        self.tmux("kill-server")
        os.close(self.written)


class Top(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(Cluster())
        self.assertEqual(self.cluster.run("a", MODULE, "tied").line(), "ready")

    def weft(self, *words, code=0):
        done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=patient(self.cluster.env))
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout + (done.stderr if code else "")

    @unittest.skipIf(shutil.which("tmux") is None, "tmux is not installed")
    def terminal(self, width, height, *words, **env):
        t = Terminal(self.cluster, width, height, WEFT, "top", "--node", "a", "--interval", "0.1", *words, **env)
        self.addCleanup(t.close)
        return t

    def other_node(self):
        self.assertEqual(self.cluster.run("b", MODULE, "echo", join=["a"]).line(), "ready")
        eventually("the two nodes know each other", lambda: len(json.loads(self.weft(
            "top", "--node", "a", "--once", "--json"))["links"]) == 1)

    def test_keys_sort_filter_and_inspect(self):
        for _ in range(3):
            self.weft("send", "silent", "[1]", "--tag", "1")
        t = self.terminal(100, 30)
        t.shows("weft top  a", "by mailbox", "*MAILBOX", "dropped: unread-at-exit 2", "NODE", "WORKER", "KIND",
                "STACK  MBOX-P50  MBOX-P99")
        # The requests of top itself are mail of $node.
        t.until("shows the time that messages of $node spend in the mailbox", lambda text: re.search(
            r"(?m)^\$node +1 +\d+ +\d+ +\d\S* [nmu]?s +\d\S* [nmu]?s", text))
        # Look at everything at once, because the next look may find a picture that is half drawn.
        t.until("shows the fullest mailbox first",
                lambda text: text.split("*MAILBOX")[1].split("\n")[1].split()[1] == "silent" and "$node" in text and
                re.search(r"silent +silent +on sleep.* 3/65536 ", text))
        t.keys("f", "TIE", "Enter")
        t.until("shows only the actor of the filter",
                lambda text: "1 actors" in text and " tied " in text and "$node" not in text)
        t.keys("Enter")
        t.shows("waits_for", "an answer", "asks", "links", "Esc back")
        t.keys("Escape")
        t.keys("f", "Enter")
        t.shows("$node")
        t.keys("s", "s", "s", "s", "s")
        t.shows("by name", "*NAME")
        t.keys("r")
        t.shows("by name, reversed")
        t.keys("/", "nobody", "Enter")
        t.shows("no actor here has 'nobody'")
        t.keys("/", "silent", "Enter", "Enter")
        t.shows("waits_for     sleep", "mailbox       3", "callers       test_modules.so+0x")
        t.keys("?")
        t.shows("Up Down PgUp PgDn")
        t.keys("q")
        t.shows("ended with 0, restored")
        self.assertEqual(t.tmux("display-message", "-p", "#{alternate_on}").strip(), "0")

    def test_top_shows_all_nodes_and_follows_the_size_of_the_terminal(self):
        self.other_node()
        t = self.terminal(100, 30)
        t.shows("LINK", "b ")
        t.keys("a")
        t.shows("a and all others", "a>b", "b>a", "NODE      ")
        t.tmux("resize-window", "-x", "60", "-y", "10")
        t.until("has the new number of lines",
                lambda text: text.startswith("weft top") and len(text.rstrip("\n").split("\n")) == 10)
        t.tmux("resize-window", "-x", "30", "-y", "5")
        t.shows("too small")
        t.tmux("resize-window", "-x", "130", "-y", "40")
        t.shows("a and all others", "echo", "q quit")
        t.keys("/", "echo", "Enter", "Enter")
        t.shows("it is on another node: weft inspect 0.0.1 --node b")
        self.cluster.nodes["b"].stop()
        t.until("shows that node b has left", lambda text: "b>a" not in text and "left" in text)
        self.assertRegex(t.text("-e"), "\x1b\\[([0-9]+;)*31m")
        plain = self.terminal(90, 20, NO_COLOR="1")
        plain.shows("left")
        self.assertNotRegex(plain.text("-e"), "\x1b\\[[0-9;]*3[0-7]m")

    def test_top_restores_the_terminal_when_it_ends(self):
        t = self.terminal(80, 24)
        t.shows("*MAILBOX")
        with open(os.path.join(t.folder, "shell"), encoding="ascii") as file:
            shell = int(file.read())
        with open(f"/proc/{shell}/task/{shell}/children", encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGTERM)
        t.shows("ended with 143, restored")
        t = self.terminal(81, 24)
        t.shows("*MAILBOX")
        self.cluster.nodes["a"].stop()
        t.shows("weft top: node a is gone: left", "ended with 3, restored")

    def test_top_once_prints_text_and_json(self):
        self.other_node()
        text = self.weft("top", "--node", "a", "--once", "--interval", "0.1", "--all", "--sort", "pid")
        self.assertRegex(text, r"(?m)^a +up +\d+ +\d+ ")
        self.assertRegex(text, r"(?m)^b +up +\d+ +\d+ ")
        self.assertRegex(text, r"(?m)^b +0\.\d+\.1 +main +echo +on mailbox ")
        nodes = [json.loads(line) for line in
                 self.weft("top", "--node", "a", "--once", "--json", "--all", "--filter", "ECHO").splitlines()]
        self.assertEqual([n["node"] for n in nodes], ["a", "b"])
        self.assertEqual([[a["name"] for a in n["actors"]] for n in nodes], [[], ["echo"]])
        self.assertEqual([n["links"][0]["peer"] for n in nodes], ["b", "a"])
        for times in [k["mailbox_ns"] for n in nodes for k in n["kinds"] if k["kind"] == "$node"]:
            self.assertEqual(times, sorted(times))
            self.assertGreater(sum(count for _, count in times), 0)
        self.assertRegex(self.weft("inspect", "$node", "--node", "a"), r"(?m)^mailbox p99 +\d\S* [nmu]?s$")
        self.assertIn("standard output is no terminal", self.weft("top", "--node", "a", code=2))
        self.assertIn("from 0.1 to 3600", self.weft("top", "--interval", "0.01", "--once", code=2))
        self.assertIn("--sort", self.weft("top", "--sort", "nonsense", code=2))


@unittest.skipUnless(has("top") and shutil.which("tmux") and CHROMIUM,
                     "ncurses, tmux or chromium-headless-shell is missing")
class AShop(unittest.TestCase):
    def test_the_picture_of_top_has_all_nodes_in_colour(self):
        cluster = self.enterContext(Cluster())
        open_shop(cluster)
        terminal = Terminal(cluster, 118, 38, WEFT, "top", "--node", "shop", "--all")
        self.addCleanup(terminal.close)
        terminal.shows("shop>depot", "shop>branch", "customer")
        terminal.until("shows a till that cannot keep up", lambda text: re.search(
            r"\*MAILBOX.*\nshop .* till .* (1[5-9]|2\d)\d/256 ", text))
        terminal.keys("Down")  # The line of the first actor has its own colour then.
        terminal.until("shows the till in yellow or red", lambda text: re.search(
            r"\x1b\[3[13]m[^\n]* till ", terminal.text("-e")))
        html, lines = as_page(terminal.text("-e", "-N"))
        browser = Chromium()
        self.addCleanup(browser.close)
        page = browser.page("data:text/html;charset=utf-8;base64," + base64.b64encode(html.encode()).decode())
        self.assertEqual(page.run("document.querySelector('pre').textContent").split("\n"), lines)
        width, height = page.run("(r => [r.width, r.height].map(Math.ceil))"
                                 "(document.querySelector('pre').getBoundingClientRect())")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.picture("top.png")
        self.assertEqual(browser.errors, [])


if __name__ == "__main__":
    unittest.main()
