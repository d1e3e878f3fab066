//! Messages for applications that no version of the function fits.

use super::overload::Candidates;
use super::types::{Candidate, Ty};
use super::{Checker, builtin};
use crate::diagnostic::{Diagnostic, Span};
use crate::model::SortId;
use crate::syntax::tree::Data;

/// How many versions of a function a message lists.
const LISTED: usize = 4;

impl Checker {
    /// `'+' cannot be applied to Bool and Nat`.
    pub(super) fn operator_mismatch(&mut self, span: Span, name: &str, args: &[Candidates]) -> Diagnostic {
        let names: Vec<String> = args.iter().map(|arg| self.candidate_names(arg)).collect();
        let message = format!("'{name}' cannot be applied to {}", names.join(" and "));
        let diagnostic = Diagnostic::new(span, message);
        match name {
            "==" | "!=" | "<" | "<=" | ">" | ">=" => diagnostic.help("both sides must have the same sort"),
            "!" | "&&" | "||" | "=>" => diagnostic.help(format!("'{name}' is for Bool")),
            "div" | "mod" => diagnostic.help(format!(
                "the right-hand side of '{name}' must be a Pos; convert with Nat2Pos or Int2Pos if it is surely positive"
            )),
            "." => diagnostic.help("a list stands before '.', and behind it a position, which is a Nat; convert with Int2Nat"),
            "#" => diagnostic.help("'#' is for List, FSet and FBag"),
            _ => diagnostic,
        }
    }

    /// Says why no function of this name fits: a wrong argument where there is only one function to choose, else the
    /// list of those there are.
    pub(super) fn application_mismatch(
        &mut self,
        span: Span,
        head: Span,
        name: &str,
        args: &[Data],
        found: &[Candidates],
    ) -> Diagnostic {
        let sorts: Vec<SortId> =
            self.symbols.get(name).map_or(&[][..], |e| e).iter().map(|entry| entry.sort).collect();
        let builtin = builtin::named(name);
        let listed: Vec<String> = sorts
            .iter()
            .take(LISTED)
            .map(|sort| format!("'{name}: {}'", self.model.sort_name(*sort)))
            .chain(builtin.map(|_| format!("the built-in '{name}'")))
            .collect();
        let declared = format!("declared: {}", listed.join(", "));
        let fitting: Vec<Vec<SortId>> = sorts
            .iter()
            .filter_map(|sort| self.function_of(*sort))
            .filter(|(domain, _)| domain.len() == args.len())
            .map(|(domain, _)| domain.to_vec())
            .collect();
        if let ([domain], None) = (&fitting[..], builtin)
            && let Some(diagnostic) = self.wrong_argument(domain, args, found, &declared)
        {
            return diagnostic;
        }
        if fitting.is_empty() && builtin.is_none() {
            let applicable = sorts.iter().any(|sort| self.function_of(*sort).is_some());
            let message = match applicable {
                true => format!("'{name}' does not take {}", count(args.len())),
                false => format!("'{name}' is not a function"),
            };
            return Diagnostic::new(head, message).help(declared);
        }
        let names: Vec<String> = found.iter().map(|arg| self.candidate_names(arg)).collect();
        let message = format!("'{name}' cannot be applied to ({})", names.join(", "));
        let diagnostic = Diagnostic::new(span, message);
        if sorts.is_empty() { diagnostic } else { diagnostic.help(declared) }
    }

    /// The first argument that does not fit its parameter.
    pub(super) fn argument_mismatch(
        &mut self,
        domain: &[SortId],
        args: &[Data],
        found: &[Candidates],
    ) -> Option<Diagnostic> {
        for ((param, arg), candidates) in domain.iter().zip(args).zip(found) {
            if self.fit(candidates, &self.ty(*param)).is_none() {
                return Some(self.mismatch(arg, *param, candidates));
            }
        }
        None
    }

    /// The same for a value that is applied.
    pub(super) fn value_mismatch(
        &mut self,
        span: Span,
        heads: &[Candidate],
        args: &[Data],
        found: &[Candidates],
    ) -> Diagnostic {
        if let [Candidate { ty, .. }] = heads {
            match self.function_ty(ty) {
                Some((domain, _)) if domain.len() == args.len() => {
                    if let Some(diagnostic) = self.argument_mismatch(&domain, args, found) {
                        return diagnostic;
                    }
                }
                Some((domain, _)) => {
                    let message =
                        format!("this function takes {}, but gets {}", count(domain.len()), args.len());
                    return Diagnostic::new(span, message);
                }
                None if !matches!(ty, Ty::Unknown) => {
                    let name = self.type_name(ty);
                    return Diagnostic::new(span, format!("this is {name}, not a function"));
                }
                None => {}
            }
        }
        let names = self.candidate_names(heads);
        Diagnostic::new(span, format!("this is {names}, which cannot be applied to these arguments"))
    }
}

/// `1 argument`, `2 arguments`.
pub(super) fn count(n: usize) -> String {
    if n == 1 { "1 argument".to_owned() } else { format!("{n} arguments") }
}
