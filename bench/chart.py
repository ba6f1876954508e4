"""Draws how much faster weft is than the best of the others: one bar a row, on a logarithmic scale, as SVG."""
import html
import math

ROW, LEFT, WIDTH, TOP = 22, 470, 520, 80


def position(ratio, decades):
    return LEFT + WIDTH * (math.log10(ratio) + decades) / (2 * decades)


def ratio_chart(rows, title, below=""):
    """Each of `rows` is (label, ratio, text beside the bar). A ratio above 1 means that weft is better."""
    farthest = max([abs(math.log10(ratio)) for _, ratio, _ in rows] + [0.5])
    decades = math.ceil(farthest * 2) / 2
    height = TOP + ROW * len(rows) + 24
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 260}" height="{height}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="12" y="24" font-size="16">{html.escape(title)}</text>',
           f'<text x="12" y="42" fill="#666">{html.escape(below)}</text>']
    for power in range(-math.floor(decades), math.floor(decades) + 1):
        x = position(10.0 ** power, decades)
        colour = "#222" if power == 0 else "#ccc"
        out.append(f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - 16}" stroke="{colour}"/>')
        out.append(f'<text x="{x:.1f}" y="{TOP - 14}" text-anchor="middle">{10.0 ** power:g}</text>')
    middle = position(1, decades)
    for i, (label, ratio, beside) in enumerate(rows):
        y, end = TOP + ROW * i, position(ratio, decades)
        out.append(f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{html.escape(label)}</text>')
        out.append(f'<rect x="{min(end, middle):.1f}" y="{y + 3}" width="{max(abs(end - middle), 1):.1f}" '
                   f'height="{ROW - 6}" fill="{"#2a7f62" if ratio >= 1 else "#b5482f"}"/>')
        out.append(f'<text x="{LEFT + WIDTH + 10}" y="{y + 14}">{html.escape(f"{ratio:.2f}  {beside}")}</text>')
    return "\n".join(out + ["</svg>", ""])
