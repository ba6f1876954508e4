"""A shop on three nodes, with customers: the cluster that the pictures of docs/ show."""
from harness import built


def open_shop(cluster):
    """Starts nodes shop, depot and branch, linked with each other, and returns the address of the page of shop."""
    # With this variable of meson all allocated memory would be filled, which takes memory.
    cluster.env.pop("MALLOC_PERTURB_", None)
    for name, seeds in ("shop", []), ("depot", ["shop"]), ("branch", ["shop", "depot"]):
        node = cluster.run(name, built("tests", "test_shop.so"), join=seeds, options=["--metrics", "0"])
        if name == "shop":
            page = node.log(r"metrics on (http://127\.0\.0\.1:\d+)/metrics")[1] + "/"
        assert node.line() == "ready"
    return page
