//! `--report`: a self-contained page about a run.
//!
//! Invariant: the page is well-formed HTML for any names and labels, and loads no other files.

use super::report::FinishedRun;
use crate::chart;
use crate::stuck;
use gridlock_manager::method::Conclusion;
use gridlock_manager::method::page::{WORKERS, escaped};
use std::io::{self, Write};

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

/// Writes the page.
pub fn write(report: &FinishedRun, out: &mut dyn Write) -> io::Result<()> {
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
    let figures = &report.outcome.figures;
    if figures.begun() {
        write_table(report.rows(), figures.settings(), out)?;
    }
    for note in report.notes() {
        note.lines().try_for_each(|line| writeln!(out, "<p>{}</p>", escaped(line)))?;
    }
    figures.write_page(out)?;
    if let Some(trace) = report.trace {
        let heading =
            if report.outcome.conclusion == Conclusion::Holds { "Witness" } else { "Counterexample" };
        writeln!(out, "<h2>{heading}</h2>\n<div class=\"chart\">")?;
        chart::write(trace, &title, out)?;
        writeln!(out, "</div>")?;
        if report.is_deadlock() {
            stuck::write_html(&trace.stuck, out)?;
        }
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
