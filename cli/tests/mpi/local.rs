//! A local search on ranks: the blocks and verdicts of one process, also if undecided properties are handed over, if ranks
//! are killed and the run is resumed, and from a state that is not the initial one.

use crate::harness::{directory, model, run};
use crate::obligations::{killed_and_resumed, parsed, ranks_agree_with_one_process};
use crate::ranks::gridlock;

#[test]
fn ranks_come_to_what_one_process_comes_to() {
    let (consistent, mutex) = (model("twophase/consistent.mcf"), model("peterson/mutex.mcf"));
    let (five, bug) = (model("twophase/twophase-5.mcrl2"), model("twophase/twophase-bug.mcrl2"));
    let (peterson, abp) = (model("peterson/peterson-bug.mcrl2"), model("abp/abp.mcrl2"));
    let cases: [&[&str]; 8] = [
        &[&five, "--property", &consistent],
        &[&bug, "--property", &consistent],
        &[&peterson, "--property", &mutex],
        // What is left goes to all ranks, to rank 0 alone, or to nobody.
        &[&five, "--property", &consistent, "--local-limit", "5"],
        &[&five, "--property", &consistent, "--local-limit", "5", "--then", "slice"],
        &[&five, "--property", &consistent, "--local-limit", "5", "--then", "dfs"],
        &[&five, "--property", &consistent, "--local-limit", "5", "--then", "parts"],
        &[&abp, "--deadlock", "--local-limit", "1", "--then", "none"],
    ];
    ranks_agree_with_one_process("local", &cases);
}

#[test]
fn ranks_begin_where_they_are_told() {
    let (_dir, path) = directory();
    let why = path("why.trace");
    let (spec, formula) = (model("twophase/twophase-bug.mcrl2"), model("twophase/consistent.mcf"));
    assert_eq!(run(&["check", &spec, "--property", &formula, "--trace-out", &why]).status.code(), Some(1));
    let from = format!("{why}@3");
    for search in ["bfs", "isv", "local"] {
        let line = ["check", "--quiet", "--json", "-", "--search", search, &spec, "--property", &formula];
        let line = [&line[..], &["--from", &from]].concat();
        let one = run(&line);
        let (one, many) =
            (parsed(&one.stdout, &one.stderr), gridlock(3, &line).output().expect("mpirun starts"));
        let many = parsed(&many.stdout, &many.stderr);
        for field in ["verdict", "from", "states", "trace"] {
            assert_eq!(one[field], many[field], "{search}: {field}");
        }
        assert_eq!(many["from"]["step"], 3);
    }
}

#[test]
fn killed_ranks_are_resumed_by_others() {
    killed_and_resumed("local", 8);
}
