//! Logs: `--log-dir`, and the variable RUST_LOG, which sets the level.

use crate::outcome::Failure;
use gridlock_manager::grid::transport::launch::launched;
use std::fs::{self, File};
use std::path::Path;
use tracing_subscriber::EnvFilter;

/// Begins to log: to a file of this process in that directory, or to standard error if RUST_LOG is set.
pub fn begin(dir: Option<&Path>) -> Result<(), Failure> {
    let asked = std::env::var("RUST_LOG").ok().filter(|text| !text.is_empty());
    if dir.is_none() && asked.is_none() {
        return Ok(());
    }
    let filter = EnvFilter::try_new(asked.as_deref().unwrap_or("info")).map_err(|e| {
        Failure::input(format_args!("RUST_LOG is not a filter such as info or gridlock_manager=debug: {e}"))
    })?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
    let Some(dir) = dir else {
        builder.with_writer(std::io::stderr).init();
        return Ok(());
    };
    let rank = launched().and_then(|launch| launch.rank).unwrap_or(0);
    let path = dir.join(format!("rank-{rank}.log"));
    let open = || {
        fs::create_dir_all(dir)?;
        File::options().create(true).append(true).open(&path)
    };
    let file =
        open().map_err(|e| Failure::input(format_args!("cannot write the log {}: {e}", path.display())))?;
    builder.with_writer(file).init();
    tracing::info!(version = env!("CARGO_PKG_VERSION"), pid = std::process::id(), rank, "started");
    Ok(())
}
