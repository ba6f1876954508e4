#!/usr/bin/env python3
"""The completions of weft, in each installed shell, and a manual page for each verb."""
import os
import re
import shutil
import subprocess
import unittest

from harness import Cluster, PATIENCE, built

WEFT = built("cli", "weft")
FOLDER = os.path.dirname(WEFT)


class Shells(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.env = dict(self.cluster.env, PATH=FOLDER + os.pathsep + os.environ["PATH"])
        self.addCleanup(self.cluster.__exit__)

    def run_it(self, *words, code=0):
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
                              env=self.env)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def words(self, *typed):
        """Returns the words that may stand for the last word, without their descriptions."""
        out = self.run_it(WEFT, "completion", "words", "--", *typed)
        return [line.split("\t")[0] for line in out.splitlines()]

    def verbs(self):
        """Returns the verbs that help lists, except help itself."""
        return [v for v in re.findall(r"^  ([\w-]+(?: \w+)?) {2,}\S", self.run_it(WEFT, "help"), re.M) if v != "help"]

    def told(self, verb):
        """Returns the options in the help of a verb."""
        return self.run_it(WEFT, *verb.split(), "--help").split("options:")[1]


class Completion(Shells):
    def test_verbs_are_completed(self):
        self.assertEqual(set(self.words("")), {verb.split()[0] for verb in self.verbs()} | {"help"})
        self.assertEqual(self.words("in"), ["inspect"])
        self.assertEqual(self.words("config", ""), ["check", "show"])
        self.assertEqual(self.words("config", "sh"), ["show"])
        self.assertEqual(self.words("help", "comp"), ["completion"])
        self.assertEqual(self.words("nothing", ""), [])
        self.assertEqual(self.words("nothing", "of", "that"), [])

    def test_options_are_those_of_help(self):
        for verb in self.verbs():
            options = re.findall(r"^  (?:-\w, |    )?(--[\w-]+)", self.told(verb), re.M)
            self.assertEqual(sorted(self.words(*verb.split(), "-")), sorted(options), verb)

    def test_values_of_options_are_completed(self):
        self.assertEqual(self.words("run", "--carrier", ""), ["nng", "tcp"])
        self.assertEqual(self.words("run", "--log", "d"), ["debug"])
        self.assertEqual(self.words("run", "-w", ""), [])
        self.assertEqual(self.words("run", ""), [":files"])
        self.assertEqual(self.words("run", "a.so", "--", ""), [":files"])
        self.assertEqual(self.words("run", "--tls", ""), ["auto", ":folders"])
        self.assertEqual(self.words("completion", ""), ["bash", "zsh", "fish"])

    def test_values_are_those_of_help(self):
        given = 0
        for verb in self.verbs():
            with_value = re.findall(r"^  (?:-\w, |    )?(--[\w-]+) [A-Z]\S* +(.*)", self.told(verb), re.M)
            for option, help_text in with_value:
                for choice in self.words(*verb.split(), option, ""):
                    if choice[0] != ":":
                        self.assertIn(choice, help_text, f"{verb} {option}")
                        given += 1
        self.assertGreater(given, 20)

    def test_names_of_running_nodes_are_completed(self):
        node = self.cluster.run("anna", built("tests", "test_modules.so"), "echo")
        self.assertEqual(node.line(), "ready")
        self.assertEqual(self.words("ps", "--node", ""), ["anna"])
        self.assertEqual(self.words("ps", "-N", "an"), ["anna"])
        self.assertEqual(self.words("ps", "--node", "b"), [])

    def test_an_unknown_shell_is_refused(self):
        done = subprocess.run([WEFT, "completion", "fihs"], capture_output=True, text=True, timeout=PATIENCE,
                              env=self.env)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("did you mean 'fish'?", done.stderr)


class InTheShell(Shells):
    def needs(self, shell):
        if shutil.which(shell) is None:
            self.skipTest(f"{shell} is not installed")

    def test_bash_completes_options(self):
        typed = 'COMP_WORDS=(weft run --hear) COMP_CWORD=2; _weft; printf "%s\\n" "${COMPREPLY[@]}"'
        out = self.run_it("bash", "--norc", "-c", f'eval "$(weft completion bash)"; {typed}')
        self.assertEqual(out.split(), ["--heartbeat", "--heartbeats-lost"])

    def test_fish_completes_words(self):
        self.needs("fish")
        out = self.run_it("fish", "-c", 'weft completion fish | source; complete -C "weft config s"')
        self.assertEqual([line.split("\t")[0] for line in out.splitlines()], ["show"])

    def test_zsh_completes_words(self):
        self.needs("zsh")
        shown = 'words=(weft config s) CURRENT=3; _describe() { print -l "${(@P)2}" }; _weft'
        out = self.run_it("zsh", "-fc", f'compdef() {{ :; }}; eval "$(weft completion zsh)"; {shown}')
        self.assertEqual([line.split(":")[0] for line in out.splitlines()], ["show"])


class Manual(Shells):
    def test_every_verb_has_a_manual_page(self):
        first = self.run_it(WEFT, "manual")
        self.assertTrue(first.startswith("weft(1)\n"))
        for verb in self.verbs():
            name = "weft-" + verb.replace(" ", "-")
            page = self.run_it(WEFT, "manual", *verb.split())
            self.assertTrue(page.startswith(name + "(1)\n"), verb)
            self.assertIn(f"*{name}*(1)", first)
            for option in re.findall(r"^ *(?:-\w, )?(--[\w-]+)", self.told(verb), re.M):
                self.assertIn(f"*{option}*", page, verb)
            if shutil.which("scdoc") and os.path.exists(os.path.join(FOLDER, "weft.1")):
                self.assertTrue(os.path.exists(os.path.join(FOLDER, name + ".1")), f"{name}.1 is not built")
                subprocess.run(["scdoc"], input=page, text=True, check=True, stdout=subprocess.DEVNULL)

    def test_an_unknown_verb_has_no_manual_page(self):
        self.run_it(WEFT, "manual", "nothing", code=2)
        self.run_it(WEFT, "manual", "config", code=2)


if __name__ == "__main__":
    unittest.main()
