//! Recipes for containers and clusters, which the tests cannot run: the files that they name exist, versions are those of the
//! project, and shell or Python parts can be parsed.

use crate::{metadata, root};
use std::io::Write;
use std::process::{Command, Stdio};

const DOCKER: &str = "scripts/cluster/Dockerfile";
const APPTAINER: &str = "scripts/cluster/gridlock.def";
const SPACK: &str = "scripts/cluster/spack/packages/gridlock/package.py";
const EASYBUILD: &str = "scripts/cluster/gridlock-0.1.0-gompi-2025b.eb";

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The version of the project, and the oldest Rust that builds it.
fn versions() -> (String, String) {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let cli = packages.iter().find(|package| package["name"] == "gridlock").expect("the program");
    let text = |name: &str| cli[name].as_str().expect("a version").to_owned();
    (text("version"), text("rust_version"))
}

/// The text behind a word that occurs once, up to one of these characters.
#[track_caller]
fn after<'t>(text: &'t str, word: &str, ends: &[char]) -> &'t str {
    let (_, rest) = text.split_once(word).unwrap_or_else(|| panic!("no {word}"));
    rest.split(ends).next().unwrap_or_default()
}

/// Asserts that a program that only parses accepts a text.
fn readable(program: &str, arguments: &[&str], text: &str) {
    let child = Command::new(program).args(arguments).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    // Not every machine has Python; every one has a shell.
    let Ok(mut child) = child else { return assert_ne!(program, "sh", "a shell") };
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// The lines of a Dockerfile, joined where a line goes on.
fn instructions(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    lines.replace("\\\n", " ").lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

/// The packages that a line installs.
fn installed(text: &str) -> Vec<String> {
    let mut packages: Vec<String> = text
        .split("apt-get install")
        .skip(1)
        .flat_map(|rest| rest.lines().next().unwrap_or_default().split("&&").next())
        .flat_map(|names| names.split_whitespace())
        .filter(|word| !word.starts_with('-') && *word != "\\")
        .map(str::to_owned)
        .collect();
    packages.sort();
    packages
}

/// The folders of the workspace, and what cargo needs besides.
fn sources() -> Vec<String> {
    let manifest = read("Cargo.toml");
    let members = after(&manifest, "\nmembers = [", &[']']);
    let folders = members.split(',').map(|name| name.trim().trim_matches('"').to_owned());
    let mut all: Vec<String> = folders.chain(["Cargo.toml", "Cargo.lock"].map(str::to_owned)).collect();
    all.sort();
    all
}

#[test]
fn containers_copy_what_is_built_and_install_what_it_needs() {
    let (version, rust) = versions();
    let docker = read(DOCKER);
    let mut copied = Vec::new();
    for line in instructions(&docker) {
        match line.split_once(' ') {
            Some(("RUN", shell)) => readable("sh", &["-n"], shell),
            Some(("COPY", rest)) if !rest.starts_with("--from") => {
                let mut words: Vec<&str> = rest.split_whitespace().collect();
                words.pop();
                copied.extend(words.iter().map(|word| (*word).to_owned()));
            }
            Some(("COPY" | "FROM" | "WORKDIR" | "ENV" | "ENTRYPOINT" | "CMD", _)) => {}
            _ => panic!("{line}: no instruction that this test knows"),
        }
    }
    copied.sort();
    assert_eq!(copied, sources(), "{DOCKER}");
    assert_eq!(after(&docker, "FROM rust:", &['-']), rust, "{DOCKER}");

    let apptainer = read(APPTAINER);
    let (mut section, mut copied, mut shell) = (String::new(), Vec::new(), String::new());
    for line in apptainer.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('%') {
            section = name.to_owned();
        } else if line.starts_with("Bootstrap:") {
            section.clear();
        } else if section == "files" {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [from, to] = words[..] {
                assert_eq!(to, format!("/src/{from}"), "{APPTAINER}");
                copied.push(from.to_owned());
            }
        } else if ["post", "runscript", "test"].contains(&section.as_str()) {
            shell += &format!("{line}\n");
        }
    }
    copied.sort();
    assert_eq!(copied, sources(), "{APPTAINER}");
    readable("sh", &["-n"], &shell);
    assert_eq!(after(&apptainer, "From: rust:", &['-']), rust, "{APPTAINER}");
    assert_eq!(after(&apptainer, "Version ", &['\n']), version, "{APPTAINER}");

    // Both install the same, and build with what the tests of the project build with.
    assert_eq!(installed(&docker), installed(&apptainer));
    let tests = read("scripts/test");
    for package in ["openmpi-bin", "libopenmpi-dev", "libclang-dev"] {
        assert!(installed(&docker).iter().any(|name| name == package), "{package}");
        assert!(tests.contains(package), "{package}");
    }
    for (file, text) in [(DOCKER, &docker), (APPTAINER, &apptainer)] {
        let install = "cargo install --locked --path cli --features mpi --root /opt/gridlock";
        assert!(text.contains(install), "{file}");
    }
    assert!(read("cli/Cargo.toml").contains("\nmpi = "), "the feature");
}

#[test]
fn recipes_have_the_versions_of_the_project() {
    let (version, rust) = versions();
    let parse = "import ast, sys; ast.parse(sys.stdin.read())";
    let spack = read(SPACK);
    readable("python3", &["-c", parse], &spack);
    assert_eq!(after(&spack, "    version(\"", &['"']), version);
    assert_eq!(after(&spack, "gridlock@", &[' ']), version);
    assert_eq!(after(&spack, "depends_on(\"rust@", &[':']), rust);
    assert!(read("scripts/cluster/spack/repo.yaml").contains("\n  namespace: gridlock\n"));

    let easybuild = read(EASYBUILD);
    readable("python3", &["-c", parse], &easybuild);
    assert_eq!(after(&easybuild, "\nversion = '", &['\'']), version);
    assert_eq!(after(&easybuild, "gridlock-", &['/']), version);
    let toolchain = after(&easybuild, "\ntoolchain = {'name': '", &['}']).replace("', 'version': '", "-");
    let name = format!("scripts/cluster/gridlock-{version}-{}.eb", toolchain.trim_matches('\''));
    assert_eq!(name, EASYBUILD, "EasyBuild finds a recipe by its name");
    let number = |text: &str| -> Vec<u32> { text.split('.').filter_map(|part| part.parse().ok()).collect() };
    assert!(number(after(&easybuild, "('Rust', '", &['\''])) >= number(&rust));
    assert!(root().join(after(&easybuild, "start_dir = '", &['\''])).join("Cargo.toml").is_file());
}

/// `scripts/scale` computes from saved counts and measurements, without repeating them.
#[test]
fn larger_searches_are_computed_again() {
    let (dir, mut rows) = (tempfile::tempdir().expect("a directory"), Vec::new());
    let facts = dir.path().join("facts");
    let measured = "ring-3 level 4 0 1200 12 400 3\nring-3 run 4 1000 4000 9 1 1200 12 9792 3 2500 260 0.1\n\
                    cost ring-5 1000000 4000000 1500000 0.5 0.1 0.75 0.2\nthin 100 0.006\n";
    std::fs::write(&facts, measured).expect("written");
    for keep in ["1", "0.5"] {
        let mut script = Command::new("bash");
        script.arg(root().join("scripts/scale")).arg("--from").arg(&facts).env("KEEP", keep);
        let output = script.output().expect("bash starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        // Twelve pairs of ranks had something to send, a hundred states each.
        assert!(text.contains("| ring-3 | 4 | 1000 | 30.0 | 3 | 3 |"), "{text}");
        assert!(text.contains("| ring-5 | 1000000 | 400 | 100 |"), "{text}");
        assert!(text.contains("one state at two ranks: 60 us"), "{text}");
        let row = text.lines().find(|line| line.starts_with("| ring-5 | 1024 | 16 x 64 | 200 |"));
        let speedup = row.and_then(|row| row.split('|').nth(6)?.trim().parse::<f64>().ok());
        rows.push(speedup.unwrap_or_else(|| panic!("{text}")));
    }
    // 400 ns of 400 + 1.6 * 15/16 * 100, apart from what little levels and messages cost.
    assert!((700.0..745.0).contains(&rows[0]), "{rows:?}");
    assert!((rows[0] / rows[1] - 2.0).abs() < 0.05, "{rows:?}");
}
