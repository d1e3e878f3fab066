//! Inputs that are no specifications, or extreme ones: a clear answer within seconds, and no file is written.

use crate::harness::{BUFFERS, Bench, Ran};
use std::fs;
use std::time::{Duration, Instant};

/// Gives a text to a command that reads specifications.
fn tried(command: &[&str], content: impl AsRef<[u8]>) -> Ran {
    let b = Bench::new(&[]);
    b.write("spec.mcrl2", content);
    let start = Instant::now();
    let ran = b.run(&[&command[..1], &["spec.mcrl2"], &command[1..]].concat());
    // Less than three seconds, unless the machine is slow or has other things to do.
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
    if ran.code != Some(0) {
        assert_eq!(b.names(), ["spec.mcrl2"], "nothing is written");
    }
    ran
}

/// Gives a text that is refused.
#[track_caller]
fn refused(content: impl AsRef<[u8]>, parts: &[&str]) {
    for command in [&["lts", "-o", "out.aut"][..], &["minimise", "-o", "out.aut"], &["info"], &["sim"]] {
        let ran = tried(command, &content).exits(2).tells(&["spec.mcrl2"]).tells(parts);
        assert_eq!(ran.out, "");
        assert!(ran.err.len() < 20_000, "a short answer");
    }
}

#[test]
fn no_text_at_all() {
    refused("", &["spec.mcrl2 is empty"]);
    refused(" \n\t\n", &["spec.mcrl2 is empty"]);
    refused(b"\x7fELF\x02\x01\x01\x00\x00\x00\xff\xfe", &["not text"]);
    refused(b"\xff\xfea\x00c\x00t\x00", &["not text"]);
    refused((0..=255u8).cycle().take(1 << 20).collect::<Vec<u8>>(), &["not text"]);
}

#[test]
fn faults_of_a_specification() {
    refused("act a; init b;", &["spec.mcrl2:1:13", "b"]);
    refused("act a;\n", &["init"]);
    refused("act a; init a(", &["spec.mcrl2:1:"]);
    // All at once, each with its place.
    refused("act a;\nproc P = x . P;\nQ = y . Q;\ninit P || Q;", &["spec.mcrl2:2:10", "spec.mcrl2:3:5"]);
}

#[test]
fn extreme_sizes() {
    let lines: String = (0..10_000).map(|i| format!("act a{i};\n")).collect();
    tried(&["lts"], format!("{lines}init a0;")).exits(0);
    tried(&["info"], format!("{lines}init a0;")).exits(0);
    let digits = "7".repeat(1_000_000);
    let nested = |left: &str, middle: &str, right: &str| {
        format!("{}{middle}{}", left.repeat(10_000), right.repeat(10_000))
    };
    for spec in [
        format!("act a: Nat; init a({digits});"),
        format!("act a: Bool; init a({digits} == {digits});"),
        format!("act a; init {};", nested("(", "a", ")")),
        format!("act a: Nat; init a({});", nested("(", "0", ")")),
        format!("act a: Bool; init a({}true);", "!".repeat(10_000)),
        format!("sort D = {};\nact a; init a;", nested("List(", "Bool", ")")),
        format!("act a; init {};", nested("sum b: Bool . (", "a", ")")),
        format!("act a; init {};", "(".repeat(10_000)),
        format!("act a; init {};", vec!["a"; 10_000].join(" . ")),
        format!("act a; init {};", vec!["a"; 2_000].join(" + ")),
    ] {
        let ran = tried(&["lts"], &spec);
        let excerpt = &spec[..60];
        assert!(matches!(ran.code, Some(0 | 2)), "{:?} {:.300} for {excerpt}", ran.code, ran.err);
        assert!(ran.code == Some(0) || ran.err.contains("spec.mcrl2"), "{:.300} for {excerpt}", ran.err);
    }
}

#[test]
fn places_that_cannot_be_read_or_written() {
    let b = Bench::new(&[("spec.mcrl2", BUFFERS), ("file", "")]);
    fs::create_dir(b.path("folder.aut")).expect("a directory");
    for command in ["lts", "info", "minimise", "sim"] {
        b.run(&[command, "missing.mcrl2"])
            .exits(2)
            .tells(&["cannot read missing.mcrl2: there is no such file"]);
        b.run(&[command, "folder.aut"]).exits(2).tells(&["cannot read folder.aut: it is a directory"]);
        b.run(&[command, "file/spec.mcrl2"]).exits(2).tells(&["cannot read file/spec.mcrl2: "]);
    }
    for command in ["lts", "minimise"] {
        let write = |place| b.run(&[command, "spec.mcrl2", "-o", place]).exits(2);
        write("none/out.aut").tells(&["cannot write none/out.aut: there is no directory none"]);
        write("folder.aut").tells(&["cannot write folder.aut: it is a directory"]);
    }
    assert_eq!(b.names(), ["file", "folder.aut", "spec.mcrl2"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let b = Bench::new(&[("spec.mcrl2", BUFFERS)]);
    let ran = b.run(&["lts", "spec.mcrl2", "-o", "/dev/full", "--format", "aut"]).exits(2);
    ran.tells(&["cannot write /dev/full: "]);
    // Short results fit into a buffer, and nothing is noticed before that is written.
    let commands: [&[&str]; 3] = [&["check"], &["check", "--search", "isv"], &["hunt", "--max-jobs", "1"]];
    for command in commands {
        let ran = b.run(&[command, &["spec.mcrl2", "--json", "/dev/full"]].concat()).exits(2);
        ran.tells(&["cannot write /dev/full: "]);
    }
}

#[test]
fn an_old_file_survives_a_failure() {
    let b = Bench::new(&[("bad.mcrl2", "act a; init b;"), ("out.aut", "old")]);
    for command in ["lts", "minimise"] {
        b.run(&[command, "bad.mcrl2", "-o", "out.aut"]).exits(2);
        assert_eq!(b.read("out.aut"), "old");
    }
    assert_eq!(b.names(), ["bad.mcrl2", "out.aut"]);
}
