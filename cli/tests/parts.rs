//! `gridlock check --search parts` from outside: the verdicts of the models, properties that are handed over, flags that are
//! refused, and the figures about parts.

#[allow(dead_code, reason = "other tests need the rest of it")]
#[path = "harness/mod.rs"]
mod harness;

use harness::{directory, expectations, model, run, text};
use serde_json::Value;
use std::fs;

const PARTS: [&str; 5] = ["check", "--quiet", "--json", "-", "--search"];

/// The JSON of a check by parts; `None` if it cannot decide the property.
#[track_caller]
fn check(arguments: &[&str]) -> Option<Value> {
    let output = run(&[&PARTS[..], &["parts"], arguments].concat());
    if output.status.code() == Some(2) {
        let message = text(&output.stderr);
        assert!(message.contains("--search parts cannot decide"), "{arguments:?}: {message}");
        return None;
    }
    let parsed = serde_json::from_slice(&output.stdout);
    Some(parsed.unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}", text(&output.stderr))))
}

/// Models larger than this take too long in a test.
fn most() -> u64 {
    if std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1") { 500_000 } else { 10_000 }
}

#[test]
fn the_models_get_their_verdicts() {
    let (mut seen, mut handed, mut refused) = (0, 0, 0);
    for row in expectations(most()) {
        let mut asked = vec![row.spec.as_str()];
        asked.extend(row.property.iter().map(String::as_str));
        let Some(report) = check(&[&asked[..], &["--parts-limit", "50000"]].concat()) else {
            refused += 1;
            continue;
        };
        seen += 1;
        assert_eq!(report["verdict"], row.verdict, "{asked:?}");
        handed += u32::from(report["parts"]["then"].is_string());
        for obligation in report["parts"]["obligations"].as_array().expect("a list") {
            assert!(obligation["largest_states"].as_u64() <= Some(50_000), "{asked:?}");
        }
        // Without another search it is the same, or unknown.
        let alone =
            check(&[&asked[..], &["--parts-limit", "200", "--then", "none"]].concat()).expect("decided");
        if alone["verdict"] == "unknown" {
            let reason = alone["reason"].as_str();
            assert!(matches!(reason, Some("parts-limit" | "tables")), "{asked:?}: {reason:?}");
        } else {
            assert_eq!(alone["verdict"], row.verdict, "{asked:?}");
        }
    }
    assert!(
        seen > 20 && handed < seen / 2,
        "{seen} rows were checked, {handed} handed over, {refused} refused"
    );
}

#[test]
fn twenty_philosophers_are_no_trouble() {
    let (_dir, path) = directory();
    let (trace, page) = (path("why.trace"), path("parts.html"));
    let spec = model("philosophers/philosophers-bug-20.mcrl2");
    let report = check(&[&spec, "--trace-out", &trace, "--report", &page]).expect("decided");
    assert_eq!((&report["verdict"], &report["states"]), (&"violated".into(), &Value::Null));
    let parts = &report["parts"];
    assert_eq!((&parts["then"], &parts["left"]), (&Value::Null, &Value::Null));
    let [deadlock] = &parts["obligations"].as_array().expect("a list")[..] else { panic!("{parts}") };
    assert!(deadlock["largest_states"].as_u64() < Some(100), "{deadlock}");
    let tree = deadlock["tree"].as_array().expect("a list");
    assert!(tree.iter().filter(|node| node["name"].is_string()).count() >= 20, "{deadlock}");
    assert!(run(&["replay", &spec, &trace]).status.success());
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("<svg role=\"img\" aria-label=\"tree of parts\""), "{page}");
}

/// The elements of a picture, opened and closed as they must be; also how many there are of each name.
fn elements(svg: &str) -> std::collections::BTreeMap<&str, usize> {
    let (mut open, mut counts) = (Vec::new(), std::collections::BTreeMap::new());
    for tag in svg.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        let name = tag.split([' ', '/']).find(|word| !word.is_empty()).expect("a name");
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "{svg}"),
            None if tag.ends_with('/') => *counts.entry(name).or_default() += 1,
            None => {
                *counts.entry(name).or_default() += 1;
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "{open:?} are open: {svg}");
    counts
}

#[test]
fn the_trees_are_a_picture_of_their_own() {
    let (_dir, path) = directory();
    let (picture, page) = (path("tree.svg"), path("parts.html"));
    let (spec, formula) = (model("twophase/twophase.mcrl2"), model("twophase/consistent.mcf"));
    let asked = [spec.as_str(), "--property", &formula, "--tree-out", &picture, "--report", &page];
    let report = check(&asked).expect("decided");
    let (svg, page) =
        (fs::read_to_string(&picture).expect("a picture"), fs::read_to_string(page).expect("a page"));
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{svg}");
    let mut drawn = 0;
    for obligation in report["parts"]["obligations"].as_array().expect("a list") {
        let tree = obligation["tree"].as_array().expect("a list");
        let inside: Vec<u64> = tree
            .iter()
            .flat_map(|node| node["parts"].as_array().expect("a list"))
            .filter_map(Value::as_u64)
            .collect();
        for (place, node) in (0..).zip(tree) {
            let joined = node["parts"] != Value::Array(Vec::new()) || inside.contains(&place);
            let [states, reduced] =
                ["states", "reduced_states"].map(|key| node[key].as_u64().expect("a number"));
            drawn += usize::from(joined);
            let sizes = format!(">{states} \u{2192} {reduced}</text>");
            assert!(!joined || (svg.contains(&sizes) && page.contains(&sizes)), "{node}: {svg}");
        }
        let name = obligation["name"].as_str().expect("a name");
        assert!(svg.contains(&format!(">{name}: holds</text>")), "{name}: {svg}");
    }
    let counts = elements(&svg);
    assert_eq!((drawn > 4, counts["circle"], counts["svg"]), (true, drawn, 1), "{svg}");
    // A path for each of the two parts of a product; the page has the same drawing.
    assert_eq!(page.matches("<circle class=\"w0\"").count(), drawn);
    let paths = svg.lines().filter(|line| line.starts_with("<path"));
    assert!(paths.clone().count() >= 4 && paths.clone().all(|line| page.contains(line)), "{svg}");
}

#[test]
fn a_picture_costs_no_verdict_and_is_there_whole_or_not_at_all() {
    let (_dir, path) = directory();
    let spec = model("philosophers/philosophers-bug-20.mcrl2");
    let asked = ["check", &spec, "--search", "parts", "--tree-out"];
    let written = |file: &str| run(&[&asked[..], &[file]].concat());
    for (file, message) in [
        ("tree.html", "--tree-out writes .svg"),
        ("-", "--tree-out writes .svg"),
        ("/none/tree.svg", "cannot write"),
    ] {
        let output = written(file);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{file}");
        assert!(text(&output.stderr).contains(message), "{file}: {}", text(&output.stderr));
    }
    // A folder of that name is no place for a file: that is known before the search, or told after the verdict.
    let folder = path("folder.svg");
    fs::create_dir(&folder).expect("a folder");
    let output = written(&folder);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(fs::read_dir(path("")).expect("a folder").count() == 1, "nothing is left behind");
    // Nothing was put together: there is no picture, and that is said.
    let none = path("none.svg");
    let (small, formula) = (model("twophase/twophase.mcrl2"), model("twophase/consistent.mcf"));
    let line = ["check", &small, "--property", &formula, "--search", "parts", "--stages", "interfaces"];
    let output = run(&[&line[..], &["--tree-out", &none]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("there is nothing to draw"), "{}", text(&output.stderr));
    assert!(!std::path::Path::new(&none).exists());
    // It is for this search only.
    let output = run(&["check", &spec, "--tree-out", &none]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("--tree-out belongs to --search parts"),
        "{}",
        text(&output.stderr)
    );
}

/// The facts that must be the same for any number of workers, and after a run was resumed.
fn facts(report: &Value) -> Value {
    let mut obligations = report["parts"]["obligations"].clone();
    for obligation in obligations.as_array_mut().expect("a list") {
        obligation["seconds"] = Value::Null;
    }
    serde_json::json!([report["verdict"], report["trace"], obligations, report["parts"]["then"]])
}

#[test]
fn workers_and_checkpoints_change_nothing() {
    let (_dir, path) = directory();
    let (consistent, unique) = (model("twophase/consistent.mcf"), model("dkr/unique.mcf"));
    for (number, (spec, property)) in [
        ("twophase/twophase-5.mcrl2", ["--property", &consistent]),
        ("twophase/twophase-bug.mcrl2", ["--property", &consistent]),
        ("dkr/dkr-bug.mcrl2", ["--property", &unique]),
        ("philosophers/philosophers-bug-20.mcrl2", ["--tables", "auto"]),
    ]
    .into_iter()
    .enumerate()
    {
        let (spec, place) = (model(spec), path(&format!("run-{number}")));
        let asked = [&[spec.as_str()][..], &property].concat();
        let one = check(&[&asked[..], &["--workers", "1"]].concat()).expect("decided");
        let kept = ["--checkpoint", &place, "--resume"];
        let first = check(&[&asked[..], &["--workers", "3"], &kept].concat()).expect("decided");
        let again = check(&[&asked[..], &["--workers", "2"], &kept].concat()).expect("decided");
        assert_eq!((facts(&first), facts(&again)), (facts(&one), facts(&one)), "{spec}");
        assert_eq!(first["parts"]["resumed"], 0, "{spec}");
        let trials: u64 = again["parts"]["obligations"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|obligation| obligation["trials"].as_u64())
            .sum();
        assert!(again["parts"]["resumed"].as_u64() >= Some(trials), "{spec}: {again}");
        // Another question is another run.
        let other = [&["check", "--quiet", "--search", "parts"], &asked[..], &kept, &["--parts-limit", "77"]];
        let output = run(&other.concat());
        assert_eq!(output.status.code(), Some(2), "{spec}");
        assert!(text(&output.stderr).contains("belongs to another run"), "{}", text(&output.stderr));
    }
    assert!(text(&run(&["status", &path("run-0")]).stdout).contains("trials"));
}

#[test]
fn groups_are_as_the_user_says() {
    let spec = model("twophase/twophase.mcrl2");
    let formula = model("twophase/consistent.mcf");
    let (one, two) = ("ResourceManager(1, working, false)", "ResourceManager(2, working, false)");
    let (both, twice) = (format!("{one}, {two}"), format!("{one}, {two}; {one}"));
    let asked = [spec.as_str(), "--property", &formula, "--parts"];
    let report = check(&[&asked[..], &[&both]].concat()).expect("decided");
    assert_eq!(report["verdict"], "holds", "{report}");
    let tree = report["parts"]["obligations"][0]["tree"].as_array().expect("a list").clone();
    let first =
        tree.iter().find(|node| node["parts"] != Value::Array(Vec::new())).expect("something together");
    let names: Vec<&Value> = first["parts"]
        .as_array()
        .expect("two")
        .iter()
        .map(|part| &tree[part.as_u64().expect("a place") as usize]["name"])
        .collect();
    assert_eq!(names, [two, one], "as they stand in the specification");
    for (wrong, message) in [
        ("Nobody", "there is no process `Nobody`"),
        (twice.as_str(), "is in two groups"),
        ("TransactionManager;;", "a group without names"),
    ] {
        let output = run(&[&["check", "--search", "parts"], &asked[..], &[wrong]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
    }
}

#[test]
fn what_is_no_safety_property_is_refused() {
    assert_eq!(check(&[&model("abp/abp.mcrl2"), "--no-livelock"]), None);
    let output = run(&["check", &model("abp/abp.mcrl2"), "--parts-limit", "7"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("--parts-limit belongs to --search parts"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn what_grows_for_ever_is_handed_over() {
    let (_dir, path) = directory();
    let counter = path("counter.mcrl2");
    let write = |stop: &str| {
        let text = format!("act up: Nat; stop; proc P(n: Nat) = up(n) . P(n + 1){stop}; init P(0);");
        fs::write(&counter, text).expect("a file");
    };
    write(" + (n == 3) -> stop . delta");
    // One process has no interfaces with others to explore.
    let report = check(&[&counter]).expect("decided");
    assert_eq!((&report["verdict"], &report["parts"]["then"]), (&"violated".into(), &"breadth first".into()));
    assert!(
        report["parts"]["left"].as_str().is_some_and(|left| left.starts_with("there is only one process")),
        "{report}"
    );
    // That there is no fault is looked at first, and nobody will ever know.
    let report = check(&[&counter, "--stages", "interfaces", "--parts-limit", "20000"]).expect("decided");
    assert_eq!((&report["verdict"], &report["parts"]["then"]), (&"violated".into(), &"breadth first".into()));
    assert!(
        report["parts"]["left"].as_str().is_some_and(|left| left.starts_with("1 component is left")),
        "{report}"
    );
    let report = check(&[&counter, "--stages", "aggregation"]).expect("decided");
    assert_eq!((&report["verdict"], &report["parts"]["then"]), (&"violated".into(), &"breadth first".into()));
    let report = check(&[&counter, "--stages", "aggregation", "--then", "none"]).expect("decided");
    assert_eq!((&report["verdict"], &report["reason"]), (&"unknown".into(), &"tables".into()));
    write("");
    let report = check(&[&counter, "--parts-limit", "500", "--then", "none"]).expect("decided");
    assert_eq!((&report["verdict"], &report["reason"]), (&"unknown".into(), &"parts-limit".into()));
    let alone = ["--parts-limit", "500", "--then", "none"];
    let told = run(&[&["check", "--search", "parts", &counter], &alone[..]].concat());
    let told = text(&told.stdout);
    assert!(told.contains("no faults: left: limit, after ") && told.contains(" of interfaces"), "{told}");
}

#[test]
fn what_drowns_in_products_is_decided_by_interfaces() {
    for (spec, formula, verdict) in [
        ("dkr/dkr.mcrl2", "dkr/unique.mcf", "holds"),
        ("dkr/dkr-bug.mcrl2", "dkr/unique.mcf", "violated"),
        ("dkr/steps.mcrl2", "dkr/greatest.mcf", "holds"),
        ("dkr/steps-bug.mcrl2", "dkr/greatest.mcf", "violated"),
    ] {
        let (spec, formula) = (model(spec), model(formula));
        let asked = [spec.as_str(), "--property", &formula, "--tables", "ahead", "--then", "none"];
        let report = check(&asked).expect("decided");
        assert_eq!(report["verdict"], verdict, "{spec}: {report}");
    }
    // Tables that do not close ahead of time are filled with what macro-states need.
    for (spec, formula, verdict) in [
        ("chord/chord.mcrl2", None, "holds"),
        ("accumulator/accumulator.mcrl2", Some("accumulator/in_order.mcf"), "holds"),
        ("accumulator/accumulator-bug.mcrl2", Some("accumulator/in_order.mcf"), "violated"),
    ] {
        let spec = model(spec);
        let property = formula.map(model);
        let mut asked = vec![spec.as_str(), "--tables", "on-demand", "--then", "none"];
        match &property {
            Some(property) => asked.extend(["--property", property]),
            None => asked.extend(["--never", "Terminate"]),
        }
        let report = check(&asked).expect("decided");
        assert_eq!(report["verdict"], verdict, "{spec}: {report}");
        let last = report["parts"]["obligations"].as_array().and_then(|all| all.last()).expect("one");
        assert_eq!(last["decided_by"], "interfaces", "{spec}: {report}");
    }
}

/// The output of `gridlock parts --count`.
#[track_caller]
fn counts(spec: &str, groups: &str) -> Value {
    let output = run(&["parts", spec, "--parts", groups, "--count", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn servers(n: u32) -> String {
    let server = |s: u32| format!("Main({s}),Checkpoint({s}),Shared({s}, 0)");
    (1..=n).map(server).collect::<Vec<_>>().join(";")
}

/// The text of a specification with other values.
fn with(spec: &str, values: &[(&str, u32)]) -> String {
    let mut text = fs::read_to_string(model(spec)).expect("a model");
    for (name, value) in values {
        let at = text.find(&format!("{name} = ")).expect("a value") + name.len() + 3;
        let end = at + text[at..].find(';').expect("its end");
        text.replace_range(at..end, &value.to_string());
    }
    text
}

/// The processes of each arc of philosophers.
fn arcs(size: u32, arcs: u32) -> String {
    let arc = |a: u32| {
        let seat = |i: u32| format!("Philosopher({}),Fork({})", a * size + i, a * size + i + 1);
        let seats: Vec<String> = (0..size - 1).map(seat).collect();
        // The last seat of an arc is the process that it was unfolded from.
        let last = a * size + size - 1;
        format!("{},Seats({last}, {last})", seats.join(","))
    };
    (0..arcs).map(arc).collect::<Vec<_>>().join(";")
}

/// All counts are those of `counts.tsv`, whose head says where they come from.
#[test]
fn counts_are_those_of_the_golden_file() {
    let (_dir, path) = directory();
    let file = path("spec.mcrl2");
    let mut rows = 0;
    for line in include_str!("counts.tsv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [spec, values, ..] = fields[..] else { panic!("{line}") };
        let values: Vec<(&str, u32)> = values
            .split(',')
            .map(|value| value.split_once('=').expect("a value"))
            .map(|(name, value)| (name, value.parse().expect("a number")))
            .collect();
        let of = |wanted: &str| values.iter().find(|(name, _)| *name == wanted).map(|value| value.1);
        let groups = match (of("Servers"), of("Size"), of("Arcs")) {
            (Some(number), None, None) => servers(number),
            (None, Some(size), Some(number)) => arcs(size, number),
            _ => panic!("{line}"),
        };
        fs::write(&file, with(spec, &values)).expect("a file");
        let told = counts(&file, &groups);
        let number = |field: &str| told["counts"][field].as_str().expect("a count").to_owned();
        let components = told["components"].as_array().expect("a list");
        let mut local: Vec<u64> = components
            .iter()
            .map(|component| {
                component["local_traces"].as_str().and_then(|n| n.parse().ok()).expect("a count")
            })
            .collect();
        local.sort_unstable();
        let local: Vec<String> = local.iter().map(u64::to_string).collect();
        let (spec, values) = (fields[0], fields[1]);
        let row = [
            spec,
            values,
            &local.join("+"),
            &number("local_traces"),
            &number("global_traces"),
            &number("skeletons"),
        ];
        assert_eq!(line, row.join("\t"));
        rows += 1;
    }
    assert!(rows >= 9, "{rows} rows");
}

#[test]
fn runs_that_need_not_end_are_not_counted() {
    let output = run(&["parts", &model("philosophers/philosophers.mcrl2"), "--count"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("only if each of them ends"), "{}", text(&output.stderr));
}

#[test]
fn what_is_minimal_by_parts_is_minimal() {
    let (_dir, path) = directory();
    for (spec, equivalence) in [
        ("abp/abp.mcrl2", "branching"),
        ("abp/abp.mcrl2", "weak-trace"),
        ("twophase/twophase.mcrl2", "strong"),
        ("philosophers/philosophers.mcrl2", "divergence-preserving-branching"),
        ("beverage/beverage.mcrl2", "trace"),
    ] {
        let (spec, parts, direct) = (model(spec), path("parts.aut"), path("direct.aut"));
        let minimise = |file: &str, more: &[&str]| {
            let line = [&["minimise", &spec, "-o", file, "--equivalence", equivalence], more].concat();
            let output = run(&line);
            assert!(output.status.success(), "{line:?}: {}", text(&output.stderr));
        };
        minimise(&parts, &["--by-parts"]);
        minimise(&direct, &[]);
        let head = |file: &str| fs::read_to_string(file).expect("a file").lines().next().map(str::to_owned);
        assert_eq!(head(&parts), head(&direct), "{spec} {equivalence}");
        let line = ["compare", &spec, &direct, "--by-parts", "--equivalence", equivalence];
        assert_eq!(run(&line).status.code(), Some(0), "{line:?}");
        assert_eq!(run(&["compare", &parts, &direct]).status.code(), Some(0), "{spec} {equivalence}");
    }
    let (abp, bug) = (model("abp/abp.mcrl2"), model("abp/abp-bug.mcrl2"));
    let output = run(&["compare", &abp, &bug, "--by-parts", "--equivalence", "weak-trace"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let output = run(&["minimise", &path("direct.aut"), "--by-parts", "-o", &path("no.aut")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("is one LTS already"), "{}", text(&output.stderr));
    let output = run(&["minimise", &abp, "--by-parts", "--max-states", "5", "-o", &path("no.aut")]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("more than 5 states"), "{}", text(&output.stderr));
}
