//! Pictures of a swarm in SVG: the classes of trace IDs job by job, and the work of each worker.
//!
//! Pictures are drawn into a grid first, so that their size does not depend on the number of jobs; a range narrower than a
//! cell still fills one, so that every range is visible.

use crate::grid::driver::Times;
use crate::method::page::{COLOURS, COLUMNS, open};
use crate::method::quantities::{big, count, counted};
use crate::traces::swarm::{Class, Event, Point};
use num_bigint::BigUint;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

/// The most rows of jobs; with more jobs, several share a row.
const ROWS: usize = 240;
/// The height of both pictures, as far as the number of rows allows.
const HEIGHT: usize = 480;
/// The height of the pictures of shares and of work.
const SHARES: usize = 120;
/// Columns of the picture of shares.
const STRETCHES: usize = 100;
/// Stands for the worker of answers that were in the checkpoint.
const RESUMED: u32 = u32::MAX;

/// What a cell shows; also the class of the rectangle, which the style of the page colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cell {
    Nothing,
    Pruned,
    Split,
    GivenUp,
    Found,
    Resumed,
    Worker(u8),
}

impl Cell {
    fn of(event: &Event) -> Cell {
        match event.class {
            Class::Explored if event.worker == RESUMED => Cell::Resumed,
            Class::Explored => Cell::Worker((event.worker as usize % COLOURS) as u8),
            Class::Split | Class::Nested { .. } => Cell::Split,
            Class::GivenUp => Cell::GivenUp,
            Class::Found | Class::Failed => Cell::Found,
        }
    }

    fn class(self) -> String {
        match self {
            Cell::Nothing => String::new(),
            Cell::Pruned => "pruned".to_owned(),
            Cell::Split => "split".to_owned(),
            Cell::GivenUp => "givenup".to_owned(),
            Cell::Found => "found".to_owned(),
            Cell::Resumed => "resumed".to_owned(),
            Cell::Worker(colour) => format!("w{colour}"),
        }
    }
}

/// The class of a job's IDs, in a word.
pub fn became(class: Class) -> &'static str {
    match class {
        Class::Explored => "explored",
        Class::Split => "over budget, divided",
        Class::Nested { .. } => "over budget, finer guide",
        Class::GivenUp => "over budget, given up",
        Class::Found => "violation",
        Class::Failed => "failed",
    }
}

/// The name of the worker of a job: a thread of this process, or another rank.
pub fn who(worker: u32, on_ranks: bool) -> String {
    match worker {
        RESUMED => "checkpoint".to_owned(),
        worker if on_ranks => format!("rank {}", worker + 1),
        worker => format!("worker {worker}"),
    }
}

/// The work of a worker.
#[derive(Clone, Copy, Default)]
pub struct Share {
    /// Its jobs.
    pub jobs: u64,
    /// States that they expanded.
    pub states: u64,
    /// The time that they took.
    pub nanoseconds: u64,
}

/// The work of each worker.
pub fn shares(events: &[Event]) -> BTreeMap<u32, Share> {
    let mut shares: BTreeMap<u32, Share> = BTreeMap::new();
    for event in events {
        let share = shares.entry(event.worker).or_default();
        share.jobs += 1;
        share.states += event.effort.states;
        share.nanoseconds += event.effort.nanoseconds;
    }
    shares
}

/// The states that were expanded up to each job by each worker, of `all`, one worker above the other.
pub fn covered(events: &[Event], all: u64) -> String {
    let columns = events.len().min(STRETCHES);
    let mut out = String::new();
    open(&mut out, "states expanded by each worker, job by job", SHARES);
    // Workers of one colour are one.
    let mut sums: BTreeMap<String, u64> = events.iter().map(|event| (colour(event.worker), 0)).collect();
    for column in 0..columns {
        let from_to = [column, column + 1].map(|k| k * events.len() / columns);
        for event in &events[from_to[0]..from_to[1]] {
            *sums.entry(colour(event.worker)).or_default() += event.effort.states;
        }
        let (left, mut below) = (column as f64 * COLUMNS as f64 / columns as f64, 0.0);
        for (class, &states) in &sums {
            let height = SHARES as f64 * states as f64 / all.max(1) as f64;
            if height >= 0.01 {
                let (top, width) = (SHARES as f64 - below - height, COLUMNS as f64 / columns as f64);
                let _ = write!(
                    out,
                    "<rect class=\"{class}\" x=\"{left:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"/>"
                );
            }
            below += height;
        }
    }
    out.push_str("</svg>\n");
    out
}

/// The colour of a worker, as a class.
fn colour(worker: u32) -> String {
    let cell =
        if worker == RESUMED { Cell::Resumed } else { Cell::Worker((worker as usize % COLOURS) as u8) };
    cell.class()
}

/// States expanded for each different one.
pub fn factor(point: &Point) -> f64 {
    (point.states as f64 / point.different.states.max(1) as f64).max(1.0)
}

/// The work factor after some jobs each, as a part of `most`.
pub fn factors(points: &[&Point], most: f64) -> String {
    let mut out = String::new();
    open(&mut out, "work factor over the jobs", SHARES);
    let jobs = points.last().map_or(1, |point| point.jobs.max(1));
    let at = |jobs_then: u64| COLUMNS as f64 * jobs_then as f64 / jobs as f64;
    let mut left = 0.0;
    for point in points {
        let (right, height) = (at(point.jobs), SHARES as f64 * factor(point) / most);
        let _ = write!(
            out,
            "<rect class=\"w0\" x=\"{left:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{height:.2}\"><title>{}: {:.2}</title></rect>",
            SHARES as f64 - height,
            (right - left).max(0.2),
            counted(point.jobs as usize, "job"),
            factor(point)
        );
        left = right;
    }
    out.push_str("</svg>\n");
    out
}

/// Fills the cells of a range.
fn fill(row: &mut [Cell], range: Range<usize>, cell: Cell) {
    row[range.start..range.end].fill(cell);
}

/// The columns of some IDs, at least one.
fn columns(all: &Range<BigUint>, ids: &Range<BigUint>) -> Range<usize> {
    let size = &all.end - &all.start;
    let column = |id: &BigUint| {
        let inside = id.clamp(&all.start, &all.end) - &all.start;
        usize::try_from(inside * COLUMNS / &size).unwrap_or(COLUMNS).min(COLUMNS)
    };
    let start = column(&ids.start).min(COLUMNS - 1);
    start..column(&ids.end).max(start + 1)
}

/// Writes the cells of a row as rectangles, neighbours that are equal as one.
fn draw_row(out: &mut String, row: &[Cell], y: usize, height: usize) {
    let mut start = 0;
    while start < row.len() {
        let end = start + row[start..].iter().take_while(|cell| **cell == row[start]).count();
        if row[start] != Cell::Nothing {
            let (class, width) = (row[start].class(), end - start);
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{start}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
            );
        }
        start = end;
    }
}

/// The trace IDs from left to right, jobs from top to bottom in their order; below, the class of each ID in the end.
pub fn ids(events: &[Event], all: &Range<BigUint>, on_ranks: bool) -> String {
    let mut out = String::new();
    if all.start >= all.end {
        return out;
    }
    // Finer guides have IDs of their own.
    let own: Vec<&Event> = events.iter().filter(|event| event.space == 0).collect();
    let rows = own.len().clamp(1, ROWS);
    let height = (HEIGHT / rows).clamp(2, 14);
    let sum = (2 * height).max(14);
    open(&mut out, "what became of the trace IDs, job by job", rows * height + 4 + sum);
    let mut whole = vec![Cell::Nothing; COLUMNS];
    for r in 0..rows {
        let of_row = &own[r * own.len() / rows..(r + 1) * own.len() / rows];
        let mut row = vec![Cell::Nothing; COLUMNS];
        for event in of_row {
            for target in [&mut row, &mut whole] {
                event.ids.iter().for_each(|ids| fill(target, columns(all, ids), Cell::of(event)));
                for pruned in &event.pruned {
                    fill(target, columns(all, &pruned.ids), Cell::Pruned);
                }
            }
        }
        let _ = write!(out, "<g><title>{}</title>", tooltip(of_row, on_ranks));
        draw_row(&mut out, &row, r * height, height);
        out.push_str("</g>\n");
    }
    draw_row(&mut out, &whole, rows * height + 4, sum);
    out.push_str("</svg>\n");
    out
}

fn tooltip(events: &[&Event], on_ranks: bool) -> String {
    match events {
        [] => String::new(),
        [event] => format!(
            "job {}, {}: IDs {} to {} {}, {} states",
            count(event.number),
            who(event.worker, on_ranks),
            event.ids.first().map_or(String::new(), |ids| big(&ids.start)),
            event.ids.last().map_or(String::new(), |ids| big(&ids.end)),
            became(event.class),
            count(event.effort.states)
        ),
        [first, .., last] => format!("jobs {} to {}", count(first.number), count(last.number)),
    }
}

/// For each worker its jobs from when they were handed out to when they were answered; all workers on one scale. Only the
/// durations of jobs from a checkpoint are known: they stand one after the other.
pub fn timelines(events: &[Event], times: &Times, on_ranks: bool) -> Vec<(String, u64, f64, String)> {
    let mut workers: BTreeMap<u32, Vec<&Event>> = BTreeMap::new();
    for event in events {
        workers.entry(event.worker).or_default().push(event);
    }
    let spans = |events: &[&Event]| {
        let mut at = 0;
        let span = |event: &&Event| {
            let known = times.get(&event.number).map(|(start, end)| (start.as_nanos(), end.as_nanos()));
            let (start, end) = known.unwrap_or((at, at + u128::from(event.effort.nanoseconds)));
            at = end;
            (start, end)
        };
        events.iter().map(span).collect::<Vec<_>>()
    };
    let longest =
        workers.values().flat_map(|events| spans(events)).map(|(_, end)| end).max().unwrap_or(0).max(1);
    let line = |(worker, events): (u32, Vec<&Event>)| {
        let mut row = vec![Cell::Nothing; COLUMNS];
        let mut separators = String::new();
        let busy: u64 = events.iter().map(|event| event.effort.nanoseconds).sum();
        for (event, (start, end)) in events.iter().zip(spans(&events)) {
            let column = |time: u128| (time * COLUMNS as u128 / longest) as usize;
            let start = column(start).min(COLUMNS - 1);
            let end = column(end).clamp(start + 1, COLUMNS);
            fill(&mut row, start..end, Cell::of(event));
            // Lines between jobs help only where there is room for them.
            if end > start + 4 && end < COLUMNS {
                let _ = write!(separators, "<path class=\"cut\" d=\"M{end} 0V18\"/>");
            }
        }
        let mut out = String::new();
        open(&mut out, "the jobs of a worker", 18);
        draw_row(&mut out, &row, 0, 18);
        out.push_str(&separators);
        out.push_str("</svg>\n");
        (who(worker, on_ranks), events.len() as u64, busy as f64 / 1e9, out)
    };
    workers.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::swarm::Pruned;
    use gridlock_worker::job::Effort;
    use std::time::Duration;

    fn range(a: u64, b: u64) -> Range<BigUint> {
        BigUint::from(a)..BigUint::from(b)
    }

    fn event(number: u64, worker: u32, ids: Range<BigUint>, pruned: Vec<Range<BigUint>>) -> Event {
        let effort = Effort { states: 5, nanoseconds: 1_000_000, ..Effort::default() };
        let pruned = pruned.into_iter().map(|ids| Pruned { position: 0, ids }).collect();
        Event { number, space: 0, worker, ids: vec![ids], class: Class::Explored, pruned, effort }
    }

    #[test]
    fn everything_has_at_least_one_cell() {
        let all = range(0, 4_000_000);
        assert_eq!(columns(&all, &range(0, 1)), 0..1);
        assert_eq!(columns(&all, &range(3_999_999, 4_000_000)), 999..1000);
        assert_eq!(columns(&all, &range(0, 4_000_000)), 0..1000);
        assert_eq!(columns(&range(10, 20), &range(0, 15)), 0..500, "what lies outside is cut off");
        let huge = BigUint::ZERO..BigUint::from(10u32).pow(300);
        assert_eq!(
            columns(&huge, &(BigUint::from(5u32) * BigUint::from(10u32).pow(299)..huge.end.clone())),
            500..1000
        );
    }

    #[test]
    fn jobs_and_what_they_prune_are_drawn() {
        let events = [event(0, 0, range(0, 1), vec![range(2, 3)]), event(1, 1, range(1, 2), vec![])];
        let svg = ids(&events, &range(0, 4), false);
        for part in [
            "class=\"w0\" x=\"0\"",
            "class=\"w1\" x=\"250\"",
            "class=\"pruned\" x=\"500\" ",
            "job 1, worker 1",
        ] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert_eq!(svg.matches("class=\"pruned\"").count(), 2, "in its row and in the sum");
        let lines = timelines(&events, &Times::default(), false);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.1 == 1 && line.3.contains("width=\"1000\"")), "{lines:?}");
    }

    #[test]
    fn many_jobs_make_a_picture_of_the_same_size() {
        let events: Vec<Event> =
            (0..50_000).map(|k| event(k, k as u32 % 3, range(k, k + 1), vec![])).collect();
        let svg = ids(&events, &range(0, 50_000), false);
        assert!(svg.len() < 400_000, "{}", svg.len());
        assert!(
            timelines(&events, &Times::default(), false).iter().map(|line| line.3.len()).sum::<usize>()
                < 10_000
        );
        assert_eq!(timelines(&[], &Times::default(), false).len(), 0);
        let times = Times::from_iter([
            (0, (Duration::ZERO, Duration::from_secs(1))),
            (1, (Duration::from_secs(3), Duration::from_secs(4))),
        ]);
        let two = [event(0, 0, range(0, 1), vec![]), event(1, 0, range(1, 2), vec![])];
        let line = &timelines(&two, &times, false)[0].3;
        assert!(line.contains("x=\"750\""), "the second begins at three quarters: {line}");
        assert!(ids(&[], &range(0, 5), false).ends_with("</svg>\n"));
    }
}
