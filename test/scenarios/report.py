# SPDX-License-Identifier: BSD-2-Clause
"""One self-contained HTML page: the verdicts, and plots as inline SVG."""
import html
import math

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 620, 200, 58, 28, 10, 12
COLOURS = ["#1f6fb4", "#d1612b", "#2f8f4e", "#8a4fb0", "#b0892f", "#bf3b57", "#3a9aa8", "#6b6b6b"]

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1320px; color: #222;
       padding: 0 1em }
table { border-collapse: collapse; margin: .6em 0 1.2em }
td, th { padding: .2em .8em; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top }
.pass { color: #1d7a3a } .fail { color: #b3261e; font-weight: 600 } .notyet { color: #8a6d1b }
.plots { display: flex; flex-wrap: wrap; gap: 14px }
figure { margin: 0 } figcaption { font-size: 13px; color: #444 }
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


def plot(title, lines, xlabel, ylabel, spans=(), ymin=0.0, ymax=None):
    """lines: [(name, xs, ys)]; spans: [(x0, x1)] shaded (a fault)."""
    lines = [line for line in lines if line[1]]
    if not lines:
        return ""
    x0 = min(min(xs) for _, xs, _ in lines)
    x1 = max(max(xs) for _, xs, _ in lines)
    y0 = min(ymin, min(min(ys) for _, _, ys in lines))
    y1 = ymax if ymax is not None else max(max(ys) for _, _, ys in lines) * 1.05
    if x1 <= x0:
        x1 = x0 + 1
    if y1 <= y0:
        y1 = y0 + 1

    def px(x):
        return LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)

    def py(y):
        return HEIGHT - BOTTOM - (y - y0) / (y1 - y0) * (HEIGHT - BOTTOM - TOP)

    out = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">']
    for a, b in spans:
        a, b = max(x0, a), min(x1, b)
        if b > a:
            out.append(f'<rect x="{px(a):.1f}" y="{TOP}" width="{max(1, px(b) - px(a)):.1f}" '
                       f'height="{HEIGHT - BOTTOM - TOP}" fill="#d33" opacity="0.13"/>')
    for t in ticks(y0, y1):
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{py(t):.1f}" y2="{py(t):.1f}" '
                   f'stroke="#8885" stroke-width="0.5"/><text x="{LEFT - 5}" y="{py(t) + 4:.1f}" '
                   f'text-anchor="end">{number(t)}</text>')
    for t in ticks(x0, x1, 8):
        out.append(f'<text x="{px(t):.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">'
                   f'{number(t)}</text>')
    out.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 2}" text-anchor="end">{xlabel}</text>')
    for i, (_, xs, ys) in enumerate(lines):
        stride = max(1, len(xs) // 1200)
        points = " ".join(f"{px(x):.1f},{py(y):.1f}"
                          for x, y in list(zip(xs, ys))[::stride])
        out.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[i % 8]}" '
                   'stroke-width="1.4"/>')
    out.append("</svg>")
    legend = ""
    if len(lines) > 1:
        legend = " &nbsp; " + " ".join(
            f'<span style="color:{COLOURS[i % 8]}">&#9632;&nbsp;{html.escape(name)}</span>'
            for i, (name, _, _) in enumerate(lines))
    return (f"<figure>{''.join(out)}<figcaption><b>{html.escape(title)}</b>, "
            f"{html.escape(ylabel)}{legend}</figcaption></figure>")


def fault_spans(variant, seed):
    out = []
    for f in variant.settings(seed).get("faults", []):
        start = f["at"] / 1000
        out.append((start, start + f["for"] / 1000 if "for" in f else 1e12))
    return out[:40]


def variant_plots(variant, runs):
    r = runs[0]
    s = r.get("series") or {}
    out = []
    if s.get("t_us"):
        x = s["t_us"]
        spans = fault_spans(variant, r["seed"])
        out.append(plot(f"{variant.name}: goodput", [(f"seed {q['seed']}", q["series"]["t_us"],
                                                      q["series"]["goodput_gbps"])
                                                     for q in runs if q.get("series", {}).get(
                                                         "t_us")][:5], "us", "Gb/s", spans))
        planes = sorted(k for k in s if k.startswith("plane"))
        if len(planes) > 1 and any(map(any, (s[k] for k in planes))):
            out.append(plot(f"{variant.name}: packets per plane", [
                (k.split("_")[0], x, s[k]) for k in planes], "us", "data packets per sample",
                            spans))
        if any(s.get("ev_bad", [])) or any(s.get("ev_skip", [])):
            out.append(plot(f"{variant.name}: path states", [
                ("good", x, s["ev_good"]), ("skip", x, s["ev_skip"]),
                ("assumed bad", x, s["ev_bad"])], "us", "entropy values", spans))
        if any(s.get("queue_max_len", [])):
            out.append(plot(f"{variant.name}: longest queue", [("", x, s["queue_max_len"])], "us",
                            "bytes", spans))
    flows = r.get("flows", {}).get("list", [])
    if len(flows) > 3:
        lines = []
        for q in runs[:5]:
            times = sorted(f[3] - f[2] for f in q["flows"]["list"])
            lines.append((f"seed {q['seed']}", times,
                          [(i + 1) / len(times) for i in range(len(times))]))
        out.append(plot(f"{variant.name}: completion times", lines, "us", "share of flows", (),
                        0.0, 1.0))
    return "".join(out)


def css(verdict):
    return {"pass": "pass", "FAIL": "fail"}.get(verdict.split(":")[0], "notyet")


def section(outcome):
    sc = outcome["scenario"]
    rows = "".join(
        f'<tr><td class="{css(m.verdict(sc))}">{html.escape(m.verdict(sc))}</td>'
        f"<td>{html.escape(m.text)}</td><td>{html.escape(m.mark)}</td>"
        f"<td>{html.escape(m.measured)}</td></tr>" for m in outcome["marks"])
    plots = "".join(variant_plots(v, outcome["results"][v.name]) for v in sc.variants
                    if outcome["results"][v.name][0].get("ok"))
    command = outcome["results"][sc.variants[0].name][0].get("command", "")
    return (f'<h2 id="{sc.name}">{sc.name.upper()} {html.escape(sc.title)}</h2>'
            f"<p>Took {outcome['seconds']:.0f} s. Repeats the first run: "
            f"<code>{html.escape(command)}</code></p><table><tr><th>verdict</th><th>criterion</th><th>mark</th>"
            f"<th>measured, worst seed</th></tr>{rows}</table>"
            f'<details><summary>plots</summary><div class="plots">{plots}</div></details>')


def page(outcomes, args):
    rows = []
    for o in outcomes:
        sc = o["scenario"]
        verdicts = [m.verdict(sc).split(":")[0] for m in o["marks"]]
        state = "FAIL" if "FAIL" in verdicts else "not yet" if "not yet" in verdicts else "pass"
        rows.append(f'<tr><td><a href="#{sc.name}">{sc.name.upper()}</a></td>'
                    f"<td>{html.escape(sc.title)}</td><td class=\"{css(state)}\">{state}</td>"
                    f"<td>{verdicts.count('pass')} of {len(verdicts)}</td></tr>")
    return ("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
            "<title>mrc-dp scenarios</title>"
            f"<style>{STYLE}</style><h1>Scenarios</h1><p>{args.seeds} seeds, scale "
            f"{args.scale:g}. Virtual time; C: payload that the planes can carry; in plots red: a "
            "fault is on.</p>"
            f"<table><tr><th></th><th>scenario</th><th>state</th><th>marks met</th></tr>"
            f"{''.join(rows)}</table>{''.join(map(section, outcomes))}</html>\n")
