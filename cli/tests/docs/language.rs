//! Every example of the page about the language is explored, and its last line is the output.

use super::root;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// The blocks of the page that are specifications.
fn examples() -> Vec<String> {
    let text = fs::read_to_string(root().join("docs/language.md")).unwrap();
    let blocks = text.split("```mcrl2\n").skip(1);
    blocks.map(|rest| rest.split_once("```").expect("the block ends").0.to_owned()).collect()
}

/// The exit code of `gridlock lts` and its standard error.
fn explored(specification: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridlock"));
    command.args(["lts", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(specification.as_bytes()).unwrap();
    let run = child.wait_with_output().unwrap();
    (run.status.code(), String::from_utf8_lossy(&run.stderr).into_owned())
}

#[test]
fn examples_do_what_their_last_line_says() {
    let examples = examples();
    assert!(examples.len() > 12, "only {} examples", examples.len());
    let mut rejected = 0;
    for example in examples {
        let promise = example.lines().last().and_then(|line| line.strip_prefix("% "));
        let promise = promise.unwrap_or_else(|| panic!("nothing is promised:\n{example}"));
        let (code, told) = explored(&example);
        if let Some(error) = promise.strip_prefix("error: ") {
            rejected += 1;
            assert!(code == Some(2) && told.contains(error), "{example}\n{code:?} {told}");
        } else {
            assert!(
                code == Some(0) && told.starts_with(&format!("{promise}, ")),
                "{example}\n{code:?} {told}"
            );
        }
    }
    assert!(rejected > 2, "only {rejected} examples are rejected");
}

#[test]
fn every_section_and_operator_has_an_example() {
    let all = examples().concat();
    for part in [
        "sort ", "cons ", "map ", "var ", "eqn ", "act ", "proc ", "init ", "struct ", "lambda ", "exists ",
        " whr ", "sum ", "delta", " -> ", " <> ", " || ", "allow(", "block(", "comm(", "hide(", "rename(",
        "|> ", " ++ ", "List(", "Set(", "Real", "{d1: 2",
    ] {
        assert!(all.contains(part), "no example has `{part}`");
    }
}
