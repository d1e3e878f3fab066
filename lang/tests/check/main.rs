//! The checker on small specifications: what it accepts, which sorts it infers, what it says about mistakes.

mod declarations;
mod inference;
mod mistakes;
mod models;

use gridlock_lang::check;
use gridlock_lang::diagnostic::Diagnostic;
use gridlock_lang::model::Model;
use gridlock_lang::syntax;

fn run(text: &str) -> Result<Model, Vec<Diagnostic>> {
    let spec = syntax::parse(text).unwrap_or_else(|e| panic!("syntax of {text:?}: {e:?}"));
    check::check(&spec)
}

fn shown(text: &str, error: &Diagnostic) -> String {
    let place = &text[error.span.start as usize..error.span.end as usize];
    match &error.help {
        Some(help) => format!("{place}: {} [{help}]", error.message),
        None => format!("{place}: {}", error.message),
    }
}

/// Checks a specification, with `init delta` if it has none. `expected` holds the beginning of each error, with the
/// underlined text in front; none means that it must be accepted.
#[track_caller]
fn check_spec(text: &str, expected: &[&str]) {
    let text = if text.contains("init ") { text.to_owned() } else { format!("{text} init delta;") };
    let found: Vec<String> = match run(&text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(|e| shown(&text, e)).collect(),
    };
    let same = found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| f.starts_with(e));
    assert!(same, "in {text}\nexpected {expected:#?}\nfound {found:#?}");
}

/// The sort that is inferred for an expression without any context.
#[track_caller]
fn check_sort(declarations: &str, vars: &str, expr: &str, expected: &str) {
    let params = if vars.is_empty() { String::new() } else { format!("({vars})") };
    let text = format!("{declarations} proc P{params} = ((true whr it = {expr} end)) -> tau; init delta;");
    let model = run(&text).unwrap_or_else(|errors| {
        panic!("{expr}: {:#?}", errors.iter().map(|e| shown(&text, e)).collect::<Vec<_>>())
    });
    let var = model.vars.iter().find(|v| &*v.name == "it").expect("the variable is in the model");
    assert_eq!(model.sort_name(var.sort), expected, "{expr}");
}
