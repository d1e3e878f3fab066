//! How much memory this process uses, and how much it may use if nobody says.

use std::fs::read_to_string;

/// Bytes of this process that are in memory now, where the system tells.
pub fn resident() -> Option<u64> {
    kib_after("/proc/self/status", "VmRSS:")
}

/// 80 % of what the machine or its control group has; `None` where the system does not tell.
pub fn default_limit() -> Option<u64> {
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let group = group.iter().filter_map(|file| read_to_string(file).ok()?.trim().parse().ok());
    kib_after("/proc/meminfo", "MemTotal:").into_iter().chain(group).min().map(|bytes| bytes / 10 * 8)
}

fn kib_after(file: &str, key: &str) -> Option<u64> {
    let text = read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
