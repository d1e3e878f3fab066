//! Seeded bugs in systems that are too large to be searched as a whole, and the script that makes the tables of the paper.

use crate::harness::{directory, model, run, text};
use serde_json::Value;
use std::process::Command;

#[test]
fn bugs_in_large_systems_are_found() {
    let mut cases = vec![
        ("philosophers/philosophers-bug-20.mcrl2", "--deadlock --search dfs"),
        ("msi/msi-bug-6.mcrl2", "--property msi/coherent.mcf --search dfs"),
    ];
    if std::env::var_os("GRIDLOCK_SLOW").is_some() {
        cases.push(("msi/msi-bug-6.mcrl2", "--property msi/coherent.mcf"));
        cases.push(("paxos/paxos-learners-bug.mcrl2", "--property paxos/learners_agree.mcf"));
    }
    for (spec, options) in cases {
        let options = options.split(' ').map(|o| if o.ends_with(".mcf") { model(o) } else { o.to_owned() });
        let options: Vec<String> = options.collect();
        let spec = model(spec);
        let mut arguments = vec!["check", &spec, "--json", "-", "--max-memory", "2G"];
        arguments.extend(options.iter().map(String::as_str));
        let output = run(&arguments);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["verdict"], "violated", "{arguments:?}: {}", text(&output.stderr));
        assert!(report["trace"].is_array(), "{arguments:?}");
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
    for (title, states) in [("## DRM, one item", "2,273"), ("## IEEE 1394, two links", "11,643")] {
        let rows = rows(&page, title);
        let searches: Vec<&str> = rows.iter().map(|row| row[0]).collect();
        let expected =
            ["BFS", "ISV 10, trace", "ISV 100, trace", "ISV 10, prefix", "ISV 100, prefix", "slices of 1M"];
        assert_eq!(searches, expected, "{title}");
        for row in &rows {
            assert_eq!(row.len(), 9, "{row:?}");
            assert!(row[8].starts_with("`gridlock check models/"), "each row has its command: {row:?}");
            assert!(row[2] != "-" && row[3] != "-", "searches and most states: {row:?}");
        }
        assert_eq!((rows[0][3], rows[5][5]), (states, states), "every search sees all states: {title}");
        assert_eq!((rows[0][7], rows[5][7]), ("holds", "holds"), "{title}");
    }
    assert_eq!(rows(&page, "## DRM, one item")[1][7], "holds", "the devices have no cycles");
}

#[cfg(unix)]
fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
