//! States that a swarm leaves out, and work that it leaves to another search.

use crate::harness::{ends, model, run, swarm, text};

/// Jobs that do the same work again and again are followed by a search by slices, which counts all states.
#[test]
fn beyond_the_work_limit_slices_go_on() {
    let (spec, property) = (model("dkr/steps.mcrl2"), model("dkr/greatest.mcf"));
    let options = ["--property", &property, "--subsystem", "Node(0)", "--jobs", "prefix", "--borders", "off"];
    let options = [&options[..], &["--job-states", "300", "--work-limit", "2"]].concat();
    let report = swarm(&spec, &options);
    assert_eq!((&report["verdict"], &report["states"]), (&"holds".into(), &3_432.into()), "{report}");
    let left = report["swarm"]["left"].as_str().expect("why it was left");
    assert!(left.contains("that are different, and find hardly any new ones (--work-limit)"), "{left}");
    assert_eq!(report["swarm"]["then"], "by slices");
    assert!(report["slices"]["activations"].as_u64() > Some(0), "{report}");
    let stopped = swarm(&spec, &[&options[..], &["--beyond", "stop"]].concat());
    assert_eq!((&stopped["verdict"], &stopped["reason"]), (&"unknown".into(), &"work-limit".into()));
    assert_eq!(stopped["swarm"]["searches"], report["swarm"]["searches"]);
    assert!(stopped["swarm"]["left"].is_null());
    // A shard is about some traces only.
    let shard = swarm(&spec, &[&options[..], &["--shard", "0/1"]].concat());
    assert_eq!(shard["reason"], "work-limit");
    let wrong = ["check", &spec, "--search", "isv", "--subsystem", "Node(0)", "--beyond", "slice"];
    let wrong = run(&[&wrong[..], &["--shard", "0/2"]].concat());
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("--beyond slice does not go with --ids or --shard"));
}

/// If no step is forbidden no job is needed; if one is, both searches agree, and the full one does more work.
#[test]
fn what_cannot_be_violated_is_left_out() {
    let spec = model("beverage/beverage.mcrl2");
    let options = ["--subsystem", "User", "--never", "Terminate", "--jobs", "prefix"];
    let on = [&options[..], &["--directed", "on"]].concat();
    let nothing = swarm(&spec, &on);
    assert_eq!((&nothing["verdict"], &nothing["swarm"]["searches"]), (&"holds".into(), &0.into()));
    assert_eq!(nothing["swarm"]["ids_irrelevant"], nothing["swarm"]["ids_all"]);
    let off = swarm(&spec, &options);
    assert_eq!((&off["verdict"], &off["swarm"]["ids_irrelevant"]), (&"holds".into(), &"0".into()));
    assert!(off["swarm"]["searches"].as_u64() > Some(0));
    let shown = ends(&[&["check", &spec, "--search", "isv"], &on[..]].concat(), 0);
    assert!(shown.contains("no search was needed"), "{shown}");
    // Also where cycles are cut: nobody goes on there.
    let window = model("slidingwindow/slidingwindow.mcrl2");
    let free =
        ["--deadlock", "--subsystem", "Sender", "--unroll", "0", "--jobs", "trace", "--directed", "on"];
    let free = swarm(&window, &free);
    assert_eq!((&free["verdict"], &free["swarm"]["searches"]), (&"holds".into(), &0.into()));
}
