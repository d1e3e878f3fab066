//! Runs that violate formulas: found with every seed, replayed, the same for all workers, and refused where a game is needed.

use crate::harness::{directory, ends, model, models, run, text};
use crate::hunting::{hunt, strip};
use std::fs;

/// A line of a `liveness.tsv`.
struct Row {
    /// The specification.
    spec: String,
    /// The options for the property.
    options: Vec<String>,
    violated: bool,
}

impl Row {
    fn words(&self) -> Vec<&str> {
        [&self.spec].into_iter().chain(&self.options).map(String::as_str).collect()
    }
}

/// The expected results of the models; changed specifications are written to `path`.
fn rows(path: &dyn Fn(&str) -> String) -> Vec<Row> {
    let mut folders: Vec<_> =
        fs::read_dir(models()).expect("models").map(|e| e.expect("a folder").path()).collect();
    folders.sort();
    let mut all = Vec::new();
    for folder in folders {
        let Ok(table) = fs::read_to_string(folder.join("liveness.tsv")) else { continue };
        for line in table.lines().skip(1) {
            let cells: Vec<&str> = line.split('\t').collect();
            let [spec, options, verdict] = cells[..3] else { panic!("{line}") };
            let mut spec = folder.join(spec).display().to_string();
            if let Some((old, new)) = cells.get(3).and_then(|seed| seed.split_once(" => ")) {
                let text = fs::read_to_string(&spec).expect("a specification").replace(old, new);
                spec = path(&format!("seeded-{}.mcrl2", all.len()));
                fs::write(&spec, text).expect("written");
            }
            let word = |word: &str| match word.ends_with(".mcf") {
                true => folder.join(word).display().to_string(),
                false => word.to_owned(),
            };
            let options = options.split(' ').map(word).collect();
            all.push(Row { spec, options, violated: verdict == "violated" });
        }
    }
    assert!(all.len() > 30);
    all
}

#[test]
fn every_seeded_liveness_bug_is_found() {
    let (_dir, path) = directory();
    let slow = std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1");
    let rows = rows(&path);
    let mut endings = [0; 3];
    for row in &rows {
        for seed in 1..=if slow && row.violated { 20 } else { 1 } {
            let (seed, out) = (seed.to_string(), path("out"));
            let bound = ["--max-states", if row.violated { "20000000" } else { "60000" }];
            let given = [&row.words()[..], &bound, &["--seed", &seed, "--out", &out]].concat();
            let report = hunt(&given);
            let expected = if row.violated { "violated" } else { "unknown" };
            assert_eq!(report["verdict"], expected, "{given:?}");
            let Some(finding) = report["findings"].get(0).filter(|_| row.violated) else { continue };
            let ending = match (finding["repeats_from"].as_u64(), finding["critical_step"].as_u64()) {
                (Some(_), _) => 0,
                (None, Some(_)) => 1,
                (None, None) => 2,
            };
            endings[ending] += 1;
            assert_eq!(finding["critical_step"].is_null(), finding["closure_states"].is_null(), "{finding}");
            // What was saved replays.
            let saved = finding["trace_file"].as_str().expect("a file");
            assert_eq!(run(&["replay", &row.spec, saved]).status.code(), Some(0), "{given:?}");
        }
    }
    assert!(endings.iter().all(|n| *n > 0), "{endings:?}");
}

#[test]
fn workers_change_nothing() {
    let (_dir, path) = directory();
    for (spec, options) in [
        ("peterson/peterson.mcrl2", "--response enter(0) leave(0) --deadlock --findings 3"),
        ("philosophers/philosophers-bug.mcrl2", "--always-possible put --findings 4"),
        ("dkr/dkr.mcrl2", "--always-possible step --inevitable receive(_,winner(4)) --findings 3"),
    ] {
        let (spec, out) = (model(spec), path("out"));
        let mut words = vec![spec.as_str(), "--seed", "9", "--job-memory", "16M", "--out", &out];
        words.extend(["--max-jobs", "40"]);
        words.extend(options.split(' '));
        let report = |workers: &str| {
            let mut report = hunt(&[&words[..], &["--workers", workers]].concat());
            strip(&mut report);
            report
        };
        let one = report("1");
        assert!(one["found"].as_u64() > Some(0), "{one}");
        for workers in ["2", "8"] {
            assert_eq!(one, report(workers), "{words:?} with {workers} workers");
        }
    }
}

/// A finding has the commands that find it again, and says what it shows.
#[test]
fn a_finding_is_told_and_found_again() {
    let (_dir, path) = directory();
    let spec = model("philosophers/philosophers-bug.mcrl2");
    let out = path("out");
    let words = [&spec, "--always-possible", "put", "--seed", "4", "--out", &out];
    let report = hunt(&words);
    let finding = &report["findings"][0];
    assert_eq!(finding["member"], "trap");
    assert_eq!(finding["critical_step"], finding["steps"], "the run ends with the critical step");
    let traps = &report["traps"];
    assert!(traps["proved"].as_u64() > Some(0) && traps["walks"].as_u64() >= traps["proved"].as_u64());
    let file = finding["job_file"].as_str().expect("a file");
    let again = hunt(&[&spec, "--always-possible", "put", "--repeat", file]);
    assert_eq!(again["findings"][0]["trace"], finding["trace"]);
    let told = ends(&[&["hunt", "--quiet"], &words[..]].concat(), 1);
    assert!(told.contains("is critical: after it, whatever follows"), "{told}");
}

#[test]
fn what_cannot_be_looked_for_is_refused() {
    let (_dir, path) = directory();
    let spec = model("abp/abp.mcrl2");
    fs::write(path("game.mcf"), "nu X. ([true]X && mu Y. <true>[true]Y)").expect("written");
    let game = path("game.mcf");
    let cases: &[(&[&str], &str)] = &[
        (&["--property", &game], "`gridlock hunt` cannot decide"),
        (&["--property", &game], "use `gridlock check` with --search bfs"),
        (
            &["--possible", "accept(_)"],
            "cannot decide possible accept(_): use `gridlock check` with --search bfs",
        ),
        (&["--inevitable", "deliver(_)", "--fair", "just"], "cannot decide"),
        (&["--portfolio", "lasso"], "--portfolio lasso has nothing to look for"),
        (&["--portfolio", "trap", "--inevitable", "deliver(_)"], "--portfolio trap has nothing to look for"),
        (&["--portfolio", "walk", "--no-livelock"], "add lasso to it"),
    ];
    for (options, reason) in cases {
        let output = run(&[&["hunt", &spec], *options].concat());
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{options:?}: {out}{err}");
        assert!(err.contains(reason), "{options:?}: {err}");
    }
}
