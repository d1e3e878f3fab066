//! Flags and names that make no sense: exit code 2, the reason and the remedy.

use crate::harness::{command, directory, model, run, text};
use std::fs;

#[test]
fn wrong_use_is_told_with_a_remedy() {
    let (_dir, path) = directory();
    let user = model("beverage/beverage.mcrl2");
    let machines = model("beverage/machines.mcrl2");
    let endless = path("endless.mcrl2");
    fs::write(&endless, "act a; b; proc P(n: Nat) = a . P(n + 1); Q = b . Q; init P(0) || Q;")
        .expect("a file");
    let isv = |spec: &'static str| vec!["check", spec, "--search", "isv"];
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let (user, machines, endless) = (leak(user), leak(machines), leak(endless));
    let mut cases: Vec<(Vec<&str>, &str)> = vec![
        ([isv(user), vec!["--jobs", "trace"]].concat(), "needs --subsystem"),
        ([isv(user), vec!["--unroll", "1"]].concat(), "(--unroll is about traces) needs --subsystem"),
        (
            [isv(user), vec!["--jobs", "slice", "--iss", "dfs"]].concat(),
            "--iss belongs to --jobs prefix, not to --jobs slice",
        ),
        ([isv(user), vec!["--spill", "/none"]].concat(), "needs a directory that is there"),
        (
            [isv(user), vec!["--subsystem", "User", "--spill", ".", "--shard", "0/2"]].concat(),
            "--spill belongs to --jobs slice",
        ),
        ([isv(user), vec!["--subsystem", "Usr(2)"]].concat(), "did you mean `User(2)`?"),
        ([isv(user), vec!["--subsystem", "Usr(2)"]].concat(), "the processes are: User(2), BeverageMachine"),
        ([isv(machines), vec!["--subsystem", "SnackMachine", "--jobs", "trace"]].concat(), "--unroll K"),
        ([isv(machines), vec!["--subsystem", "auto", "--strategy", "even"]].concat(), "--unroll K"),
        ([isv(endless), vec!["--subsystem", "Q", "--ids", "0..1"]].concat(), "made ahead of the search"),
        (
            [isv(user), vec!["--subsystem", "Usr", "--tables", "on-demand"]].concat(),
            "did you mean `User(2)`?",
        ),
        (
            [isv(user), vec!["--subsystem", "User", "--jobs", "prefix", "--max-states", "5"]].concat(),
            "--job-states",
        ),
        ([isv(user), vec!["--subsystem", "User", "--max-depth", "5"]].concat(), "--max-depth"),
        ([isv(user), vec!["--subsystem", "User", "--seed", "5"]].concat(), "--strategy random"),
        (
            [isv(user), vec!["--subsystem", "User", "--borders", "on", "--strategy", "even"]].concat(),
            "--borders on does not go with --strategy",
        ),
        (
            [isv(user), vec!["--subsystem", "User", "--borders", "on", "--shard", "0/2"]].concat(),
            "--borders on does not go with --shard",
        ),
        (
            [isv(user), vec!["--subsystem", "User", "--jobs", "prefix", "--orders", "one"]].concat(),
            "--orders one does not go with --jobs prefix",
        ),
        (
            [isv(user), vec!["--subsystem", "User", "--jobs", "trace", "--orders", "one", "--iss", "dfs"]]
                .concat(),
            "--orders one does not go with --iss dfs",
        ),
        (
            [isv(user), vec!["--subsystem", "User", "--jobs", "trace", "--orders", "one", "--ids", "0..1"]]
                .concat(),
            "--orders one does not go with --ids",
        ),
        (
            [
                isv(machines),
                vec!["--subsystem", "BeverageMachine", "--jobs", "trace"],
                vec!["--unroll", "1"],
                vec!["--orders", "one"],
            ]
            .concat(),
            "--orders one does not go with a cyclic subsystem",
        ),
        (
            vec!["traces", machines, "--subsystem", "BeverageMachine", "--unroll", "1", "--orders", "one"],
            "--orders one does not go with a cyclic subsystem",
        ),
        (
            [isv(user), vec!["--subsystem", "User", "--jobs", "trace", "--job-workers", "2"]].concat(),
            "--job-workers does not go with --jobs trace: what lies along one trace is little",
        ),
        (
            [isv(user), vec!["--subsystem", "User", "--iss", "dfs", "--job-workers", "2"]].concat(),
            "--job-workers does not go with --iss dfs",
        ),
        (
            [isv(user), vec!["--jobs", "slice", "--job-workers", "2"]].concat(),
            "--job-workers belongs to --jobs prefix, not to --jobs slice",
        ),
        (
            [isv(user), vec!["--job-workers", "2"]].concat(),
            "(--job-workers is about traces) needs --subsystem",
        ),
        ([isv(user), vec!["--subsystem", "User", "--job-workers", "0"]].concat(), "0 is not in 1.."),
        (
            [isv(endless), vec!["--subsystem", "Q", "--job-workers", "2"]].concat(),
            "--job-workers is about a guide that is made ahead of the search",
        ),
        ([isv(user), vec!["--subsystem", "User", "--resume"]].concat(), "--checkpoint"),
        ([isv(user), vec!["--subsystem", "User", "--ids", "2..9"]].concat(), "there are 4, numbered from 0"),
        ([isv(user), vec!["--subsystem", "User", "--ids", "2..2"]].concat(), "has no trace in it"),
        ([isv(user), vec!["--subsystem", "User", "--ids", "two"]].concat(), "0..100"),
        (
            [isv(user), vec!["--subsystem", "User", "--shard", "1/9"]].concat(),
            "there are only 4, so make fewer",
        ),
        ([isv(user), vec!["--subsystem", "User", "--shard", "2/2"]].concat(), "counted from 0"),
        ([isv(user), vec!["--subsystem", "User", "--shard", "half"]].concat(), "as in 0/16"),
        (
            [isv(user), vec!["--subsystem", "User", "--shard", "0/2", "--ids", "0..1"]].concat(),
            "cannot be used with",
        ),
        (
            [isv(user), vec!["--subsystem", "User", "--jobs", "all"]].concat(),
            "possible values: slice, trace, prefix",
        ),
        (
            [isv(user), vec!["--subsystem", "User", "--strategy", "best"]].concat(),
            "possible values: even, order, random, different",
        ),
        (
            [isv(user), vec!["--subsystem", "User", "--window", "3", "--simulate-workers", "3"]].concat(),
            "cannot be used with",
        ),
        (
            [isv(user), vec!["--subsystem", "User", "--report", "/none/r.html"]].concat(),
            "there is no directory",
        ),
        ([isv(user), vec!["--subsystem", "auto", "--subsystem", "User"]].concat(), "auto chooses by itself"),
        (vec!["traces", endless, "--subsystem", "Q"], "needs complete tables"),
        (vec!["traces", user, "--subsystem", "User", "--id", "4"], "there is no trace 4"),
        (vec!["traces", user, "--subsystem", "User", "--id", "x"], "expected a whole number"),
        (
            vec!["traces", user, "--subsystem", "User", "--range", "0..4", "--limit", "3"],
            "--limit N allows more",
        ),
        (vec!["traces", machines, "--subsystem", "SnackMachine", "--id", "0"], "--unroll K"),
        (vec!["traces", user], "--subsystem"),
        (vec!["status", "/none"], "there is no directory"),
        (vec!["merge", user], "cannot use"),
        (vec!["merge", "/"], "there is no checkpoint in /"),
        (vec!["status", "/"], "there is no checkpoint in /"),
        ([isv(user), vec!["--subsystem", "User", "--checkpoint", user]].concat(), "needs a directory"),
    ];
    for flag in [
        &["--subsystem", "User"][..],
        &["--unroll", "1"],
        &["--jobs", "trace"],
        &["--job-memory", "1M"],
        &["--job-states", "5"],
        &["--job-workers", "2"],
        &["--borders", "off"],
        &["--orders", "all"],
        &["--strategy", "even"],
        &["--seed", "1"],
        &["--iss", "dfs"],
        &["--window", "2"],
        &["--simulate-workers", "2"],
        &["--ids", "0..1"],
        &["--shard", "0/2"],
        &["--states", "5"],
        &["--compare-bfs"],
    ] {
        cases.push(([&["check", user][..], flag].concat(), "belongs to --search isv"));
        assert!(cases.last().is_some_and(|(arguments, _)| arguments.contains(&flag[0])));
    }
    for (arguments, part) in cases {
        let output = run(&arguments);
        let err = text(&output.stderr);
        assert_eq!(
            (output.status.code(), text(&output.stdout)),
            (Some(2), String::new()),
            "{arguments:?}: {err}"
        );
        assert!(err.contains(part), "{arguments:?}: {err}");
    }
}

/// Rank 0 reports for all, but it does not know the arguments of the others.
#[test]
fn a_wrong_option_of_another_rank_is_told_with_the_rank() {
    let variables = [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "2")];
    let output =
        command(&["check", "x.mcrl2", "--no-such"]).envs(variables).output().expect("gridlock starts");
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.starts_with("error: rank 2: ") && err.contains("'--no-such'"), "{err}");
}

/// Copies that do not know of each other are a common accident. With MPI the message is another one, see the tests of MPI.
#[test]
#[cfg(not(feature = "mpi"))]
fn a_build_without_mpi_does_not_run_in_copies() {
    let spec = model("beverage/beverage.mcrl2");
    for (variables, says) in [
        (&[("OMPI_COMM_WORLD_SIZE", "4")][..], "OMPI_COMM_WORLD_SIZE"),
        (&[("PMI_SIZE", "4")], "PMI_SIZE"),
        (&[("SLURM_NTASKS", "4"), ("SLURM_STEP_ID", "0")], "SLURM_NTASKS"),
    ] {
        let line = ["check", &spec, "--search", "isv", "--subsystem", "User"];
        let output = command(&line).envs(variables.iter().copied()).output().expect("gridlock starts");
        let err = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{err}");
        assert!(err.contains(&format!("this is one of 4 processes ({says} says so)")), "{err}");
        assert!(err.contains("build it with `--features mpi`, or start it once"), "{err}");
        // The others say nothing.
        let silent = command(&line).envs(variables.iter().copied()).env("OMPI_COMM_WORLD_RANK", "1").output();
        let silent = silent.expect("gridlock starts");
        assert_eq!((silent.status.code(), text(&silent.stderr)), (Some(2), String::new()));
    }
    // A script of several tasks that starts one process is no accident, and one process is not distributed.
    for variable in [("SLURM_NTASKS", "4"), ("OMPI_COMM_WORLD_SIZE", "1")] {
        let line = ["check", &spec, "--search", "isv", "--subsystem", "User"];
        let output = command(&line).envs([variable]).output().expect("gridlock starts");
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    }
}
