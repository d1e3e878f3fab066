//! Every command of the README is executed, in the order of the text, and prints the figures that the text gives.

use super::root;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// The lines of the README that are commands.
fn commands() -> Vec<String> {
    readme().lines().filter_map(|line| line.strip_prefix("    ")).map(str::to_owned).collect()
}

/// Texts of the README, the command that shows each, and its output.
const FIGURES: &[(&str, &str, &[&str])] = &[
    ("Four processes", "info models/abp/abp.mcrl2", &["4 processes"]),
    ("15 steps show how", "--trace-out bug.trace", &["after 15 steps", "counterexample, 15 steps"]),
    ("The first word is `violated`", "--trace-out bug.trace", &["violated: "]),
    ("can be replayed", "replay models/abp/abp-bug.mcrl2", &["runs: 15 steps"]),
    ("146,747 states", "lts models/ieee1394/ieee1394.mcrl2", &["146,747 states"]),
    ("245,905", "no_ghost.mcf", &["  245,905\n"]),
    ("22 traces", "traces models/twophase", &["22 traces of TransactionManager"]),
    ("22 searches", "--compare-bfs", &["  searches            22\n"]),
    ("288 states", "--compare-bfs", &[" 288 states\n"]),
    ("None holds more than 91 states", "--compare-bfs", &[" 91 states, "]),
    ("shortest run", "hunt models/philosophers/philosophers-bug-20.mcrl2", &["after 20 steps"]),
    ("equal", "compare abp.aut small.aut", &["equal (branching)"]),
];

/// The exit code that the text around a command promises.
fn promised(words: &[&str]) -> i32 {
    let buggy = words.iter().any(|word| word.contains("-bug"));
    i32::from(buggy && matches!(words[0], "check" | "hunt"))
}

fn gridlock(words: &[&str], directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridlock"));
    command.args(words).current_dir(directory);
    command
}

#[test]
fn the_commands_do_what_the_readme_says() {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("models"), directory.path().join("models")).unwrap();
    let (mut ran, mut used) = (0, BTreeSet::new());
    for line in commands() {
        let arguments =
            line.strip_prefix("gridlock ").or_else(|| line.strip_prefix("cargo run --release -- "));
        let Some(arguments) = arguments else {
            assert_eq!(line, "scripts/test", "a command that no test runs");
            assert!(root().join("scripts/test").exists());
            continue;
        };
        let words: Vec<&str> = arguments.split_whitespace().collect();
        ran += 1;
        if words[0] == "explore" {
            visit(&words, directory.path());
            continue;
        }
        let run = gridlock(&words, directory.path()).output().unwrap();
        let out = String::from_utf8_lossy(&run.stdout);
        let error = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(promised(&words)), "{line}\n{out}{error}");
        if words[0] == "check" {
            let verdict = if promised(&words) == 1 { "violated" } else { "holds" };
            assert!(out.starts_with(verdict), "{line}\n{out}");
        }
        for (told, of, printed) in FIGURES.iter().filter(|(_, of, _)| line.contains(of)) {
            used.insert(*of);
            for part in *printed {
                // Some of it is a summary, for people and not for pipes.
                assert!(out.contains(part) || error.contains(part), "{told}: {line}\n{out}{error}");
            }
        }
    }
    let text = readme().split_whitespace().collect::<Vec<_>>().join(" ");
    for (told, of, _) in FIGURES {
        assert!(used.contains(of), "no command shows that `{told}`: {of}");
        assert!(text.to_lowercase().contains(&told.to_lowercase()), "the README does not tell: {told}");
    }
    assert!(ran > 10);
    for file in ["bug.trace", "bug.svg", "abp.aut", "small.aut"] {
        assert!(directory.path().join(file).exists(), "{file}");
    }
}

/// Opens the page of `explore` and ends it.
fn visit(words: &[&str], directory: &Path) {
    let mut explore = gridlock(words, directory).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(explore.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("an address");
    let (host, path) = url["http://".len()..].split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    explore.kill().unwrap();
    explore.wait().unwrap();
}
