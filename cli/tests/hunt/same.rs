//! The same seed and number of jobs give the same result for any number of workers.

use crate::harness::{directory, model};
use crate::hunting::{hunt, strip};

#[test]
fn workers_change_nothing() {
    let (_dir, path) = directory();
    for (spec, property, options) in [
        ("ieee1394/ieee1394-bug.mcrl2", None, "--findings 6 --max-jobs 120"),
        (
            "peterson/peterson-bug.mcrl2",
            Some("peterson/mutex.mcf"),
            "--portfolio walk,dfs,guided-bfs --max-jobs 60",
        ),
        (
            "paxos/paxos-two.mcrl2",
            Some("paxos/one_value.mcf"),
            "--max-jobs 90 --portfolio bitstate,rare,highway,walk",
        ),
        ("ieee1394/ieee1394-3.mcrl2", None, "--max-jobs 90 --portfolio prefix"),
    ] {
        let (spec, property, out) = (model(spec), property.map(model), path("out"));
        let mut words = vec![spec.as_str(), "--seed", "9", "--job-memory", "16M", "--out", &out];
        words.extend(property.iter().flat_map(|file| ["--property", file]));
        words.extend(options.split(' '));
        let report = |workers: &str| {
            let mut report = hunt(&[&words[..], &["--workers", workers]].concat());
            strip(&mut report);
            report
        };
        let one = report("1");
        for workers in ["2", "8"] {
            assert_eq!(one, report(workers), "{words:?} with {workers} workers");
        }
    }
}
