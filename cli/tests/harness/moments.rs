//! Moments of a run that a test waits for. A test kills or signals a run at an event, never after some time: durations depend
//! on the machine and its load.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// An event that has not come after this time is not waited for any longer.
const PATIENCE: Duration = Duration::from_secs(1200);
const PAUSE: Duration = Duration::from_millis(3);

/// Waits until a condition holds.
#[track_caller]
pub fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < PATIENCE, "{what} does not come");
        std::thread::sleep(PAUSE);
    }
}

/// Waits until a condition holds, or until the process has ended; then returns its status.
#[track_caller]
pub fn end_or(child: &mut Child, what: &str, mut there: impl FnMut() -> bool) -> Option<ExitStatus> {
    let mut end = None;
    wait_for(what, || {
        end = child.try_wait().expect("a child");
        end.is_some() || there()
    });
    end
}

/// Whether a process has a handler for this signal: before that, the signal would just kill it.
pub fn catches(pid: u32, signal: i32) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else {
        // A system without /proc, where nobody can tell. A process that has gone does not come back.
        std::thread::sleep(Duration::from_secs(2));
        return !Path::new("/proc/self/status").exists();
    };
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Bytes in the files of a checkpoint, which need not exist; pages and results, which a run rewrites, are left out.
pub fn bytes_in(place: &str) -> u64 {
    let files = fs::read_dir(place).into_iter().flatten().flatten();
    let files = files.filter(|file| file.path().extension().is_none_or(|end| end != "json"));
    // One may be gone before it is looked at.
    files.filter_map(|file| file.metadata().ok()).filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}

/// Waits until no process has a checkpoint open any more. The last thread of a process that was killed may still be in a disk
/// operation when nothing else of the process is visible.
#[track_caller]
pub fn wait_until_free(place: &str) {
    if let Ok(lock) = File::open(Path::new(place).join("lock")) {
        wait_for("the end of who has the checkpoint", || lock.try_lock().is_ok());
    }
}
