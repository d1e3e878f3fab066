//! The results of a swarm: shards to be merged, a page, documented fields.

use crate::harness::{directory, ends, model, models, run, swarm, text};
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn shards_are_merged() {
    let (_dir, path) = directory();
    let spec = model("beverage/beverage.mcrl2");
    let shard = |ids: &str, name: &str, more: &[&str]| {
        let options =
            ["check", &spec, "--search", "isv", "--subsystem", "User", "--ids", ids, "--json", &path(name)];
        run(&[&options[..], more].concat()).status.code()
    };
    let holds = ["--never", "get_tea"];
    assert_eq!(shard("0..1", "a.json", &holds), Some(3));
    assert_eq!(
        shard("1..3", "b.json", &[&holds[..], &["--jobs", "trace", "--strategy", "random"]].concat()),
        Some(3)
    );
    assert_eq!(shard("2..", "c.json", &[&holds[..], &["--checkpoint", &path("c")]].concat()), Some(3));
    assert_eq!(shard("0..2", "v.json", &[]), Some(1));
    let [a, b, c, dir, v] = ["a.json", "b.json", "c.json", "c", "v.json"].map(&path);
    let merged = |files: &[&str], code| -> Value {
        serde_json::from_str(&ends(&[&["merge", "--json", "-"], files].concat(), code)).expect("JSON")
    };
    let whole = merged(&[&c, &a, &b], 0);
    assert_eq!((&whole["verdict"], &whole["exhaustive"]), (&"holds".into(), &true.into()));
    assert_eq!(whole["shards"].as_array().map(Vec::len), Some(3));
    assert_eq!(merged(&[&a, &b, &dir], 0)["verdict"], "holds");
    let gap = merged(&[&a, &c], 3);
    assert_eq!((&gap["reason"], &gap["missing"]), (&"missing".into(), &serde_json::json!([["1", "2"]])));
    assert_eq!(merged(&[&b, &c], 3)["missing"], serde_json::json!([["0", "1"]]));
    assert_eq!(merged(&[&a, &b], 3)["missing"], serde_json::json!([["3", "4"]]));
    assert!(
        text(&run(&["merge", &a, &v]).stderr).contains("not of the same swarm: properties is never get_tea")
    );
    let found = merged(&[&v], 1);
    assert_eq!(found["verdict"], "violated");
    assert_eq!(found["trace"].as_array().map(Vec::len), Some(5));
    assert!(ends(&["merge", &v], 1).starts_with("violated: deadlock: no action is possible after 5 steps"));
    // A shard that did not come to its end says nothing.
    fs::remove_file(Path::new(&dir).join("result.json")).expect("removed");
    let unfinished = merged(&[&a, &b, &dir], 3);
    assert_eq!(unfinished["reason"], "shard-unknown");

    let machines = model("beverage/machines.mcrl2");
    let bounded = |ids: &str, name: &str| {
        let options =
            ["check", &machines, "--search", "isv", "--subsystem", "BeverageMachine", "--unroll", "0"];
        run(&[&options[..], &["--jobs", "trace", "--ids", ids, "--json", &path(name)]].concat()).status.code()
    };
    assert_eq!((bounded("0..1", "d.json"), bounded("1..2", "e.json")), (Some(3), Some(3)));
    let [d, e] = ["d.json", "e.json"].map(&path);
    assert_eq!(merged(&[&d, &e], 3)["reason"], "bounded");
}

/// Any number of shares is merged to the result of one run.
#[test]
fn shares_are_merged() {
    let (_dir, path) = directory();
    for (spec, options) in [
        ("paxos/paxos-two.mcrl2", &["--subsystem", "Observer", "--never", "tau", "--jobs", "prefix"][..]),
        (
            "accumulator/accumulator-bug.mcrl2",
            &["--subsystem", "Client", "--property", "in_order", "--jobs", "prefix"],
        ),
        // By traces: of prefixes, the one job without a path sees beyond cut cycles, and a share has no such job.
        ("beverage/machines.mcrl2", &["--subsystem", "BeverageMachine", "--unroll", "1", "--jobs", "trace"]),
    ] {
        let spec = model(spec);
        let formula = model("accumulator/in_order.mcf");
        let options: Vec<&str> =
            options.iter().map(|o| if *o == "in_order" { &formula } else { *o }).collect();
        let whole = swarm(&spec, &options);
        let traces: u64 = whole["swarm"]["traces"].as_str().and_then(|n| n.parse().ok()).expect("a number");
        for count in [1, 2, 3.min(traces)] {
            let files: Vec<String> = (0..count)
                .map(|index| {
                    let (file, share) = (path(&format!("{index}.json")), format!("{index}/{count}"));
                    let more = ["--search", "isv", "--shard", &share, "--json", &file];
                    run(&[&["check", &spec], &options[..], &more].concat());
                    file
                })
                .collect();
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            let output = run(&[&["merge", "--json", "-"], &files[..]].concat());
            let merged: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            assert_eq!(merged["verdict"], whole["verdict"], "{spec} {count}");
            assert_eq!(merged["reason"], whole["reason"], "{spec} {count}");
            assert_eq!(merged["missing"], serde_json::json!([]));
            if count > 1 && whole["verdict"] == "holds" {
                let output = run(&[&["merge", "--json", "-"], &files[1..]].concat());
                let merged: Value = serde_json::from_slice(&output.stdout).expect("JSON");
                assert_eq!((&merged["verdict"], &merged["reason"]), (&"unknown".into(), &"missing".into()));
            }
        }
    }
}

#[test]
fn the_page_needs_nothing_else() {
    let (_dir, path) = directory();
    let odd = path("<b>&\".mcrl2");
    fs::copy(model("beverage/beverage.mcrl2"), &odd).expect("a copy");
    for (spec, options) in [
        (odd, &["--subsystem", "User", "--jobs", "prefix"][..]),
        (
            model("paxos/paxos-two.mcrl2"),
            &["--subsystem", "Observer", "--never", "tau", "--job-states", "5000"],
        ),
        (model("beverage/beverage.mcrl2"), &["--subsystem", "User", "--never", "get_tea", "--jobs", "trace"]),
    ] {
        let page = path("page.html");
        run(&[&["check", &spec, "--search", "isv", "--report", &page], options].concat());
        let html = fs::read_to_string(&page).expect("written");
        assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"));
        for part in ["<h2>Trace IDs</h2>", "<h2>Workers</h2>", "<h2>Largest jobs</h2>", "<rect class=\""] {
            assert!(html.contains(part), "no {part} for {spec} {options:?}");
        }
        assert!(!html.contains("<b>"), "names are escaped");
        assert_eq!(html.contains("<h2>Counterexample</h2>"), options.len() == 4);
        for elsewhere in [" src=", " href=", "@import", "<script", "<link"] {
            assert!(!html.contains(elsewhere), "{elsewhere}");
        }
        assert_eq!(
            html.matches("url(").count(),
            html.matches("url(#").count(),
            "places within the page only"
        );
        assert_eq!(
            html.matches("http").count(),
            html.matches("xmlns=\"http://www.w3.org/2000/svg\"").count()
        );
        balanced(&html);
    }
}

/// The rows below a heading of a page, as the texts of their cells.
fn rows(html: &str, heading: &str) -> Vec<Vec<String>> {
    let Some((_, below)) = html.split_once(&format!("<h2>{heading}</h2>")) else { return Vec::new() };
    let table = below.split("</table>").next().expect("a table");
    let cell = |cell: &str| {
        let text = cell.split_once('>').map_or("", |(_, text)| text);
        text.split("</td>").next().unwrap_or_default().to_owned()
    };
    let cells = |row: &str| row.split("<td").skip(1).map(cell).collect::<Vec<_>>();
    table.split("<tr>").skip(2).map(cells).collect()
}

/// The course of the work: the figures of the page are those of the result.
#[test]
fn the_page_tells_how_the_work_went() {
    let (_dir, path) = directory();
    let (spec, property, page) = (model("dkr/steps.mcrl2"), model("dkr/greatest.mcf"), path("page.html"));
    let told = |options: &[&str]| -> (Value, String) {
        let all =
            ["--subsystem", "Node(0)", "--property", &property, "--job-memory", "64M", "--report", &page];
        let report = swarm(&spec, &[&all[..], options].concat());
        (report, fs::read_to_string(&page).expect("written"))
    };
    let number = |digits: &str| digits.replace(',', "").parse::<u64>().expect("a number");
    let again = &["--borders", "off", "--job-states", "600", "--beyond", "stop", "--workers", "3"][..];
    for options in [again, &["--job-states", "600", "--workers", "2"], &["--jobs", "prefix"]] {
        let (report, html) = told(options);
        let swarm = &report["swarm"];
        let (all, different) = (&swarm["total_states"], &swarm["different_states"]);
        let factor = all.as_f64().expect("a number") / different.as_f64().expect("a number");
        let end = format!("{:.2} in the end.", factor.max(1.0));
        assert!(
            html.contains("<h2>Work factor over time</h2>") && html.contains(&end),
            "{options:?}: no {end}"
        );
        let by = rows(&html, "Who expanded what");
        assert_eq!(by.iter().map(|row| number(&row[2])).sum::<u64>(), all.as_u64().expect("a number"));
        assert_eq!(
            by.iter().map(|row| number(&row[1])).sum::<u64>(),
            swarm["searches"].as_u64().expect("a number")
        );
        assert!(by.iter().all(|row| row[0].starts_with("worker ")), "{by:?}");
        let repeating = rows(&html, "Prefixes that repeat work");
        assert_eq!(repeating.is_empty(), options != again, "{repeating:?}");
        // Estimated or not, no job repeats more than it has expanded, and those that repeated most come first.
        let repeated: Vec<u64> = repeating.iter().map(|row| number(&row[3])).collect();
        assert!(repeated.is_sorted_by(|a, b| a >= b) && repeated.len() <= 20, "{repeated:?}");
        for row in &repeating {
            assert!(
                number(&row[3]) <= number(&row[2]) && number(&row[2]) <= 600 && !row[5].is_empty(),
                "{row:?}"
            );
        }
        balanced(&html);
    }
    let (_, html) = told(&["--jobs", "trace"]);
    assert!(html.contains("Nobody counts different states"));
    assert_eq!(rows(&html, "Prefixes that repeat work").len(), 0);
    // An answer of a run before was given by the checkpoint.
    let kept = ["--jobs", "prefix", "--resume", "--checkpoint", &path("run")];
    told(&kept);
    let (_, html) = told(&kept);
    assert_eq!(rows(&html, "Who expanded what")[0][0], "checkpoint");
}

/// Every element that is opened is closed, in order.
pub fn balanced(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in html.split('<').skip(1) {
        let (inside, _) = tag.split_once('>').expect("a tag ends");
        let name = inside.trim_start_matches('/').split([' ', '\n']).next().unwrap_or_default();
        if let Some(closed) = inside.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "{inside}");
        } else if !inside.ends_with('/') && !matches!(name, "!DOCTYPE" | "meta") {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// The documentation names all fields.
#[test]
fn every_field_is_documented() {
    let (_dir, path) = directory();
    let page = fs::read_to_string(models().join("../docs/json.md")).expect("the page");
    let spec = model("beverage/beverage.mcrl2");
    let place = path("run");
    let report =
        swarm(&spec, &["--subsystem", "auto", "--never", "get_tea", "--checkpoint", &place, "--compare-bfs"]);
    let parsed = |out: String| serde_json::from_str::<Value>(&out).expect("JSON");
    let status = parsed(ends(&["status", &place, "--json"], 0));
    let sliced_place = path("sliced");
    let sliced = swarm(&spec, &["--never", "get_tea", "--checkpoint", &sliced_place]);
    let sliced_status = parsed(ends(&["status", &sliced_place, "--json"], 0));
    let others = [
        sliced["slices"].clone(),
        sliced_status["page"]["slices"].clone(),
        sliced_status,
        sliced,
        report["swarm"].clone(),
        report["swarm"]["auto"].clone(),
        report["swarm"]["auto"]["candidates"][0].clone(),
        report["swarm"]["compared"].clone(),
        parsed(ends(&["traces", &spec, "--subsystem", "User", "--id", "0", "--json"], 0)),
        status["page"].clone(),
        status["page"]["numbers"].clone(),
        status,
        parsed(ends(&["merge", "--json", "-", &place], 0)),
        report,
    ];
    for object in &others {
        for field in object.as_object().expect("an object").keys() {
            assert!(page.contains(&format!("`{field}`")), "{field} is not documented");
        }
    }
}

/// `auto` prints its choice and the reason, unless `--quiet` is given.
#[test]
fn a_choice_is_explained() {
    let spec = model("paxos/paxos-two.mcrl2");
    let options =
        ["check", &spec, "--search", "isv", "--subsystem", "auto", "--never", "tau", "--jobs", "prefix"];
    let err = text(&run(&options).stderr);
    assert!(err.starts_with("subsystem: ") && err.contains(", because "), "{err}");
    let table: Vec<&str> = err.lines().skip(1).collect();
    assert!(table[0].trim_start().starts_with("subsystem") && table[0].ends_with("in all"), "{err}");
    let chosen = err["subsystem: ".len()..].split(", because").next().expect("a name");
    assert!(table[1].trim_start().starts_with(chosen), "the best comes first: {err}");
    assert_eq!(text(&run(&[&options[..], &["--quiet"]].concat()).stderr), "");
    let report = swarm(&spec, &["--subsystem", "auto", "--never", "tau", "--jobs", "prefix", "--quiet"]);
    assert_eq!(report["swarm"]["subsystem"].as_array().map(|names| names.len()), Some(1));
    assert_eq!(report["swarm"]["auto"]["candidates"][0]["subsystem"], report["swarm"]["subsystem"]);
}
