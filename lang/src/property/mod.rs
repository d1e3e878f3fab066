//! Properties in the user's words: patterns of forbidden transitions and formula files.
//!
//! The stages of a formula: text → syntax tree → names and sorts checked against the specification (`resolve`) →
//! obligations with values for all variables (`safety`, `instantiate`) → automata (`automaton`) over the classes of steps
//! that its action formulas tell apart (`predicate`), which are decided by the actions behind labels (`labels`,
//! `occurrence`). What comes out are properties of [`gridlock_lts::property`], which every search supports. What is no
//! safety formula becomes equations for a game (`calculus`), which fewer searches do.
//!
//! Invariant: a formula is translated exactly or refused. Nothing that is not understood is left out.

mod automaton;
mod calculus;
mod guard;
mod instantiate;
mod labels;
mod occurrence;
mod predicate;
mod reach;
mod resolve;
mod safety;
mod sight;

use crate::data::eval::Evaluator;
use crate::diagnostic::{Diagnostic, Span};
use crate::model::Model;
use crate::network::build::Builder;
use crate::places::Places;
use crate::syntax::formula::StateFormula;
use crate::syntax::{parse_action_pattern, parse_formula, with_deep_stack};
use automaton::{Regular, TooLarge, Watch, with_the_end};
use calculus::Calculus;
use gridlock_lts::property::formula::Equations;
use gridlock_lts::property::{Monitor, Property};
use instantiate::Instantiation;
use labels::{ActPattern, LabelPattern, Steps, TERMINATE};
use occurrence::Occurrence;
use predicate::{Classes, Patterns, Predicate};
pub use resolve::Unseen;
use resolve::{Meanings, Reading, Resolver, in_pattern};
use safety::{Collector, Kind, Obligation};
pub use sight::Sight;
use std::sync::Arc;

/// The property that no reachable transition matches a pattern such as `send(_, true)|ack`.
///
/// A pattern matches a label as a whole; a name without parentheses matches any arguments. Places of errors are places
/// in `pattern`.
pub fn never(builder: &Builder, sight: &Sight, pattern: &str) -> Result<Property, Vec<Diagnostic>> {
    with_deep_stack(|| {
        let tree = parse_action_pattern(pattern)?;
        let occurrence = Occurrence::of(builder);
        let mut resolver = Resolver::new(builder, &occurrence, sight);
        for action in &tree.actions {
            resolver.action(&action.name, in_pattern(&action.arguments));
        }
        let (meanings, model) = resolver.finish()?;
        let instantiation = Instantiation::new(evaluator(builder, &Arc::new(model)), &meanings);
        let readings: Vec<&[Reading]> = tree.actions.iter().map(|a| meanings.readings(&a.name)).collect();
        let patterns: Vec<LabelPattern> =
            instantiation.label_patterns(&readings, tree.span).map_err(|error| vec![error])?;
        let steps = Steps::new(builder.label_actions(), sight.clone(), instantiation.evaluator);
        Ok(Property::Never(Box::new(move |net, vector| {
            steps.of(net, vector).is_some_and(|doing| patterns.iter().any(|p| steps.matches(p, &doing)))
        })))
    })
}

/// The properties that a formula file stands for, each with its name for reports: `file`, followed by the number of the
/// conjunct if there are several, and by the values of the variables if it is quantified.
///
/// There is always at least one; a formula that is trivially true gives one that holds everywhere. Places of errors are
/// places in `text`.
pub fn formula(
    builder: &Builder,
    sight: &Sight,
    file: &str,
    text: &str,
) -> Result<Vec<(String, Property)>, Vec<Diagnostic>> {
    with_deep_stack(|| {
        let tree = parse_formula(text)?;
        let occurrence = Occurrence::of(builder);
        let mut resolver = Resolver::new(builder, &occurrence, sight);
        resolver.formula(&tree);
        let (meanings, model) = resolver.finish()?;
        let model = Arc::new(model);
        let mut instantiation = Instantiation::new(evaluator(builder, &model), &meanings);
        instantiation
            .patterns
            .add_end(LabelPattern::new(vec![ActPattern { name: TERMINATE, args: Some(Vec::new()) }]));
        let monitors = Collector::collect(&mut instantiation, &tree.state).and_then(|obligations| {
            let (patterns, predicates) = (&instantiation.patterns, &instantiation.predicates);
            let steps = Steps::new(builder.label_actions(), sight.clone(), evaluator(builder, &model));
            translate(file, tree.state.span, obligations, patterns, predicates, &Arc::new(steps))
        });
        match monitors {
            Ok(properties) => Ok(properties),
            Err(error) if instantiation.data_failed.get() => Err(vec![error]),
            // What no monitor decides, a game does.
            Err(_) => {
                let calculus = calculus(builder, sight, (file, text), &meanings, &model, &tree.state);
                let calculus = calculus.map_err(|error| vec![error])?;
                Ok(vec![(file.to_owned(), Property::Formula(Box::new(calculus)))])
            }
        }
    })
}

/// A formula as equations, also if automata watch it: what it asks for after which steps is known of these only. `None` for what
/// [`formula`] refuses.
pub fn equations(builder: &Builder, sight: &Sight, file: &str, text: &str) -> Option<Box<dyn Equations>> {
    with_deep_stack(|| {
        let tree = parse_formula(text).ok()?;
        let occurrence = Occurrence::of(builder);
        let mut resolver = Resolver::new(builder, &occurrence, sight);
        resolver.formula(&tree);
        let (meanings, model) = resolver.finish().ok()?;
        let model = Arc::new(model);
        let calculus = calculus(builder, sight, (file, text), &meanings, &model, &tree.state).ok()?;
        Some(Box::new(calculus) as Box<dyn Equations>)
    })
}

/// The equations of a formula whose names were checked. `named` is the name of its file, and its text.
fn calculus(
    builder: &Builder,
    sight: &Sight,
    named: (&str, &str),
    meanings: &Meanings,
    model: &Arc<Model>,
    formula: &StateFormula,
) -> Result<Calculus, Diagnostic> {
    let steps = Steps::new(builder.label_actions(), sight.clone(), evaluator(builder, model));
    Calculus::new(meanings, evaluator(builder, model), steps, Places::new(named.1, named.0), formula)
}

/// The actions of a pattern that no step of the system can be seen to have, and why. Each once, in the order of the text.
pub fn unseen_in_pattern(
    builder: &Builder,
    sight: &Sight,
    pattern: &str,
) -> Result<Vec<(String, Unseen)>, Vec<Diagnostic>> {
    with_deep_stack(|| {
        let tree = parse_action_pattern(pattern)?;
        let occurrence = Occurrence::of(builder);
        let mut resolver = Resolver::new(builder, &occurrence, sight);
        for action in &tree.actions {
            resolver.action(&action.name, in_pattern(&action.arguments));
        }
        resolver.unseen()
    })
}

/// The same for a formula file.
pub fn unseen_in_formula(
    builder: &Builder,
    sight: &Sight,
    text: &str,
) -> Result<Vec<(String, Unseen)>, Vec<Diagnostic>> {
    with_deep_stack(|| {
        let tree = parse_formula(text)?;
        let occurrence = Occurrence::of(builder);
        let mut resolver = Resolver::new(builder, &occurrence, sight);
        resolver.formula(&tree);
        resolver.unseen()
    })
}

/// The data of properties has the same step limit as that of the specification.
fn evaluator(builder: &Builder, model: &Arc<Model>) -> Evaluator {
    Evaluator::new(model.clone(), builder.step_limit())
}

/// How many monitors a formula has before one watches several of its parts.
const MOST_MONITORS: usize = 256;

/// How many parts it then watches. The work grows with the square of this, the number of monitors falls.
const GROUP: usize = 64;

fn translate(
    file: &str,
    span: Span,
    obligations: Vec<Obligation>,
    patterns: &Patterns,
    predicates: &[Predicate],
    steps: &Arc<Steps>,
) -> Result<Vec<(String, Property)>, Diagnostic> {
    let mut deadlocks = Vec::new();
    let mut kept = Vec::new();
    for obligation in obligations {
        // Freedom from deadlock has no variables: once is enough of each kind.
        if matches!(obligation.kind, Kind::Deadlock(_)) {
            let property = property(String::new(), &obligation, span, patterns, predicates, steps)?;
            let Property::DeadlockFree { allow_termination } = property else { continue };
            if deadlocks.contains(&allow_termination) {
                continue;
            }
            deadlocks.push(allow_termination);
        }
        kept.push(obligation);
    }
    if kept.len() > MOST_MONITORS {
        return in_groups(file, span, kept, patterns, predicates, steps);
    }
    let several = kept.len() > 1;
    let mut properties = Vec::new();
    for (number, obligation) in kept.into_iter().enumerate() {
        let mut name = file.to_owned();
        if several {
            name.push_str(&format!(" #{}", number + 1));
        }
        if !obligation.bindings.is_empty() && obligation.kind == Kind::Word {
            name.push_str(&format!(" ({})", obligation.bindings));
        }
        let property = property(name.clone(), &obligation, span, patterns, predicates, steps)?;
        properties.push((name, property));
    }
    if properties.is_empty() {
        properties.push((file.to_owned(), Property::Never(Box::new(|_, _| false))));
    }
    Ok(properties)
}

/// The properties of a formula with many parts: a monitor watches [`GROUP`] of them at once. Where that needs too large
/// an automaton, each has its own.
fn in_groups(
    file: &str,
    span: Span,
    obligations: Vec<Obligation>,
    patterns: &Patterns,
    predicates: &[Predicate],
    steps: &Arc<Steps>,
) -> Result<Vec<(String, Property)>, Diagnostic> {
    let mut properties = Vec::new();
    let (words, others): (Vec<_>, Vec<_>) = obligations.into_iter().partition(|o| o.kind == Kind::Word);
    for obligation in &others {
        properties.push((
            file.to_owned(),
            property(file.to_owned(), obligation, span, patterns, predicates, steps)?,
        ));
    }
    for (group, members) in words.chunks(GROUP).enumerate() {
        let first = group * GROUP + 1;
        let name = format!("{file} #{first}–#{}", first + members.len() - 1);
        let all = members.iter().map(|o| o.words.clone()).collect();
        let together = Obligation { words: Regular::Choice(all), kind: Kind::Word, bindings: String::new() };
        if let Ok(property) = property(name.clone(), &together, span, patterns, predicates, steps) {
            properties.push((name, property));
            continue;
        }
        for (at, member) in members.iter().enumerate() {
            let name = format!("{file} #{} ({})", first + at, member.bindings);
            properties.push((name.clone(), property(name, member, span, patterns, predicates, steps)?));
        }
    }
    Ok(properties)
}

fn property(
    name: String,
    obligation: &Obligation,
    span: Span,
    patterns: &Patterns,
    predicates: &[Predicate],
    steps: &Arc<Steps>,
) -> Result<Property, Diagnostic> {
    let mut used = Vec::new();
    let words = renumbered(&obligation.words, &mut used);
    let mut predicates: Vec<Predicate> = used.iter().map(|p| predicates[*p as usize].clone()).collect();
    if matches!(obligation.kind, Kind::Deadlock(_)) {
        // Whether a step is the end must be told even if the formula does not ask.
        predicates.push(Predicate::Matches(patterns.end()));
    }
    let classes = Classes::new(patterns, &predicates).map_err(|_| {
        Diagnostic::new(span, "one transition can match the actions of this formula in too many combinations")
            .help("use fewer patterns with '_' for different arguments of the same action")
    })?;
    let too_large = |_: TooLarge| {
        Diagnostic::new(span, "the automaton of this formula is too large")
            .help("split the formula, or use fewer repetitions and values")
    };
    if let Kind::Deadlock(place) = obligation.kind {
        // A run has at most one end, and nothing behind it.
        let end = classes.truths.iter().position(|truths| truths.last() == Some(&true)).unwrap_or_default();
        if let Some(ended) = with_the_end(&words, &classes.truths, end).map_err(too_large)? {
            return Ok(Property::DeadlockFree { allow_termination: !ended });
        }
        return Err(Diagnostic::new(
            place,
            "'<true>true' is not supported here: it must hold after every sequence of actions",
        )
        .help(
            "write '[true*]<true>true' for freedom from deadlock, or '[(!Terminate)*]<true>true' if a regular end is \
             none",
        ));
    }
    let mut watch = Watch::new(&words, &classes.truths).map_err(too_large)?;
    let merged = watch.merge_classes();
    let steps = steps.clone();
    let classify = Box::new(move |net: &_, vector| {
        // A fault ends the search no matter what the monitor does.
        steps.of(net, vector).map_or(0, |doing| merged[classes.class(&steps, &doing) as usize])
    });
    Monitor::new(name, classify, watch.next, watch.bad)
        .map(Property::Monitor)
        .map_err(|error| Diagnostic::new(span, error.to_string()))
}

/// The expression with the predicates it uses numbered from 0, in the order of their first use.
fn renumbered(regular: &Regular, used: &mut Vec<u32>) -> Regular {
    let all = |parts: &[Regular], used: &mut Vec<u32>| {
        parts.iter().map(|r| renumbered(r, used)).collect::<Vec<_>>()
    };
    match regular {
        Regular::Step(predicate) => {
            let at = used.iter().position(|p| p == predicate).unwrap_or_else(|| {
                used.push(*predicate);
                used.len() - 1
            });
            Regular::Step(at as u32)
        }
        Regular::Seq(parts) => Regular::Seq(all(parts, used)),
        Regular::Choice(parts) => Regular::Choice(all(parts, used)),
        Regular::Star(body) => Regular::Star(Box::new(renumbered(body, used))),
        Regular::Plus(body) => Regular::Plus(Box::new(renumbered(body, used))),
    }
}
