//! The first steps of a new user: slips, completions, manual pages, and output on a terminal.

use crate::harness::{BUFFERS, Bench, COUNTER, Ran, finish};
use std::io::Write;
use std::process::{Command, Stdio};

/// Two words that only one process takes part in, so that lines are long.
const WIDE: &str = "
act a_rather_long_name, another_rather_long_name, together: Nat;
proc P = a_rather_long_name(1) . delta; Q = another_rather_long_name(1) . delta;
init allow({together}, comm({a_rather_long_name | another_rather_long_name -> together}, P || Q));
";

#[test]
fn files_in_each_others_places() {
    let b =
        Bench::new(&[("s.mcrl2", BUFFERS), ("p.mcf", "[true* . s4(d1)] false"), ("l.aut", "des (0,0,1)\n")]);
    b.run(&["check", "p.mcf"]).exits(2).tells(&["p.mcf:1:1", "looks like a property", "--property p.mcf"]);
    b.run(&["check", "l.aut"]).exits(2).tells(&["looks like a state space", "`minimise` and `compare`"]);
    b.run(&["check", "s.mcrl2", "p.mcf"]).exits(2).tells(&["'p.mcf'", "tip: ", "--property p.mcf"]);
    let plain = b.run(&["check", "s.mcrl2", "p.mcrl2"]).exits(2);
    assert!(!plain.err.contains("--property"), "{}", plain.err);
    b.run(&["check", "s.mcrl2", "--trace-out", "why.svg", "--property", "p.mcf"]).exits(1);
    b.run(&["replay", "s.mcrl2", "why.svg"]).exits(2).tells(&["why.svg", "a picture", "not a trace"]);
    b.run(&["check", "s.mcrl2", "--never", "s5"]).exits(2).tells(&["did you mean"]);
    b.write("s.mcrl2", BUFFERS.replace("proc", "porc"));
    b.run(&["check", "s.mcrl2"]).exits(2).tells(&["s.mcrl2:4:6", "did you mean the section 'proc'?"]);
}

#[test]
fn what_every_command_understands_stands_last() {
    let b = Bench::new(&[]);
    let help = b.run(&["check", "--help"]).exits(0).out;
    let place = |part: &str| help.find(part).unwrap_or_else(|| panic!("no `{part}` in {help}"));
    assert!(place("Properties (") < place("Search:") && place("Search:") < place("General options:"));
    assert!(place("General options:") < place("--quiet") && place("--quiet") < place("Examples:"), "{help}");
    for arguments in [&["-h"][..], &["--help"], &["lts", "-h"], &["help", "lts"], &["-V"], &["--version"]] {
        let ran = b.run(arguments).exits(0);
        assert!(!ran.out.is_empty() && ran.err.is_empty(), "{arguments:?}: {ran:?}");
    }
    let main = b.run(&["--help"]).exits(0).out;
    assert_eq!(main.matches("--version").count(), 1, "{main}");
}

/// Whether a shell can read a script; true if there is no such shell.
fn can_read(shell: &str, script: &str) -> bool {
    let Ok(mut child) =
        Command::new(shell).args(["-n", "/dev/stdin"]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn()
    else {
        return shell != "bash";
    };
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("a shell");
    child.wait().expect("a shell").success()
}

#[test]
fn shells_understand_the_completions() {
    let b = Bench::new(&[]);
    for shell in ["bash", "zsh", "fish"] {
        let script = b.run(&["completions", shell]).exits(0).out;
        assert!(script.contains("minimise") && script.contains("max-memory"), "{shell}");
        assert!(can_read(shell, &script), "{shell} cannot read it");
        assert!(!can_read("bash", "if ("), "a fault would be noticed");
    }
}

#[test]
fn manual_pages_refer_to_pages_that_are_there() {
    let b = Bench::new(&[]);
    b.run(&["man", "pages"]).exits(0);
    let main = b.read("pages/gridlock.1");
    let named: Vec<&str> =
        main.split("gridlock\\-").skip(1).filter_map(|rest| rest.split_once("(1)")).map(|p| p.0).collect();
    assert!(named.len() > 10, "{main}");
    for name in named {
        assert!(b.path(&format!("pages/gridlock-{name}.1")).exists(), "gridlock-{name}(1)");
    }
}

/// Runs a command on a terminal of this many columns; `None` if there is no `script` to make one.
fn on_a_terminal(b: &Bench, columns: u32, variables: &[(&str, &str)], arguments: &str) -> Option<Ran> {
    let line = format!("stty cols {columns} rows 50; {} {arguments}", env!("CARGO_BIN_EXE_gridlock"));
    let mut command = Command::new("script");
    command
        .args(["-qec", &line, "/dev/null"])
        .current_dir(b.path("."))
        .env("TERM", "xterm")
        .env_remove("NO_COLOR");
    command.envs(variables.iter().copied());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    Some(finish(child))
}

#[test]
fn colours_are_for_terminals() {
    let b = Bench::new(&[("s.mcrl2", BUFFERS)]);
    let Some(ran) = on_a_terminal(&b, 80, &[], "check s.mcrl2") else { return };
    let ran = ran.exits(0);
    assert!(ran.out.contains("\x1b[1;32mholds\x1b[0m: freedom from deadlock"), "{:?}", ran.out);
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        for arguments in ["check s.mcrl2", "--help", "check --help", "check none"] {
            let ran = on_a_terminal(&b, 80, &[variable], arguments).expect("a terminal");
            assert!(!ran.out.contains('\x1b'), "{variable:?} {arguments}: {:?}", ran.out);
        }
    }
    assert!(!b.run(&["check", "s.mcrl2"]).exits(0).out.contains('\x1b'));
}

#[test]
fn lines_end_where_the_terminal_ends() {
    let b = Bench::new(&[("w.mcrl2", WIDE)]);
    let long = "P: a_rather_long_name(1), Q: another_rather_long_name(1)";
    assert!(b.run(&["check", "w.mcrl2"]).exits(1).out.contains(long));
    let Some(ran) = on_a_terminal(&b, 60, &[("NO_COLOR", "1")], "check w.mcrl2") else { return };
    let ran = ran.exits(1);
    let steps: Vec<&str> = ran.out.lines().map(|line| line.trim_end_matches('\r')).collect();
    let at = steps.iter().position(|line| line.ends_with("P: a_rather_long_name(1),")).expect("a step");
    let column = steps[at].find("P:").expect("a column");
    assert_eq!(steps[at + 1], format!("{:column$}Q: another_rather_long_name(1)", ""), "{}", ran.out);
}

/// The visible part of a text: escape sequences end in a letter.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    let rest =
        parts.map(|part| part.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, seen)| seen));
    (first + &rest.collect::<String>()).trim_end().to_owned()
}

#[test]
fn progress_has_a_rate_and_no_half_numbers() {
    let b = Bench::new(&[("c.mcrl2", COUNTER)]);
    let arguments = "lts c.mcrl2 -o c.aut --tables on-demand --time-limit 3s";
    let Some(ran) = on_a_terminal(&b, 60, &[], arguments) else { return };
    let ran = ran.exits(3);
    let frames: Vec<&str> =
        ran.out.split(['\r', '\n']).filter(|frame| frame.contains("exploring, ")).collect();
    let shown = frames.iter().filter(|frame| !frame.contains("last:"));
    let mut rates = 0;
    for frame in shown {
        let text = without_escapes(frame);
        assert!(text.chars().count() <= 60, "{text:?}");
        let end = text.rsplit(", ").next().unwrap_or_default();
        assert!(
            ["states", "states/s", "s", "B", "MiB", "GiB", "transitions"]
                .iter()
                .any(|unit| end.ends_with(unit)),
            "{text:?}"
        );
        rates += usize::from(text.contains(" states/s"));
    }
    assert!(rates > 0, "{:?}", ran.out);
}
