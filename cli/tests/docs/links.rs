//! Every link between the pages leads to a file, and to a heading if it names one.

use super::root;
use std::fs;
use std::path::{Path, PathBuf};

/// All pages that belong to the project.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut directories = vec![root()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                directories.push(path);
            } else if name.ends_with(".md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// The text without its code, in which brackets mean something else.
fn without_code(text: &str) -> String {
    let prose = text.lines().filter(|line| !line.starts_with("    "));
    let mut code = false;
    let mut out = String::new();
    for line in prose {
        if line.starts_with("```") {
            code = !code;
        } else if !code {
            out.extend(line.split('`').step_by(2));
            out.push('\n');
        }
    }
    out
}

/// The targets of links and pictures.
fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(link, _)| link)).collect()
}

/// The names by which headings can be linked to.
fn anchors(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_somewhere() {
    let (mut dead, mut followed) = (Vec::new(), 0);
    for page in pages() {
        let text = without_code(&fs::read_to_string(&page).unwrap());
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if file.is_empty() { page.clone() } else { page.parent().expect("a directory").join(file) };
            let there =
                target.exists() && (anchor.is_empty() || anchors(&target).iter().any(|a| a == anchor));
            if !there {
                dead.push(format!("{}: {link}", page.display()));
            }
            followed += 1;
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
    assert!(followed > 30, "only {followed} links");
}

#[test]
fn every_page_can_be_found_from_the_readme() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    for page in fs::read_dir(root().join("docs")).unwrap() {
        let name = page.unwrap().file_name().into_string().unwrap();
        assert!(!name.ends_with(".md") || text.contains(&format!("docs/{name}")), "{name}");
    }
}
