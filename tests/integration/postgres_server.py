"""A PostgreSQL server of a test's own, on a Unix socket in a temporary folder."""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile

from harness import PATIENCE, Program

FOLDERS = sorted(os.path.dirname(path) for path in glob.glob("/usr/lib/postgresql/*/bin/initdb"))
USER = "nobody"  # PostgreSQL refuses to run as root.
SOMEBODY_ELSE = ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups"]


class Postgres:
    """Runs a server of the test's own; clients connect to the folder of its socket."""

    def __init__(self, fsync="off"):
        self.fsync = fsync
        self.folder = tempfile.mkdtemp(prefix="pg-")
        self.prefix = SOMEBODY_ELSE if os.geteuid() == 0 else []
        if self.prefix:
            os.chown(self.folder, pwd.getpwnam(USER).pw_uid, -1)
        self.data = os.path.join(self.folder, "data")
        subprocess.run([*self.prefix, FOLDERS[-1] + "/initdb", "-D", self.data, "-A", "trust", "-U", "weft",
                        "-E", "UTF8", "--locale=C", "--no-sync"],
                       check=True, stdout=subprocess.DEVNULL, timeout=4 * PATIENCE)
        self.start()

    def start(self):
        settings = ("listen_addresses=", "fsync=" + self.fsync, "shared_buffers=4MB", "max_connections=20", "autovacuum=off",
                    "log_disconnections=on", "log_min_messages=debug1", "log_line_prefix=%a: ")
        self.program = Program(*self.prefix, FOLDERS[-1] + "/postgres", "-D", self.data, "-k", self.folder,
                               *(word for s in settings for word in ("-c", s)))
        self.program.log("database system is ready to accept connections")

    def sql(self, text):
        subprocess.run([FOLDERS[-1] + "/psql", "-h", self.folder, "-U", "weft", "-d", "postgres", "-qAtc", text],
                       check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE)

    def crash(self):
        """Stops the server as pg_ctl stop -m immediate does."""
        self.program.process.send_signal(signal.SIGQUIT)
        self.program.process.wait(PATIENCE)

    def close(self):
        self.program.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def missing():
    """Returns the reason why there is nothing to test, or None."""
    if not FOLDERS or not shutil.which("setpriv"):
        return "PostgreSQL is not installed (Debian: postgresql)"
    if os.geteuid() == 0 and subprocess.run([*SOMEBODY_ELSE, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return "this root may not become somebody else, and PostgreSQL does not run as root"
    return None
