//! A search that is not part of the program takes the whole road: load, choose, run, report, exit.
//!
//! One line makes it a search of the program: the list below. Everything else about it is in its own file. The test program
//! is also the program under test: started by a test, it behaves as `gridlock` with one more search.

mod walk;

use gridlock_manager::method::{Entry, METHODS};
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::sync::LazyLock;

static SEARCHES: LazyLock<Vec<Entry>> = LazyLock::new(|| [METHODS, &[Entry::of::<walk::Walk>()]].concat());

/// The variable that is set if this program is to be `gridlock`.
const AS_GRIDLOCK: &str = "GRIDLOCK_TOY";

fn main() -> ExitCode {
    if std::env::var_os(AS_GRIDLOCK).is_some() {
        return gridlock::run_with(&SEARCHES);
    }
    let tests: [(&str, fn()); 4] = [
        ("a_walk_finds_a_deadlock", a_walk_finds_a_deadlock),
        ("a_walk_gives_up", a_walk_gives_up),
        ("a_walk_refuses_what_it_cannot_decide", a_walk_refuses_what_it_cannot_decide),
        ("flags_belong_to_their_search", flags_belong_to_their_search),
    ];
    let filter = std::env::args().nth(1).filter(|word| !word.starts_with('-')).unwrap_or_default();
    for (name, test) in tests.iter().filter(|(name, _)| name.contains(&filter)) {
        test();
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}

fn model(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models").join(name).display().to_string()
}

fn gridlock(arguments: &[&str]) -> Output {
    let program = std::env::current_exe().expect("this program");
    Command::new(program).args(arguments).env(AS_GRIDLOCK, "1").output().expect("it starts")
}

/// Standard output and standard error of a run, which must end with this exit code.
fn ends(arguments: &[&str], code: i32) -> (String, String) {
    let output = gridlock(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {out}{err}");
    (out, err)
}

fn a_walk_finds_a_deadlock() {
    let directory = tempfile::tempdir().expect("a directory");
    let trace = directory.path().join("why.trace").display().to_string();
    let spec = model("philosophers/philosophers-bug.mcrl2");
    let (out, _) = ends(&["check", &spec, "--search", "walk", "--steps", "100000", "--trace-out", &trace], 1);
    assert!(out.starts_with("violated: freedom from deadlock: no action is possible after"), "{out}");
    assert!(out.contains("  steps walked") && out.contains("counterexample, "), "{out}");
    ends(&["replay", &spec, &trace], 0);
    let (json, _) = ends(&["check", &spec, "--search", "walk", "--steps", "100000", "--json", "-"], 1);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["search"], &json["verdict"]), (&"walk".into(), &"violated".into()));
    assert_eq!(json["walked"].as_u64(), json["trace"].as_array().map(|steps| steps.len() as u64));
    assert!(json["states"].is_null(), "a walk does not know how many states it saw: {json}");
}

fn a_walk_gives_up() {
    let (out, _) = ends(&["check", &model("abp/abp.mcrl2"), "--search", "walk", "--steps", "7"], 3);
    assert!(out.contains("nothing was met within 7 steps"), "{out}");
}

fn a_walk_refuses_what_it_cannot_decide() {
    let line = ["check", &model("abp/abp-bug.mcrl2"), "--search", "walk", "--never", "frame_lost"];
    let (out, err) = ends(&line, 2);
    assert!(err.contains("--search walk cannot decide never frame_lost: use --search bfs or"), "{err}");
    assert!(err.contains("--jobs slice") && !err.contains("or --search walk"), "{err}");
    assert!(out.is_empty(), "{out}");
}

fn flags_belong_to_their_search() {
    let spec = model("abp/abp.mcrl2");
    let (_, err) = ends(&["check", &spec, "--steps", "7"], 2);
    assert!(err.contains("--steps belongs to --search walk"), "{err}");
    let (_, err) = ends(&["check", &spec, "--search", "walk", "--max-depth", "7"], 2);
    assert!(err.contains("--max-depth belongs to --search bfs or dfs"), "{err}");
    let (help, _) = ends(&["check", "--help"], 0);
    assert!(help.contains("One random walk, for tests") && help.contains("--steps <N>"), "{help}");
}
