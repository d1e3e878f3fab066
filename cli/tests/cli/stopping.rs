//! Limits and signals: exit code 3, and no file is written.

use crate::harness::{Bench, COUNTER};

/// Two counters without end, side by side.
const COUNTERS: &str = "
act a, b: Nat;
proc P(n: Nat) = a(n) . P(n + 1); Q(n: Nat) = b(n) . Q(n + 1);
init allow({a, b}, P(0) || Q(0));
";

fn bench() -> Bench {
    Bench::new(&[("one.mcrl2", COUNTER), ("two.mcrl2", COUNTERS), ("out.aut", "old")])
}

#[test]
fn limits_end_in_unknown() {
    let b = bench();
    for spec in ["one.mcrl2", "two.mcrl2"] {
        for tables in ["auto", "on-demand"] {
            let limited = |limit: &[&str]| {
                let command = ["lts", spec, "-o", "out.aut", "--tables", tables];
                b.run(&[&command, limit].concat()).exits(3)
            };
            limited(&["--max-states", "100"]).tells(&["unknown: ", "more than 100 states", "transitions"]);
            limited(&["--time-limit", "100ms"]).tells(&["unknown: the time limit of 0.10 s is reached"]);
            limited(&["--time-limit", "0"]).tells(&["unknown: the time limit of 0.00 s is reached"]);
        }
    }
    b.run(&["minimise", "one.mcrl2", "-o", "out.aut", "--max-states", "10"]).exits(3);
    b.run(&["compare", "one.mcrl2", "two.mcrl2", "--max-states", "10"]).exits(3);
    b.run(&["info", "one.mcrl2", "--table-limit", "1000000000", "--time-limit", "100ms"]).exits(3);
    assert_eq!(b.read("out.aut"), "old");
    assert_eq!(b.names(), ["one.mcrl2", "out.aut", "two.mcrl2"]);
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_limited() {
    let b = bench();
    for (command, limit, told) in [
        ("lts", "80M", "80.0 MiB"),
        ("minimise", "80M", "80.0 MiB"),
        ("info", "1K", "1.0 KiB"),
        ("sim", "1", "1 byte "),
    ] {
        let more: &[&str] = if command == "info" || command == "sim" { &[] } else { &["-o", "out.aut"] };
        let ran = b.run(&[&[command, "one.mcrl2", "--max-memory", limit], more].concat()).exits(3);
        ran.tells(&["unknown: the memory limit of ", told, "--max-memory"]);
    }
    assert_eq!(b.read("out.aut"), "old");
}

#[test]
fn as_many_states_as_allowed_are_enough() {
    let b = Bench::new(&[("c.mcrl2", "act a; proc P(n: Nat) = (n < 9) -> a . P(n + 1); init P(0);")]);
    b.run(&["lts", "c.mcrl2", "--max-states", "10"]).exits(0);
    b.run(&["lts", "c.mcrl2", "--max-states", "9"]).exits(3);
}

#[cfg(unix)]
#[test]
fn signals_end_cleanly() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use std::process::Command;
    let b = bench();
    for signal in [SIGINT, SIGTERM] {
        for command in [&["lts", "one.mcrl2", "-o", "out.aut"][..], &["sim", "two.mcrl2"]] {
            let mut child = b.command(command).spawn().expect("the binary");
            // The pipe stays open, so that the simulation waits.
            let stdin = child.stdin.take();
            crate::moments::wait_for("an ear", || crate::moments::catches(child.id(), signal));
            let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
            assert!(sent.expect("kill").success());
            crate::harness::finish(child).exits(3).tells(&["unknown: interrupted"]);
            drop(stdin);
        }
    }
    assert_eq!(b.read("out.aut"), "old");
    assert_eq!(b.names(), ["one.mcrl2", "out.aut", "two.mcrl2"]);
}
