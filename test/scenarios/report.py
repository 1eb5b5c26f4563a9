# SPDX-License-Identifier: BSD-2-Clause
"""One self-contained HTML page: the verdicts, and plots as inline SVG."""
import html
import math

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 620, 230, 66, 40, 10, 14
COLOURS = ["#1f6fb4", "#d1612b", "#2f8f4e", "#8a4fb0", "#b0892f", "#bf3b57", "#3a9aa8", "#6b6b6b"]

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1320px; color: #222;
       padding: 0 1em }
table { border-collapse: collapse; margin: .6em 0 1.2em }
td, th { padding: .2em .8em; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top }
.pass { color: #1d7a3a } .fail { color: #b3261e; font-weight: 600 } .notyet { color: #8a6d1b }
.plots { display: flex; flex-wrap: wrap; gap: 14px }
figure { margin: 0 0 10px; max-width: 620px } figcaption { font-size: 13px; color: #444 }
svg text { font: 11px system-ui, sans-serif; fill: #444 }
code { font-size: 12px; color: #555; word-break: break-all }
@media (prefers-color-scheme: dark) { body { background: #16181c; color: #ddd }
  td, th { border-color: #333 } svg text { fill: #aaa } figcaption { color: #aaa } }
"""


def ticks(lo, hi, n=5):
    if hi <= lo:
        hi = lo + 1
    step = 10 ** math.floor(math.log10((hi - lo) / n))
    for m in (1, 2, 5, 10):
        if (hi - lo) / (step * m) <= n:
            step *= m
            break
    first = math.ceil(lo / step) * step
    return [first + i * step for i in range(int((hi - first) / step + 1e-9) + 1)]


def number(v):
    if v == 0:
        return "0"
    if abs(v) >= 1000:
        return f"{v / 1000:g}k" if abs(v) < 1e6 else f"{v / 1e6:g}M"
    return f"{v:g}"


def extent(lines, ymin, ymax):
    """(x0, x1, y0, y1) of everything drawn."""
    xs = [x for line in lines for x in line["x"]]
    ys = [y for line in lines for y in line["y"] + line.get("low", []) + line.get("high", [])]
    x0, x1 = min(xs), max(xs)
    y0, y1 = min(ymin, min(ys)), ymax if ymax is not None else 1.05 * max(ys)
    return x0, x1 if x1 > x0 else x0 + 1, y0, y1 if y1 > y0 else y0 + 1


def axes(box, px, py, xlabel, ylabel):
    x0, x1, y0, y1 = box
    middle_x, middle_y = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    out = []
    for t in ticks(y0, y1):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{py(t):.1f}" y2="{py(t):.1f}" '
                   f'stroke="#8885" stroke-width="0.5"/><text x="{LEFT - 5}" y="{py(t) + 4:.1f}" '
                   f'text-anchor="end">{number(t)}</text>')
    for t in ticks(x0, x1, 8):
        out.append(f'<line x1="{px(t):.1f}" x2="{px(t):.1f}" y1="{HEIGHT - BOTTOM}" '
                   f'y2="{HEIGHT - BOTTOM + 4}" stroke="#888"/><text x="{px(t):.1f}" '
                   f'y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{number(t)}</text>')
    out.append(f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" '
               'stroke="#888"/>')
    out.append(f'<text x="{middle_x}" y="{HEIGHT - 4}" text-anchor="middle">{xlabel}</text>')
    out.append(f'<text transform="translate(13 {middle_y}) rotate(-90)" text-anchor="middle">'
               f'{html.escape(ylabel)}</text>')
    return out


def drawn(line, colour, px, py):
    """A line, in front of the band between its least and most."""
    stride = max(1, len(line["x"]) // 1200)
    xs, ys = line["x"][::stride], line["y"][::stride]
    out = []
    if "low" in line:
        edge = list(zip(xs, line["high"][::stride])) + list(zip(xs, line["low"][::stride]))[::-1]
        points = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in edge)
        out.append(f'<polygon points="{points}" fill="{colour}" opacity="0.22"/>')
    points = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in zip(xs, ys))
    out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.4"/>')
    return out


def shades(spans, px):
    """Red while any fault is on; a dashed line where one begins or ends."""
    out, edge = [], -math.inf
    for a, b in spans:
        if b > edge:
            left = max(a, edge)
            out.append(f'<rect x="{px(left):.1f}" y="{TOP}" width="{max(1, px(b) - px(left)):.1f}" '
                       f'height="{HEIGHT - BOTTOM - TOP}" fill="#d33" opacity="0.13"/>')
            edge = b
    for x in sorted({x for span in spans for x in span})[:80]:
        out.append(f'<line x1="{px(x):.1f}" x2="{px(x):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" '
                   'stroke="#d33" stroke-width="0.7" stroke-dasharray="3 3" opacity="0.5"/>')
    return out


def plot(title, lines, xlabel, ylabel, spans=(), ymin=0.0, ymax=None):
    """lines: [{name, x, y, low?, high?}]; spans: [(x0, x1)], when a fault is on."""
    lines = [line for line in lines if line["x"]]
    if not lines:
        return ""
    box = x0, x1, y0, y1 = extent(lines, ymin, ymax)

    def px(x):
        return LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)

    def py(y):
        return HEIGHT - BOTTOM - (y - y0) / (y1 - y0) * (HEIGHT - BOTTOM - TOP)

    inside = sorted((max(x0, a), min(x1, b)) for a, b in spans if a < x1 and b > x0)
    out, marked = shades(inside, px), bool(inside)
    out += axes(box, px, py, xlabel, ylabel)
    legend = []
    for i, line in enumerate(lines):
        colour = COLOURS[i % len(COLOURS)]
        out += drawn(line, colour, px, py)
        legend.append(f'<span style="color:{colour}">&#9632;</span>&nbsp;'
                      + html.escape(line["name"]))
    if marked:
        legend.append('<span style="color:#d33;opacity:.4">&#9632;</span>&nbsp;a fault is on')
    return (f'<figure><figcaption><b>{html.escape(title)}</b></figcaption>'
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
            f'aria-label="{html.escape(title)}">{"".join(out)}</svg>'
            f'<figcaption class="legend">{" &ensp; ".join(legend)}</figcaption></figure>')


def fault_spans(variant, run):
    out = []
    for f in variant.settings(run["seed"]).get("faults", []):
        start = f["at"] / 1000
        out.append((start, start + f["for"] / 1000 if "for" in f else 1e12))
    return (out + [(a, b) for a, b, _ in run.get("storm", {}).get("list", [])])[:200]


def middle(values):
    return sorted(values)[len(values) // 2]


def over_seeds(name, runs, column):
    """The median of the seeds at each time, and their least and most."""
    series = [r["series"] for r in runs if r.get("series", {}).get(column)]
    nb = min((len(s[column]) for s in series), default=0)
    rows = [[s[column][i] for s in series] for i in range(nb)]
    line = {"name": name, "x": series[0]["t_us"][:nb] if series else [],
            "y": [middle(row) for row in rows]}
    if len(series) > 1:
        line["name"] += f", median of {len(series)} seeds, band: least to most"
        line["low"], line["high"] = [min(row) for row in rows], [max(row) for row in rows]
    return line


def one(name, run, column, factor=1.0):
    series = run["series"]
    return {"name": name, "x": series["t_us"], "y": [v * factor for v in series[column]]}


def time_plots(name, runs, spans):
    """Over time: goodput of all seeds; the rest of the first one, whose faults are marked."""
    first, out = runs[0], []
    s = first.get("series") or {}
    if not s.get("t_us"):
        return out
    seed = f" (seed {first['seed']})"
    same = all(a["series"].get("t_us") and fault == spans for a, fault in runs_with_spans(runs))
    out.append(plot(f"{name}: goodput" + ("" if same else seed),
                    [over_seeds("all hosts", runs, "goodput_gbps") if same
                     else one("all hosts", first, "goodput_gbps")],
                    "time, us", "goodput, Gb/s", spans))
    planes = sorted((k for k in s if k.startswith("plane")), key=lambda k: int(k[5:].split("_")[0]))
    if len(planes) > 1 and any(map(any, (s[k] for k in planes))):
        out.append(plot(f"{name}: share of each plane" + seed, [
            one(f"plane {k[5:].split('_')[0]}", first, k) for k in planes],
                        "time, us", "data packets a sample", spans))
    if any(s.get("ev_bad", [])) or any(s.get("ev_skip", [])):
        out.append(plot(f"{name}: states of paths" + seed, [
            one("good", first, "ev_good"), one("skip", first, "ev_skip"),
            one("assumed bad", first, "ev_bad")], "time, us", "entropy values", spans))
    if any(s.get("queue_max_len", [])):
        out.append(plot(f"{name}: longest queue" + seed, [
            one("data queue of any switch", first, "queue_max_len", 1 / 1024)],
                        "time, us", "queue, KiB", spans))
    return out


def runs_with_spans(runs):
    return [(r, r["spans"]) for r in runs]


def variant_plots(variant, runs):
    runs = [r for r in runs if r.get("ok")]
    for r in runs:
        r["spans"] = fault_spans(variant, r)
    out = time_plots(variant.name, runs, runs[0]["spans"])
    times = sorted(f[3] - f[2] for r in runs for f in r.get("flows", {}).get("list", []))
    if len(times) > 3:
        out.append(plot(f"{variant.name}: completion times of flows", [{
            "name": f"{len(times)} flows of {len(runs)} seeds", "x": times,
            "y": [(i + 1) / len(times) for i in range(len(times))]}],
                        "completion time, us", "share of flows", (), 0.0, 1.0))
    return "".join(out)


def css(verdict):
    return {"pass": "pass", "FAIL": "fail"}.get(verdict.split(":")[0], "notyet")


def table(title, head, rows):
    def row(cells, kind):
        return "<tr>" + "".join(f"<{kind}>{html.escape(str(c))}</{kind}>" for c in cells) + "</tr>"

    return (f"<h3>{html.escape(title)}</h3><table>{row(head, 'th')}"
            + "".join(row(cells, "td") for cells in rows) + "</table>")


def section(outcome):
    sc = outcome["scenario"]
    rows = "".join(
        f'<tr><td class="{css(m.verdict(sc))}">{html.escape(m.verdict(sc))}</td>'
        f"<td>{html.escape(m.text)}</td><td>{html.escape(m.mark)}</td>"
        f"<td>{html.escape(m.measured)}</td><td>{html.escape(m.median or '')}</td></tr>"
        for m in outcome["marks"])
    plots = "".join(variant_plots(v, outcome["results"][v.name]) for v in sc.variants
                    if v.plots and outcome["results"].get(v.name, [{}])[0].get("ok"))
    complete = all(r["ok"] for runs in outcome["results"].values() for r in runs)
    tables = "".join(table(*t) for t in sc.tables(outcome["results"])
                     ) if sc.tables and complete else ""
    command = outcome["results"][sc.variants[0].name][0].get("command", "")
    return (f'<h2 id="{sc.name}">{sc.name.upper()} {html.escape(sc.title)}</h2>'
            f"<details><summary>Took {outcome['seconds']:.0f} s; the command of its first run"
            f"</summary><code>{html.escape(command)}</code></details>"
            "<table><tr><th>verdict</th><th>criterion</th><th>mark</th>"
            f"<th>worst seed</th><th>median</th></tr>{rows}</table>{tables}"
            f'<details open><summary>plots</summary><div class="plots">{plots}</div></details>')


def page(outcomes, args):
    rows = []
    for o in outcomes:
        sc = o["scenario"]
        verdicts = [m.verdict(sc).split(":")[0] for m in o["marks"] if m.mark]
        state = "FAIL" if "FAIL" in verdicts else "not yet" if "not yet" in verdicts else "pass"
        rows.append(f'<tr><td><a href="#{sc.name}">{sc.name.upper()}</a></td>'
                    f"<td>{html.escape(sc.title)}</td><td class=\"{css(state)}\">{state}</td>"
                    f"<td>{verdicts.count('pass')} of {len(verdicts)}</td></tr>")
    return ("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
            "<title>mrc-dp scenarios</title>"
            f"<style>{STYLE}</style><h1>Scenarios</h1><p>{args.seeds} "
            f"{'seed' if args.seeds == 1 else 'seeds'}, scale "
            f"{args.scale:g}. Virtual time; C: payload that the planes can carry; in plots red: a "
            "fault is on.</p>"
            f"<table><tr><th></th><th>scenario</th><th>state</th><th>marks met</th></tr>"
            f"{''.join(rows)}</table>{''.join(map(section, outcomes))}</html>\n")
