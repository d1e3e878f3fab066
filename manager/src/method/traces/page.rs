//! The page about a swarm: what became of the trace IDs, what each worker did, the largest jobs.

use super::picture::{self, became, who};
use crate::grid::driver::Times;
use crate::method::page::{LARGEST, WORKERS};
use crate::method::quantities::{big, bytes, count, counted};
use crate::traces::swarm::Event;
use num_bigint::BigUint;
use std::cmp::Reverse;
use std::io::{self, Write};
use std::ops::Range;

/// What the page is made from.
#[derive(Clone, Default, Debug)]
pub struct Record {
    /// The trace IDs that were to be done.
    pub ids: Range<BigUint>,
    /// What each job did, if a page is wanted.
    pub events: Vec<Event>,
    /// When jobs were handed out and answered.
    pub times: Times,
}

/// Writes it.
pub fn write(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<h2>Trace IDs</h2>")?;
    write_key(out)?;
    writeln!(out, "{}", picture::ids(&record.events, &record.ids))?;
    // The range does not include its end.
    let last = if record.ids.is_empty() { record.ids.start.clone() } else { &record.ids.end - 1u32 };
    let finer = record.events.iter().filter(|event| event.space != 0).count();
    writeln!(
        out,
        "<p class=\"note\">IDs {} to {} from left to right, jobs from top to bottom in the order in which they were \
         made; the strip at the bottom is the sum. The narrowest mark is a thousandth of the width, however few IDs it \
         stands for.{}</p>",
        big(&record.ids.start),
        big(&last),
        if finer > 0 {
            format!(" {} jobs of finer guides are not shown.", count(finer as u64))
        } else {
            String::new()
        }
    )?;
    writeln!(out, "<h2>Workers</h2>")?;
    for (who, jobs, seconds, svg) in picture::timelines(&record.events, &record.times) {
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
    write_largest(&record.events, out)
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
            ids.first().map_or(String::new(), |ids| big(&ids.start)),
            big(&ids.iter().map(|ids| &ids.end - &ids.start).sum()),
            count(effort.states),
            bytes(effort.memory),
            effort.nanoseconds as f64 / 1e9,
            became(*class)
        )?;
    }
    writeln!(out, "</table></div>")
}
