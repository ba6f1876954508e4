#!/usr/bin/env python3
"""Pages as people see them, in a real browser: the page of a node, and examples/webchat with two people on two
nodes."""
import http.server
import json
import os
import threading
import unittest
import urllib.request

from browser import CHROMIUM, DESK, PHONE, PICTURES, Chromium
from harness import PATIENCE, Cluster, built
from shop import open_shop



class Site(http.server.BaseHTTPRequestHandler):
    """A site whose page is empty."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>a site</title>")

    def log_message(self, *words):
        pass


LINES = "[...document.querySelectorAll('#lines p')].map(p => p.textContent)"
PROGRAM = built("examples", "webchat")


@unittest.skipIf(CHROMIUM is None, "chromium-headless-shell is not installed")
@unittest.skipIf(not os.path.exists(PROGRAM), "this build has no libwslay-dev or no libhttp-parser-dev")
class InTheBrowser(unittest.TestCase):
    def setUp(self):
        self.cluster, self.urls = Cluster(), {}
        self.addCleanup(self.cluster.__exit__)
        for name in "ab":
            node = self.cluster.run(name, built("examples", "webchat.so"), "--port", "0",
                                    join=["a"] if name == "b" else [])
            self.urls[name] = node.line().split(": chat on ")[1]
        self.browser = Chromium()
        self.addCleanup(self.browser.close)

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])

    def person(self, node, nick, screen=None, room="lobby"):
        page = self.browser.page(self.urls[node], screen)
        page.fill("#nick", nick)
        page.fill("#room", room)
        page.enter()
        page.until(f"document.querySelector('#state').textContent === '{nick} in {room}'")
        return page

    @staticmethod
    def say(page, text):
        page.fill("#text", text)
        page.enter()

    @staticmethod
    def see(page, text):
        page.until(f"{LINES}.includes({text!r})")

    def test_two_people_on_two_nodes_read_each_other(self):
        ann, bob = self.person("a", "ann"), self.person("b", "bob")
        for page in ann, bob:
            page.until("document.querySelector('#who').textContent === '2 here: ann@a, bob@b'")
        self.say(ann, "Hello from node a! Does this reach you, Bob?")
        self.see(bob, "ann: Hello from node a! Does this reach you, Bob?")
        self.say(bob, "It does, on node b. \U0001f600 <b>No markup</b> & \u00e4\u20ac.")
        self.see(ann, "bob: It does, on node b. \U0001f600 <b>No markup</b> & \u00e4\u20ac.")
        self.assertEqual(ann.run("document.querySelector('#text').value"), "")
        # A newcomer sees earlier lines, which are marked; another room has other lines.
        eve = self.person("b", "eve", PHONE)
        self.see(eve, "bob: It does, on node b. \U0001f600 <b>No markup</b> & \u00e4\u20ac.")
        self.assertEqual(eve.run(LINES), ann.run(LINES))
        self.assertEqual(eve.run("document.querySelectorAll('#lines .earlier').length"), 2)
        other = self.person("a", "dan", room="quiet")
        self.say(other, "nobody else here")
        self.see(other, "dan: nobody else here")
        self.assertEqual(other.run(LINES), ["dan: nobody else here"])
        self.say(eve, "And it fits on a phone.")
        self.see(bob, "eve: And it fits on a phone.")
        self.see(eve, "eve: And it fits on a phone.")
        bob.picture("webchat.png")
        eve.picture("webchat-phone.png")
        # On a phone nothing is wider than the screen, and the input is visible.
        self.say(eve, "long" * 100)
        self.see(eve, "eve: " + "long" * 100)
        self.assertLessEqual(eve.run("document.documentElement.scrollWidth"), PHONE["width"])
        self.assertTrue(eve.run("(r => r.top >= 0 && r.bottom <= innerHeight)"
                                "(document.querySelector('#text').getBoundingClientRect())"))

    def test_a_page_connects_again_when_its_node_comes_back(self):
        ann, bob = self.person("a", "ann"), self.person("b", "bob")
        self.say(ann, "before")
        self.see(bob, "ann: before")
        self.cluster.nodes["b"].stop()
        bob.until("document.querySelector('#state').textContent === 'not connected'")
        self.see(bob, "the connection is lost (the server stops); trying again")
        ann.until("document.querySelector('#who').textContent === '1 here: ann@a'")
        self.say(ann, "meanwhile")
        self.see(ann, "ann: meanwhile")
        port = self.urls["b"].rstrip("/").rsplit(":", 1)[1]
        self.cluster.run("b", built("examples", "webchat.so"), "--port", port, join=["a"])
        bob.until("document.querySelector('#state').textContent === 'bob in lobby'")
        self.see(bob, "ann: meanwhile")
        self.say(ann, "after")
        self.see(bob, "ann: after")
        self.assertEqual([line for line in bob.run(LINES) if line.startswith("ann")],
                         ["ann: before", "ann: meanwhile", "ann: after"])

    def test_from_key_to_screen(self):
        """Measures the time from a key on one page to the change of the other, with two nodes between them."""
        ann, bob = self.person("a", "ann"), self.person("b", "bob")
        bob.run("""window.seen = {}; new MutationObserver(all => {
            const now = performance.timeOrigin + performance.now()
            for (const p of document.querySelectorAll('#lines p')) seen[p.textContent] ??= now
        }).observe(document.querySelector('#lines'), {childList: true}) ; 0""")
        ann.run("""window.pressed = []; addEventListener('keydown', e => {
            if (e.key === 'Enter') pressed.push(performance.timeOrigin + performance.now())
        }, true) ; 0""")
        for i in range(30):
            self.say(ann, f"line {i}")
            self.see(bob, f"ann: line {i}")
        began, ended = ann.run("pressed"), bob.run("seen")
        took = sorted(ended[f"ann: line {i}"] - began[i] for i in range(30))
        print(f"from key to the other's page: {took[15]:.1f} ms, at most {took[-1]:.1f} ms")


def cells(table):
    return f"[...document.querySelectorAll('#{table} tr')].map(r => [...r.children].map(c => c.textContent))"


@unittest.skipIf(CHROMIUM is None, "chromium-headless-shell is not installed")
class ANode(unittest.TestCase):
    """The page at / of --metrics."""

    def setUp(self):
        self.cluster = self.enterContext(Cluster())
        self.urls = {}
        for name, what in ("a", "marked-up"), ("b", "echo"):
            node = self.cluster.run(name, built("tests", "test_modules.so"), what, join=["a" if name == "b" else "b"],
                                    options=["--metrics", "0"])
            self.urls[name] = node.log(r"metrics on (http://127\.0\.0\.1:\d+)/metrics")[1]
            self.assertEqual(node.line(), "ready")

    def test_the_page_of_a_node_shows_the_cluster(self):
        with urllib.request.urlopen(self.urls["b"] + "/nodes.json", timeout=PATIENCE) as answer:
            self.assertEqual(answer.headers["Content-Type"], "application/json")
            nodes = json.load(answer)
        self.assertEqual(nodes[0]["node"], "b")
        self.assertLessEqual({"workers", "links", "kinds", "actors", "drops", "at_ns"}, set(nodes[0]))
        with urllib.request.urlopen(self.urls["b"] + "/", timeout=PATIENCE) as answer:
            self.assertEqual(answer.headers["Content-Type"], "text/html; charset=utf-8")
            policy = answer.headers["Content-Security-Policy"]
        self.assertIn("default-src 'none'; script-src 'sha256-", policy)
        self.assertNotIn("unsafe", policy)
        browser = Chromium()
        self.addCleanup(browser.close)
        page = browser.page(self.urls["a"] + "/", dict(DESK, height=900))
        page.until("document.querySelectorAll('#nodes tr').length === 3")
        page.until("document.querySelectorAll('#links tr').length === 3")
        page.until("document.title === 'weft: a in cluster weft'")
        page.until("[...document.querySelectorAll('#rate polyline')]"
                   ".every(l => l.getAttribute('points').split(' ').length > 2)")
        nodes = page.run(cells("nodes"))
        self.assertEqual([row[:2] for row in nodes[1:]], [["a", "up"], ["b", "up"]])
        self.assertEqual(sorted(row[0] for row in page.run(cells("links"))[1:]), ["a \u2192 b", "b \u2192 a"])
        # The fullest mailbox comes first. Names are shown as text, whatever characters they have.
        actors = page.run(cells("actors"))
        self.assertEqual([actors[1][i] for i in (0, 1, 3)], ["a", '<b title="&lt;">bold</b>\ufffd', "4/4"])
        self.assertEqual(page.run("document.querySelectorAll('td *').length"), 0)
        # The page fits on a phone, and has dark colours.
        page.call("Emulation.setDeviceMetricsOverride", **PHONE)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), PHONE["width"])
        self.assertEqual(page.run("getComputedStyle(document.body).backgroundColor"), "rgb(22, 25, 26)")
        # The browser does not run scripts that are not part of the page.
        page.run("document.body.append(Object.assign(document.createElement('script'), "
                 "{textContent: 'window.ran = 1'}))")
        self.assertIsNone(page.run("window.ran"))
        self.cluster.nodes["b"].stop()
        page.until("document.querySelectorAll('#nodes tr').length === 2")
        page.until("document.querySelector('#links tr.bad') !== null")
        self.cluster.nodes["a"].stop()
        page.until("document.querySelector('#state').textContent === 'no answer'")
        self.assertEqual(browser.errors, [])


@unittest.skipIf(CHROMIUM is None, "chromium-headless-shell is not installed")
class APageOfAnotherSite(unittest.TestCase):
    """A page of another site, which tries the ports of a node on its reader's machine."""

    KNOCK = """new Promise(done => {
        const s = new WebSocket(%r, %s)
        s.binaryType = 'arraybuffer'
        s.onmessage = m => done([...new Uint8Array(m.data)].join())
        s.onclose = () => done('closed')
    })"""

    def setUp(self):
        self.cluster, self.browser = self.enterContext(Cluster()), Chromium()
        self.addCleanup(self.browser.close)
        site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        self.addCleanup(lambda: (site.shutdown(), thread.join(), site.server_close()))
        self.origin = f"http://127.0.0.1:{site.server_port}"
        self.page = self.browser.page(self.origin + "/")

    def knock(self, *options, words):
        node = self.cluster.run("a", built("tests", "test_modules.so"), "echo",
                                options=["--listen", "ws://127.0.0.1:0/weft", *options])
        url = node.log(r"(ws://127\.0\.0\.1:\d+/weft)")[1]
        self.assertEqual(node.line(), "ready")
        return node, self.page.run(self.KNOCK % (url, words))

    def test_the_web_socket_of_a_page_is_refused(self):
        for words in '"pair.sp.nanomsg.org"', "[]", '["chat", "pair.sp.nanomsg.org"]':
            node, got = self.knock(words=words)
            self.assertEqual(got, "closed")
            node.log(rf"a page of {self.origin}")
            node.stop()

    def test_the_web_socket_of_an_allowed_page_is_accepted(self):
        _, got = self.knock("--ws-origin", self.origin, words='"pair.sp.nanomsg.org"')
        self.assertEqual(got, "0,83,80,0,0,16,0,0")


@unittest.skipIf(CHROMIUM is None, "chromium-headless-shell is not installed")
class AShop(unittest.TestCase):
    def test_three_nodes_at_work(self):
        """The picture shows one minute."""
        cluster, browser = self.enterContext(Cluster()), Chromium()
        self.addCleanup(browser.close)
        page = browser.page(open_shop(cluster), dict(DESK, width=1000))
        for points in range(2, 63 if PICTURES else 3, 20):
            page.until("document.querySelectorAll('#rate polyline').length === 3 && [...document.querySelectorAll("
                       f"'#rate polyline')].every(l => l.getAttribute('points').split(' ').length > {points})")
        page.until("document.querySelectorAll('#links tr').length === 7")
        # The picture has the whole page, and nothing extends beyond an edge.
        page.call("Emulation.setDeviceMetricsOverride",
                  **dict(DESK, width=1000, height=page.run("document.documentElement.scrollHeight")))
        page.until("innerHeight >= document.documentElement.scrollHeight")
        self.assertEqual(page.run("[...document.querySelectorAll('section')]"
                                  ".filter(s => s.scrollWidth > s.clientWidth).length"), 0)
        page.picture("node-page.png")
        self.assertEqual(browser.errors, [])


if __name__ == "__main__":
    unittest.main()
