//! Which deliberate mistakes do the tests notice?
//!
//!     mutants TREE RESULTS [--every N] [--longest SECONDS] FILE...
//!
//! TREE is a copy of the project that may be changed. Every mistake in the given files of it is compiled in, behind a
//! switch, so one build is enough for all of them. Then the tests run once without a mistake, to see which of them
//! come by where, and once for each mistake, quickest test first, until one fails. RESULTS gets a line for each
//! mistake: `noticed` (and by which test), `survived`, or `unreached`. Mistakes that RESULTS already has are not tried
//! again. With `--every N` only each Nth mistake is tried; with `--longest SECONDS` tests that take longer are left out,
//! unless no other comes by.

mod sites;

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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

struct Test {
    name: String,
    executable: PathBuf,
    folder: PathBuf,
    took: Duration,
    reaches: BTreeSet<u32>,
}

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let every = taken(&mut arguments, "--every")?.unwrap_or(1);
    let longest = taken(&mut arguments, "--longest")?.unwrap_or(u32::MAX);
    let [tree, results, files @ ..] = &arguments[..] else {
        return Err("usage: mutants TREE RESULTS [--every N] [--longest SECONDS] FILE...".into());
    };
    let tree = Path::new(tree).canonicalize()?;
    let sources = read(&tree, files)?;
    let count = sources.last().map_or(0, |last| last.first + last.sites.len() as u32);
    let excluded = compiled(&tree, &sources)?;
    eprintln!("{} mistakes, {} of them do not compile", count, excluded.len());
    let tests = tests(&tree)?;
    let known: BTreeSet<u32> = std::fs::read_to_string(results)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split('\t').next()?.parse().ok())
        .collect();
    let mut out = std::fs::OpenOptions::new().create(true).append(true).open(results)?;
    for source in &sources {
        for (id, site) in (source.first..).zip(&source.sites) {
            // Neighbouring numbers are alike; a stride that is prime to most spreads what is tried.
            if excluded.contains(&id) || known.contains(&id) || id % every != 0 {
                continue;
            }
            let verdict = tried(&tests, id, Duration::from_secs(longest.into()))?;
            let place = format!("{}:{}:{}", source.path.strip_prefix(&tree)?.display(), site.line, site.column);
            writeln!(out, "{id}\t{verdict}\t{place}\t{}", site.what)?;
        }
    }
    Ok(())
}

/// The value of an option, which is removed.
fn taken(arguments: &mut Vec<String>, name: &str) -> Result<Option<u32>> {
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
        let text = std::fs::read_to_string(&path)?;
        let sites = sites::sites(&text).map_err(|error| format!("{file}: {error}"))?;
        let first = next;
        next += sites.len() as u32;
        sources.push(Source { path, text, sites, first });
    }
    Ok(sources)
}

/// Puts all mistakes into the tree, apart from those that the compiler refuses, which it returns.
fn compiled(tree: &Path, sources: &[Source]) -> Result<BTreeSet<u32>> {
    std::fs::write(tree.join("lts/src/switches.rs"), include_str!("switches.rs"))?;
    let library = tree.join("lts/src/lib.rs");
    let text = std::fs::read_to_string(&library)?;
    if !text.contains("mod switches") {
        std::fs::write(&library, format!("{text}\npub mod switches;\n"))?;
    }
    let mut excluded = BTreeSet::new();
    loop {
        for source in sources {
            let switches = if source.path.starts_with(tree.join("lts")) { "crate::switches" } else { "gridlock_lts::switches" };
            let number = |at: usize| {
                let id = source.first + at as u32;
                (!excluded.contains(&id)).then_some(id)
            };
            std::fs::write(&source.path, sites::edited(&source.text, &source.sites, number, switches))?;
        }
        let refused = refused(tree)?;
        if refused.is_empty() {
            return Ok(excluded);
        }
        let before = excluded.len();
        excluded.extend(refused);
        if excluded.len() == before {
            return Err("the tree does not compile, and not because of a mistake".into());
        }
    }
}

/// The mistakes on lines that the compiler complains about.
fn refused(tree: &Path) -> Result<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    let mut errors = String::new();
    for message in cargo(tree, &["check"])? {
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

fn cargo(tree: &Path, arguments: &[&str]) -> Result<Vec<serde_json::Value>> {
    let mut command = Command::new("cargo");
    command.current_dir(tree).args(arguments).arg("--message-format=json");
    for package in PACKAGES {
        command.args(["-p", package]);
    }
    let output = command.stderr(Stdio::null()).env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").output()?;
    Ok(output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

/// Builds the tests and runs them without a mistake.
fn tests(tree: &Path) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    for message in cargo(tree, &["test", "--no-run"])? {
        let (Some(executable), true) = (message["executable"].as_str(), message["profile"]["test"] == true) else { continue };
        let manifest = Path::new(message["manifest_path"].as_str().ok_or("manifest_path")?);
        let seen = tree.join("target/mutants-seen");
        let _ = std::fs::remove_file(&seen);
        let mut test = Test {
            name: message["target"]["name"].as_str().unwrap_or_default().into(),
            executable: executable.into(),
            folder: manifest.parent().ok_or("manifest_path")?.into(),
            took: Duration::ZERO,
            reaches: BTreeSet::new(),
        };
        let start = Instant::now();
        if !test.passes(&[("MUTANTS_SEEN", seen.as_os_str())], 3_600)? {
            return Err(format!("{} fails without a mistake", test.name).into());
        }
        // Writing down what is reached is not what takes the time.
        test.took = start.elapsed();
        let seen = std::fs::read_to_string(&seen).unwrap_or_default();
        test.reaches = seen.lines().filter_map(|line| line.parse().ok()).collect();
        eprintln!("{}: {:.1} s, reaches {}", test.name, test.took.as_secs_f64(), test.reaches.len());
        tests.push(test);
    }
    if tests.is_empty() {
        return Err("the tests do not compile".into());
    }
    tests.sort_by_key(|test| test.took);
    Ok(tests)
}

fn tried(tests: &[Test], id: u32, longest: Duration) -> Result<String> {
    // Quickest first.
    let reached: Vec<&Test> = tests.iter().filter(|test| test.reaches.contains(&id)).collect();
    for (k, test) in reached.iter().enumerate() {
        if k > 0 && test.took > longest {
            break;
        }
        // Ten times as long is a loop without an end, which a person would notice.
        let seconds = 10 + 10 * test.took.as_secs();
        if !test.passes(&[("MUTANT", id.to_string().as_ref())], seconds)? {
            return Ok(format!("noticed by {}", test.name));
        }
    }
    Ok(if reached.is_empty() { "unreached" } else { "survived" }.into())
}

impl Test {
    /// Runs it within a limit of processor time, so that a busy machine changes nothing, and of memory.
    fn passes(&self, environment: &[(&str, &std::ffi::OsStr)], seconds: u64) -> Result<bool> {
        let environment: HashMap<_, _> = environment.iter().copied().collect();
        let mut command = Command::new("prlimit");
        command.arg(format!("--cpu={seconds}")).arg("--as=8589934592").arg("--core=0").arg(&self.executable);
        command.arg("--quiet").current_dir(&self.folder).envs(environment);
        Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?.success())
    }
}

