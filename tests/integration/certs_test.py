#!/usr/bin/env python3
"""weft certs: OpenSSL can read the files that it writes; and mistakes of new users."""
import json
import os
import stat
import subprocess
import tempfile
import unittest

from harness import PATIENCE, built

WEFT = built("cli", "weft")


class Certs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name + "/a/b"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}

    def certs(self, *words, code=0, env=None):
        done = subprocess.run([WEFT, "certs", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=env or dict(self.env, WEFT_CERTS=self.dir))
        self.assertEqual(done.returncode, code, f"certs {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def openssl(self, *words):
        return subprocess.run(["openssl", *words], check=True, capture_output=True, text=True, cwd=self.dir,
                              timeout=PATIENCE).stdout

    def read(self, name):
        with open(os.path.join(self.dir, name), encoding="ascii") as file:
            return file.read()

    def mode(self, name):
        return stat.S_IMODE(os.stat(os.path.join(self.dir, name)).st_mode)

    def test_openssl_accepts_the_certificates(self):
        self.certs("init", "--cluster", "blue")
        self.certs("issue", "a", "--san", "10.0.0.2", "--san", "a.example", "--san", "::1")
        modes = [self.mode(n) for n in ("ca.key", "a.key", "ca.crt", "a.crt")]
        self.assertEqual(modes, [0o600, 0o600, 0o644, 0o644])
        self.assertEqual(self.mode("."), 0o700)
        good = self.openssl("verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", "ca.crt", "a.crt")
        self.assertIn("a.crt: OK", good)
        self.openssl("verify", "-purpose", "sslclient", "-verify_hostname", "a.example", "-CAfile", "ca.crt", "a.crt")
        text = self.openssl("x509", "-in", "a.crt", "-noout", "-text")
        sans = "DNS:a, IP Address:10.0.0.2, DNS:a.example, IP Address:0:0:0:0:0:0:0:1, URI:weft:role:node"
        for part in ("prime256v1", "ecdsa-with-SHA256", sans, "Issuer: CN = weft authority, O = blue"):
            self.assertIn(part, text)
        self.assertNotEqual(self.openssl("x509", "-in", "a.crt", "-noout", "-serial"),
                            self.openssl("x509", "-in", "ca.crt", "-noout", "-serial"))

    def test_the_folder_of_certificates_follows_the_environment(self):
        kept = {k: v for k, v in self.env.items() if k not in ("HOME", "XDG_CONFIG_HOME", "APPDATA")}
        for env, folder in (({"XDG_CONFIG_HOME": "x", "HOME": "h", "APPDATA": "d"}, "x/weft/certs"),
                            ({"HOME": "h", "APPDATA": "d"}, "h/.config/weft/certs"),
                            ({"APPDATA": "d"}, "d/weft/certs")):
            self.certs("init", env={**kept, **{k: f"{self.dir}/{v}" for k, v in env.items()}})
            self.assertEqual(sorted(os.listdir(f"{self.dir}/{folder}")), ["ca.crt", "ca.key"])
        self.assertIn("give --dir", self.certs("init", code=2, env=kept))

    def test_show_describes_a_certificate(self):
        self.certs("init")
        made = json.loads(self.certs("issue", "boss", "--role", "admin,observe", "--days", "40", "--json"))
        self.assertEqual(made, json.loads(self.certs("show", self.dir + "/boss.crt", "--json")))
        self.assertEqual((made["name"], made["roles"], made["state"], made["authority"], made["days_left"]),
                         ("boss", ["observe", "admin"], "valid", False, 40))
        print_out = self.openssl("x509", "-in", "boss.crt", "-noout", "-fingerprint", "-sha256")
        self.assertEqual(print_out.strip().split("=")[1].replace(":", "").lower(), made["sha256"])
        words = self.certs("show", "boss")
        for part in ("name         boss", "roles        observe, admin", "state        valid, 40 days left"):
            self.assertIn(part, words)
        self.assertTrue(json.loads(self.certs("show", "ca", "--json"))["authority"])
        self.certs("issue", "short", "--days", "5")
        self.assertEqual(json.loads(self.certs("show", "short", "--json"))["state"], "expires soon")

    def test_certificates_are_replaced_only_with_force(self):
        self.certs("init")
        self.certs("issue", "a")
        before = [self.read(n) for n in ("ca.key", "ca.crt", "a.key", "a.crt")]
        self.assertIn("--force", self.certs("init", code=1))
        self.assertIn("--force", self.certs("issue", "a", code=1))
        self.assertEqual(before, [self.read(n) for n in ("ca.key", "ca.crt", "a.key", "a.crt")])
        self.certs("issue", "a", "--force")
        self.assertNotEqual(before[2], self.read("a.key"))
        self.assertEqual(self.mode("a.key"), 0o600)
        self.certs("init", "--force")
        self.assertNotEqual(before[0], self.read("ca.key"))
        self.assertEqual(sorted(os.listdir(self.dir)), ["a.crt", "a.key", "ca.crt", "ca.key"])

    def test_mistakes(self):
        self.assertIn("weft certs init", self.certs("issue", "a", code=1))
        self.certs("init", "--days", "20")
        for words, says in ((["issue", "ca"], "authority"), (["issue", "a b"], "no node name"),
                            (["issue", "../a"], "no node name"), (["issue", "x" * 65], "no node name"),
                            (["issue", "a", "--role", "nod"], "node, guest, observe, admin"),
                            (["issue", "a", "--role", ""], "there is no role"),
                            (["issue", "a", "--san", "a/b"], "neither a host name"),
                            (["issue", "a", "--days", "21"], "good for 20 days only"),
                            (["init", "--force", "--cluster", "a,b=c"], "not a name"), ([], "a second word"),
                            (["issu"], "there is no 'issu'")):
            self.assertIn(says, self.certs(*words, code=2), words)
        self.assertEqual(json.loads(self.certs("issue", "a", "--json"))["days_left"], 20)
        self.assertIn("is no certificate", self.certs("show", self.dir + "/ca.key", code=1))
        self.assertIn("cannot read", self.certs("show", "nobody", code=1))
        self.assertIn("--dir DIR", self.certs("init", code=2, env={"PATH": os.environ["PATH"]}))
        os.rename(self.dir + "/a.key", self.dir + "/ca.key")
        self.assertIn("is not the key of ca.crt", self.certs("issue", "b", code=1))
        os.unlink(self.dir + "/ca.key")
        self.assertIn("there is no", self.certs("issue", "b", code=1))
        self.assertIn("authority's certificate", self.broken_ca())

    def broken_ca(self):
        os.rename(self.dir + "/a.crt", self.dir + "/ca.crt")
        return self.certs("issue", "b", code=1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
