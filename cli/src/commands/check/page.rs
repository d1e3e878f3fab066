//! `--report`: a page about a swarm that needs nothing but itself.
//!
//! Invariant: the page is well-formed HTML whatever names and labels contain, and loads nothing from elsewhere.

use super::report::Report;
use super::swarm::picture::{self, COLOURS, became, who};
use super::swarm::{ShownSlice, SliceRun, SwarmRun};
use crate::chart::{self, escaped};
use crate::quantities::{big, bytes, count, counted};
use gridlock_manager::traces::swarm::Event;
use std::cmp::Reverse;
use std::io::{self, Write};

/// Rows of the table of the largest jobs.
const LARGEST: usize = 20;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b2733;--paper:#fff;--faint:#66727f;--line:#d5dde5;--pruned:#c9d2db;\
--split:#e3b341;--bad:#c62828;--good:#2e7d32}\
@media (prefers-color-scheme:dark){:root{--ink:#dde5ec;--paper:#14191f;--faint:#93a0ad;--line:#333d47;--pruned:#3d4853;\
--bad:#ef5f56;--good:#66bb6a}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1100px;margin:2em auto;\
padding:0 1em}\
h1{font-size:1.4em}h1 .bad{color:var(--bad)}h1 .good{color:var(--good)}h2{font-size:1.1em;margin-top:2em}\
table{border-collapse:collapse}td,th{padding:.15em .8em .15em 0;text-align:left;border-bottom:1px solid var(--line)}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}p.note{color:var(--faint)}\
table.figures td.n{padding-right:.4em}td.w{white-space:nowrap}td.place{overflow-wrap:anywhere;min-width:12em}\
h1,p{overflow-wrap:anywhere}p.who{margin:.6em 0 .1em}.wide{overflow-x:auto}\
svg.swarm{width:100%;display:block;background:color-mix(in srgb,var(--line) 35%,transparent)}\
.pruned{fill:var(--pruned)}.split{fill:var(--split)}.givenup,.found{fill:var(--bad)}.resumed{fill:#7a5ea8}\
.cut{stroke:var(--paper);stroke-width:1}\
.key span{display:inline-block;margin-right:1em}\
.key i{display:inline-block;width:1em;height:1em;margin-right:.4em;vertical-align:-.1em}\
.chart{overflow-x:auto;width:max-content;min-width:100%;max-width:calc(100vw - 2em);position:relative;left:50%;\
transform:translateX(-50%)}@media (max-width:1100px){.chart{max-width:100%}}";

/// The colours of the workers.
const WORKERS: [&str; COLOURS] =
    ["#1f6fb2", "#2f9e8f", "#6aa84f", "#3d85c6", "#a2653e", "#8e7cc3", "#45818e", "#b4678c"];

/// Writes the page.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let title = report.title();
    let (verdict, rest) = title.split_once(':').unwrap_or((&title, ""));
    let colour = match verdict {
        "holds" => " class=\"good\"",
        "violated" => " class=\"bad\"",
        _ => "",
    };
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<style>{STYLE}",
        escaped(&title)
    )?;
    for (k, colour) in WORKERS.iter().enumerate() {
        write!(out, ".w{k}{{fill:{colour}}}")?;
    }
    writeln!(out, "{}</style>\n</head>\n<body>", chart::DARK)?;
    writeln!(out, "<h1><span{colour}>{}</span>:{}</h1>", escaped(verdict), escaped(rest))?;
    writeln!(out, "<p>{}</p>", escaped(report.specification))?;
    match (&report.outcome.swarm, &report.outcome.slices) {
        (Some(swarm), _) => write_swarm(report, swarm, out)?,
        (None, Some(slices)) => write_slices(report, slices, out)?,
        (None, None) => writeln!(out, "<p>It ended before the swarm began.</p>")?,
    }
    if let Some(trace) = &report.outcome.trace {
        writeln!(out, "<h2>Counterexample</h2>\n<div class=\"chart\">")?;
        chart::write(trace, &title, out)?;
        writeln!(out, "</div>")?;
    }
    let version = env!("CARGO_PKG_VERSION");
    writeln!(out, "<p class=\"note\">gridlock {version}</p>\n</body>\n</html>")?;
    out.flush()
}

/// Figures with their numbers below each other, and settings, which are words.
fn write_table(
    figures: impl IntoIterator<Item = (&'static str, String)>,
    settings: impl IntoIterator<Item = (&'static str, String)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "<table class=\"figures\">")?;
    for (name, value) in figures {
        let (number, unit) = value.split_once(' ').unwrap_or((&value, ""));
        writeln!(
            out,
            "<tr><th>{name}</th><td class=\"n\">{}</td><td>{}</td></tr>",
            escaped(number),
            escaped(unit)
        )?;
    }
    for (name, value) in settings {
        writeln!(out, "<tr><th>{name}</th><td colspan=\"2\" class=\"place\">{}</td></tr>", escaped(&value))?;
    }
    writeln!(out, "</table>")
}

fn write_slices(report: &Report, slices: &SliceRun, out: &mut dyn Write) -> io::Result<()> {
    write_table(report.slice_rows(slices), slices.figures.settings(), out)?;
    if slices.sizes.iter().all(|slice| slice.states == 0) {
        return writeln!(out, "<p class=\"note\">It ended before the first slice was searched.</p>");
    }
    writeln!(out, "<h2>Sizes of slices</h2>\n{}", picture::sizes(&slices.sizes))?;
    writeln!(
        out,
        "<p class=\"note\">All slices, the largest first, from left to right; the height is the number of states. A slice \
         that was divided counts as several.</p>"
    )?;
    let mut largest: Vec<&ShownSlice> = slices.sizes.iter().collect();
    largest.sort_by_key(|slice| Reverse(slice.states));
    writeln!(
        out,
        "<h2>Largest slices</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"n\">states</th><th class=\"n\">activations</th><th>where \
         the subsystem stands</th></tr>"
    )?;
    for slice in largest.into_iter().take(LARGEST) {
        writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"place\">{}{}</td></tr>",
            count(slice.states),
            count(slice.activations),
            escaped(&slice.place),
            if slice.part { " (a part)" } else { "" }
        )?;
    }
    writeln!(out, "</table></div>")
}

fn write_swarm(report: &Report, swarm: &SwarmRun, out: &mut dyn Write) -> io::Result<()> {
    let seconds = format!("{:.3}", report.outcome.stats.time.as_secs_f64());
    let figures = swarm.figures.rows().into_iter().chain([("seconds", seconds)]);
    write_table(figures, swarm.figures.settings(), out)?;
    writeln!(out, "<h2>Trace IDs</h2>")?;
    write_key(out)?;
    writeln!(out, "{}", picture::ids(&swarm.events, &swarm.ids))?;
    // The range does not include its end.
    let last = if swarm.ids.is_empty() { swarm.ids.start.clone() } else { &swarm.ids.end - 1u32 };
    let finer = swarm.events.iter().filter(|event| event.space != 0).count();
    writeln!(
        out,
        "<p class=\"note\">IDs {} to {} from left to right, jobs from top to bottom in the order in which they were \
         made; the strip at the bottom is the sum. The narrowest mark is a thousandth of the width, however few IDs it \
         stands for.{}</p>",
        big(&swarm.ids.start),
        big(&last),
        if finer > 0 {
            format!(" {} jobs of finer guides are not shown.", count(finer as u64))
        } else {
            String::new()
        }
    )?;
    writeln!(out, "<h2>Workers</h2>")?;
    for (who, jobs, seconds, svg) in picture::timelines(&swarm.events, &swarm.times) {
        writeln!(
            out,
            "<p class=\"who\">{who}: {}, {seconds:.3} s</p>\n{svg}",
            counted(jobs as usize, "job")
        )?;
    }
    writeln!(
        out,
        "<p class=\"note\">From left to right the time of the run; each job from when it was handed out to when it was \
         answered. Of jobs from a checkpoint only the time that each took is known: they stand one after the other.</p>"
    )?;
    write_largest(&swarm.events, out)
}

fn write_key(out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<p class=\"key\">")?;
    // The colours of shapes are their filling, those of the key are a background.
    let shown = [
        (WORKERS[0], "explored, a colour for each worker"),
        ("#7a5ea8", "explored before, from the checkpoint"),
        ("var(--pruned)", "pruned"),
        ("var(--split)", "over budget, divided"),
        ("var(--bad)", "violation or given up"),
    ];
    for (colour, text) in shown {
        // A square and its text stay together; between two of them a line may end.
        write!(out, "<span><i style=\"background:{colour}\"></i>{text}</span> ")?;
    }
    writeln!(out, "</p>")
}

fn write_largest(events: &[Event], out: &mut dyn Write) -> io::Result<()> {
    let mut largest: Vec<&Event> = events.iter().collect();
    largest.sort_by_key(|event| (Reverse(event.effort.states), event.number));
    writeln!(
        out,
        "<h2>Largest jobs</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"n\">job</th><th>by</th><th class=\"n\">first ID</th>\
         <th class=\"n\">IDs</th><th class=\"n\">states</th><th class=\"n\">memory</th><th class=\"n\">seconds</th>\
         <th>its IDs were</th></tr>"
    )?;
    for event in largest.into_iter().take(LARGEST) {
        let Event { number, worker, ids, class, effort, .. } = event;
        writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td class=\"w\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{:.3}</td><td class=\"w\">{}</td></tr>",
            count(*number),
            who(*worker),
            big(&ids.start),
            big(&(&ids.end - &ids.start)),
            count(effort.states),
            bytes(effort.memory),
            effort.nanoseconds as f64 / 1e9,
            became(*class)
        )?;
    }
    writeln!(out, "</table></div>")
}
