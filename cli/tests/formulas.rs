//! Formulas and the flags that stand for them, from outside: verdicts, evidence, and the searches that refuse them.

// Not all of it is needed here.
#[allow(dead_code)]
#[path = "harness/mod.rs"]
mod harness;

use harness::{LIVENESS, models, run, text};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// A buffer that may lose its content, or break down.
const LOSSY: &str = "\
act receive, send: Nat; lose, break, idle;
proc B = sum n: Nat. (n < 2) -> receive(n) . (send(n) . B + lose . B) + break . D;
     D = idle . D + idle . E;
     E = idle . D;
init hide({idle}, B);";

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Files(tempfile::tempdir().expect("a directory"))
    }

    fn write(&self, name: &str, content: &str) -> String {
        let path = self.0.path().join(name);
        fs::write(&path, content).expect("a file");
        path.display().to_string()
    }
}

fn json(arguments: &[&str]) -> (Value, i32) {
    let output = run(&[&["check", "--json", "-"], arguments].concat());
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}{}", text(&output.stdout), text(&output.stderr)));
    (report, output.status.code().expect("an exit code"))
}

/// The rows of the table in the documentation: the flag with its actions, and the formula.
fn documented() -> Vec<(Vec<String>, String)> {
    let page = fs::read_to_string(models().join("../docs/properties.md")).expect("the page");
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains("| `--"));
    let code = |cell: &str| Some(cell.trim().strip_prefix('`')?.strip_suffix('`')?.to_owned());
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let [_, flag, formula] = cells[..] else { return None };
        let flag = code(flag)?.split(' ').map(str::to_owned).collect();
        Some((flag, code(formula)?))
    };
    rows.filter_map(row).collect()
}

#[test]
fn every_flag_means_its_formula() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    let rows = documented();
    assert_eq!(rows.len(), 10, "{rows:?}");
    let actions = [("receive(0)", "send(0)"), ("lose", "lose"), ("break", "tau"), ("receive(_)", "!idle")];
    let mut verdicts = [0; 2];
    for (flag, formula) in rows {
        for (a, b) in actions {
            let arguments: Vec<&str> = flag
                .iter()
                .map(|word| match word.as_str() {
                    "A" | "P" => a,
                    "B" => b,
                    other => other,
                })
                .collect();
            let formula = formula.replace('A', &format!("({a})")).replace('P', &format!("({a})"));
            let file = files.write("f.mcf", &formula.replace('B', &format!("({b})")));
            let (by_flag, exit) = json(&[&[spec.as_str()], &arguments[..]].concat());
            let (by_formula, same) = json(&[&spec, "--property", &file]);
            assert_eq!(
                (exit, &by_flag["verdict"]),
                (same, &by_formula["verdict"]),
                "{arguments:?}: {formula}"
            );
            assert!(exit < 2, "{by_flag}");
            verdicts[exit as usize] += 1;
        }
    }
    assert!(verdicts.iter().all(|n| *n > 3), "too easy: {verdicts:?}");
}

#[test]
fn evidence_is_told_in_text_and_json() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    // Loses for ever.
    let (report, exit) = json(&[&spec, "--response", "receive(0)", "send(0)"]);
    assert_eq!((exit, &report["verdict"]), (1, &"violated".into()));
    let steps = report["trace"].as_array().expect("a run").len();
    let from = report["repeats_from"].as_u64().expect("it goes round") as usize;
    assert!(2 <= from && from <= steps, "{report}");
    let output = run(&["check", &spec, "--response", "receive(0)", "send(0)"]);
    assert!(text(&output.stdout).contains(&format!("repeats from step {from} for ever")), "{output:?}");
    // Breaks down, and can never send again.
    let (report, exit) = json(&[&spec, "--always-possible", "send(_)"]);
    assert_eq!((exit, &report["critical_step"]), (1, &1.into()), "{report}");
    assert_eq!(report["trace"][0]["label"], "break");
    // Also if only one way leads on after it, round or to an end; not if it was never possible.
    for (text, critical, closure) in [
        ("act a, b, c, d; proc P = a . P + b . Q; Q = c . R; R = c . R + d . S; S = c . R; init P;", 1, 3),
        ("act a, b, c; proc P = a . P + c . b . Q; Q = c . R; R = c . R; init P;", 1, 3),
        ("act a, b, c; proc P = a . P + b . Q; Q = c . c . delta; init P;", 1, 3),
        ("act a, b; proc P = a . P + b . delta; init P;", 1, 1),
        ("act a, b, c; proc Q = b . Q + c . Q; init Q;", 0, 0),
    ] {
        let into = files.write("into.mcrl2", text);
        for tables in ["auto", "on-demand"] {
            let (report, exit) = json(&[&into, "--always-possible", "a", "--tables", tables]);
            let number = |field: &str| report[field].as_u64().unwrap_or(0);
            assert_eq!(
                (exit, number("critical_step"), number("closure_states")),
                (1, critical, closure),
                "{report}"
            );
        }
    }
    // A witness.
    let (report, exit) = json(&[&spec, "--possible", "send(1)"]);
    assert_eq!((exit, report["trace"].as_array().map(Vec::len)), (0, Some(2)), "{report}");
    let output = run(&["check", &spec, "--possible", "send(1)"]);
    assert!(text(&output.stdout).contains("witness, 2 steps"), "{output:?}");
    // Hidden steps for ever, unless one looks behind the hiding.
    assert_eq!(json(&[&spec, "--no-livelock"]).1, 1);
    assert_eq!(json(&[&spec, "--no-livelock", "--see-hidden", "idle"]).1, 0);
    // A deadlock is the end of a run.
    let stops = files.write("stops.mcrl2", "act a, b; init a . delta;");
    let (report, exit) = json(&[&stops, "--inevitable", "b"]);
    assert_eq!((exit, report["trace"].as_array().map(Vec::len)), (1, Some(1)), "{report}");
    assert_eq!(report["repeats_from"], Value::Null);
}

/// A run that ends in a cycle is saved with the step from which it repeats, in all formats, and replayed with it.
#[test]
fn runs_that_go_round_are_saved_and_replayed() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    let ask = ["--response", "receive(0)", "send(0)"];
    let from =
        json(&[&[spec.as_str()], &ask[..]].concat()).0["repeats_from"].as_u64().expect("it goes round");
    let save = |name: &str| {
        let path = files.write(name, "");
        fs::remove_file(&path).expect("a file");
        let output = run(&[&["check", &spec, "--trace-out", &path], &ask[..]].concat());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        path
    };
    for name in ["why.trace", "why.json", "why.aut"] {
        let path = save(name);
        let output = run(&["replay", &spec, &path]);
        let told = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{name}: {told}{}", text(&output.stderr));
        assert!(told.contains(&format!("repeats from step {from}")), "{name}: {told}");
    }
    let svg = fs::read_to_string(save("why.svg")).expect("a picture");
    assert!(svg.contains("class=\"back\"") && svg.contains(&format!("repeats from step {from}")), "{svg}");
    // The same steps from another one on are no circle.
    let saved = fs::read_to_string(save("why.trace")).expect("a trace");
    assert!(saved.contains(&format!("\nrepeats\t{from}\n")), "{saved}");
    let other = if from == 1 { 2 } else { 1 };
    let open =
        files.write("open.trace", &saved.replace(&format!("repeats\t{from}"), &format!("repeats\t{other}")));
    let output = run(&["replay", &spec, &open]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stdout).contains(&format!("not where it was before step {other}")), "{output:?}");
    let beyond = files.write("beyond.trace", &saved.replace(&format!("repeats\t{from}"), "repeats\t99"));
    assert_eq!(run(&["replay", &spec, &beyond]).status.code(), Some(2));
}

/// The whole proof as an LTS: of an answer that no single run shows, and of one that a run shows.
#[test]
fn proofs_are_written_as_systems() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    let out = |name: &str| files.0.path().join(name).display().to_string();
    let (aut, dot) = (out("why.aut"), out("why.dot"));
    // Winning against two choices: no run shows it.
    let formula = files.write("f.mcf", "nu X. ((<lose>true || [true]X) && <true>true)");
    for path in [&aut, &dot] {
        let output = run(&["check", &spec, "--property", &formula, "--evidence-out", path]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let text_of = |path: &str| fs::read_to_string(path).expect("a file");
    let first = text_of(&aut).lines().next().map(str::to_owned).unwrap_or_default();
    assert!(first.starts_with("des (0,"), "{first}");
    assert!(text_of(&aut).contains("break") && text_of(&aut).contains("lose"), "{}", text_of(&aut));
    let picture = text_of(&dot);
    assert!(
        picture.contains("state 0\\n") && picture.contains("nu X") && picture.contains("label=\"true\""),
        "{picture}"
    );
    // Without a formula there is no such proof, and the name says the format.
    let none = out("none.aut");
    let output = run(&["check", &spec, "--deadlock", "--evidence-out", &none]);
    assert!(text(&output.stderr).contains("no proof") && !std::path::Path::new(&none).exists(), "{output:?}");
    let output = run(&["check", &spec, "--property", &formula, "--evidence-out", &out("why.txt")]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains(".aut and .dot"), "{output:?}");
}

#[test]
fn answers_do_not_depend_on_workers_or_tables() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    let formula = files.write("f.mcf", "nu X. mu Y. ([lose]X && [!lose]Y)");
    let without_times = |arguments: &[&str]| {
        let (mut report, exit) = json(&[&[spec.as_str(), "--property", &formula], arguments].concat());
        let fields = report.as_object_mut().expect("an object");
        for field in ["seconds", "build_seconds", "workers"] {
            fields.remove(field);
        }
        (report, exit)
    };
    let one = without_times(&["--workers", "1"]);
    assert_eq!(one.1, 1);
    for workers in ["2", "3"] {
        assert_eq!(without_times(&["--workers", workers]), one);
    }
    assert_eq!(without_times(&["--tables", "on-demand"]).0["verdict"], "violated");
}

#[test]
fn a_formula_with_other_properties() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    let all = ["--deadlock", "--never", "Terminate", "--possible", "lose", "--no-livelock"];
    let (report, exit) = json(&[&[spec.as_str()], &all[..]].concat());
    assert_eq!((exit, &report["property"]), (1, &"no-livelock".into()), "{report}");
    let (report, exit) = json(&[&spec, "--possible", "lose", "--never", "lose"]);
    assert_eq!((exit, &report["property"]), (1, &"never lose".into()), "{report}");
}

/// If one formula needs too many states the next one may still be violated; if it is not, the answer is `unknown`.
#[test]
fn a_formula_without_an_answer_hides_no_other_one() {
    let spec = models().join("peterson/peterson.mcrl2").display().to_string();
    let [large, small] = ["--always-possible", "--inevitable"].map(|flag| [flag, "enter(0)"]);
    let limit = ["--max-states", "400"];
    let asked = |flags: &[&[&str]]| json(&[&[&spec[..]], &flags.concat()[..], &limit].concat());
    for flags in [&[&large[..]][..], &[&large, &["--never", "Terminate"]]] {
        let (report, code) = asked(flags);
        assert_eq!((code, &report["reason"]), (3, &"max-states".into()), "{report}");
    }
    let (report, code) = asked(&[&large, &small]);
    assert_eq!((code, &report["property"]), (1, &"inevitable enter(0)".into()), "{report}");
    assert!(report["repeats_from"].is_u64(), "{report}");
    // What holds shows nothing of the one that is not decided.
    let (report, code) = asked(&[&large, &["--possible", "enter(0)"]]);
    assert_eq!(
        (code, &report["reason"], &report["trace"]),
        (3, &"max-states".into(), &Value::Null),
        "{report}"
    );
}

#[test]
fn other_searches_refuse_formulas_by_name() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    let possible = ["--possible", "lose"];
    for (arguments, part) in [
        (&["check", "--search", "dfs"][..], "--search dfs cannot decide possible lose: use --search bfs"),
        (&["check", "--search", "isv"], "cannot decide possible lose: use --search bfs"),
        (
            &["check", "--search", "isv", "--jobs", "trace", "--subsystem", "auto"],
            "cannot decide possible lose: use --search bfs",
        ),
        (&["check", "--reduce", "on"], "--reduce on cannot decide a formula that is no safety formula"),
        (&["check", "--fair", "full"], "--fair belongs to --inevitable and --response"),
        (&["hunt"], "`gridlock hunt` cannot decide possible lose: use `gridlock check` with --search bfs"),
        (
            &["watch", "--log", "/dev/null"],
            "`gridlock watch` cannot decide possible lose: use `gridlock check` with --search bfs",
        ),
    ] {
        let output = run(&[arguments, &[spec.as_str()], &possible[..]].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(part), "{arguments:?}: {told}");
    }
}

#[test]
fn bad_formulas_have_a_place_and_limits_a_name() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    for (formula, part) in [
        ("mu X. !X", "f.mcf:1:8"),
        ("<zap>true", "no action 'zap' is declared"),
        ("exists n: Nat. [receive(n)]false", "f.mcf:1:8: sort Nat of 'n' has too many values"),
    ] {
        let file = files.write("f.mcf", formula);
        let output = run(&["check", &spec, "--property", &file]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{formula}: {told}");
        assert!(told.contains(part), "{formula}: {told}");
    }
    let grows = files.write("grows.mcf", "nu X(n: Nat = 0). [true]X(n + 1)");
    let (report, exit) = json(&[&spec, "--property", &grows, "--max-memory", "150M"]);
    assert_eq!((exit, &report["verdict"]), (3, &"unknown".into()), "{report}");
    assert!(["max-positions", "max-memory"].map(Value::from).contains(&report["reason"]), "{report}");
}

/// The folders of all models.
fn families() -> Vec<PathBuf> {
    let mut directories: Vec<_> =
        fs::read_dir(models()).expect("models").map(|entry| entry.expect("an entry").path()).collect();
    directories.retain(|directory| directory.is_dir());
    directories.sort();
    assert_eq!(directories.len(), 14);
    directories
}

/// Every family of models has a formula that is no safety formula and holds, and a specification with a bug that breaks it. The run
/// that is shown is the same for every number of workers, and is one of the plain specification.
#[test]
fn expected_liveness_of_the_models() {
    let files = Files::new();
    for directory in families() {
        let table = fs::read_to_string(directory.join("expect.tsv")).expect("every family has one");
        let (mut verdicts, mut specifications) = (Vec::new(), Vec::new());
        for line in table.lines() {
            let cells: Vec<&str> = line.split('\t').collect();
            let [spec, _, _, _, LIVENESS, verdict, length, _] = cells[..] else { continue };
            let path = |name: &str| directory.join(name).display().to_string();
            let (spec, formula, saved) = (path(spec), path(LIVENESS), files.write("run.trace", ""));
            for workers in ["1", "2", "8"] {
                let (report, code) =
                    json(&[&spec, "--property", &formula, "--workers", workers, "--trace-out", &saved]);
                assert_eq!(report["verdict"], verdict, "{line}");
                assert_eq!(code, i32::from(verdict == "violated"), "{line}");
                let steps = report["trace"].as_array().map(|steps| steps.len().to_string());
                assert_eq!(steps.unwrap_or("-".to_owned()), length, "{line} with {workers} workers");
            }
            if verdict == "violated" {
                let output = run(&["replay", &spec, &saved]);
                assert_eq!(output.status.code(), Some(0), "{line}: {}", text(&output.stdout));
            }
            verdicts.push(verdict.to_owned());
            specifications.push(spec);
        }
        assert_eq!(verdicts, ["holds", "violated"], "{directory:?}");
        assert_ne!(specifications[0], specifications[1]);
    }
}

/// More properties, by their flags. A bug is a specification of its own, or a change of one: `OLD => NEW`.
#[test]
fn liveness_of_the_models_by_flags() {
    let files = Files::new();
    for directory in families() {
        let table = fs::read_to_string(directory.join("liveness.tsv")).expect("every family has one");
        let (mut hold, mut broken) = (Vec::new(), Vec::new());
        for line in table.lines().skip(1) {
            let cells: Vec<&str> = line.split('\t').collect();
            let [spec, options, verdict] = cells[..3] else { panic!("{line}") };
            let mut path = directory.join(spec).display().to_string();
            if let Some(seed) = cells.get(3) {
                let (old, new) = seed.split_once(" => ").unwrap_or_else(|| panic!("{line}"));
                let original = fs::read_to_string(&path).expect("a specification");
                assert_eq!(original.matches(old).count(), 1, "{line}");
                path = files.write("seeded.mcrl2", &original.replace(old, new));
            }
            let words: Vec<String> = options
                .split(' ')
                .map(|word| match word.ends_with(".mcf") {
                    true => directory.join(word).display().to_string(),
                    false => word.to_owned(),
                })
                .collect();
            let mut arguments = vec![path.as_str()];
            arguments.extend(words.iter().map(String::as_str));
            let (report, code) = json(&arguments);
            assert_eq!(
                (report["verdict"].as_str(), code),
                (Some(verdict), i32::from(verdict == "violated")),
                "{line}"
            );
            if verdict == "violated" {
                assert!(
                    report["trace"].as_array().is_some_and(|steps| !steps.is_empty()),
                    "{line}: {report}"
                );
            }
            match verdict {
                "holds" => hold.push(options),
                _ if cells.len() > 3 || spec.contains("-bug") => broken.push(options),
                _ => {}
            }
        }
        assert!(hold.iter().any(|options| broken.contains(options)), "{directory:?}: {hold:?}, {broken:?}");
    }
}

/// Which runs count: two independent processes, and two that need a third.
#[test]
fn justness_is_between_all_runs_and_fair_ones() {
    let files = Files::new();
    let apart =
        files.write("apart.mcrl2", "act a, b; proc P = a . P; Q = b . Q; init allow({a, b}, P || Q);");
    let shared = files.write(
        "shared.mcrl2",
        "act p, q, r, s, a, b; proc P = p . P; Q = q . Q; R = (r + s) . R;
         init allow({a, b}, comm({p|r -> a, q|s -> b}, P || Q || R));",
    );
    let verdict = |spec: &str, options: &[&str]| json(&[&[spec, "--inevitable", "b"], options].concat()).1;
    assert_eq!(verdict(&apart, &[]), 1);
    assert_eq!(verdict(&apart, &["--fair", "just"]), 0);
    assert_eq!(verdict(&apart, &["--fair", "full"]), 0);
    // Nobody need offer b; a may not be refused, but that helps nothing.
    assert_eq!(verdict(&apart, &["--fair", "just", "--blocking", "b"]), 1);
    assert_eq!(verdict(&apart, &["--fair", "just", "--blocking", "a"]), 0);
    // The third may always serve the other one, and a run shows it.
    assert_eq!(verdict(&shared, &["--fair", "just"]), 1);
    let (report, _) = json(&[&shared, "--inevitable", "b", "--fair", "just"]);
    assert!(report["repeats_from"].is_u64() && report["trace"][0]["label"] == "a", "{report}");
    assert_eq!(verdict(&shared, &["--fair", "full"]), 0);
    assert_eq!(json(&[&apart, "--response", "a", "b", "--fair", "just"]).1, 0);
    assert_eq!(json(&[&shared, "--response", "a", "b", "--fair", "just"]).1, 1);
    let output = run(&["check", &apart, "--inevitable", "b", "--fair", "just", "--tables", "on-demand"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("--fair just needs complete tables"), "{output:?}");
    let output = run(&["check", &apart, "--inevitable", "b", "--blocking", "a"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn what_holds_for_want_of_steps_is_told() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    let vacuous = |formula: &str| {
        let file = files.write("f.mcf", formula);
        let (report, exit) = json(&[&spec, "--property", &file]);
        assert_eq!(exit, 0, "{formula}: {report}");
        report["vacuous"].as_array().expect("a list").iter().map(|part| part.to_string()).collect::<Vec<_>>()
    };
    // Nothing with this value is ever received.
    assert_eq!(vacuous("[true* . receive(5)](mu X. ([!send(5)]X && <true>true))"), ["\"'receive(5)'\""]);
    // Some value is enough.
    let some: [String; 0] = [];
    assert_eq!(vacuous("forall n: Nat. val(n < 9) => [true* . receive(n)]<true>true || <lose>true"), some);
    // What is forbidden does not happen on purpose, and what goes round need not.
    assert_eq!(
        vacuous("[true*]([send(5)]false && <true>true) && mu X. ([!receive(_) && !break]X && <true>true)"),
        some
    );
    let output = run(&["check", &spec, "--response", "receive(5)", "send(5)"]);
    assert!(text(&output.stdout).contains("no step is 'receive(5)'"), "{output:?}");
    // What automata watch, whichever search: the first thing that never happens is named.
    let watched = "[true* . receive(0) . (!send(0))* . receive(7) . send(9) . lose]false";
    assert_eq!(vacuous(watched), ["\"'receive(7)'\""]);
    assert_eq!(vacuous("[true* . receive(0) . (!send(0) && !lose)* . receive(1)]false"), some);
    assert_eq!(vacuous("[true* . send(9)]false"), some);
    assert_eq!(
        vacuous("nu X. ([send(8)](forall n: Nat. [send(n)]val(n < 2)) && [true]X)"),
        ["\"'send(8)'\""]
    );
    let file = files.write("f.mcf", watched);
    for search in ["bfs", "dfs", "parts"] {
        let output = run(&["check", &spec, "--property", &file, "--search", search]);
        assert!(text(&output.stdout).contains("warning: no step is 'receive(7)'"), "{output:?}");
    }
    // An action that is hidden, or that cannot occur.
    let (report, _) = json(&[&spec, "--never", "idle"]);
    let warnings = report["warnings"].as_array().expect("a list");
    assert!(
        warnings.len() == 1 && warnings[0].as_str().is_some_and(|told| told.contains("'idle'")),
        "{report}"
    );
    assert_eq!(json(&[&spec, "--never", "lose"]).0["warnings"].as_array().map(Vec::len), Some(0));
}

/// Every search with every kind of property: it decides it as breadth first does, or it refuses it and names the searches
/// that can decide it.
#[test]
fn every_search_decides_or_refuses_every_property() {
    let files = Files::new();
    let spec = files.write("lossy.mcrl2", LOSSY);
    let safe = files.write("safe.mcf", "[true* . lose . lose]false");
    let diamond = files.write("diamond.mcf", "nu X. mu Y. (<lose>X || <!lose>Y)");
    let properties: [&[&str]; 12] = [
        &["--deadlock"],
        &["--allow-termination"],
        &["--never", "break"],
        &["--property", &safe],
        &["--property", &diamond],
        &["--possible", "lose"],
        &["--always-possible", "send(_)"],
        &["--inevitable", "break"],
        &["--inevitable", "break", "--fair", "full"],
        &["--inevitable", "break", "--fair", "just"],
        &["--response", "receive(_)", "send(_)"],
        &["--no-livelock"],
    ];
    let out = files.0.path().join("found").display().to_string();
    let searches: [&[&str]; 5] = [
        &["check", "--search", "dfs"],
        &["check", "--search", "isv"],
        &["check", "--search", "isv", "--jobs", "trace", "--subsystem", "auto", "--unroll", "1"],
        &["check", "--search", "parts"],
        &["hunt", "--budget", "1s", "--out", &out],
    ];
    let mut refused = 0;
    for property in properties {
        let expected = json(&[&[spec.as_str()], property].concat()).1;
        assert!(expected < 2, "{property:?}");
        for search in searches {
            let output = run(&[search, &[spec.as_str()], property].concat());
            let told = text(&output.stderr);
            match output.status.code() {
                Some(2) => {
                    refused += 1;
                    // A hunt has no --search itself.
                    let advice = match search[0] {
                        "hunt" => "use `gridlock check` with --search",
                        _ => "use --search",
                    };
                    assert!(
                        told.contains("cannot decide") && told.contains(advice),
                        "{search:?} {property:?}: {told}"
                    );
                }
                // A hunt proves nothing, and neither do bounded cycles.
                Some(3) => assert!(
                    search[0] == "hunt" || search.contains(&"--unroll"),
                    "{search:?} {property:?}: {told}"
                ),
                code => assert_eq!(code, Some(expected), "{search:?} {property:?}: {told}"),
            }
        }
    }
    // A hunt looks for runs against five of the eight that are no safety properties; the others decide none of them.
    assert_eq!(refused, 8 * (searches.len() - 1) + 3);
}
