//! Counterexamples and walks that are replayed.

use super::{Files, code, gridlock, models, run, text};
use std::fs;
use std::process::Stdio;

#[test]
fn counterexamples_replay_and_damaged_ones_do_not() {
    let files = Files::new();
    let directory = models().join("abp");
    let [bug, good, formula] =
        ["abp-bug.mcrl2", "abp.mcrl2", "no_loss.mcf"].map(|name| directory.join(name).display().to_string());
    for name in ["why.trace", "why.json", "why.aut", "why.svg"] {
        let output = run(&["check", &bug, "--property", &formula, "--trace-out", &files.path(name)]);
        assert_eq!(code(&output), 1, "{}", text(&output.stderr));
    }
    for name in ["why.trace", "why.json", "why.aut"] {
        let trace = files.path(name);
        let replayed = run(&["replay", &bug, &trace]);
        assert_eq!(code(&replayed), 0, "{name}: {}", text(&replayed.stderr));
        assert!(text(&replayed.stdout).starts_with("runs: 13 steps\n"));
        let refused = run(&["replay", &good, &trace]);
        assert_eq!(code(&refused), 1, "{name}");
        assert!(text(&refused.stdout).starts_with("does not run: after 12 steps of 13, `accept(d1)`"));
    }
    let aut = fs::read_to_string(files.path("why.aut")).expect("written");
    assert!(aut.starts_with("des (0,13,14)\n(0,\"accept(d1)\",1)\n"), "{aut}");
    let svg = fs::read_to_string(files.path("why.svg")).expect("written");
    assert_eq!((svg.matches("class=\"life\"").count(), svg.matches("class=\"number\"").count()), (4, 13));

    // Each kind of damage: another label, another participant, another contribution, a step too few.
    let whole = fs::read_to_string(files.path("why.trace")).expect("written");
    let shorter = whole.replacen(
        "step\taccept(d1)\n\tSender(zero)\taccept(d1)",
        "step\taccept(d1)\n\tSender(one)\taccept(d1)",
        1,
    );
    for damaged in [
        whole.replacen("step\tdeliver(d1)", "step\tdeliver(d2)", 1),
        whole.replacen("enter_frame(d1, zero)", "enter_frame(d1, one)", 1),
        shorter,
    ] {
        assert_ne!(damaged, whole);
        let refused = run(&["replay", &bug, &files.write("damaged.trace", &damaged)]);
        assert_eq!(code(&refused), 1, "{damaged}");
        assert!(text(&refused.stdout).contains("possible instead"));
    }
    let labels = "# by hand\naccept( d1 )\n\nframe_sent(d1,zero)\nframe_lost\n";
    let replayed = run(&["replay", &bug, &files.write("labels.txt", labels)]);
    assert!(code(&replayed) == 0 && text(&replayed.stdout).starts_with("runs: 3 steps"));
    let refused = run(&["replay", &bug, &files.write("labels.txt", "accept(d1)\nframe_lost\n")]);
    assert!(
        text(&refused.stdout).starts_with("does not run: after 1 step of 2, `frame_lost` is not possible")
    );
}

#[test]
fn a_trace_of_the_simulator_replays() {
    let files = Files::new();
    let spec = models().join("philosophers/together.mcrl2").display().to_string();
    let trace = files.path("walk.trace");
    let mut sim = gridlock(&["sim", &spec, "--seed", "7"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("sim");
    let orders = format!("r 25\ns {trace}\n");
    std::io::Write::write_all(&mut sim.stdin.take().expect("a pipe"), orders.as_bytes()).expect("orders");
    assert!(sim.wait().expect("an end").success());
    let replayed = run(&["replay", &spec, &trace]);
    assert_eq!(code(&replayed), 0, "{}", text(&replayed.stdout));
}
