"""Turns the contents of a terminal with its colours (tmux capture-pane -e) into a page that a browser draws."""
import html
import re

COLOURS = ["#16191a", "#ff7b72", "#7ec07a", "#f0c050", "#79b8ff", "#d2a8ff", "#76d7d7", "#d8d8d4"]
PAGE = """<!doctype html><meta charset=utf-8><style>
body {{ margin: 0; background: {0} }}
pre {{ margin: 0; padding: 12px 14px; width: max-content; font: 13px/1.3 monospace; color: {7} }}
</style><pre>"""


def style(how):
    front, back = COLOURS[how.get("front", 7)], COLOURS[how.get("back", 0)]
    if "reverse" in how:
        front, back = back, front
    looks = [f"color: {front}", f"background: {back}"]
    looks += ["font-weight: bold"] * ("bold" in how) + ["opacity: .6"] * ("faint" in how)
    looks += ["text-decoration: underline; text-underline-offset: 2px"] * ("underline" in how)
    return "; ".join(looks)


def change(how, code):
    begins = {1: "bold", 2: "faint", 4: "underline", 7: "reverse"}
    ends = {22: ("bold", "faint"), 24: ("underline",), 27: ("reverse",), 39: ("front",), 49: ("back",)}
    if code == 0:
        how.clear()
    elif code in begins:
        how[begins[code]] = True
    elif code in ends:
        for what in ends[code]:
            how.pop(what, None)
    elif 30 <= code <= 37:
        how["front"] = code - 30
    else:
        assert 40 <= code <= 47, f"nobody knows colour {code} here"
        how["back"] = code - 40


def as_page(shown):
    """Returns the page, and the lines of text on it."""
    how, spans, text = {}, [], []
    for part in re.split(r"(\x1b\[[\d;]*m)", shown.rstrip("\n")):
        if part.startswith("\x1b"):
            for code in part[2:-1].split(";"):
                change(how, int(code or 0))
        elif part:
            spans.append(f'<span style="{style(how)}">{html.escape(part)}</span>')
            text.append(part)
    return PAGE.format(*COLOURS) + "".join(spans) + "</pre>", "".join(text).split("\n")
