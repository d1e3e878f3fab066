//! Every command of the README is executed, in the order in which it stands there.

use super::root;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// The lines of the README that are commands.
fn commands() -> Vec<String> {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("    ")).map(str::to_owned).collect()
}

/// What the text around it promises.
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
    let mut ran = 0;
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
