//! Which mistake is on: put into the tree that is tested.
#![allow(missing_docs)]

use std::io::Write as _;
use std::ops::{Add, Sub};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// `MUTANT` is the number of the mistake that is on; `MUTANTS_SEEN` a file for the numbers of all that were asked for.
struct Run {
    on: u32,
    file: Option<std::fs::File>,
    seen: Vec<AtomicBool>,
}

static RUN: OnceLock<Run> = OnceLock::new();

fn run() -> Run {
    let file = std::env::var_os("MUTANTS_SEEN")
        .map(|path| std::fs::OpenOptions::new().create(true).append(true).open(path).expect("MUTANTS_SEEN"));
    let on = std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(u32::MAX);
    Run { on, file, seen: (0..1 << 16).map(|_| AtomicBool::new(false)).collect() }
}

#[inline]
pub fn on(id: u32) -> bool {
    let run = RUN.get_or_init(run);
    // Tests run in several threads; a number that two of them write does no harm.
    if let Some(mut file) = run.file.as_ref().filter(|_| !run.seen[id as usize].load(Relaxed)) {
        run.seen[id as usize].store(true, Relaxed);
        file.write_all(format!("{id}\n").as_bytes()).expect("MUTANTS_SEEN");
    }
    run.on == id
}

pub fn less<T: PartialOrd + ?Sized>(id: u32, left: &T, right: &T) -> bool {
    if on(id) { left <= right } else { left < right }
}

pub fn at_most<T: PartialOrd + ?Sized>(id: u32, left: &T, right: &T) -> bool {
    if on(id) { left < right } else { left <= right }
}

pub fn more<T: PartialOrd + ?Sized>(id: u32, left: &T, right: &T) -> bool {
    if on(id) { left >= right } else { left > right }
}

pub fn at_least<T: PartialOrd + ?Sized>(id: u32, left: &T, right: &T) -> bool {
    if on(id) { left > right } else { left >= right }
}

pub fn plus<T: Add<Output = T> + From<bool>>(id: u32, left: T) -> T {
    left + T::from(!on(id))
}

pub fn minus<T: Sub<Output = T> + From<bool>>(id: u32, left: T) -> T {
    left - T::from(!on(id))
}
