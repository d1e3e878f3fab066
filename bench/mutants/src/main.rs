//! Which deliberate mistakes do the tests notice?
//!
//!     mutants TREE RESULTS [--every N] [--longest SECONDS] FILE...
//!
//! TREE is a copy of the project that may be changed. Every mistake in the given files of it is compiled in, behind a
//! switch, so one build is enough for all of them. Then each test function runs once without a mistake, to see where it
//! comes by and how long it takes, and for each mistake those run that come by it, until one fails. Tests that have
//! noticed much in little time come first. RESULTS gets a line for each mistake: `noticed` (and by which test),
//! `survived`, or `unreached`. Mistakes that RESULTS already has are not tried again, except those that survived if
//! `--again` is given.
//!
//! - `--package NAME`: only the tests of this package run; else those of `gridlock-lts` and `gridlock-lang`.
//! - `--tests NAMES`: only these test programs of it are built and run, as in `reference,data`.
//! - `--jobs N`: how many tests run at a time.
//! - `--every N`: only each Nth mistake is tried.
//! - `--longest SECONDS`: tests that take longer are left out.
//! - `--patience SECONDS`: a mistake has survived when tests have run so long without noticing it.
//!
//! All times are processor time, so that a busy machine changes little.

mod sites;

use std::collections::BTreeSet;
use std::error::Error;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use sites::Site;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PACKAGES: [&str; 2] = ["gridlock-lts", "gridlock-lang"];

struct Source {
    path: PathBuf,
    text: String,
    sites: Vec<Site>,
    /// The number of its first mistake.
    first: u32,
}

/// One test function.
struct Test {
    name: String,
    executable: PathBuf,
    folder: PathBuf,
    took: Duration,
    reaches: BTreeSet<u32>,
    /// How often it was asked about a mistake, and how many it noticed.
    asked: AtomicU32,
    noticed: AtomicU32,
}

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let package = taken::<String>(&mut arguments, "--package")?;
    let packages = package.as_ref().map_or(PACKAGES.to_vec(), |package| vec![package.as_str()]);
    let programs = taken::<String>(&mut arguments, "--tests")?.unwrap_or_default();
    let programs: Vec<&str> = programs.split(',').filter(|name| !name.is_empty()).collect();
    let jobs = taken(&mut arguments, "--jobs")?.unwrap_or(1);
    let every = taken(&mut arguments, "--every")?.unwrap_or(1);
    let longest = taken::<u32>(&mut arguments, "--longest")?.unwrap_or(3_600);
    let patience = taken::<u32>(&mut arguments, "--patience")?.unwrap_or(u32::MAX);
    let again =
        arguments.iter().position(|argument| argument == "--again").map(|at| arguments.remove(at)).is_some();
    let [tree, results, files @ ..] = &arguments[..] else {
        return Err("usage: mutants TREE RESULTS [--package NAME] [--tests NAMES] [--jobs N] [--every N] [--longest S] [--patience S] [--again] FILE...".into());
    };
    let tree = Path::new(tree).canonicalize()?;
    let sources = read(&tree, files)?;
    let count = sources.last().map_or(0, |last| last.first + last.sites.len() as u32);
    let excluded = compiled(&tree, &sources, &packages)?;
    eprintln!("{} mistakes, {} of them do not compile", count, excluded.len());
    let tests = tests(&tree, &packages, &programs, longest.into(), jobs)?;
    let known: BTreeSet<u32> = std::fs::read_to_string(results)
        .unwrap_or_default()
        .lines()
        .filter(|line| !again || !line.contains("\tsurvived\t"))
        .filter_map(|line| line.split('\t').next()?.parse().ok())
        .collect();
    let mut out = std::fs::OpenOptions::new().create(true).append(true).open(results)?;
    let sites =
        sources.iter().flat_map(|source| (source.first..).zip(&source.sites).map(move |site| (source, site)));
    // Neighbouring numbers are alike; a stride that is prime to most spreads what is tried.
    let wanted =
        sites.filter(|(_, (id, _))| !excluded.contains(id) && !known.contains(id) && id % every == 0);
    let patience = Duration::from_secs(patience.into());
    at_a_time(
        jobs,
        wanted,
        |(_, (id, _))| tried(&tests, *id, patience),
        |(source, (id, site)), verdict| {
            let place =
                format!("{}:{}:{}", source.path.strip_prefix(&tree)?.display(), site.line, site.column);
            Ok(writeln!(out, "{id}\t{verdict}\t{place}\t{}", site.what)?)
        },
    )
}

/// Works on items in several threads, and hands over each result as soon as it is there.
fn at_a_time<T: Send, R: Send>(
    jobs: usize,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(&T) -> Result<R> + Sync,
    mut done: impl FnMut(T, R) -> Result<()>,
) -> Result<()> {
    let items = Mutex::new(items);
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (items, work, sender) = (&items, &work, sender.clone());
            scope.spawn(move || {
                loop {
                    let Some(item) = items.lock().expect("no panic").next() else { return };
                    let result = work(&item).map_err(|error| error.to_string());
                    if sender.send((item, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        receiver.into_iter().try_for_each(|(item, result)| done(item, result?))
    })
}

/// The value of an option, which is removed.
fn taken<T: FromStr<Err: Error + 'static>>(arguments: &mut Vec<String>, name: &str) -> Result<Option<T>> {
    let Some(at) = arguments.iter().position(|argument| argument == name) else { return Ok(None) };
    let value = arguments.get(at + 1).ok_or(format!("{name} has no value"))?.parse()?;
    arguments.drain(at..at + 2);
    Ok(Some(value))
}

fn read(tree: &Path, files: &[String]) -> Result<Vec<Source>> {
    let mut next = 0;
    let mut sources = Vec::new();
    for file in files {
        let path = tree.join(file);
        // As it was before the first run.
        let original = tree.join("mutants-originals").join(file);
        if !original.exists() {
            std::fs::create_dir_all(original.parent().ok_or("a file has a folder")?)?;
            std::fs::copy(&path, &original)?;
        }
        let text = std::fs::read_to_string(original)?;
        let sites = sites::sites(&text).map_err(|error| format!("{file}: {error}"))?;
        let first = next;
        next += sites.len() as u32;
        sources.push(Source { path, text, sites, first });
    }
    Ok(sources)
}

/// Puts all mistakes into the tree, apart from those that the compiler refuses, which it returns.
fn compiled(tree: &Path, sources: &[Source], packages: &[&str]) -> Result<BTreeSet<u32>> {
    let switches = tree.join("lts/src/switches.rs");
    if !switches.exists() {
        std::fs::write(switches, include_str!("switches.rs"))?;
    }
    let library = tree.join("lts/src/lib.rs");
    let text = std::fs::read_to_string(&library)?;
    if !text.contains("mod switches") {
        std::fs::write(&library, format!("{text}\npub mod switches;\n"))?;
    }
    // What the compiler refused last time.
    let list = tree.join("mutants-refused");
    let mut excluded: BTreeSet<u32> = std::fs::read_to_string(&list)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect();
    loop {
        for source in sources {
            let switches = if source.path.starts_with(tree.join("lts")) {
                "crate::switches"
            } else {
                "gridlock_lts::switches"
            };
            let number = |at: usize| {
                let id = source.first + at as u32;
                (!excluded.contains(&id)).then_some(id)
            };
            let text = sites::edited(&source.text, &source.sites, number, switches);
            // A file that is written again is compiled again.
            if std::fs::read_to_string(&source.path)? != text {
                std::fs::write(&source.path, text)?;
            }
        }
        let refused = refused(tree, packages)?;
        if refused.is_empty() {
            return Ok(excluded);
        }
        let before = excluded.len();
        excluded.extend(refused);
        let lines: Vec<String> = excluded.iter().map(u32::to_string).collect();
        std::fs::write(&list, lines.join("\n"))?;
        if excluded.len() == before {
            return Err("the tree does not compile, and not because of a mistake".into());
        }
    }
}

/// The mistakes on lines that the compiler complains about.
fn refused(tree: &Path, packages: &[&str]) -> Result<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    let mut errors = String::new();
    for message in cargo(tree, packages, &["check"])? {
        if message["reason"] != "compiler-message" || message["message"]["level"] != "error" {
            continue;
        }
        errors.push_str(message["message"]["rendered"].as_str().unwrap_or_default());
        let notes = message["message"]["children"].as_array().into_iter().flatten();
        let parts = notes.chain([&message["message"]]);
        for span in parts.flat_map(|part| part["spans"].as_array().into_iter().flatten()) {
            for line in span["text"].as_array().into_iter().flatten() {
                for piece in line["text"].as_str().unwrap_or_default().split("switches::").skip(1) {
                    let call = piece.split_once('(').map_or("", |(_, arguments)| arguments);
                    let digits: String = call.chars().take_while(char::is_ascii_digit).collect();
                    numbers.extend(digits.parse::<u32>());
                }
            }
        }
    }
    if numbers.is_empty() && !errors.is_empty() {
        return Err(errors.into());
    }
    Ok(numbers)
}

fn cargo(tree: &Path, packages: &[&str], arguments: &[&str]) -> Result<Vec<serde_json::Value>> {
    let mut command = Command::new("cargo");
    command.current_dir(tree).args(arguments).arg("--message-format=json");
    for package in packages {
        command.args(["-p", package]);
    }
    let output = command
        .stderr(Stdio::null())
        .envs([("CARGO_PROFILE_DEV_OPT_LEVEL", "1"), ("CARGO_PROFILE_DEV_DEBUG", "0")])
        .output()?;
    Ok(output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect())
}

/// Builds the tests and runs each test function without a mistake. Those that take too long are left out.
fn tests(
    tree: &Path,
    packages: &[&str],
    programs: &[&str],
    longest: u64,
    jobs: usize,
) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    let mut arguments = vec!["test", "--no-run"];
    programs.iter().for_each(|name| arguments.extend(["--test", name]));
    for message in cargo(tree, packages, &arguments)? {
        let (Some(executable), true) = (message["executable"].as_str(), message["profile"]["test"] == true)
        else {
            continue;
        };
        let manifest = Path::new(message["manifest_path"].as_str().ok_or("manifest_path")?);
        let folder = manifest.parent().ok_or("manifest_path")?;
        let list =
            Command::new(executable).args(["--list", "--format", "terse"]).current_dir(folder).output()?;
        for name in String::from_utf8(list.stdout)?.lines().filter_map(|line| line.strip_suffix(": test")) {
            tests.push(Test {
                name: name.into(),
                executable: executable.into(),
                folder: folder.into(),
                took: Duration::ZERO,
                reaches: BTreeSet::new(),
                asked: AtomicU32::new(0),
                noticed: AtomicU32::new(0),
            });
        }
    }
    let mut kept = Vec::new();
    let numbered = tests.into_iter().enumerate();
    at_a_time(
        jobs,
        numbered,
        |(number, test)| {
            let seen = tree.join(format!("target/mutants-seen-{number}"));
            let _ = std::fs::remove_file(&seen);
            let (passes, took) = test.run(&[("MUTANTS_SEEN", seen.as_os_str())], longest)?;
            let reaches = std::fs::read_to_string(&seen).unwrap_or_default();
            let reaches: BTreeSet<u32> = reaches.lines().filter_map(|line| line.parse().ok()).collect();
            Ok((passes, took, reaches))
        },
        |(_, test), (passes, took, reaches)| {
            if !passes {
                eprintln!("left out, too long or failing without a mistake: {}", test.name);
            } else if !reaches.is_empty() {
                eprintln!("{:.2} s, reaches {:4}: {}", took.as_secs_f64(), reaches.len(), test.name);
                kept.push(Test { took, reaches, ..test });
            }
            Ok(())
        },
    )?;
    if kept.is_empty() {
        return Err("no test, or the tests do not compile".into());
    }
    Ok(kept)
}

fn tried(tests: &[Test], id: u32, patience: Duration) -> Result<String> {
    let mut reached: Vec<(f64, &Test)> =
        tests.iter().filter(|test| test.reaches.contains(&id)).map(|test| (test.promise(), test)).collect();
    if reached.is_empty() {
        return Ok("unreached".into());
    }
    reached.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut spent = Duration::ZERO;
    for (_, test) in reached {
        // Five times as long is a loop without an end, which a person would notice.
        let seconds = 2 + 5 * test.took.as_secs();
        test.asked.fetch_add(1, Relaxed);
        if !test.run(&[("MUTANT", id.to_string().as_ref())], seconds)?.0 {
            test.noticed.fetch_add(1, Relaxed);
            return Ok(format!("noticed by {}", test.name));
        }
        spent += test.took;
        if spent > patience {
            break;
        }
    }
    Ok("survived".into())
}

/// Runs what it is given, and says what processor time it took.
const TIMED: &str = r#""$@" >/dev/null 2>&1; s=$?; times; exit $s"#;

impl Test {
    /// How many mistakes it is likely to notice in a second.
    fn promise(&self) -> f64 {
        let (noticed, asked) = (self.noticed.load(Relaxed), self.asked.load(Relaxed));
        f64::from(noticed + 1) / f64::from(asked + 3) / (0.01 + self.took.as_secs_f64())
    }

    /// Runs it within a limit of processor time, so that a busy machine changes nothing, and of memory: whether it
    /// passes, and the processor time that it took.
    fn run(&self, environment: &[(&str, &OsStr)], seconds: u64) -> Result<(bool, Duration)> {
        let mut command = Command::new("bash");
        command.args(["-c", TIMED, "timed", "prlimit", "--core=0", "--as=4294967296"]);
        command
            .arg(format!("--cpu={seconds}"))
            .arg(&self.executable)
            .args(["--exact", &self.name, "--quiet"]);
        command.current_dir(&self.folder).envs(environment.iter().copied());
        let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
        // As in "0m1.250s 0m0.010s", user and system: a line for the shell, and one for what it ran.
        let seconds = |text: &str| -> Option<f64> {
            let (minutes, seconds) = text.trim_end_matches('s').split_once('m')?;
            Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
        };
        let times = String::from_utf8(output.stdout)?;
        let took: Option<f64> =
            times.lines().nth(1).unwrap_or_default().split_whitespace().map(seconds).sum();
        Ok((output.status.success(), Duration::from_secs_f64(took.ok_or("bash tells no times")?)))
    }
}
