//! Breadth-first search on ranks that own their states: the same result as on one machine, in every figure.

use crate::harness::moments::{catches, wait_for};
use crate::harness::{Expected, command, directory, expectations, model, text};
use crate::ranks::{ends_as_its_ranks, gridlock, mpirun, processes, signal, slow};
use crate::same::strip;
use gridlock_manager::grid::transport::SOURCES;
use serde_json::Value;
use signal_hook::consts::SIGUSR1;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

fn parsed(output: &Output, what: &str) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{what}: {e}: {}{}", text(&output.stdout), text(&output.stderr)))
}

/// The result of one process.
fn alone(line: &[&str]) -> (Value, Option<i32>) {
    let output = command(line).output().expect("gridlock starts");
    (parsed(&output, &format!("{line:?}")), output.status.code())
}

/// The result of ranks, without the figures about ranks.
pub fn on_ranks(size: usize, line: &[&str]) -> (Value, Option<i32>, Value) {
    let output = gridlock(size, line).output().expect("mpirun starts");
    let mut result = parsed(&output, &format!("{line:?} on {size} ranks"));
    // Shown if the test fails.
    eprintln!("{line:?} on {size} ranks: {}", text(&output.stderr));
    let fields = result.as_object_mut().expect("an object");
    let ranks = fields.remove("ranks").unwrap_or_default();
    assert_eq!(fields.remove("owner").is_some(), !ranks.is_null() && size > 1, "{line:?}");
    (result, output.status.code(), ranks)
}

pub fn same(line: &[&str], sizes: &[(usize, &str)]) -> Value {
    same_with(line, &[], sizes)
}

/// The same with options that only ranks have.
fn same_with(line: &[&str], more: &[&str], sizes: &[(usize, &str)]) -> Value {
    let line = [line, &["--json", "-"]].concat();
    let (mut one, code) = alone(&line);
    strip(&mut one);
    for (size, workers) in sizes {
        let line = [&line[..], &["--workers", workers], more].concat();
        let (mut many, many_code, ranks) = on_ranks(*size, &line);
        strip(&mut many);
        assert_eq!((&many, many_code), (&one, code), "{line:?} on {size} ranks");
        // What holds before the first step needs no search.
        let ranks = ranks.as_array().map_or(&[][..], Vec::as_slice);
        let states: u64 = ranks.iter().map(|rank| rank["states"].as_u64().expect("a number")).sum();
        assert!(ranks.is_empty() || (ranks.len() == *size && one["states"] == states), "{ranks:?}");
    }
    one
}

/// With `GRIDLOCK_SLOW` each row on one of the numbers of ranks and threads, with `GRIDLOCK_RANKS=all` on all of them.
#[test]
fn every_model_is_the_same_on_ranks() {
    let everything = std::env::var("GRIDLOCK_RANKS").is_ok_and(|which| which == "all");
    let rows = expectations(if slow() || everything { 60_000 } else { 3_000 });
    let (mut holds, mut violated) = (0, 0);
    for (k, Expected { spec, property, verdict, .. }) in rows.iter().enumerate() {
        if !slow() && !everything && k % 6 != 0 {
            continue;
        }
        let property: Vec<&str> = property.iter().map(String::as_str).collect();
        let all = [(1, "1"), (1, "2"), (2, "1"), (2, "2"), (3, "1"), (3, "2"), (4, "1"), (4, "2")];
        let sizes = match (everything, slow()) {
            (true, _) => &all[..],
            (false, true) => &all[k % 8..][..1],
            (false, false) => &all[2 + k / 6 % 6..][..1],
        };
        let one = same(&[&["check", spec], &property[..]].concat(), sizes);
        assert_eq!(one["verdict"], verdict.as_str(), "{spec}");
        *(if verdict == "holds" { &mut holds } else { &mut violated }) += 1;
    }
    assert!(holds > 2 && violated > 2, "{holds} {violated}");
}

#[test]
fn options_mean_the_same_on_ranks() {
    let queue = model("abp/abp-bug.mcrl2");
    let philosophers = model("philosophers/philosophers-bug.mcrl2");
    for line in [
        &["check", &queue, "--tables", "on-demand"][..],
        &["check", &queue, "--property", &model("abp/no_loss.mcf"), "--tables", "on-demand"],
        &["check", &philosophers, "--reduce", "on"],
        &["check", &philosophers, "--reduce", "on", "--shortest"],
        &["check", &philosophers, "--never", "lowered(0, _)", "--deadlock"],
        &["check", &philosophers, "--allow-termination", "--max-depth", "3"],
    ] {
        same(line, &[(3, "1")]);
    }
}

#[test]
fn owners_change_nothing_but_the_way() {
    let spec = model("philosophers/philosophers-8.mcrl2");
    for owner in ["hash", "leaves=auto", "leaves=Philosopher(0), Philosopher(3), Fork(5)"] {
        same_with(&["check", &spec], &["--owner", owner], &[(3, "2")]);
    }
    let (_, code, ranks) = on_ranks(2, &["check", &spec, "--json", "-", "--owner", "leaves=Philosopher(0)"]);
    let sent = |ranks: &Value| {
        let ranks = ranks.as_array().expect("a list").iter();
        ranks.map(|rank| rank["states_sent"].as_u64().expect("a number")).sum::<u64>()
    };
    let (_, _, by_all) = on_ranks(2, &["check", &spec, "--json", "-"]);
    assert_eq!(code, Some(0));
    assert!(2 * sent(&ranks) < sent(&by_all), "{ranks} {by_all}");
    for (line, says) in [
        (&["check", &spec, "--owner", "leaves=Philosofer(0)"][..], "--owner: there is no process"),
        (&["check", &spec, "--owner", "forks"], "`leaves=auto`"),
    ] {
        let output = gridlock(2, line).output().expect("mpirun starts");
        assert_eq!(output.status.code(), Some(2), "{line:?}");
        assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
    }
    let output = command(&["check", &spec, "--owner", "leaves=auto"]).output().expect("gridlock starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--owner is about the ranks"), "{}", text(&output.stderr));
}

/// The philosophers with another number of them.
fn larger(file: &str, philosophers: u32) -> String {
    let text = fs::read_to_string(model("philosophers/philosophers-bug.mcrl2")).expect("a model");
    let n = text.lines().find(|line| line.starts_with("eqn  N = ")).expect("a number").to_owned();
    fs::write(file, text.replace(&n, &format!("eqn  N = {philosophers};"))).expect("written");
    file.to_owned()
}

#[test]
fn limits_are_those_of_one_machine() {
    let (_dir, path) = directory();
    // So large that no machine comes to its end before.
    let spec = larger(&path("philosophers.mcrl2"), 18);
    for (limit, reason) in [
        (&["--max-states", "20000"][..], "max-states"),
        (&["--max-memory", "40M"], "max-memory"),
        (&["--time-limit", "1s"], "time-limit"),
    ] {
        let line = [&["check", &spec, "--never", "Terminate", "--json", "-"], limit].concat();
        let (result, code, ranks) = on_ranks(3, &line);
        assert_eq!((result["verdict"].as_str(), code), (Some("unknown"), Some(3)), "{limit:?}: {result}");
        assert_eq!(result["reason"], reason, "{result}");
        // The time may be over before the search begins.
        assert!(ranks.is_null() || ranks.as_array().is_some_and(|ranks| ranks.len() == 3), "{ranks}");
    }
}

#[test]
fn a_signal_ends_the_search_on_all_ranks() {
    let (_dir, path) = directory();
    let spec = larger(&path("philosophers.mcrl2"), 18);
    // As soon as they can hear it, and while they search.
    for searching in [false, true] {
        let place = path("run");
        let line = ["check", &spec, "--never", "Terminate", "--checkpoint", &place];
        let child = gridlock(3, &line[..if searching { 6 } else { 4 }]).spawn().expect("mpirun starts");
        wait_for("a rank that hears", || {
            let ranks = processes(&spec);
            ranks.len() == 3 && ranks.iter().all(|rank| catches(*rank, SIGUSR1))
        });
        if searching {
            wait_for("the search", || Path::new(&place).join("status.json").exists());
        }
        assert!(signal("USR1", child.id()));
        let output = child.wait_with_output().expect("an end");
        assert!(ends_as_its_ranks(&output, 3), "{}{}", text(&output.stdout), text(&output.stderr));
        assert!(text(&output.stdout).starts_with("unknown"), "{}", text(&output.stdout));
        wait_for("the end of all ranks", || processes(&spec).is_empty());
    }
}

/// Ranks with another specification or other options are named, and no rank waits for them.
#[test]
fn ranks_that_differ_are_named() {
    let (_dir, path) = directory();
    let spec = model("beverage/beverage.mcrl2");
    let changed = path("changed.mcrl2");
    fs::write(&changed, fs::read_to_string(&spec).expect("a model") + "\n% changed\n").expect("a file");
    let script = path("each");
    fs::write(
        &script,
        "#!/bin/sh\n# each PROGRAM SPEC OTHER OPTION VALUE: rank 1 reads another specification and has another option\n\
         [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 1 ] && exec \"$1\" check \"$3\" \"$4\" \"$5\"\nexec \"$1\" check \"$2\"\n",
    )
    .expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a mode");
    let program = env!("CARGO_BIN_EXE_gridlock");
    for (other, option, value, says) in [
        (&changed, "--max-depth", "1000", " has specification "),
        (&spec, "--max-depth", "7", "has max-depth 7"),
        (&spec, "--reduce", "on", "has reduction verdicts"),
        (&path("none.mcrl2"), "--max-depth", "7", "none.mcrl2"),
    ] {
        let output = mpirun(3, &script, &[program, &spec, other, option, value]).output();
        let output = output.expect("mpirun starts");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{out}{err}");
        assert!(err.contains("error: rank 1 on ") && err.contains(says), "{err}");
        assert!(!out.contains("holds") && !out.contains("violated"), "{out}");
    }
}

/// A rank may be another program of the same version: here one that says it was made from other sources.
#[test]
fn a_rank_with_another_program_is_named() {
    let (_dir, path) = directory();
    let (spec, other, script) = (model("beverage/beverage.mcrl2"), path("other"), path("each"));
    let mut program = fs::read(env!("CARGO_BIN_EXE_gridlock")).expect("a program");
    let print = SOURCES.as_bytes();
    let places: Vec<usize> = (0..program.len() - print.len())
        .filter(|&at| program[at] == print[0] && program[at..].starts_with(print))
        .collect();
    assert!(!places.is_empty());
    for at in places {
        program[at] = if print[0] == b'0' { b'1' } else { b'0' };
    }
    fs::write(&other, program).expect("a program");
    fs::write(
        &script,
        "#!/bin/sh\n# each PROGRAM OTHER ARGUMENTS...: rank 2 is another program\nprogram=$1 other=$2\nshift 2\n\
         [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 2 ] && program=$other\nexec \"$program\" \"$@\"\n",
    )
    .expect("a script");
    for file in [&other, &script] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    for search in ["bfs", "isv"] {
        let line = [env!("CARGO_BIN_EXE_gridlock"), &other, "check", &spec, "--search", search];
        let output = mpirun(3, &script, &line).output().expect("mpirun starts");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{out}{err}");
        assert!(err.contains("error: rank 2 on ") && err.contains(" runs gridlock "), "{err}");
        assert!(err.contains(&format!("sources {SOURCES}")), "{err}");
        assert!(!out.contains("holds") && !out.contains("violated"), "{out}");
    }
}
