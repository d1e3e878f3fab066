//! Several threads for each job (`--job-workers`): the same jobs, figures and counterexamples as with one.

use crate::harness::{command, directory, model, swarm, text};
use serde_json::Value;

/// Specifications and options; some jobs are cut off by their budget, some begin with what others left.
const RUNS: [(&str, &str); 10] = [
    ("drm/drm.mcrl2", "--subsystem auto --unroll 0 --property drm/secret.mcf"),
    ("drm/drm.mcrl2", "--subsystem auto --unroll 0 --property drm/secret.mcf --job-states 1500"),
    (
        "drm/drm.mcrl2",
        "--subsystem auto --unroll 0 --property drm/secret.mcf --borders off --job-states 4000",
    ),
    ("drm/drm-unfair.mcrl2", "--subsystem auto --unroll 0 --property drm/fair.mcf"),
    ("ieee1394/ieee1394-single.mcrl2", "--subsystem auto --unroll 1 --job-states 3000"),
    ("ieee1394/ieee1394-bug.mcrl2", "--subsystem auto --unroll 1"),
    ("paxos/paxos-two.mcrl2", "--subsystem Observer --never tau --job-states 5000"),
    ("paxos/paxos-bug.mcrl2", "--subsystem Observer --property paxos/one_value.mcf --strategy random"),
    ("dkr/steps.mcrl2", "--subsystem Node(0) --property dkr/greatest.mcf --job-memory 50K"),
    ("drm/drm.mcrl2", "--subsystem auto --unroll 0 --directed on --property drm/secret.mcf --ids 0.."),
];

/// Removes fields that depend on time and on the number of threads.
fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !name.contains("second") && !["job_workers", "workers", "checkpoint"].contains(&name.as_str())
            });
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

fn options(words: &str) -> Vec<String> {
    let option = |word: &str| if word.ends_with(".mcf") { model(word) } else { word.to_owned() };
    words.split(' ').map(option).collect()
}

#[test]
fn several_threads_do_the_same_jobs() {
    let (mut searches, mut verdicts) = (0, Vec::new());
    for (spec, words) in RUNS {
        let (spec, given) = (model(spec), options(words));
        let told = |job_workers: &str, workers: &str| {
            let mut all = vec!["--jobs", "prefix", "--job-workers", job_workers, "--workers", workers];
            if !words.contains("--job-memory") {
                all.extend(["--job-memory", "64M"]);
            }
            all.extend(given.iter().map(String::as_str));
            let mut report = swarm(&spec, &all);
            assert_eq!(report["swarm"]["job_workers"].to_string(), job_workers, "{spec} {all:?}");
            strip(&mut report);
            report
        };
        let alone = told("1", "1");
        searches += alone["swarm"]["searches"].as_u64().expect("a number");
        verdicts.push(alone["verdict"].as_str().expect("a verdict").to_owned());
        for (job_workers, workers) in [("2", "1"), ("8", "2")] {
            assert_eq!(told(job_workers, workers), alone, "{spec} {words}: {job_workers} times {workers}");
        }
    }
    assert!(searches > 50, "{searches}");
    assert!(
        ["holds", "violated"].iter().all(|v| verdicts.iter().any(|verdict| verdict == v)),
        "{verdicts:?}"
    );
}

/// The number of threads is no part of the identity of a run: it may change each time that the run is resumed.
#[test]
fn a_run_is_resumed_with_another_number() {
    let (_dir, path) = directory();
    let (spec, place) = (model("drm/drm.mcrl2"), path("run"));
    let jobs = ["--subsystem", "auto", "--unroll", "0", "--never", "Terminate", "--job-states", "300"];
    let mut expected = swarm(&spec, &[&jobs[..], &["--job-memory", "64M"]].concat());
    let (mut limit, mut report, mut runs) = (20, Value::Null, 0);
    while report["limit"] != Value::Null || report["verdict"] != "holds" {
        let (limits, workers) = (format!("{limit}ms"), (1 + runs % 3).to_string());
        let kept = ["--checkpoint", &place, "--resume", "--time-limit", &limits, "--job-workers", &workers];
        let line =
            [&["check", &spec, "--search", "isv", "--json", "-", "--job-memory", "64M"], &jobs[..], &kept];
        let output = command(&line.concat()).output().expect("gridlock starts");
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
        report = serde_json::from_slice(&output.stdout).expect("JSON");
        (limit, runs) = (2 * limit, runs + 1);
    }
    for report in [&mut expected, &mut report] {
        strip(report);
        let swarm = report["swarm"].as_object_mut().expect("a swarm");
        // How many jobs were handed out twice, and resumed, is a matter of time.
        swarm.retain(|name, _| !["resumed", "jobs_lost"].contains(&name.as_str()));
    }
    assert_eq!(report["swarm"], expected["swarm"]);
}
