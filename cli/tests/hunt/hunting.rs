//! Runs hunts and reads their results.

use crate::harness::{models, run, text};
use serde_json::Value;
use std::fs;

/// A line of an `expect.tsv` about a property.
pub struct Expected {
    /// The specification, and the options for the property.
    pub arguments: Vec<String>,
    /// Whether it is violated.
    pub violated: bool,
    /// States, if they were counted.
    pub states: Option<u64>,
    /// Steps of the shortest counterexample.
    pub shortest: Option<u64>,
}

impl Expected {
    pub fn words(&self) -> Vec<&str> {
        self.arguments.iter().map(String::as_str).collect()
    }
}

/// The expected results of the models.
pub fn expected() -> Vec<Expected> {
    let mut all = Vec::new();
    let mut folders: Vec<_> =
        fs::read_dir(models()).expect("models").map(|e| e.expect("a folder").path()).collect();
    folders.sort();
    for folder in folders {
        let Ok(table) = fs::read_to_string(folder.join("expect.tsv")) else { continue };
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [spec, states, _, _, property, verdict, shortest, ..] = fields[..] else { panic!("{line}") };
            let path = |name: &str| folder.join(name).display().to_string();
            let option = match property {
                "-" | "liveness.mcf" => continue,
                "deadlock" => vec!["--deadlock".to_owned()],
                file => vec!["--property".to_owned(), path(file)],
            };
            all.push(Expected {
                arguments: [vec![path(spec)], option].concat(),
                violated: verdict == "violated",
                states: states.parse().ok(),
                shortest: shortest.parse().ok(),
            });
        }
    }
    assert!(all.iter().any(|e| e.violated) && all.iter().any(|e| !e.violated));
    all
}

/// The JSON of a hunt, which must fit its exit code.
#[track_caller]
pub fn hunt(arguments: &[&str]) -> Value {
    let output = run(&[&["hunt", "--json", "-", "--quiet"], arguments].concat());
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let report: Value =
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {out}{err}"));
    let code = match report["verdict"].as_str() {
        Some("violated") => 1,
        Some("unknown") => 3,
        _ => 2,
    };
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {out}{err}");
    assert_eq!(report["exhaustive"], false, "a hunt proves nothing");
    report
}

/// Removes fields that depend on time, the machine and the course of the run.
pub fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let about_the_way = ["traffic", "workers", "checkpoint", "resumed", "jobs_lost"];
            fields.retain(|name, _| !name.contains("second") && !about_the_way.contains(&name.as_str()));
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
