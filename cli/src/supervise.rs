//! Runs a command in a thread of its own and watches over it from the main thread.
//!
//! The thread has a large stack, since specifications may be nested deeply. The main thread checks the limits, listens for
//! signals and shows progress. If the work does not notice in time that it is to stop (an algorithm that never asks), the
//! main thread ends the process, though never while a result is being written.

use crate::commands::arguments::Arguments;
use crate::outcome::{Exit, Failure, INTERNAL_ERROR, REPORT_IT, finish};
use crate::progress::Progress;
use crate::terminal::tell;
use crate::watch::{Limits, Phase, Reason, Watch};
use crate::{log, process};
use gridlock_lts::base::memory::resident;
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::exit;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The size of the stack. It is only reserved: pages count once they are touched.
const STACK: usize = 256 << 20;
/// The size for systems that refuse that much.
const SMALL_STACK: usize = 16 << 20;
/// Time between two checks of the main thread.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// How long work may take to notice that it is to stop.
const GRACE: Duration = Duration::from_secs(3);
/// The same if other processes have to notice and to answer, perhaps on busy machines.
const GRACE_OF_RANKS: Duration = Duration::from_secs(30);
/// The exit code after a second Ctrl-C, as a shell reports it.
const KILLED: i32 = 130;
/// Signals that follow the first one within this time count as the same signal: `timeout` sends each signal twice, to the
/// process and to its group, and so do some launchers.
const ONE_WISH: Duration = Duration::from_millis(500);

/// Runs the command that the user asked for.
pub fn run(arguments: Arguments) -> ExitCode {
    announce_panics();
    if let Err(failure) = log::begin(arguments.log_dir.as_deref()) {
        // Another machine may have another disk, so each one tells of its own log, and by name.
        let watch = Watch::new(Limits::default(), Arc::default(), Progress::new(true));
        return ExitCode::from(finish(Err(failure), &watch));
    }
    // One that works for others ends when they say so, and not when its own time is up.
    let silent = process::is_silent();
    let caught = if silent { pass_over_signals() } else { catch_signals() };
    let signalled = match caught {
        Ok(signalled) => signalled,
        Err(e) => {
            tell(format_args!("error: signals cannot be caught: {e}"));
            return ExitCode::from(2);
        }
    };
    let progress = Progress::new(arguments.quiet || silent);
    let mut limits = arguments.command.limits();
    limits.time = limits.time.filter(|_| !silent);
    let watch = Arc::new(Watch::new(limits, signalled, progress));
    // A limit that is already exceeded must not depend on which thread is faster.
    watch.check();
    if watch.stopped().is_some() && !arguments.command.reports_its_end() {
        return ExitCode::from(finish(Err(Failure::Stopped), &watch));
    }
    let (done, ended) = channel();
    let arguments = Arc::new(arguments);
    let work = {
        let (watch, arguments) = (watch.clone(), arguments.clone());
        move || {
            let _ = done.send(process::run(&arguments.command, &watch, arguments.quiet || silent));
        }
    };
    let spawn =
        |stack, work| thread::Builder::new().name("gridlock".to_owned()).stack_size(stack).spawn(work);
    // The thread has the only sender left, so that its end is noticed.
    if let Err(e) = spawn(STACK, work.clone()).or_else(|_| spawn(SMALL_STACK, work)) {
        tell(format_args!("error: no thread can be started: {e}"));
        return ExitCode::from(2);
    }
    ExitCode::from(attend(&watch, &ended, &|| arguments.command.give_up(&watch, arguments.quiet || silent)))
}

/// Watches the work until it ends or must be ended. Returns the exit code.
fn attend(watch: &Watch, ended: &Receiver<u8>, give_up: &dyn Fn() -> Option<Result<Exit, Failure>>) -> u8 {
    let mut stopped_at: Option<Instant> = None;
    let grace = if process::is_distributed() { GRACE_OF_RANKS } else { GRACE };
    loop {
        match ended.recv_timeout(BETWEEN_LOOKS) {
            Ok(code) => return code,
            // The thread is gone without a word: it panicked, and the hook has told the user.
            Err(RecvTimeoutError::Disconnected) => return INTERNAL_ERROR,
            Err(RecvTimeoutError::Timeout) => {}
        }
        watch.check();
        watch.show();
        if let Some(reason) = watch.stopped() {
            let waited = stopped_at.get_or_insert_with(Instant::now).elapsed();
            if must_end(watch.phase(), reason, waited > grace) {
                watch.rest();
                if watch.phase() == Phase::Waiting {
                    // The prompt stands on this line.
                    tell("");
                }
                if let Some(outcome) = give_up() {
                    return finish(outcome, watch);
                }
            }
        }
    }
}

/// Whether work that was asked to stop some time ago is to be ended from outside.
fn must_end(phase: Phase, reason: Reason, too_long: bool) -> bool {
    match (phase, reason) {
        (Phase::Writing, _) => false,
        (Phase::Waiting, _) => true,
        // Three seconds at full speed can fill what is left.
        (Phase::Working, Reason::Memory(limit)) => {
            too_long || resident().is_some_and(|resident| is_far_over(resident, limit))
        }
        (Phase::Working, _) => too_long,
    }
}

/// Whether the memory in use is so far beyond the limit that the process must be ended at once. A search that moves to a
/// larger table has both tables for a moment, so small limits have some margin.
fn is_far_over(resident: u64, limit: u64) -> bool {
    resident > limit.saturating_add((limit / 10).max(64 << 20))
}

/// The flag that the first SIGINT or SIGTERM sets; a second one, after a moment, ends the process at once. SIGUSR1, which
/// batch systems send some time before their limit, perhaps more than once, only sets the flag. SIGHUP keeps its meaning, so
/// that `nohup` works. A thread listens, since handlers cannot compare times.
fn catch_signals() -> std::io::Result<Arc<AtomicBool>> {
    let signalled = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGUSR1])?;
    let heard = signalled.clone();
    let listen = move || {
        let mut first = None;
        for signal in signals.forever() {
            heard.store(true, Ordering::Relaxed);
            if signal != SIGUSR1 && ends_at_once(&mut first, Instant::now()) {
                exit(KILLED);
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(listen)?;
    Ok(signalled)
}

/// Whether a signal at this time counts as the second one; `first` is the time of the first one.
fn ends_at_once(first: &mut Option<Instant>, now: Instant) -> bool {
    now.saturating_duration_since(*first.get_or_insert(now)) > ONE_WISH
}

/// Rank 0 handles signals that are meant for all ranks; the other ranks ignore them.
fn pass_over_signals() -> std::io::Result<Arc<AtomicBool>> {
    let heard = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGUSR1] {
        flag::register(signal, heard.clone())?;
    }
    Ok(Arc::default())
}

/// A panic is an internal error. It is reported in one line, without a backtrace unless one is asked for.
fn announce_panics() {
    let backtrace = std::env::var_os("RUST_BACKTRACE").is_some_and(|v| v != "0");
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let payload = panic.payload();
        let message = payload.downcast_ref::<&str>().copied();
        let message =
            message.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        let place = panic.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
        tell(format_args!("internal error: {message}{place}\n{REPORT_IT}"));
        if backtrace {
            usual(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(limits: Limits) -> Watch {
        Watch::new(limits, Arc::new(AtomicBool::new(false)), Progress::new(true))
    }

    fn stopped() -> Option<Result<Exit, Failure>> {
        Some(Err(Failure::Stopped))
    }

    #[test]
    fn the_exit_code_is_that_of_the_work_or_of_its_panic() {
        let (done, ended) = channel();
        done.send(1).expect("a receiver");
        assert_eq!(attend(&watch(Limits::default()), &ended, &stopped), 1);
        drop(done);
        assert_eq!(attend(&watch(Limits::default()), &ended, &stopped), INTERNAL_ERROR);
    }

    #[test]
    fn work_that_does_not_listen_is_ended() {
        let (_done, ended) = channel();
        let deaf = watch(Limits { time: Some(Duration::ZERO), memory: None });
        let start = Instant::now();
        assert_eq!(attend(&deaf, &ended, &stopped), 3);
        assert!(start.elapsed() > GRACE);
        let asking = watch(Limits { time: Some(Duration::ZERO), memory: None });
        asking.check();
        asking.enter(Phase::Waiting);
        let start = Instant::now();
        assert_eq!(attend(&asking, &ended, &stopped), 3);
        assert!(start.elapsed() < GRACE);
    }

    #[test]
    fn a_signal_that_is_sent_twice_is_one_wish() {
        let (mut first, start) = (None, Instant::now());
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        assert!(!ends_at_once(&mut first, start));
        assert!(!ends_at_once(&mut first, start) && !ends_at_once(&mut first, after(500)));
        assert!(ends_at_once(&mut first, after(501)));
    }

    #[test]
    fn nobody_is_ended_while_writing() {
        assert!(!must_end(Phase::Writing, Reason::Interrupted, true));
        assert!(!must_end(Phase::Working, Reason::Interrupted, false));
        assert!(must_end(Phase::Working, Reason::Interrupted, true));
        assert!(is_far_over(200 << 20, 100 << 20) && !is_far_over(150 << 20, 100 << 20));
        assert!(is_far_over(12 << 30, 10 << 30) && !is_far_over(10 << 30, 10 << 30));
        assert!(!must_end(Phase::Working, Reason::Memory(u64::MAX / 2), false));
    }
}
