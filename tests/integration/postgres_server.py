"""A PostgreSQL server of a test's own, on a Unix socket in a temporary folder."""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile

from harness import PATIENCE, Program, built

FOLDERS = sorted(os.path.dirname(path) for path in glob.glob("/usr/lib/postgresql/*/bin/initdb"))
USER = "nobody"  # PostgreSQL refuses to run as root.
SOMEBODY_ELSE = ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups"]


class Postgres:
    """Runs a server of the test's own; clients connect to the folder of its socket. `of`: the server that it follows as a
    standby until it is promoted. `inside`: the first words of its command, in a network in which it has an `address`.
    `settings`: more of the server's settings, NAME=VALUE."""

    def __init__(self, fsync="off", of=None, inside=(), address="", port=5432, settings=()):
        self.fsync, self.inside, self.address, self.port, self.settings = fsync, inside, address, port, settings
        self.folder = tempfile.mkdtemp(prefix="pg-")
        self.prefix = SOMEBODY_ELSE if os.geteuid() == 0 else []
        if self.prefix:
            os.chown(self.folder, pwd.getpwnam(USER).pw_uid, -1)
        self.data = os.path.join(self.folder, "data")
        if of:
            self.run("pg_basebackup", "-h", of.folder, "-U", "weft", "-D", self.data, "-R", "-c", "fast", "--no-sync")
        else:
            self.run("initdb", "-D", self.data, "-A", "trust", "-U", "weft", "-E", "UTF8", "--locale=C", "--no-sync")
        if address:
            with open(os.path.join(self.data, "pg_hba.conf"), "a", encoding="utf-8") as f:
                f.write("host all all samenet trust\n")
        self.start()

    def run(self, program, *words):
        subprocess.run([*self.prefix, f"{FOLDERS[-1]}/{program}", *words], check=True, stdout=subprocess.DEVNULL,
                       timeout=4 * PATIENCE)

    def promote(self):
        self.run("pg_ctl", "promote", "-D", self.data)

    def start(self):
        settings = ("listen_addresses=" + self.address, "fsync=" + self.fsync, "shared_buffers=4MB", "max_connections=20", "autovacuum=off",
                    "log_disconnections=on", "log_min_messages=debug1", "log_line_prefix=%a: ", f"port={self.port}",
                    *self.settings)
        self.program = Program(*self.inside, *self.prefix, FOLDERS[-1] + "/postgres", "-D", self.data, "-k", self.folder,
                               *(word for s in settings for word in ("-c", s)))
        self.program.log("database system is ready to accept (read-only )?connections")

    @property
    def psql(self):
        return FOLDERS[-1] + "/psql", "-h", self.folder, "-p", str(self.port), "-U", "weft", "-d", "postgres", "-qAt"

    def sql(self, text):
        return subprocess.run([*self.psql, "-c", text], check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE).stdout.strip()

    def crash(self):
        """Stops the server as pg_ctl stop -m immediate does."""
        self.program.process.send_signal(signal.SIGQUIT)
        self.program.process.wait(PATIENCE)

    def _signal_all(self, number):
        """To the server first, so that it starts no session meanwhile."""
        with open(f"/proc/{self.program.pid}/task/{self.program.pid}/children", encoding="utf-8") as f:
            sessions = f.read().split()
        for pid in (self.program.pid, *map(int, sessions)):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass  # This session has ended meanwhile.

    def freeze(self):
        """Lets the server stand still: the kernel still accepts connections and takes what is sent, and nothing is answered."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self):
        self._signal_all(signal.SIGCONT)

    def close(self):
        if self.program.process.poll() is None:
            self.thaw()  # Sessions that stand still would not notice the end of their server.
        self.program.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def missing():
    """Returns the reason why there is nothing to test, or None."""
    if not FOLDERS or not shutil.which("setpriv"):
        return "PostgreSQL is not installed (Debian: postgresql)"
    if os.geteuid() == 0 and subprocess.run([*SOMEBODY_ELSE, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return "this root may not become another user, and PostgreSQL does not run as root"
    return None


def without():
    """Returns the reason why no store can be in PostgreSQL here, or None."""
    linked = subprocess.run(["ldd", built("libweft-store.so")], capture_output=True, text=True, check=False).stdout
    return missing() or (None if "libpq" in linked else "built without libpq (Debian: libpq-dev)")
