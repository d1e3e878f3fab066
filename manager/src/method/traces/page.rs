//! The page about a swarm: the classes of trace IDs, the work of each worker, repeated work, and the largest jobs.

use super::picture::{self, Share, became, who};
use crate::grid::driver::Times;
use crate::method::page::{LARGEST, WORKERS, escaped, write_numbers};
use crate::method::quantities::{big, bytes, count, counted};
use crate::traces::swarm::{Again, Course, Event, Point};
use num_bigint::BigUint;
use std::cmp::Reverse;
use std::io::{self, Write};
use std::ops::Range;

/// The data of the page.
#[derive(Clone, Default, Debug)]
pub struct Record {
    /// The trace IDs that were to be done.
    pub ids: Range<BigUint>,
    /// The events of all jobs, if a page is wanted.
    pub events: Vec<Event>,
    /// When jobs were handed out and answered.
    pub times: Times,
    /// How the work went.
    pub course: Course,
    /// Whether workers are the other ranks of an MPI job.
    pub on_ranks: bool,
}

/// Writes the page.
pub fn write(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<h2>Trace IDs</h2>")?;
    write_key(out)?;
    writeln!(out, "{}", picture::ids(&record.events, &record.ids, record.on_ranks))?;
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
    for (who, jobs, seconds, svg) in picture::timelines(&record.events, &record.times, record.on_ranks) {
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
    write_shares(record, out)?;
    write_work(record, out)?;
    write_again(record, out)?;
    write_largest(record, out)
}

/// The states that each worker expanded.
fn write_shares(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    let shares = picture::shares(&record.events);
    let all: u64 = shares.values().map(|share| share.states).sum();
    if all == 0 {
        return Ok(());
    }
    let row = |(&worker, share): (&u32, &Share)| {
        let percent = 100.0 * share.states as f64 / all as f64;
        let seconds = format!("{:.3}", share.nanoseconds as f64 / 1e9);
        [
            who(worker, record.on_ranks),
            count(share.jobs),
            count(share.states),
            format!("{percent:.1} %"),
            seconds,
        ]
    };
    let rows: Vec<_> = shares.iter().map(row).collect();
    write_numbers("Who expanded what", ["by", "jobs", "states", "of all", "seconds"], &rows, out)?;
    writeln!(
        out,
        "{}<p class=\"note\">From left to right the jobs in the order in which they were made, and as high as the states \
         that were expanded up to then, {} in the end: a colour for each worker. States count once for each job that \
         expanded them.</p>",
        picture::covered(&record.events, all),
        count(all)
    )
}

/// How the work grew against the different states.
fn write_work(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    if record.events.is_empty() {
        return Ok(());
    }
    let points: Vec<&Point> = record.course.points().filter(|point| point.different.states > 0).collect();
    let Some(last) = points.last() else {
        return writeln!(
            out,
            "<h2>Work factor over time</h2>\n<p class=\"note\">Nobody counts different states: jobs along single \
             traces do not tell which ones they have expanded.</p>"
        );
    };
    let most = points.iter().map(|point| picture::factor(point)).fold(1.0, f64::max);
    let about = if points.iter().any(|point| point.different.estimated) {
        " Different states are an estimate, from a sketch that comes with each answer; it is wrong by 7 % on average."
    } else {
        " Jobs hand on what they leave, so no state is expanded twice."
    };
    writeln!(
        out,
        "<h2>Work factor over time</h2>\n{}<p class=\"note\">From left to right the {}, and as high as the states that \
         all of them had expanded for each different one: at most {most:.2}, {:.2} in the end.{about}</p>",
        picture::factors(&points, most),
        counted(last.jobs as usize, "job"),
        picture::factor(last)
    )
}

/// The jobs that repeated most.
fn write_again(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    let again = record.course.again();
    if again.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<h2>Prefixes that repeat work</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"n\">job</th><th>by</th>\
         <th class=\"n\">states</th><th class=\"n\">not new, about</th><th class=\"n\">of its own</th>\
         <th>its prefix</th></tr>"
    )?;
    for job in again {
        let Again { number, worker, states, repeated, .. } = job;
        writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td class=\"w\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{:.0} %</td><td class=\"place\">{}</td></tr>",
            count(*number),
            who(*worker, record.on_ranks),
            count(*states),
            count(*repeated),
            100.0 * *repeated as f64 / (*states).max(1) as f64,
            escaped(&prefix(job))
        )?;
    }
    writeln!(
        out,
        "</table></div>\n<p class=\"note\">States that jobs before had expanded, as far as the sketches of all jobs tell: \
         what is left when the growth of the estimate is taken away. Of a job that is small against all before it, it is \
         a rough figure.</p>"
    )
}

/// The moves of a prefix, with a gap if it is long.
fn prefix(job: &Again) -> String {
    if job.prefix.is_empty() {
        return "none: all traces".to_owned();
    }
    let (first, last) = job.prefix.split_at(job.prefix.len().min(job.gap()));
    if job.left_out == 0 {
        return job.prefix.join(" · ");
    }
    format!("{} · … {} more … · {}", first.join(" · "), count(job.left_out as u64), last.join(" · "))
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

fn write_largest(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    let mut largest: Vec<&Event> = record.events.iter().collect();
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
            who(*worker, record.on_ranks),
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
