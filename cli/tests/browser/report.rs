//! The report of a swarm (`check --search isv --report FILE`), as a browser shows it.

use crate::chromium::Browser;
use serde_json::json;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Writes a report about a swarm along traces of one of the models and opens it.
fn open(browser: &mut Browser, model: &str, options: &[&str]) {
    open_any(browser, model, &[&["--jobs", "trace"], options].concat());
}

/// Writes a report about one of the models and opens it.
fn open_any(browser: &mut Browser, model: &str, options: &[&str]) {
    let directory = TempDir::new().expect("a directory");
    let page = directory.path().join("report.html");
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models").join(model);
    let mut check = Command::new(env!("CARGO_BIN_EXE_gridlock"));
    check.arg("check").arg(model).args(["--search", "isv", "--workers", "2", "--report"]);
    let checked = check.arg(&page).args(options).output().expect("gridlock runs");
    assert!(page.is_file(), "{checked:?}");
    browser.open(&format!("file://{}", page.display()));
}

/// Every picture of the swarm has a size and coloured shapes inside its borders.
fn assert_pictures(browser: &mut Browser, least: usize) {
    let pictures = browser.value(
        "[...document.querySelectorAll('svg.swarm')].map((svg) => {
            const frame = svg.getBoundingClientRect();
            const shapes = [...svg.querySelectorAll('rect')].filter((shape) => {
                const box = shape.getBoundingClientRect();
                const fill = getComputedStyle(shape).fill;
                return box.width > 0 && box.height > 0 && box.right <= frame.right + 1 && box.bottom <= frame.bottom + 1
                    && fill !== 'none' && fill !== 'rgb(0, 0, 0)';
            });
            return [frame.width, frame.height, shapes.length, svg.querySelectorAll('rect').length];
        })",
    );
    let pictures = pictures.as_array().expect("a list");
    assert!(pictures.len() >= least, "{pictures:?}");
    for picture in pictures {
        let number = |k: usize| picture[k].as_f64().expect("a number");
        assert!(number(0) > 500.0 && number(1) >= 18.0, "too small: {picture}");
        assert!(number(2) > 0.0 && number(2) == number(3), "shapes that nobody sees: {picture}");
    }
}

#[test]
fn a_swarm_that_holds() {
    let Some(mut browser) = Browser::start() else { return };
    open(&mut browser, "paxos/paxos-two.mcrl2", &["--subsystem", "Observer", "--never", "tau"]);
    assert_pictures(&mut browser, 3);
    assert!(browser.text("h1").starts_with("holds"), "{}", browser.text("h1"));
    let rows = browser.value("document.querySelectorAll('table tr').length").as_u64().expect("a number");
    assert!(rows > 8, "{rows}");
    // Nothing is wider than the page.
    assert_eq!(browser.value("document.documentElement.scrollWidth <= innerWidth"), json!(true));
    browser.assert_no_problems();
}

/// Jobs that repeat work: how much, which jobs, and which worker did what.
#[test]
fn a_swarm_that_repeats_itself() {
    let Some(mut browser) = Browser::start() else { return };
    let property = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/dkr/greatest.mcf");
    let jobs = ["--jobs", "prefix", "--subsystem", "Node(0)", "--property", property.to_str().expect("text")];
    let small = ["--borders", "off", "--job-states", "600", "--beyond", "stop", "--job-workers", "2"];
    open_any(&mut browser, "dkr/steps.mcrl2", &[&jobs[..], &small].concat());
    // IDs, a timeline for each worker, what each has expanded, and the work factor.
    assert_pictures(&mut browser, 4);
    for heading in ["Who expanded what", "Work factor over time", "Prefixes that repeat work"] {
        let there =
            format!("[...document.querySelectorAll('h2')].filter((h) => h.innerText === '{heading}').length");
        assert_eq!(browser.value(&there), json!(1), "{heading}");
    }
    assert_narrow(&mut browser);
    browser.assert_no_problems();
}

#[test]
fn a_swarm_with_a_counterexample() {
    let Some(mut browser) = Browser::start() else { return };
    open(&mut browser, "philosophers/philosophers-bug.mcrl2", &["--subsystem", "auto", "--unroll", "1"]);
    assert!(browser.text("h1").starts_with("violated"), "{}", browser.text("h1"));
    assert_pictures(&mut browser, 2);
    let chart = browser.value(
        "(() => {
            const svg = document.querySelector('.chart svg'), frame = svg.getBoundingClientRect();
            const inside = (part) => {
                const box = part.getBoundingClientRect();
                return box.width > 0 && box.left >= frame.left && box.right <= frame.right
                    && box.top >= frame.top && box.bottom <= frame.bottom;
            };
            const texts = [...svg.querySelectorAll('text')];
            return [frame.width, texts.length, texts.filter(inside).length, svg.querySelectorAll('.life').length];
        })()",
    );
    let number = |k: usize| chart[k].as_f64().expect("a number");
    assert!(number(0) > 300.0 && number(1) > 8.0 && number(3) > 2.0, "{chart}");
    assert!((number(1) - number(2)).abs() < 0.5, "texts beyond the border: {chart}");
    browser.assert_no_problems();
}

/// On a telephone, too, nothing is wider than the page: an element that needs more room scrolls by itself.
fn assert_narrow(browser: &mut Browser) {
    let size =
        |width| json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500 });
    for width in [400, 1280] {
        browser.call("Emulation.setDeviceMetricsOverride", size(width));
        let wide = browser.value("[document.documentElement.scrollWidth, innerWidth]");
        assert!(wide[0].as_u64() <= Some(width) && wide[1] == json!(width), "{width}: {wide}");
    }
    browser.call("Emulation.clearDeviceMetricsOverride", json!({}));
}

#[test]
fn slices_that_hold() {
    let Some(mut browser) = Browser::start() else { return };
    let property = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/ieee1394/no_ghost.mcf");
    let options = ["--subsystem", "Bus", "--property", property.to_str().expect("text")];
    open_any(&mut browser, "ieee1394/ieee1394-single.mcrl2", &options);
    assert!(browser.text("h1").starts_with("holds"), "{}", browser.text("h1"));
    assert_pictures(&mut browser, 1);
    // Numbers stand below each other.
    let ends = "new Set([...document.querySelectorAll('.figures td.n')].map((n) => n.getBoundingClientRect().right)).size";
    assert_eq!(browser.value(ends), json!(1));
    assert_narrow(&mut browser);
    browser.assert_no_problems();
}

#[test]
fn slices_with_a_counterexample_on_a_dark_page() {
    let Some(mut browser) = Browser::start() else { return };
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.call("Emulation.setEmulatedMedia", dark);
    open_any(&mut browser, "philosophers/philosophers-bug-8.mcrl2", &["--subsystem", "Philosopher(0)"]);
    assert!(browser.text("h1").starts_with("violated"), "{}", browser.text("h1"));
    assert_pictures(&mut browser, 1);
    assert!(browser.value("document.querySelectorAll('.chart .life').length").as_u64() > Some(8));
    assert_narrow(&mut browser);
    // Every text of the chart differs clearly from the page behind it.
    let dim = browser.value(
        "(() => {
            const light = (colour) => Math.max(...colour.match(/[0-9.]+/g).slice(0, 3).map(Number));
            const paper = light(getComputedStyle(document.body).backgroundColor);
            const texts = [...document.querySelectorAll('.chart text, h1, h2, p, td')];
            return texts.filter((text) => {
                const style = getComputedStyle(text);
                return Math.abs(light(text.closest('svg') ? style.fill : style.color) - paper) < 90;
            }).length;
        })()",
    );
    assert_eq!(dim, json!(0));
    browser.assert_no_problems();
}

#[test]
fn a_page_about_traces_on_a_telephone() {
    let Some(mut browser) = Browser::start() else { return };
    open(&mut browser, "twophase/twophase.mcrl2", &["--subsystem", "TransactionManager"]);
    assert!(browser.text(".note").contains("IDs 0 to 21 from left to right"), "{}", browser.text(".note"));
    assert_narrow(&mut browser);
    browser.assert_no_problems();
}
