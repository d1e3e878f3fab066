//! Formulas that are no safety formulas, on ranks that own their states: the same results as on one machine, evidence included.

use crate::harness::{directory, model, models, text};
use crate::owned::{on_ranks, same};
use crate::ranks::{gridlock, slow};
use serde_json::Value;
use std::fs;

/// The rows of all models, as command lines and verdicts.
fn rows() -> Vec<(Vec<String>, String)> {
    let mut directories: Vec<_> =
        fs::read_dir(models()).expect("models").map(|entry| entry.expect("an entry").path()).collect();
    directories.sort();
    let mut rows = Vec::new();
    for directory in directories {
        let Ok(table) = fs::read_to_string(directory.join("liveness.tsv")) else { continue };
        for line in table.lines().skip(1) {
            let [spec, options, verdict] = line.split('\t').collect::<Vec<_>>()[..] else {
                // A fault that is put into the specification first: what one machine says of it is enough.
                assert!(line.contains(" => "), "{line}");
                continue;
            };
            let place = |word: &str| directory.join(word).display().to_string();
            let mut all = vec!["check".to_owned(), place(spec)];
            all.extend(
                options.split(' ').map(
                    |word| {
                        if word.ends_with(".mcf") { place(word) } else { word.to_owned() }
                    },
                ),
            );
            rows.push((all, verdict.to_owned()));
        }
    }
    rows
}

#[test]
fn the_models_are_the_same_on_ranks() {
    let rows = rows();
    assert_eq!(rows.len(), 32);
    for (k, (line, verdict)) in rows.iter().enumerate() {
        // To start ranks takes longer than to decide.
        let every = if slow() { 3 } else { 9 };
        if k % every != 1 {
            continue;
        }
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let size = [(2, "1"), (3, "2"), (4, "1"), (2, "2")][k % 4];
        let one = same(&line, &[size]);
        assert_eq!(one["verdict"], verdict.as_str(), "{line:?}");
    }
}

/// Systems that are too large for a game alone: all ranks decide, and own all states together.
#[test]
fn large_systems_are_decided_by_all_ranks() {
    let (_dir, path) = directory();
    // What has few pairs of states and positions gets a proof by a game, and that is rank 0's work.
    let single = model("ieee1394/ieee1394-single.mcrl2");
    let large = model("ieee1394/ieee1394.mcrl2");
    // Some step that is not taken now may be taken at last, and then for ever: fixed points alternate.
    let formula = path("alternates.mcf");
    fs::write(&formula, "nu X. mu Y. [LDcon]X && [!LDcon]Y || <true>X").expect("written");
    for (line, by_all) in [
        (&["check", &large, "--always-possible", "LDcon"][..], true),
        (&["check", &single, "--always-possible", "LDcon"], false),
        // It holds, and then something that does not, which has a run.
        (
            &[
                "check",
                &single,
                "--always-possible",
                "LDcon",
                "--never",
                "Terminate",
                "--inevitable",
                "LDcon",
            ],
            false,
        ),
        (&["check", &single, "--property", &formula], false),
        (
            &[
                "check",
                &model("abp/abp.mcrl2"),
                "--property",
                &model("abp/liveness.mcf"),
                "--tables",
                "on-demand",
            ],
            false,
        ),
    ] {
        same(line, &[(3, "2")]);
        let line = [line, &["--json", "-"]].concat();
        let (_, _, ranks) = on_ranks(3, &line);
        assert!(!by_all || ranks.as_array().is_some_and(|ranks| ranks.len() == 3), "{line:?}: {ranks}");
        let asked = |rank: &Value| rank["states_sent"].as_u64() > Some(0);
        assert!(ranks.as_array().is_none_or(|ranks| ranks.iter().all(asked)), "{ranks}");
    }
    let output = gridlock(2, &["check", &single, "--property", &formula]).output().expect("mpirun starts");
    let out = text(&output.stdout);
    assert!(out.contains("decided by") && out.contains("rank 0 alone"), "{out}{}", text(&output.stderr));
}

/// A limit that any rank reaches ends the search on all ranks.
#[test]
fn limits_end_formulas_on_all_ranks() {
    // So large that no machine comes to its end before.
    let large = model("ieee1394/ieee1394-3.mcrl2");
    for (limit, reason) in [
        (&["--max-states", "100000"][..], "max-states"),
        (&["--max-memory", "30M"], "max-memory"),
        (&["--time-limit", "1s"], "time-limit"),
    ] {
        let line = [&["check", &large, "--always-possible", "LDcon", "--json", "-"], limit].concat();
        let (result, code, _) = on_ranks(3, &line);
        assert_eq!((result["verdict"].as_str(), code), (Some("unknown"), Some(3)), "{limit:?}: {result}");
        assert_eq!(result["reason"], reason, "{result}");
    }
}

/// The page has levels over time, and a row for each rank; with a formula, too.
#[test]
fn pages_have_levels_and_ranks() {
    let (_dir, path) = directory();
    let spec = model("ieee1394/ieee1394.mcrl2");
    for more in [&["--never", "Terminate"][..], &["--always-possible", "LDcon"]] {
        let file = path("page.html");
        let line = [&["check", &spec, "--report", &file], more].concat();
        let output = gridlock(3, &line).output().expect("mpirun starts");
        assert_eq!(output.status.code(), Some(0), "{more:?}: {}", text(&output.stderr));
        let page = fs::read_to_string(&file).expect("a page");
        let (_, levels) = page.split_once("<h2>Levels over time</h2>").expect("levels");
        let (levels, ranks) = levels.split_once("<h2>Ranks</h2>").expect("ranks");
        assert!(levels.matches("<rect").count() > 20, "{levels}");
        assert_eq!(ranks.matches("<tr>").count(), 4, "a header and three ranks: {ranks}");
        fs::remove_file(&file).expect("removed");
    }
}
