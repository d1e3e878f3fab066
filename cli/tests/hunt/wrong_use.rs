//! Flags that make no sense are refused before any work, with a remedy.

use crate::harness::{directory, model, run, text};
use std::fs;

#[test]
fn wrong_use_is_told() {
    let (_dir, path) = directory();
    let spec = model("abp/abp.mcrl2");
    fs::write(path("file"), "{}").expect("written");
    let file = path("file");
    let cases: &[(&[&str], &str)] = &[
        (&["--portfolio", "bfs"], "there is no member 'bfs'"),
        (&["--portfolio", "walk:even"], "only guided members have a strategy"),
        (&["--portfolio", "walk,walk"], "has a member twice"),
        (&["--portfolio", "beam"], "needs --prefer"),
        (&["--portfolio", "walk", "--prefer", "accept(_)"], "add beam to it"),
        (&["--portfolio", "walk", "--unroll", "1"], "--unroll is for guided members"),
        (&["--portfolio", "walk", "--subsystem", "Sender"], "--subsystem is for guided members"),
        (&["--subsystem", "Sendr"], "did you mean"),
        (&["--subsystem", "Sender"], "is cyclic"),
        (&["--out", &file], "--out needs a directory"),
        (&["--checkpoint", &file], "--checkpoint needs a directory"),
        (&["--resume"], "--checkpoint"),
        (&["--job-memory", "5"], "at least 64K"),
        (&["--findings", "0"], "--findings"),
        (&["--budget", "soon"], "expected a duration"),
        (&["--repeat", &file], "a hunt writes no such file"),
        (&["--repeat", &file, "--seed", "1"], "cannot be used with"),
        (&["--json", "/nowhere/at/all.json"], "there is no directory"),
        (&["--tables", "on-demand", "--portfolio", "rare"], "--portfolio rare needs complete tables"),
        (&["--portfolio", "walk", "--share", "on"], "--share is for prefix"),
        (&["--tables", "on-demand", "--share", "on"], "--share on needs complete tables"),
        (&["--never", "no_such(_)"], "no_such"),
    ];
    for (options, reason) in cases {
        let output = run(&[&["hunt", &spec], *options].concat());
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{options:?}: {out}{err}");
        assert!(err.contains(reason), "{options:?}: {err}");
        assert!(out.is_empty(), "{options:?}: {out}");
    }
}

#[test]
fn a_full_directory_loses_no_finding() {
    let (_dir, path) = directory();
    let spec = model("philosophers/philosophers-bug.mcrl2");
    // A file where the directory of the findings would have to be made.
    fs::write(path("file"), "").expect("written");
    let output = run(&["hunt", &spec, "--seed", "1", "--out", &path("file/below")]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    assert!(out.starts_with("violated: ") && err.contains("warning: finding 1 is not saved"), "{out}{err}");
}
