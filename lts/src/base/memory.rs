//! How much memory there is, and an account of what a search uses.
//!
//! Invariant: what grows with the number of states asks the [`Budget`] *before* it allocates. A search that is refused ends
//! with `unknown`, and the kernel's out-of-memory killer never has a reason to act.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// There is not enough memory left in a budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exhausted {
    /// The limit that would have been exceeded, in bytes.
    pub limit: u64,
}

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the memory limit of {} bytes is reached", self.limit)
    }
}

impl std::error::Error for Exhausted {}

/// An account of bytes with a limit, shared by threads.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: AtomicU64,
    peak: AtomicU64,
}

impl Budget {
    /// An account with a limit in bytes.
    pub fn new(limit: u64) -> Self {
        Budget { limit, used: AtomicU64::new(0), peak: AtomicU64::new(0) }
    }

    /// Asks for bytes before they are allocated.
    pub fn take(&self, bytes: u64) -> Result<(), Exhausted> {
        let enough = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= self.limit);
        let before =
            self.used.fetch_update(Relaxed, Relaxed, enough).map_err(|_| Exhausted { limit: self.limit })?;
        self.peak.fetch_max(before + bytes, Relaxed);
        Ok(())
    }

    /// Gives bytes back that were taken before.
    pub fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Relaxed);
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// The most bytes that were in use at a time.
    pub fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }

    /// Bytes that may still be taken.
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used())
    }
}

/// A stack whose memory is accounted for.
#[derive(Debug)]
pub struct Stack<'a, T> {
    items: Vec<T>,
    budget: &'a Budget,
}

impl<'a, T> Stack<'a, T> {
    /// An empty stack.
    pub fn new(budget: &'a Budget) -> Self {
        Stack { items: Vec::new(), budget }
    }

    /// Makes room for this many more items.
    pub fn reserve(&mut self, more: usize) -> Result<(), Exhausted> {
        let (have, need) = (self.items.capacity(), self.items.len() + more);
        if need > have {
            // Both exist while items are moved.
            let room = need.max(2 * have).max(64);
            self.budget.take((room * size_of::<T>()) as u64)?;
            self.items.reserve_exact(room - self.items.len());
            self.budget.give((have * size_of::<T>()) as u64);
        }
        Ok(())
    }

    /// Pushes an item.
    pub fn push(&mut self, item: T) -> Result<(), Exhausted> {
        self.reserve(1)?;
        self.items.push(item);
        Ok(())
    }
}

impl<T> std::ops::Deref for Stack<'_, T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.items
    }
}

impl<T> Stack<'_, T> {
    /// Removes the last item.
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop()
    }

    /// Keeps the first `len` items.
    pub fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
    }

    /// The items, to be changed in place.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.items
    }

    /// Forgets all items and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
    }
}

impl<T: Copy> Stack<'_, T> {
    /// Pushes items.
    pub fn extend(&mut self, items: &[T]) -> Result<(), Exhausted> {
        self.reserve(items.len())?;
        self.items.extend_from_slice(items);
        Ok(())
    }
}

impl<T> Drop for Stack<'_, T> {
    fn drop(&mut self) {
        self.budget.give((self.items.capacity() * size_of::<T>()) as u64);
    }
}

/// The limit that a search keeps if it is given none: 80 % of what the control group or the machine has, whichever is
/// less; the rest is for everything that is not accounted for.
pub fn default_limit() -> u64 {
    let has = [machine_memory(), control_group_limit(Path::new("/")), address_space_limit()];
    has.into_iter().flatten().min().map_or(1 << 30, |bytes| bytes / 10 * 8)
}

/// Bytes of this process that are in memory now, if the system tells.
pub fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_size())
}

/// Returns memory to the system that the allocator holds but the program does not use. Threads that free what others
/// allocated leave such memory in many places: a process reached 100 MiB with 58 MiB in use.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn trim() {
    // SAFETY: it takes no pointer, changes no memory in use and may be called from any thread.
    unsafe { libc::malloc_trim(0) };
}

/// Returns memory to the system that the allocator holds but the program does not use; this platform has no call for it.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn trim() {}

fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// The least limit of the control groups that this process is in, version 1 or 2, under a root directory.
fn control_group_limit(root: &Path) -> Option<u64> {
    let groups = std::fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mut least: Option<u64> = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (mounts, file): (&[&str], _) = if controllers.is_empty() {
            (&["sys/fs/cgroup", "sys/fs/cgroup/unified"], "memory.max")
        } else if controllers.split(',').any(|c| c == "memory") {
            (&["sys/fs/cgroup/memory"], "memory.limit_in_bytes")
        } else {
            continue;
        };
        // A limit of any ancestor counts. Inside a container the path may not exist, its root still does.
        for mount in mounts {
            for group in Path::new(path.trim_start_matches('/')).ancestors() {
                let text = std::fs::read_to_string(root.join(mount).join(group).join(file));
                let limit = text.ok().and_then(|t| t.trim().parse::<u64>().ok());
                least = least.into_iter().chain(limit).min();
            }
        }
    }
    least
}

#[cfg(unix)]
fn address_space_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the result.
    let ok = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } == 0;
    (ok && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

#[cfg(not(unix))]
fn address_space_limit() -> Option<u64> {
    None
}

#[cfg(unix)]
fn page_size() -> u64 {
    // SAFETY: no memory is involved.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(not(unix))]
fn page_size() -> u64 {
    4096
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_never_exceeded() {
        let budget = Budget::new(100);
        assert_eq!(budget.take(60), Ok(()));
        assert_eq!(budget.take(41), Err(Exhausted { limit: 100 }));
        assert_eq!(budget.take(u64::MAX), Err(Exhausted { limit: 100 }));
        assert_eq!(budget.take(40), Ok(()));
        budget.give(90);
        assert_eq!((budget.used(), budget.peak(), budget.left()), (10, 100, 90));
    }

    #[test]
    fn a_stack_gives_everything_back() {
        let budget = Budget::new(10_000);
        let mut stack: Stack<u64> = Stack::new(&budget);
        let mut pushed = 0;
        while stack.push(pushed).is_ok() {
            pushed += 1;
            assert_eq!(budget.used(), stack.capacity() as u64 * 8);
        }
        assert_eq!(stack[..], (0..pushed).collect::<Vec<_>>());
        assert!(pushed > 500 && budget.peak() <= 10_000);
        drop(stack);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn the_machine_has_memory() {
        assert!(default_limit() > 1 << 20);
        assert!(resident().is_none_or(|bytes| bytes > 1 << 12));
    }

    fn limit_in(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().expect("a directory");
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            std::fs::write(path, text).expect("a file");
        }
        control_group_limit(root.path())
    }

    #[test]
    fn limits_of_control_groups() {
        assert_eq!(limit_in(&[]), None);
        let group = ("proc/self/cgroup", "0::/job/step\n");
        assert_eq!(limit_in(&[group]), None);
        assert_eq!(limit_in(&[group, ("sys/fs/cgroup/job/step/memory.max", "max\n")]), None);
        let step = ("sys/fs/cgroup/job/step/memory.max", "5000\n");
        assert_eq!(limit_in(&[group, step, ("sys/fs/cgroup/job/memory.max", "4000\n")]), Some(4000));
        assert_eq!(limit_in(&[group, step, ("sys/fs/cgroup/job/memory.max", "max\n")]), Some(5000));
        let old = ("proc/self/cgroup", "5:devices:/x\n4:cpu,memory:/a/b\n0::/\n");
        assert_eq!(limit_in(&[old, ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "77\n")]), Some(77));
        assert_eq!(limit_in(&[old, ("sys/fs/cgroup/memory/memory.limit_in_bytes", "78\n")]), Some(78));
        assert_eq!(limit_in(&[old, ("sys/fs/cgroup/devices/x/memory.limit_in_bytes", "1\n")]), None);
    }
}
