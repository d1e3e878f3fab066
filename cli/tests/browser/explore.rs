//! `gridlock explore`, used by clicks and keys.

use crate::chromium::Browser;
use gridlock_lts::model::trace_file::TraceFile;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A server, ended with the test.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start(directory: &Path, arguments: &[&str]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gridlock"));
        command.arg("explore").args(arguments).current_dir(directory);
        let mut process =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("gridlock starts");
        let mut url = String::new();
        let out = process.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut url).expect("an address");
        Server { process, url: url.trim().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/abp")
}

fn is_at(browser: &mut Browser, position: &str) {
    browser.wait_for(&format!("document.getElementById('position').textContent === {}", json!(position)));
}

/// The local state of a process, as its card shows it.
fn state(browser: &mut Browser, leaf: &str) -> String {
    let card = format!("article[data-name={}] .head", json!(leaf));
    browser
        .value(&format!("document.querySelector({}).title", json!(card)))
        .as_str()
        .expect("text")
        .to_owned()
}

#[test]
fn a_walk_by_mouse_and_keys() {
    let Some(mut browser) = Browser::start() else { return };
    let server = Server::start(&models(), &["abp.mcrl2"]);
    browser.open(&server.url);
    is_at(&mut browser, "step 0 of 0");
    assert_eq!(browser.value("document.querySelectorAll('.leaf').length"), 4);
    assert_eq!(state(&mut browser, "Sender(zero)"), "Sender(due = zero)");
    assert_eq!(browser.value("document.querySelectorAll('.action').length"), 2);

    browser.click(".action[data-number='2']");
    is_at(&mut browser, "step 1 of 1");
    assert_eq!(state(&mut browser, "Sender(zero)"), "Transmit(d = d2, due = zero)");
    let changed = "[...document.querySelectorAll('.leaf.changed')].map((card) => card.dataset.name)";
    assert_eq!(browser.value(changed), json!(["Sender(zero)"]));
    let group = browser.text(".group");
    assert!(group.contains("Sender(zero)") && group.contains("FrameChannel"), "{group}");

    browser.click(".action[data-number='1']");
    is_at(&mut browser, "step 2 of 2");
    assert_eq!(state(&mut browser, "FrameChannel"), "FrameChannel line 37(d = d2, b = zero)");
    let source = browser.text("article[data-name='FrameChannel'] .source");
    assert!(source.contains("leave_frame(d, b) + frame_lost"), "{source}");
    assert_eq!(browser.value("document.querySelectorAll('#chart .at').length"), 2);
    let chart = browser.text("#chart");
    assert!(chart.contains("accept(d2)") && chart.contains("frame_sent(d2, zero)"), "{chart}");

    // Back by the button, by a key, and to a step by a click into the history.
    browser.click("#back");
    is_at(&mut browser, "step 1 of 2");
    assert_eq!(state(&mut browser, "Sender(zero)"), "Transmit(d = d2, due = zero)");
    browser.press("ArrowLeft");
    is_at(&mut browser, "step 0 of 2");
    assert_eq!(state(&mut browser, "Sender(zero)"), "Sender(due = zero)");
    browser.press("End");
    is_at(&mut browser, "step 2 of 2");
    browser.click("#chart .at[data-step='1'] .row");
    is_at(&mut browser, "step 1 of 2");
    // The step that was taken before is the next one again, another one makes a new end.
    browser.press("1");
    is_at(&mut browser, "step 2 of 2");
    browser.press("Home");
    is_at(&mut browser, "step 0 of 2");
    browser.press("1");
    is_at(&mut browser, "step 1 of 1");
    assert_eq!(state(&mut browser, "Sender(zero)"), "Transmit(d = d1, due = zero)");

    browser.press("r");
    is_at(&mut browser, "step 2 of 2");
    browser.press("/");
    for key in ["l", "o", "s", "t"] {
        browser.press(key);
    }
    browser.wait_for("document.querySelectorAll('.action').length === 1");
    assert!(browser.text(".action .label").contains("lost"));
    browser.press("Enter");
    is_at(&mut browser, "step 3 of 3");
    browser.value("window.before = true");
    browser.call("Page.reload", json!({}));
    browser.wait_for("window.before === undefined && document.body !== null");
    is_at(&mut browser, "step 3 of 3");
    browser.assert_no_problems();
}

#[test]
fn a_counterexample_is_walked() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = TempDir::new().expect("a directory");
    for name in ["abp-bug.mcrl2", "order.mcf"] {
        fs::copy(models().join(name), directory.path().join(name)).expect("a copy");
    }
    let mut check = Command::new(env!("CARGO_BIN_EXE_gridlock"));
    check.args(["check", "abp-bug.mcrl2", "--property", "order.mcf", "--trace-out", "why.trace"]);
    let checked = check.current_dir(directory.path()).output().expect("gridlock runs");
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
    let file = directory.path().join("why.trace");
    let trace = TraceFile::read(&fs::read_to_string(&file).expect("a file")).expect("a trace");
    let length = trace.steps.len();
    assert!(length > 3);

    let server = Server::start(directory.path(), &["abp-bug.mcrl2"]);
    browser.open(&server.url);
    is_at(&mut browser, "step 0 of 0");
    browser.choose("#file", &file);
    is_at(&mut browser, &format!("step {length} of {length}"));
    assert!(browser.text("#note").contains(&format!("{length} steps")));
    // In any order: every step leads those who take part to where the file says.
    for number in (1..=length).rev().chain([2]) {
        browser.click(&format!("#chart .at[data-step='{number}'] .row"));
        is_at(&mut browser, &format!("step {number} of {length}"));
        for part in &trace.steps[number - 1].parts {
            assert_eq!(state(&mut browser, &part.leaf), part.state, "step {number}");
        }
    }
    fs::write(directory.path().join("wrong.trace"), "accept(d1)\nno_such_action\n").expect("a file");
    browser.choose("#file", &directory.path().join("wrong.trace"));
    is_at(&mut browser, "step 1 of 1");
    let note = browser.text("#note");
    assert!(note.contains("after 1 of 2 steps, `no_such_action` is not possible"), "{note}");
    browser.assert_no_problems();

    let server = Server::start(directory.path(), &["abp-bug.mcrl2", "--trace", "why.trace"]);
    browser.open(&server.url);
    is_at(&mut browser, &format!("step {length} of {length}"));
    browser.assert_no_problems();

    // A page of another origin gets nothing.
    browser.open("data:text/html,<p>elsewhere");
    let asked = format!("fetch('{}start').then((a) => a.text(), () => 'refused')", server.url);
    assert_eq!(browser.value(&asked), "refused");
}

#[test]
fn very_many_actions_are_counted_and_filtered() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = TempDir::new().expect("a directory");
    let many = "act a: Nat # Nat; proc P = sum n, m: Nat . (n < 100 && m < 100) -> a(n, m) . P; init P;";
    fs::write(directory.path().join("many.mcrl2"), many).expect("a file");
    let server = Server::start(directory.path(), &["many.mcrl2"]);
    browser.open(&server.url);
    is_at(&mut browser, "step 0 of 0");
    assert_eq!(browser.text("#count"), "(10,000)");
    assert_eq!(browser.value("document.querySelectorAll('.action').length"), 200);
    assert!(browser.text("#actions").contains("9,800 more"));
    browser.press("/");
    for key in "97, 98".chars() {
        browser.press(&key.to_string());
    }
    browser.wait_for("document.getElementById('count').textContent === '(1 of 10,000)'");
    browser.press("Enter");
    is_at(&mut browser, "step 1 of 1");
    assert!(browser.text("#chart").contains("a(97, 98)"));
    browser.assert_no_problems();
}

#[test]
fn many_processes_leave_room_for_the_actions() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = TempDir::new().expect("a directory");
    let many = "act step: Pos; proc P(n: Pos) = step(n) . P(n);
        K(n: Pos) = (n > 1) -> (P(n) || K(Int2Pos(n - 1))) <> P(1); init allow({step}, K(40));";
    fs::write(directory.path().join("many.mcrl2"), many).expect("a file");
    let server = Server::start(directory.path(), &["many.mcrl2"]);
    browser.open(&server.url);
    is_at(&mut browser, "step 0 of 0");
    assert_eq!(browser.value("document.querySelectorAll('.leaf').length"), 40);
    let first = "document.querySelector('.action').getBoundingClientRect().bottom < innerHeight";
    assert_eq!(browser.value(first), json!(true), "the first action is in sight");
    // The step is far to the right in the chart, once many have taken part in something.
    for (taken, number) in (1..=40).step_by(3).enumerate() {
        browser.click(&format!(".action[data-number='{number}']"));
        is_at(&mut browser, &format!("step {0} of {0}", taken + 1));
    }
    let seen = "(() => {
        const frame = document.getElementById('chart').getBoundingClientRect();
        const box = document.querySelector('#chart .at.current .box').getBoundingClientRect();
        return box.left >= frame.left && box.right <= frame.right;
    })()";
    assert_eq!(browser.value(seen), json!(true), "the last step is in sight");
    browser.press("Home");
    is_at(&mut browser, "step 0 of 14");
    browser.press("ArrowRight");
    is_at(&mut browser, "step 1 of 14");
    assert_eq!(browser.value(seen), json!(true), "the first step is in sight");
    // The names stay where they are while the steps scroll below them.
    let names = "(() => {
        const chart = document.getElementById('chart');
        chart.scrollTop = 200;
        const names = document.querySelector('#names svg').getBoundingClientRect();
        return chart.scrollTop === 0 || Math.abs(names.top - chart.getBoundingClientRect().top) < 3;
    })()";
    assert_eq!(browser.value(names), json!(true));
    let shifted = "(() => {
        const left = (part) => part.getBoundingClientRect().left;
        const lines = [...document.querySelectorAll('#chart .life')].map(left);
        const names = [...document.querySelectorAll('#names rect')].map((r) => left(r) + r.getBoundingClientRect().width / 2);
        return [names.length, Math.max(...names.map((name, k) => Math.abs(name - lines[k])))];
    })()";
    let shifted = browser.value(shifted);
    assert!(shifted[0] == json!(14) && shifted[1].as_f64() < Some(2.0), "{shifted}");
    browser.assert_no_problems();
}
