//! The state that the working thread and the main thread share: whether to stop, and the progress of the work.
//!
//! The main thread decides ([`Watch::check`]); the work asks [`Watch::stopped`] as often as it can, which costs one atomic
//! read. Invariant: a run that was stopped stays stopped, for the first reason.

use crate::progress::Progress;
use crate::quantities::{bytes, count, duration};
use gridlock_lts::base::error::Limit;
use gridlock_lts::base::halt::Halt;
use gridlock_lts::base::memory;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The limits of a run.
#[derive(Clone, Copy, Default, Debug)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Time from the start of the program.
    pub time: Option<Duration>,
}

/// Why a run is stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// The time limit.
    Time(Duration),
    /// The memory limit.
    Memory(u64),
}

/// The phase of the work, as far as it matters for stopping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Phase {
    /// It computes, and asks regularly whether to stop.
    Working,
    /// It waits for the user and can be ended at any time.
    Waiting,
    /// It writes a result. Limits no longer count, and it must not be ended from outside.
    Writing,
}

/// What is being done.
#[derive(Clone, Copy)]
struct Activity {
    /// A participle, e.g. `exploring`.
    what: &'static str,
    /// What is counted, e.g. `states`.
    unit: &'static str,
    since: Instant,
}

/// The activity, and the display that shows it.
struct Board {
    activity: Option<Activity>,
    progress: Progress,
}

/// See the module head.
pub struct Watch {
    limits: Limits,
    started: Instant,
    signalled: Arc<AtomicBool>,
    /// A flag for computations that do not ask the watch.
    halt: Arc<Halt>,
    reason: OnceLock<Reason>,
    /// The last line of progress before the stop.
    last: OnceLock<String>,
    phase: AtomicU8,
    /// Whether a thread has begun to write the result of the run.
    claimed: AtomicBool,
    board: Mutex<Board>,
    counted: AtomicU64,
    transitions: AtomicU64,
    /// Further text for the line of progress.
    detail: Mutex<String>,
}

impl Watch {
    /// A watch over a run that begins now. `signalled` becomes true when the user wants the run to end.
    pub fn new(limits: Limits, signalled: Arc<AtomicBool>, progress: Progress) -> Self {
        Watch {
            limits,
            started: Instant::now(),
            signalled,
            halt: Arc::new(Halt::new(limits.memory)),
            reason: OnceLock::new(),
            last: OnceLock::new(),
            phase: AtomicU8::new(Phase::Working as u8),
            claimed: AtomicBool::new(false),
            board: Mutex::new(Board { activity: None, progress }),
            counted: AtomicU64::new(0),
            transitions: AtomicU64::new(0),
            detail: Mutex::default(),
        }
    }

    /// Whether and why to stop.
    pub fn stopped(&self) -> Option<Reason> {
        if self.reason.get().is_none()
            && let Some(limit) = self.halt.exceeded()
        {
            self.stop(Reason::Memory(limit));
        }
        self.reason.get().copied()
    }

    /// The same as an error of a search.
    pub fn limit(&self) -> Option<Limit> {
        self.stopped().map(|reason| match reason {
            Reason::Interrupted => Limit::Interrupted,
            Reason::Time(limit) => Limit::Time(limit),
            Reason::Memory(limit) => Limit::Memory(limit),
        })
    }

    /// The same for computations that do not know the watch. They also report there when they need more memory than there is.
    pub fn halt(&self) -> Arc<Halt> {
        self.halt.clone()
    }

    fn stop(&self, reason: Reason) {
        // Before the work hears of it and gives its memory back.
        if let Some(activity) = self.lock().activity {
            let _ = self.last.set(self.line(&activity));
        }
        let _ = self.reason.set(reason);
        self.halt.ask();
    }

    /// Checks the limits.
    pub fn check(&self) {
        if self.stopped().is_some() {
            return;
        }
        let limits = if self.phase() == Phase::Writing { Limits::default() } else { self.limits };
        let reason = if self.signalled.load(Relaxed) {
            Some(Reason::Interrupted)
        } else if let Some(limit) = limits.time.filter(|limit| self.started.elapsed() >= *limit) {
            Some(Reason::Time(limit))
        } else {
            let over = |limit: &u64| memory::resident().is_some_and(|resident| resident > *limit);
            let kept_for_nothing = |limit: &u64| {
                memory::trim();
                !over(limit)
            };
            limits.memory.filter(|limit| over(limit) && !kept_for_nothing(limit)).map(Reason::Memory)
        };
        if let Some(reason) = reason {
            self.stop(reason);
        }
    }

    /// The phase of the work.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Relaxed) {
            p if p == Phase::Waiting as u8 => Phase::Waiting,
            p if p == Phase::Writing as u8 => Phase::Writing,
            _ => Phase::Working,
        }
    }

    /// Sets the phase of the work.
    pub fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
    }

    /// The thread that calls this first writes the result of the run, and limits no longer count. `false`: another thread does.
    pub fn claim_result(&self) -> bool {
        let first = !self.claimed.swap(true, Relaxed);
        if first {
            self.enter(Phase::Writing);
        }
        first
    }

    /// Sets the activity, and the unit that is counted.
    pub fn begin(&self, what: &'static str, unit: &'static str) {
        self.counted.store(0, Relaxed);
        self.transitions.store(0, Relaxed);
        self.detail(String::new());
        self.lock().activity = Some(Activity { what, unit, since: Instant::now() });
    }

    /// Ends the activity. Once this returns no progress is shown, so that results can be printed.
    pub fn rest(&self) {
        let mut board = self.lock();
        board.activity = None;
        board.progress.clear();
    }

    /// Updates the display.
    pub fn show(&self) {
        let mut board = self.lock();
        if let Some(activity) = board.activity {
            board.progress.show(activity.since, || self.line(&activity));
        }
    }

    /// Sets the progress of the work.
    pub fn count(&self, counted: usize, transitions: usize) {
        self.counted.store(counted as u64, Relaxed);
        self.transitions.store(transitions as u64, Relaxed);
    }

    /// Sets further text for the line of progress, such as `12 waiting`.
    pub fn detail(&self, text: String) {
        *self.detail.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    /// Time since the run began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn line(&self, activity: &Activity) -> String {
        let Activity { what, unit, since } = *activity;
        let (counted, transitions) = (self.counted.load(Relaxed), self.transitions.load(Relaxed));
        // What comes last is left out first where there is not enough room.
        let mut line = what.to_owned();
        if counted > 0 {
            let rate = counted as f64 / since.elapsed().as_secs_f64().max(0.001);
            line += &format!(", {} {unit}, {} {unit}/s", count(counted), count(rate as u64));
        }
        let detail = self.detail.lock().unwrap_or_else(PoisonError::into_inner);
        if counted > 0 && !detail.is_empty() {
            line += &format!(", {detail}");
        }
        line += &format!(", {}", duration(self.elapsed()));
        if let Some(resident) = memory::resident() {
            line += &format!(", {}", bytes(resident));
        }
        if transitions > 0 {
            line += &format!(", {} transitions", count(transitions));
        }
        line
    }

    /// The reason for the end in the user's words, and the figures until then.
    pub fn why_stopped(&self) -> String {
        let reason = match self.stopped() {
            Some(Reason::Time(limit)) => format!("the time limit of {} is reached", duration(limit)),
            Some(Reason::Memory(limit)) => {
                format!("the memory limit of {} is reached (--max-memory sets another)", bytes(limit))
            }
            Some(Reason::Interrupted) | None => "interrupted".to_owned(),
        };
        match self.last.get() {
            Some(line) => format!("{reason}; last: {line}"),
            None => reason,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Board> {
        // A thread that panicked with the lock left a value that is good enough to be shown.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(limits: Limits) -> (Watch, Arc<AtomicBool>) {
        let signalled = Arc::new(AtomicBool::new(false));
        (Watch::new(limits, signalled.clone(), Progress::new(true)), signalled)
    }

    #[test]
    fn the_first_reason_stays() {
        let (w, signalled) = watch(Limits::default());
        w.check();
        assert_eq!(w.stopped(), None);
        signalled.store(true, Relaxed);
        w.check();
        signalled.store(false, Relaxed);
        w.check();
        assert_eq!(w.stopped(), Some(Reason::Interrupted));
        assert_eq!(w.why_stopped(), "interrupted");
    }

    #[test]
    fn limits_count_until_the_result_is_written() {
        let mut limits = vec![Limits { time: Some(Duration::ZERO), memory: None }];
        limits.extend(memory::resident().map(|_| Limits { time: None, memory: Some(1) }));
        for limits in limits {
            let (w, _) = watch(limits);
            w.enter(Phase::Writing);
            w.check();
            assert_eq!(w.stopped(), None);
            w.enter(Phase::Working);
            w.check();
            assert!(matches!(w.stopped(), Some(Reason::Time(_) | Reason::Memory(1))));
        }
        let (w, signalled) = watch(Limits::default());
        w.enter(Phase::Writing);
        signalled.store(true, Relaxed);
        w.check();
        assert_eq!(w.stopped(), Some(Reason::Interrupted));
    }

    #[test]
    fn an_end_tells_what_was_seen() {
        let (w, _) = watch(Limits { time: Some(Duration::ZERO), memory: None });
        w.begin("exploring", "states");
        w.count(1234, 5678);
        w.check();
        let why = w.why_stopped();
        assert!(
            why.starts_with("the time limit of 0.00 s is reached; last: exploring, 1,234 states, "),
            "{why}"
        );
        assert!(why.contains(" states/s, ") && why.ends_with(", 5,678 transitions"), "{why}");
        w.rest();
        assert_eq!(w.why_stopped(), why, "what was seen then, not what is left now");
    }
}
