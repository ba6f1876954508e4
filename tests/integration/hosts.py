"""Members in network namespaces of their own, whose connections a test can cut."""
import os
import sys

from members import Members

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from net import Net, why_not  # noqa: E402

WHY_NOT = why_not()


class Hosts(Members):
    """Runs each node on a host of its own; `names` has a letter for each."""

    def __init__(self, names):
        super().__init__()
        self.names = names
        self.net = Net(len(names)).__enter__()
        self.env.update(WEFT_INSECURE="1", WEFT_HEARTBEAT="0.25", WEFT_PROBE="0.25", WEFT_SUSPICION="4",
                        WEFT_RESUME_WINDOW="2", WEFT_PARTITION="majority")

    def url(self, name):
        return f"tcp://{self.net.address(self.names.index(name))}:4100"

    def prefix(self, name):
        return self.net.inside(self.names.index(name))

    def cut(self, one, other, both=True):
        self.net.cut(self.names.index(one), self.names.index(other), both)

    def __exit__(self, *args):
        super().__exit__(*args)
        self.net.__exit__()
