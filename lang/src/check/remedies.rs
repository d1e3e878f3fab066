//! Remedies for common slips that only the checker can tell: conversions between number sorts, variables of equations
//! that nothing declares, words of other languages.

use super::overload::Candidates;
use super::types::Candidate;
use super::{Checker, builtin, deep};
use crate::diagnostic::{Diagnostic, Span, did_you_mean};
use crate::model::SortId;
use crate::syntax::hints::{CHOICES, logic};
use crate::syntax::print;
use crate::syntax::tree::{BinaryOp, Data, DataKind, Ident};
use gridlock_lts::base::hash::{Map, Set};
use num_bigint::BigUint;
use num_integer::Integer;
use std::sync::Arc;

/// The longest expression that a remedy repeats, in bytes.
const LONGEST: usize = 40;

/// What begins a process and is no name, for names that are nearly that.
const PROCESS_WORDS: [&str; 8] = ["delta", "tau", "sum", "block", "allow", "hide", "rename", "comm"];

/// Which conversions a message may suggest: wanted, found.
const BELOW: [(&str, &str); 6] =
    [("Pos", "Nat"), ("Pos", "Int"), ("Pos", "Real"), ("Nat", "Int"), ("Nat", "Real"), ("Int", "Real")];

/// What is known of the names that an equation uses and nothing declares.
#[derive(Debug, Default)]
pub(super) struct Undeclared {
    /// Whether an equation is being checked.
    in_equation: bool,
    /// The mapping that it is about, if it has a name.
    head: Option<Arc<str>>,
    /// Whether the expression being looked at is applied to arguments.
    pub(super) applied: bool,
    /// The sorts that names must have as arguments on the left-hand side.
    sorts: Map<Arc<str>, SortId>,
    /// The names that were reported since the last `var` section.
    told: Set<Arc<str>>,
}

impl Diagnostic {
    /// The same with one more remedy appended.
    fn also(mut self, help: &str) -> Self {
        self.help = Some(match self.help {
            Some(first) => format!("{first}; {help}"),
            None => help.to_owned(),
        });
        self
    }
}

impl Checker {
    /// `expected Nat, found List(Nat)`.
    pub(super) fn mismatch(&mut self, data: &Data, want: SortId, found: &[Candidate]) -> Diagnostic {
        // In a list it is an element that does not fit.
        if let (DataKind::List(elems) | DataKind::Set(elems), Some((_, elem))) =
            (&data.kind, self.container_of(want))
        {
            for part in elems {
                let candidates = self.infer(part);
                if self.fit(&candidates, &self.ty(elem)).is_none() {
                    return deep(|| self.mismatch(part, elem, &candidates));
                }
            }
        }
        let found = self.candidate_names(found);
        let expected = self.model.sort_name(want);
        let diagnostic = Diagnostic::new(data.span, format!("expected {expected}, found {found}"));
        if !want.is_number() || !BELOW.contains(&(expected.as_str(), found.as_str())) {
            return diagnostic;
        }
        let text = short(data);
        if let (DataKind::Binary(BinaryOp::Divide, left, right), true) = (&data.kind, found == "Real") {
            return diagnostic.help(format!(
                "to divide and round down, write '{} div {}'",
                operand(left),
                operand(right)
            ));
        }
        diagnostic
            .help(format!("if the value is surely of sort {expected}, write '{found}2{expected}({text})'"))
    }

    /// The first argument that does not fit its parameter, with what is declared.
    pub(super) fn wrong_argument(
        &mut self,
        domain: &[SortId],
        args: &[Data],
        found: &[Candidates],
        declared: &str,
    ) -> Option<Diagnostic> {
        Some(self.argument_mismatch(domain, args, found)?.also(declared))
    }

    /// What an equation says of the names on its left-hand side that nothing declares.
    pub(super) fn begin_equation(&mut self, left: &Data) {
        self.undeclared.in_equation = true;
        self.undeclared.head = head(left);
        let mut sorts = std::mem::take(&mut self.undeclared.sorts);
        sorts.clear();
        self.argument_sorts(left, None, &mut sorts);
        self.undeclared.sorts = sorts;
    }

    /// No equation is being checked any more.
    pub(super) fn end_equation(&mut self) {
        self.undeclared.in_equation = false;
    }

    /// A new `var` section begins.
    pub(super) fn begin_equations(&mut self) {
        self.undeclared.told.clear();
    }

    fn argument_sorts(&self, data: &Data, want: Option<SortId>, sorts: &mut Map<Arc<str>, SortId>) {
        deep(|| match &data.kind {
            DataKind::Name(name) => {
                if let Some(sort) = want {
                    sorts.entry(name.clone()).or_insert(sort);
                }
            }
            DataKind::Apply(head, args) => {
                let DataKind::Name(name) = &head.kind else { return };
                let entries = self.symbols.get(name).map_or(&[][..], |entries| entries);
                let mut domains = entries
                    .iter()
                    .filter_map(|entry| self.function_of(entry.sort))
                    .filter(|(domain, _)| domain.len() == args.len());
                let (Some((domain, _)), None) = (domains.next(), domains.next()) else { return };
                args.iter().zip(domain).for_each(|(arg, sort)| self.argument_sorts(arg, Some(*sort), sorts));
            }
            DataKind::List(elems) => {
                let elem = want.and_then(|sort| self.container_of(sort)).map(|(_, elem)| elem);
                elems.iter().for_each(|part| self.argument_sorts(part, elem, sorts));
            }
            DataKind::Binary(op @ (BinaryOp::Cons | BinaryOp::Snoc), first, second) => {
                let elem = want.and_then(|sort| self.container_of(sort)).map(|(_, elem)| elem);
                let (a, b) = if *op == BinaryOp::Cons { (elem, want) } else { (want, elem) };
                self.argument_sorts(first, a, sorts);
                self.argument_sorts(second, b, sorts);
            }
            _ => {}
        })
    }

    /// Says that nothing of this name is declared; in an equation, once for each name.
    pub(super) fn unknown_name(&mut self, name: &Arc<str>, span: Span) -> Option<Diagnostic> {
        if self.actions.contains_key(name) || self.processes.contains_key(name) {
            let kind = if self.actions.contains_key(name) { "an action" } else { "a process" };
            return Some(Diagnostic::new(
                span,
                format!("'{name}' is {kind}, but a data expression is expected"),
            ));
        }
        let in_equation = self.undeclared.in_equation && &**name != "_";
        if in_equation && !self.undeclared.told.insert(name.clone()) {
            return None;
        }
        let variables = self.scope.iter().filter(|(_, stack)| !stack.is_empty()).map(|(name, _)| &**name);
        let symbols = self.symbols.keys().map(|name| &**name);
        let builtins = builtin::NAMED.iter().map(|b| b.name);
        let known = variables.chain(symbols).chain(builtins);
        let diagnostic = match logic(name) {
            Some(spelling) => Diagnostic::new(span, format!("no name '{name}' is declared"))
                .help(format!("did you mean '{spelling}'?")),
            None => self.unknown(span, "name", name, known),
        };
        if !in_equation || logic(name).is_some() {
            return Some(diagnostic);
        }
        if self.undeclared.applied || self.undeclared.head.as_ref() == Some(name) {
            return Some(diagnostic.also("a mapping is declared in a section 'map' before the equations"));
        }
        let sort = match self.undeclared.sorts.get(name) {
            Some(sort) if *sort != SortId::ERROR => self.model.sort_name(*sort),
            _ => "SORT".to_owned(),
        };
        Some(diagnostic.also(&format!("a variable is declared before the equations: 'var {name}: {sort};'")))
    }

    /// Says that there is neither an action nor a process of this name.
    pub(super) fn unknown_process(&self, name: &Ident) -> Diagnostic {
        let plain =
            || Diagnostic::new(name.span, format!("no action or process '{}' is declared", name.name));
        match &*name.name.to_ascii_lowercase() {
            "if" => return plain().help(CHOICES),
            "not" | "and" | "or" => {
                return plain().help("data is joined with '&&' and '||' and negated with '!'");
            }
            "skip" | "stop" | "nil" if did_you_mean(&name.name, self.process_names()).is_none() => {
                return plain().help(
                    "'delta' does nothing for ever; a process ends after its last action; 'tau' is a silent step",
                );
            }
            _ => {}
        }
        self.unknown(name.span, "action or process", &name.name, self.process_names().chain(PROCESS_WORDS))
    }

    fn process_names(&self) -> impl Iterator<Item = &str> {
        self.actions.keys().chain(self.processes.keys()).map(|n| &**n)
    }

    /// Says that a name is no sort.
    pub(super) fn unknown_sort(&self, name: &str, span: Span) -> Diagnostic {
        let plain = || Diagnostic::new(span, format!("no sort '{name}' is declared"));
        match &*name.to_ascii_lowercase() {
            "boolean" => plain().help("did you mean 'Bool'?"),
            "integer" => plain().help("did you mean 'Int'?"),
            "natural" => plain().help("did you mean 'Nat'?"),
            "float" | "double" | "rational" => plain().help("did you mean 'Real'?"),
            "string" | "char" => {
                plain().help("there are no strings; use the constructors of a 'struct' instead")
            }
            _ => self.unknown(span, "sort", name, self.sorts.aliases.keys().map(|n| &**n)),
        }
    }

    /// What to write for `0.5`, which reads as an element of a list; `None` if it is not that.
    pub(super) fn decimal(data: &Data) -> Option<String> {
        let DataKind::Binary(BinaryOp::At, whole, digits) = &data.kind else { return None };
        let (DataKind::Number(high), DataKind::Number(low)) = (&whole.kind, &digits.kind) else {
            return None;
        };
        let places = digits.span.end.checked_sub(digits.span.start)?;
        if whole.span.end + 1 != digits.span.start || places > 20 {
            return None;
        }
        let ten = BigUint::from(10u32).pow(places);
        let value = high * &ten + low;
        let common = value.gcd(&ten);
        let fraction = format!("{}/{}", &value / &common, &ten / &common);
        Some(format!("there are no decimal fractions; write '{fraction}'"))
    }
}

/// The name that the left-hand side of an equation begins with.
fn head(left: &Data) -> Option<Arc<str>> {
    let mut head = left;
    while let DataKind::Apply(inner, _) = &head.kind {
        head = inner;
    }
    match &head.kind {
        DataKind::Name(name) => Some(name.clone()),
        _ => None,
    }
}

/// An expression as it may stand in a remedy.
fn short(data: &Data) -> String {
    let text = print::data(data);
    if text.len() > LONGEST { "…".to_owned() } else { text }
}

/// The same as an operand of another operator.
fn operand(data: &Data) -> String {
    match data.kind {
        DataKind::Name(_) | DataKind::Number(_) | DataKind::Apply(..) => short(data),
        _ => format!("({})", short(data)),
    }
}
