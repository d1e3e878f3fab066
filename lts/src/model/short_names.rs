//! Short names of leaves, for lists that name leaves on every line.
//!
//! Invariant: the short names of a network differ from each other, and a name that is short already stays as it is.

use std::collections::BTreeMap;

/// A name of at most this many characters is short.
const SHORT: usize = 24;

/// A short name for each of some different names: `Controller` for `Controller([0, 0, 0, 0], idle, …)`.
pub fn short_names(names: &[&str]) -> Vec<String> {
    let is_long = |name: &str| name.chars().count() > SHORT;
    let mut owners: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *owners.entry(stem(name)).or_default() += 1;
    }
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut short = Vec::with_capacity(names.len());
    for &name in names {
        let stem = stem(name);
        let mut number = |of| {
            let number = numbers.entry(of).or_default();
            *number += 1;
            *number
        };
        short.push(if !is_long(name) {
            name.to_owned()
        } else if stem.is_empty() || is_long(stem) {
            // No call of a process, but its text: the beginning says most. The number keeps it apart from others.
            format!("{}…#{}", name.chars().take(SHORT - 4).collect::<String>(), number(""))
        } else if owners[stem] == 1 {
            stem.to_owned()
        } else {
            format!("{stem}(…)#{}", number(stem))
        });
    }
    short
}

/// The name of the process, if a name is a call of it.
fn stem(name: &str) -> &str {
    let is_identifier =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '\''));
    match name.split_once('(') {
        Some((stem, _)) if is_identifier(stem) => stem,
        None if is_identifier(name) => name,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::short_names;

    #[test]
    fn only_long_names_are_shortened_and_none_twice_alike() {
        let long = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10";
        let names = [
            "S(true)".to_owned(),
            format!("Controller({long})"),
            format!("P({long})"),
            format!("P({long}, 11)"),
            "P".to_owned(),
            format!("a . b . c . {long}"),
            format!("a . b . c . {long}, 11"),
        ];
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let short = short_names(&names);
        assert_eq!(short[..5], ["S(true)", "Controller", "P(…)#1", "P(…)#2", "P"]);
        let different: std::collections::BTreeSet<&String> = short.iter().collect();
        assert_eq!(different.len(), names.len());
        assert!(short.iter().all(|name| name.chars().count() <= 26), "{short:?}");
    }
}
