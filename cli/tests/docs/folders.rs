//! The folders of a crate are layers: of two folders, or a folder and a file beside it, at most one needs the other.

use crate::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rust files below a folder, tests left out.
fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if name.contains("tests") {
            continue;
        }
        if path.is_dir() {
            sources(&path, all);
        } else if name.ends_with(".rs") {
            all.push(path);
        }
    }
}

/// The path of the module that a file is.
fn module(source: &Path, file: &Path) -> Vec<String> {
    let relative = file.strip_prefix(source).expect("below").with_extension("");
    let mut path: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| last == "mod" || last == "lib") {
        path.pop();
    }
    path
}

/// The paths that a text names from the root of its crate, and from its own module upwards.
fn named(text: &str, own: &[String]) -> BTreeSet<Vec<String>> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut all = BTreeSet::new();
    for (start, first) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        // A word that only ends like this, or a later part of a path that was begun before.
        if code[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let mut base = if first == "crate::" { Vec::new() } else { own.to_vec() };
        let mut rest = &code[start..];
        while let Some(after) = rest.strip_prefix("super::") {
            base.pop();
            rest = after;
        }
        rest = rest.strip_prefix("crate::").unwrap_or(rest);
        let word = |text: &str| -> String {
            text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        let path = |text: &str| -> Vec<String> { text.split("::").take(2).map(word).collect() };
        let tails: Vec<Vec<String>> = match rest.strip_prefix('{') {
            // Of a list, the parts outside of inner lists.
            Some(list) => {
                let (mut depth, mut parts, mut part) = (0, Vec::new(), String::new());
                for c in list.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => parts.push(std::mem::take(&mut part)),
                        _ => part.push(c),
                    }
                }
                parts.push(part);
                parts.iter().map(|part| path(part.trim())).collect()
            }
            None => vec![path(rest)],
        };
        all.extend(tails.into_iter().map(|tail| base.iter().cloned().chain(tail).collect()));
    }
    all
}

/// Which modules of a folder need which others of it, by the paths in their files.
fn needs(source: &Path, folder: &[String]) -> BTreeMap<String, BTreeSet<String>> {
    let (mut files, mut edges) = (Vec::new(), BTreeMap::<String, BTreeSet<String>>::new());
    sources(source, &mut files);
    let here = |path: &[String]| path.strip_prefix(folder).and_then(|rest| rest.first()).cloned();
    let modules: Vec<Vec<String>> = files.iter().map(|file| module(source, file)).collect();
    let known: BTreeSet<String> = modules.iter().filter_map(|path| here(path)).collect();
    for (file, own) in files.iter().zip(&modules) {
        let Some(from) = here(own) else { continue };
        let text = fs::read_to_string(file).expect("text");
        for to in named(&text, own).iter().filter_map(|path| here(path)) {
            if to != from && known.contains(&to) {
                edges.entry(from.clone()).or_default().insert(to);
            }
        }
    }
    edges
}

fn reaches(edges: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(one) = next.pop() {
        for other in edges.get(&one).into_iter().flatten() {
            if other == to {
                return true;
            }
            if seen.insert(other.clone()) {
                next.push(other.clone());
            }
        }
    }
    false
}

#[test]
fn no_two_folders_need_each_other() {
    let mut looked_at = 0;
    for layer in ["lts/src", "lang/src", "worker/src", "manager/src", "cli/src", "lts/src/engine"] {
        let (top, below) = layer.split_once("/src").expect("a folder of sources");
        let source = root().join(top).join("src");
        let folder: Vec<String> =
            below.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let edges = needs(&source, &folder);
        assert!(!edges.is_empty(), "{layer}");
        for from in edges.keys() {
            if !root().join(layer).join(from).is_dir() {
                continue;
            }
            looked_at += 1;
            for to in &edges[from] {
                assert!(
                    !reaches(&edges, to, from),
                    "{layer}: {from} needs {to}, which needs {from}: {edges:#?}"
                );
            }
        }
    }
    assert!(looked_at > 20, "{looked_at}");
}

#[test]
fn a_cycle_is_seen() {
    let directory = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    write("lib.rs", "mod upper;\nmod lower;\n");
    write("upper/mod.rs", "// crate::other\nuse crate::{lower::{A, B}, plain};\n");
    write("lower.rs", "#[cfg(test)]\nmod tests {\n    use crate::upper;\n}\n");
    write("plain.rs", "");
    let edges = needs(directory.path(), &[]);
    assert_eq!(edges["upper"], ["lower", "plain"].map(str::to_owned).into());
    assert!(!reaches(&edges, "lower", "upper"));
    write("plain.rs", "fn f() {\n    super::upper::g()\n}\n");
    assert!(reaches(&needs(directory.path(), &[]), "plain", "upper"));
}
