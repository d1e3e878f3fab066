//! Runs the binary, and has helpers that several tests share.

// Not all of it is needed everywhere.
#[allow(dead_code)]
pub mod moments;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models")
}

pub fn model(name: &str) -> String {
    models().join(name).display().to_string()
}

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridlock"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("gridlock starts")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output of a run that ends with this code.
#[track_caller]
pub fn ends(arguments: &[&str], code: i32) -> String {
    let output = run(arguments);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {out}{err}");
    out
}

/// The JSON of a swarm.
#[track_caller]
pub fn swarm(spec: &str, arguments: &[&str]) -> Value {
    let output = run(&[&["check", spec, "--search", "isv", "--json", "-"], arguments].concat());
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let report: Value =
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{spec} {arguments:?}: {e}: {err}"));
    let code = match report["verdict"].as_str() {
        Some("holds") => 0,
        Some("violated") => 1,
        Some("unknown") => 3,
        _ => 2,
    };
    assert_eq!(output.status.code(), Some(code), "{spec} {arguments:?}: {out}");
    report
}

/// A directory for files.
pub fn directory() -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().to_owned();
    (dir, move |name: &str| path.join(name).display().to_string())
}

/// The formula of each family of models that is no safety formula.
pub const LIVENESS: &str = "liveness.mcf";

/// A line of an `expect.tsv`: specification, states, options that ask for the property, verdict, steps of the shortest
/// counterexample.
pub struct Expected {
    pub spec: String,
    pub states: u64,
    pub property: Vec<String>,
    pub verdict: String,
    pub shortest: Option<usize>,
}

/// Models that are searched quickly, with properties that every search decides.
pub fn expectations(most: u64) -> Vec<Expected> {
    let mut directories: Vec<PathBuf> =
        fs::read_dir(models()).expect("models").map(|e| e.expect("an entry").path()).collect();
    directories.sort();
    let mut rows = Vec::new();
    for directory in &directories {
        let Ok(table) = fs::read_to_string(directory.join("expect.tsv")) else { continue };
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [spec, states, _, _, property, verdict, shortest, ..] = fields[..] else { panic!("{line}") };
            let path = |name: &str| directory.join(name).display().to_string();
            // What was never counted is larger than anything here.
            let states: u64 = states.parse().unwrap_or(u64::MAX);
            if verdict == "-" || states > most || property == LIVENESS {
                continue;
            }
            let property = match property {
                "deadlock" => vec!["--deadlock".to_owned()],
                formula if formula.ends_with(".mcf") => vec!["--property".to_owned(), path(formula)],
                never => vec!["--never".to_owned(), never.trim_start_matches("never ").to_owned()],
            };
            let (verdict, shortest) = (verdict.to_owned(), shortest.parse().ok());
            rows.push(Expected { spec: path(spec), states, property, verdict, shortest });
        }
    }
    rows
}
