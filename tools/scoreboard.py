#!/usr/bin/env python3
"""Predicted over measured step times of every published run, beside baselines that anyone can check.

    tools/scoreboard.py --program build/orrery --out docs/validation [--left-out CSV --fitted CSV]

Writes scoreboard.md and scoreboard.html: published runs, then the tables of other pages on models on one GPU, memory and operators. The two tables of `orrery validate --csv` are made unless they are given: with every row
evaluated with frameworks fitted without its stack and its team, and in sample, with all rows fitted. Ends with 1 where a target is missed.
"""

import argparse
import html
import json
import pathlib
import statistics
import sys
import tempfile

import generated_header
import validation
from validation import GRADES, SHARED, line, rows_of

TRUTH = SHARED / "truth" / "training.csv"
LEAST_ROWS = 20  # of a stack or team whose target counts
HEALTHY = 0.1  # MFU
MOST_OF_TEAM = 12.0
MOST_OF_MEAN = 9.0
COVERAGE = (75.0, 88.0)  # of all runs by the 80 % interval
COVERAGE_OF_TEAM = (65.0, 95.0)
METHODS = (("left_out", "Orrery, stack left out"), ("fitted", "Orrery, in sample"), ("mfu", "FLOPs at median MFU"),
           ("analytic", "analytic"), ("roofline", "roofline"))
# Tables of other pages, as those have them: title, page, name of the table.
OTHERS = (("Models on one GPU", "held-out-models", "summary"), ("Memory: functional tests of Megatron-LM", "megatron-golden", "targets"),
          ("Memory: published runs", "training", "memory"), ("Operators: shapes of a new seed", "kernels", "new seed"))


def table(program, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.csv"
        validation.run(program, "validate", TRUTH, "--grade", GRADES, "--csv", path, *options)
        return rows_of(path)


def median_mfu(rows):
    """By stack: the median of the median MFUs of all other stacks, so that no stack counts more than another."""
    shares = {}
    for row in rows:
        mfu = float(row["model_flops"]) / float(row["peak_flops"]) / float(row["measured_s"])
        shares.setdefault(row["stack"], []).append(mfu)
    medians = {stack: statistics.median(of_stack) for stack, of_stack in shares.items()}
    return {stack: statistics.median(mfu for other, mfu in medians.items() if other != stack) for stack in medians}


def runs_of(left_out, fitted):
    """One run for each simulated row: its columns, and predicted over measured by method."""
    of_id = {row["id"]: row for row in fitted if row["predicted_s"] and float(row["peak_flops"] or 0) > 0}
    left_out = [row for row in left_out if row["predicted_s"] and row["id"] in of_id]
    mfu = median_mfu(of_id.values())
    runs = []
    for row in left_out:
        measured = float(row["measured_s"])
        known = of_id[row["id"]]
        at_mfu = float(known["model_flops"]) / float(known["peak_flops"]) / mfu[row["stack"]]
        runs.append({
            "id": row["id"], "stack": row["stack"], "team": row["team"], "gpu": row["gpu"], "gpus": int(row["gpus"]), "measured": measured,
            "low": float(row["low_s"]) / measured, "high": float(row["high_s"]) / measured,
            "left_out": float(row["predicted_s"]) / measured, "fitted": float(known["predicted_s"]) / measured,
            "mfu": at_mfu / measured, "analytic": float(known["analytic_s"]) / measured,
            "roofline": float(known["roofline_s"]) / measured,
            "utilisation": float(known["model_flops"]) / float(known["peak_flops"]) / measured})
    return runs


def mape(runs, method):
    return 100 * statistics.fmean(abs(run[method] - 1) for run in runs)


def groups_of(runs, key):
    groups = {}
    for run in runs:
        groups.setdefault(run[key], []).append(run)
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))


def healthy_groups(runs):
    """Runs of teams that have both: below HEALTHY a fault, or a host without a description, is the likelier reason."""
    of_teams = groups_of(runs, "team")
    kept = [(team, [run for run in found if run["utilisation"] > HEALTHY], len(found)) for team, found in of_teams]
    return [(team, found) for team, found, every in kept if found and len(found) < every]


def coverage(runs):
    return 100 * statistics.fmean(run["low"] <= 1 <= run["high"] for run in runs)


def group_table(title, groups):
    yield line(title, "runs", *(name for _, name in METHODS), "in the 80 % interval")
    yield line("---", *["---:"] * (len(METHODS) + 2))
    for name, runs in groups:
        yield line(name, len(runs), *(f"{mape(runs, method):.1f}" for method, _ in METHODS), f"{coverage(runs):.0f} %")


def sentence(what, is_met, found):
    return f"Target: {what}: {found}, {'met' if is_met else 'missed'}."


def targets(runs):
    """Sentences about the targets of left-out stacks, and whether all are met."""
    large = [(stack, found) for stack, found in groups_of(runs, "stack") if len(found) >= LEAST_ROWS]
    errors = [(stack, mape(found, "left_out")) for stack, found in large]
    missed = [f"{stack} {error:.1f} %" for stack, error in errors if error > MOST_OF_TEAM]
    mean = statistics.fmean(error for _, error in errors)
    low, high = COVERAGE
    least, most = COVERAGE_OF_TEAM
    inside = coverage(runs)
    of_teams = [(team, coverage(found)) for team, found in groups_of(runs, "team") if len(found) >= LEAST_ROWS]
    outside = [f"{team} {share:.0f} %" for team, share in of_teams if not least <= share <= most]
    judged = ((f"every stack with {LEAST_ROWS} runs or more within {MOST_OF_TEAM:.0f} %", not missed,
               "above: " + ", ".join(missed) if missed else "all"),
              (f"their mean within {MOST_OF_MEAN:.0f} %", mean <= MOST_OF_MEAN, f"{mean:.1f} %"),
              (f"{low:.0f} to {high:.0f} % of all runs in the 80 % interval", low <= inside <= high, f"{inside:.1f} %"),
              (f"{least:.0f} to {most:.0f} % of each team with {LEAST_ROWS} runs or more in it", not outside,
               "outside: " + ", ".join(outside) if outside else "all"))
    return [sentence(*one) for one in judged], all(is_met for _, is_met, _ in judged)


INTRODUCTION = """Mean |predicted / measured − 1| in percent. *Stack left out*: the scalars of frameworks and the intervals were fitted without the
rows of the stack (who wrote the training code, data/workload/stacks.yaml) and of the team, and collectives that they measured are those of other
sources, as for a user's job; kernels and power are not refitted. *In sample*: fitted with them, which says how well they can be described and nothing
about accuracy on other jobs. Baselines: **FLOPs at median MFU**, model FLOPs over the peak of the GPUs at the median MFU of the other stacks;
**roofline**, what is executed at the peak, or weights and optimizer states at the full memory bandwidth; **analytic**, closed forms for compute,
memory, tensor, pipeline and data parallelism and the bubble in the manner of Calculon, everything at 80 % of the datasheet
(orrery/simulate/explain/baselines.cc). Half of Hugging Face's runs reach less than 5 % MFU on a cluster with faults that no plan tells of."""


def shared_stacks(runs):
    """Stacks that several teams run, with the groups of these teams."""
    for stack, found in groups_of(runs, "stack"):
        teams = groups_of(found, "team")
        if len(teams) > 1:
            yield stack, teams


def members(runs):
    for stack, teams in shared_stacks(runs):
        yield from ["<details>", f"<summary>Teams that run the stack {stack}</summary>", "", *group_table("team", teams), "", "</details>", ""]


def other_tables(folder):
    """Title, page and lines of each table of OTHERS that is in the folder."""
    for title, name, block in OTHERS:
        path = folder / f"{name}.md"
        if path.is_file():
            for found, lines in generated_header.BLOCK.findall(path.read_text(encoding="utf-8")):
                if found == block:
                    yield title, name, lines.strip().splitlines()


def markdown_others(others):
    for title, name, lines in others:
        yield from [f"## {title}", "", f"From [{name}.md]({name}.md).", "", *lines, ""]


def html_others(others):
    for title, name, lines in others:
        yield f"<h2>{html.escape(title)}</h2><p>From docs/validation/{name}.md.</p>"
        rows = []
        for text in lines:
            if not text.startswith("|"):
                yield f"<p>{html.escape(text)}</p>"
            elif not set(text) <= set("|-: "):
                tag = "td" if rows else "th"
                rows.append("<tr>" + "".join(f"<{tag}>{html.escape(cell.strip())}</{tag}>" for cell in text.strip("|").split("|")) + "</tr>")
        yield f"<table>{''.join(rows)}</table>" if rows else ""


def markdown(runs, sentences, others=()):
    return "\n".join([
        "# Scoreboard", "",
        "Made by `make scoreboard`, which also puts a page with every run beside this one, scoreboard.html (not tracked).", "",
        INTRODUCTION, "",
        *sentences, "", *group_table("stack", groups_of(runs, "stack")), "", *members(runs),
        *group_table("GPU", groups_of(runs, "gpu")), "",
        f"Runs above {100 * HEALTHY:.0f} % MFU, which the data's README suggests to evaluate, of teams that have others:", "",
        *group_table("team", healthy_groups(runs)), "", *markdown_others(others)])


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1100px; padding: 24px; color: #1c2430; background: #fff; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 32px 0 8px; }
p { max-width: 80ch; } .targets { color: #44505e; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: 4px 8px; text-align: right; border-bottom: 1px solid #e3e8ee; white-space: nowrap; }
th { color: #44505e; font-weight: 600; } th:first-child, td:first-child { text-align: left; }
td.best { font-weight: 700; } canvas { width: 100%; display: block; }
input, select { font: inherit; padding: 3px 8px; border: 1px solid #c4ccd6; border-radius: 4px; }
.legend span { margin-right: 18px; } .dot { display: inline-block; width: 10px; height: 10px; border-radius: 5px; margin-right: 6px; }
#rows { max-height: 640px; overflow: auto; border: 1px solid #e3e8ee; } #rows th { position: sticky; top: 0; background: #f6f8fa; cursor: pointer; }
footer { margin-top: 32px; color: #6b7785; font-size: 12px; }
"""

SCRIPT = """
const colors = {left_out: '#0b62c4', mfu: '#c26a00', analytic: '#7a8794'};
const shown = Object.keys(colors), low = 0.2, high = 5;
const teams = [...new Set(runs.map(r => r.stack))].map(t => [t, runs.filter(r => r.stack === t)])
  .sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1));
function draw() {
  const canvas = document.getElementById('ratios'), ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, left = 200, right = 20, row = 44, top = 24;
  canvas.style.height = (top + row * teams.length + 28) + 'px';
  canvas.width = width * ratio; canvas.height = (top + row * teams.length + 28) * ratio;
  const c = canvas.getContext('2d'); c.scale(ratio, ratio);
  const x = v => left + (width - left - right) * Math.log(Math.min(high, Math.max(low, v)) / low) / Math.log(high / low);
  c.font = '12px system-ui, sans-serif'; c.textBaseline = 'middle';
  for (const tick of [0.2, 0.33, 0.5, 0.75, 1, 1.33, 2, 3, 5]) {
    c.strokeStyle = tick === 1 ? '#1c2430' : '#e3e8ee'; c.beginPath();
    c.moveTo(x(tick), top - 6); c.lineTo(x(tick), top + row * teams.length); c.stroke();
    c.fillStyle = '#44505e'; c.textAlign = 'center'; c.fillText(tick + '\\u00d7', x(tick), top + row * teams.length + 14);
  }
  teams.forEach(([team, of], i) => {
    c.fillStyle = '#1c2430'; c.textAlign = 'right';
    c.fillText(team + ' (' + of.length + ')', left - 12, top + row * i + row / 2);
    shown.forEach((method, k) => {
      const y = top + row * i + 8 + 14 * k;
      c.fillStyle = colors[method]; c.globalAlpha = Math.max(0.14, Math.min(0.8, 12 / of.length));
      of.forEach((r, n) => { c.beginPath(); c.arc(x(r[method]), y + (n * 7 % 9) - 4, 2, 0, 7); c.fill(); });
      c.globalAlpha = 1;
    });
  });
}
let key = 'left_out', text = '';
function list() {
  const found = runs.filter(r => (r.stack + ' ' + r.team + ' ' + r.gpu + ' ' + r.id).toLowerCase().includes(text));
  found.sort((a, b) => typeof a[key] === 'string' ? (a[key] < b[key] ? -1 : 1) : key === 'gpus' || key === 'measured'
    ? b[key] - a[key] : Math.abs(Math.log(b[key])) - Math.abs(Math.log(a[key])));
  const f = v => v.toFixed(2);
  document.getElementById('body').innerHTML = found.slice(0, 400).map(r => '<tr><td>' + r.id + '<td>' + r.stack + '<td>' + r.team + '<td>' + r.gpu + '<td>' +
    r.gpus + '<td>' + r.measured.toPrecision(4) + '<td>' + f(r.left_out) + '<td>' + f(r.low) + '\\u2013' + f(r.high) + '<td>' + f(r.fitted) +
    '<td>' + f(r.mfu) + '<td>' + f(r.analytic) + '<td>' + f(r.roofline)).join('');
  document.getElementById('count').textContent = found.length + ' runs' + (found.length > 400 ? ', the first 400 shown' : '');
}
document.getElementById('find').addEventListener('input', e => { text = e.target.value.toLowerCase(); list(); });
document.querySelectorAll('#rows th[data-key]').forEach(th => th.addEventListener('click', () => { key = th.dataset.key; list(); }));
window.addEventListener('resize', draw); draw(); list();
"""


def html_table(title, groups):
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in (title, "runs", *(n for _, n in METHODS), "in the 80 % interval"))
    rows = []
    for name, runs in groups:
        errors = {method: mape(runs, method) for method, _ in METHODS}
        best = min(error for method, error in errors.items() if method != "fitted")
        shown = "".join(f'<td class="{"best" if method != "fitted" and errors[method] == best else ""}">{errors[method]:.1f} %</td>'
                        for method, _ in METHODS)
        rows.append(f"<tr><td>{html.escape(name)}</td><td>{len(runs)}</td>{shown}<td>{coverage(runs):.0f} %</td></tr>")
    return f"<table><tr>{cells}</tr>{''.join(rows)}</table>"


def html_members(runs):
    return "".join(f"<details><summary>Teams that run the stack {html.escape(stack)}</summary>{html_table('team', teams)}</details>"
                   for stack, teams in shared_stacks(runs))


def rounded(run):
    return {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in run.items()}


def page(runs, sentences, version, others=()):
    text = html.escape(INTRODUCTION).replace("**", "").replace("*", "")
    heads = (("id", "run"), ("stack", "stack"), ("team", "team"), ("gpu", "GPU"), ("gpus", "GPUs"), ("measured", "measured s"), ("left_out", "left out"),
             ("low", "80 % interval"), ("fitted", "in sample"), ("mfu", "median MFU"), ("analytic", "analytic"), ("roofline", "roofline"))
    columns = "".join(f'<th data-key="{key}">{name}</th>' for key, name in heads)
    data = json.dumps([rounded(run) for run in runs], separators=(",", ":"))
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Orrery: scoreboard</title><meta name="viewport" content="width=device-width">
<style>{STYLE}</style>
<h1>Predicted over measured: {len(runs):,} published training runs</h1>
<p>{text}</p>
<p class="targets">{"<br>".join(html.escape(sentence) for sentence in sentences)}</p>
<h2>By stack</h2>{html_table("stack", groups_of(runs, "stack"))}{html_members(runs)}
<h2>Every run: predicted / measured</h2>
<p class="legend"><span><i class="dot" style="background:#0b62c4"></i>Orrery, stack left out</span>
<span><i class="dot" style="background:#c26a00"></i>FLOPs at the median MFU of the others</span>
<span><i class="dot" style="background:#7a8794"></i>analytic</span></p>
<canvas id="ratios"></canvas>
<h2>By GPU</h2>{html_table("GPU", groups_of(runs, "gpu"))}
{"".join(html_others(others))}
<h2>Runs</h2>
<p><input id="find" placeholder="stack, team, GPU or run" size="30"> <span id="count"></span>. Ratios are predicted / measured. A click on
the head of a column sorts: names by the alphabet, GPUs and times largest first, ratios farthest from 1 first.</p>
<div id="rows"><table><thead><tr>{columns}</tr></thead><tbody id="body"></tbody></table></div>
<footer>{html.escape(version)}; make scoreboard</footer>
<script>const runs = {data};{SCRIPT}</script></html>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=validation.ROOT / "build" / "orrery", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder for scoreboard.md and scoreboard.html")
    parser.add_argument("--left-out", type=pathlib.Path, help="a table of `orrery validate --leave-team-out --csv`, instead of making one")
    parser.add_argument("--fitted", type=pathlib.Path, help="a table of `orrery validate --csv`, instead of making one")
    options = parser.parse_args()
    left_out = rows_of(options.left_out) if options.left_out else table(options.program, "--leave-team-out")
    fitted = rows_of(options.fitted) if options.fitted else table(options.program)
    runs = runs_of(left_out, fitted)
    sentences, is_met = targets(runs)
    version = validation.run(options.program, "--version").strip()
    others = list(other_tables(validation.ROOT / "docs" / "validation"))
    (options.out / "scoreboard.md").write_text(markdown(runs, sentences, others), encoding="utf-8")
    (options.out / "scoreboard.html").write_text(page(runs, sentences, version, others), encoding="utf-8")
    print("\n".join(sentences))
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
