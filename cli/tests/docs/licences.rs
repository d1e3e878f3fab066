//! Everything that is linked in may be used and passed on: the licences of all packages against the list in `deny.toml`.

use super::{metadata, root};

/// Whether a licence expression can be met with these licences.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    // Some packages write a slash for `OR`. Brackets occur around alternatives only.
    let expression = expression.replace('/', " OR ");
    let mut parts = Vec::new();
    let mut depth = 0;
    for word in expression.replace('(', " ( ").replace(')', " ) ").split_whitespace() {
        depth += i32::from(word == "(") - i32::from(word == ")");
        if word == "AND" && depth == 0 {
            parts.push(String::new());
        } else {
            if parts.is_empty() {
                parts.push(String::new());
            }
            let part = parts.last_mut().expect("there is one");
            part.push(' ');
            part.push_str(word.trim_matches(['(', ')']));
        }
    }
    let any =
        |part: &String| part.split(" OR ").any(|one| allowed.iter().any(|allowed| allowed == one.trim()));
    !parts.is_empty() && parts.iter().all(any)
}

#[test]
fn expressions_are_understood() {
    let allowed = ["MIT".to_owned(), "Unicode-3.0".to_owned()];
    for good in ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(GPL-3.0 OR MIT) AND Unicode-3.0"] {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND GPL-3.0", "MITX"] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}

#[test]
fn all_licences_are_allowed() {
    let config = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let list = config.split("allow = [").nth(1).and_then(|rest| rest.split(']').next()).expect("a list");
    let allowed: Vec<String> = list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50);
    for package in packages {
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(is_allowed(licence, &allowed), "{}: `{licence}`", package["name"]);
    }
}
