//! The models that ship with the tool are what their pages say they are.
//!
//! Every folder of `models/` has an `expect.tsv` with one line for each specification and property. Here each
//! specification is loaded and explored, and its states, transitions and deadlocks are compared with that file;
//! properties are only read, not checked. Those that are too large for that, or too large to be counted at all (`-`), are
//! only read as well.

use gridlock_lang::{check, syntax, system};
use gridlock_lts::engine::explore::{self, explore};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const HEADER: &str = "spec\tstates\ttransitions\tdeadlocks\tproperty\tverdict\ttrace_length\tsource";

/// What is larger is not explored here.
const MOST_STATES: usize = 200_000;

/// A line of an `expect.tsv`.
struct Expectation {
    spec: String,
    /// States, transitions and deadlocks, where they are known.
    sizes: Option<(usize, usize, usize)>,
    property: String,
    verdict: String,
    trace_length: String,
}

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models")
}

/// The folders of all models, in alphabetic order.
fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(models())
        .expect("models/ is there")
        .map(|entry| entry.expect("readable entry").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    assert!(!folders.is_empty());
    folders
}

/// The names of the files in a folder that end in `.` and the extension, in alphabetic order.
fn files(folder: &Path, extension: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("readable folder")
        .map(|entry| entry.expect("readable entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn expectations(folder: &Path) -> Vec<Expectation> {
    let path = folder.join("expect.tsv");
    let text = text(&path);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(HEADER), "{}", path.display());
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            assert_eq!(cells.len(), 8, "{}: {line}", path.display());
            assert!(!cells[7].is_empty(), "{}: where does it come from? {line}", path.display());
            let number =
                |i: usize| cells[i].parse().unwrap_or_else(|e| panic!("{}: {e}: {line}", path.display()));
            let counted = (1..=3).all(|i| cells[i] != "-");
            let sizes = counted.then(|| (number(1), number(2), number(3)));
            Expectation {
                spec: cells[0].to_owned(),
                sizes,
                property: cells[4].to_owned(),
                verdict: cells[5].to_owned(),
                trace_length: cells[6].to_owned(),
            }
        })
        .collect()
}

/// States, transitions and deadlocks of a specification.
fn sizes(path: &Path) -> Result<(usize, usize, usize), String> {
    let text = text(path);
    let mut system = system::load(&text, &path.to_string_lossy(), &system::Options::default(), &mut |_| true)
        .map_err(|errors| errors.iter().map(|e| e.message.clone()).collect::<Vec<_>>().join("\n"))?;
    let source = if system.closed { None } else { Some(&mut system.builder as _) };
    let options = explore::Options { max_states: MOST_STATES, progress: &mut |_| true };
    let lts = explore(&mut system.network, source, options).map_err(|stop| format!("{stop:?}"))?;
    let deadlocks = lts.states().filter(|&s| lts.outgoing(s).is_empty()).count();
    Ok((lts.num_states(), lts.num_transitions(), deadlocks))
}

#[test]
fn sizes_are_as_expected() {
    let mut wrong = Vec::new();
    for folder in folders() {
        let by_spec: BTreeMap<String, BTreeSet<(usize, usize, usize)>> =
            expectations(&folder).into_iter().fold(BTreeMap::new(), |mut map, e| {
                if let Some(sizes) = e.sizes.filter(|sizes| sizes.0 <= MOST_STATES) {
                    map.entry(e.spec).or_default().insert(sizes);
                }
                map
            });
        for (spec, expected) in by_spec {
            let path = folder.join(&spec);
            match sizes(&path) {
                Ok(found) if expected.len() == 1 && expected.contains(&found) => {}
                found => wrong.push(format!("{}: expected {expected:?}, found {found:?}", path.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_of_a_folder_are_complete() {
    for folder in folders() {
        let expectations = expectations(&folder);
        let shown = folder.display();
        assert!(folder.join("README.md").is_file(), "{shown} has no page");
        let specs = files(&folder, "mcrl2");
        let formulas = files(&folder, "mcf");
        for e in &expectations {
            let known = e.property == "-" || e.property == "deadlock" || formulas.contains(&e.property);
            assert!(known, "{shown}: no property {}", e.property);
            let length_fits = match e.verdict.as_str() {
                "violated" => e.trace_length.parse::<u64>().is_ok(),
                "holds" | "-" => e.trace_length == "-",
                _ => false,
            };
            assert!(length_fits, "{shown}: {} {}: {} {}", e.spec, e.property, e.verdict, e.trace_length);
            assert_eq!(e.verdict == "-", e.property == "-", "{shown}: {}", e.spec);
            if let (Some((_, _, deadlocks)), "deadlock") = (e.sizes, e.property.as_str()) {
                let fits = (e.verdict == "violated") == (deadlocks > 0);
                assert!(fits, "{shown}: {}: {deadlocks} deadlocks", e.spec);
            }
        }
        let liveness = text(&folder.join("liveness.tsv"));
        for formula in &formulas {
            let expected = expectations.iter().any(|e| e.property == *formula) || liveness.contains(formula);
            assert!(expected, "{shown}: nothing expected of {formula}");
            if let Err(errors) = syntax::parse_formula(&text(&folder.join(formula))) {
                panic!("{shown}: {formula}: {}", errors[0].message);
            }
        }
        for spec in &specs {
            let expected = expectations.iter().any(|e| e.spec == *spec);
            let listed = text(&folder.join("README.md")).contains(spec.as_str());
            assert!(
                expected || listed,
                "{shown}: nothing expected of {spec}, and the page is silent about it"
            );
            let checked = syntax::parse(&text(&folder.join(spec))).and_then(|tree| check::check(&tree));
            if let Err(errors) = checked {
                panic!("{shown}: {spec}: {}", errors[0].message);
            }
        }
    }
}

/// `NAME-8.mcrl2` is `NAME.mcrl2` with another size, and nothing else.
#[test]
fn size_variants_differ_in_their_size_only() {
    let is_size = |line: &str| line.starts_with("eqn  N = ") || line.starts_with("     ttp = ");
    let without_size = |path: &Path| -> Vec<String> {
        text(path).lines().filter(|line| !is_size(line)).map(str::to_owned).collect()
    };
    let mut found = 0;
    for folder in folders() {
        for spec in files(&folder, "mcrl2") {
            let stem = spec.trim_end_matches(".mcrl2");
            let Some((base, size)) = stem.rsplit_once('-') else { continue };
            if size.parse::<u64>().is_err() {
                continue;
            }
            found += 1;
            let variant = folder.join(&spec);
            let base = folder.join(format!("{base}.mcrl2"));
            assert_eq!(without_size(&variant), without_size(&base), "{}", variant.display());
            let is_this = |line: &str| is_size(line) && line.ends_with(&format!(" = {size};"));
            assert!(text(&variant).lines().any(is_this), "{}", variant.display());
        }
    }
    assert!(found > 0);
}
