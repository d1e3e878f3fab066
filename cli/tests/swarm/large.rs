//! Seeded bugs in systems that are too large to be searched as a whole, and the script that makes the tables of the paper.

use crate::harness::{directory, expectations, model, run, text};
use serde_json::Value;
use std::process::Command;

/// Depth first finds a counterexample; breadth first, where memory allows it, the shortest.
#[test]
fn bugs_in_large_systems_are_found() {
    let mut cases = vec![("philosophers/philosophers-bug-20.mcrl2", "dfs"), ("msi/msi-bug-6.mcrl2", "dfs")];
    if std::env::var_os("GRIDLOCK_SLOW").is_some() {
        cases.push(("msi/msi-bug-6.mcrl2", "bfs"));
        cases.push(("paxos/paxos-learners-bug.mcrl2", "bfs"));
    }
    let rows = expectations(u64::MAX);
    for (spec, search) in cases {
        let row =
            rows.iter().find(|row| row.spec == model(spec)).unwrap_or_else(|| panic!("{spec} is there"));
        let mut arguments = vec!["check", &row.spec, "--json", "-", "--max-memory", "2G", "--search", search];
        arguments.extend(row.property.iter().map(String::as_str));
        let output = run(&arguments);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["verdict"], row.verdict, "{arguments:?}: {}", text(&output.stderr));
        let steps = report["trace"].as_array().map(Vec::len);
        assert!(steps >= row.shortest && row.shortest.is_some(), "{arguments:?}: {steps:?}");
        assert!(steps == row.shortest || search == "dfs", "{arguments:?}: {steps:?}");
    }
}

/// The rows of one table: the cells of each.
fn rows<'a>(page: &'a str, title: &str) -> Vec<Vec<&'a str>> {
    let from = page.find(title).unwrap_or_else(|| panic!("no table {title}: {page}"));
    page[from..]
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect()
}

#[cfg(unix)]
#[test]
fn the_tables_of_the_paper_in_small() {
    let (_dir, path) = directory();
    let page = path("results.md");
    let output = Command::new(root().join("scripts/tables"))
        .args(["--quick", &page])
        .env("GRIDLOCK", env!("CARGO_BIN_EXE_gridlock"))
        .output()
        .expect("bash is there");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(&page).expect("a page");
    let (drm, link) = ("## DRM, one item", "## IEEE 1394, two links");
    for (title, states, guides) in [
        (
            drm,
            "2,273",
            &["trace, both devices", "class, both devices", "prefix, both devices", "trace, device D"][..],
        ),
        (link, "11,643", &["trace, no cycles", "prefix, no cycles"]),
    ] {
        let rows = rows(&page, title);
        let swarms = guides.iter().flat_map(|guide| [10, 100].map(|n| format!("ISV {n}, {guide}")));
        let expected: Vec<String> =
            ["BFS".to_owned()].into_iter().chain(swarms).chain(["slices of 1M".to_owned()]).collect();
        assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), expected, "{title}");
        for row in &rows {
            assert_eq!(row.len(), 9, "{row:?}");
            assert!(row[8].starts_with("`gridlock check models/"), "each row has its command: {row:?}");
            assert!(row[2] != "-" && row[3] != "-", "searches and most states: {row:?}");
        }
        let slices = rows.last().expect("rows");
        assert_eq!((rows[0][3], slices[5]), (states, states), "every search sees all states: {title}");
        assert_eq!((rows[0][7], slices[7]), ("holds", "holds"), "{title}");
        // The devices have no cycles, those of the link are cut.
        let answer = if title == drm { "holds" } else { "unknown (bounded)" };
        assert!(rows[1..rows.len() - 1].iter().all(|row| row[7] == answer), "{rows:?}");
    }
    the_numbers_are_those_of_a_run(&rows(&page, drm)[1]);
}

/// The command of a row prints the figures of the row.
#[cfg(unix)]
fn the_numbers_are_those_of_a_run(row: &[&str]) {
    let line = row[8].trim_matches('`').replacen("gridlock", env!("CARGO_BIN_EXE_gridlock"), 1);
    let output =
        Command::new("sh").args(["-c", &format!("{line} --json - --quiet")]).current_dir(root()).output();
    let report: Value = serde_json::from_slice(&output.expect("a shell").stdout).expect("JSON");
    let swarm = &report["swarm"];
    let plain = |cell: &str| cell.replace(',', "");
    assert_eq!(swarm["traces"], plain(row[1]), "{row:?}");
    for (cell, field) in [(2, "searches"), (3, "largest_states"), (5, "total_states")] {
        assert_eq!(swarm[field].to_string(), plain(row[cell]), "{field}: {row:?}");
    }
}

#[cfg(unix)]
fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
