//! Declarations, from pieces of text to the tree.

use super::MAX_ERRORS;
use super::formula::{Formula, StateFormula, Unclear};
use super::grammar::{Deep, Piece, Reader, Rule, parts, parts_of};
use super::scan::{Cut, Declaration, Section};
use super::tree::{
    ActionDecl, Data, Equation, EquationSection, FunctionDecl, Ident, Process, ProcessDecl, Sort, SortDecl,
    Spec, VarDecl,
};
use crate::diagnostic::{Diagnostic, Span};
use pest::iterators::Pair;

/// Parses every declaration of a cut specification and puts them together. Gives what could be read and all problems.
pub(super) fn specification(text: &str, cut: Cut) -> (Spec, Vec<Diagnostic>) {
    let (spec, _, errors) = assemble(text, cut);
    (spec, errors)
}

/// The same for a formula file with sections.
pub(super) fn formula_file(text: &str, cut: Cut) -> (Option<Formula>, Vec<Diagnostic>) {
    let sections = cut.sections.clone();
    let (declarations, mut states, mut errors) = assemble(text, cut);
    for (section, span) in &sections {
        if matches!(section, Section::Proc | Section::Init | Section::Glob) {
            let message = format!("a formula file has no section '{}'", section.keyword());
            let what = if *section == Section::Glob { "global variables" } else { "processes" };
            errors.push(Diagnostic::new(*span, message).help(format!("{what} belong to the specification")));
        }
    }
    let forms: Vec<Span> =
        sections.iter().filter(|(section, _)| *section == Section::Form).map(|form| form.1).collect();
    match &forms[..] {
        [] => errors.push(
            Diagnostic::new(Span::new(text.len(), text.len()), "there is no formula")
                .help("write it as 'form formula;'"),
        ),
        [_] => {}
        [_, second, ..] => {
            errors.push(Diagnostic::new(*second, "a formula file has only one section 'form'"))
        }
    }
    (states.pop().map(|(state, unclear)| Formula { declarations, state, unclear }), errors)
}

fn assemble(text: &str, cut: Cut) -> (Spec, Vec<(StateFormula, Vec<Unclear>)>, Vec<Diagnostic>) {
    let mut contents = Contents::default();
    let mut errors = cut.errors;
    check_var_sections(&cut.sections, &mut errors);
    for declaration in cut.declarations {
        if errors.len() >= MAX_ERRORS {
            break;
        }
        match contents.read(text, &declaration) {
            Ok(()) => errors.extend(declaration.unended),
            Err(problems) => errors.extend(problems),
        }
    }
    errors.truncate(MAX_ERRORS);
    errors.sort_by(|a, b| (a.span, &a.message).cmp(&(b.span, &b.message)));
    (contents.spec, contents.states, errors)
}

/// Variables belong to the equations behind them; without these they are pointless, and probably misplaced.
fn check_var_sections(sections: &[(Section, Span)], errors: &mut Vec<Diagnostic>) {
    for (at, (section, span)) in sections.iter().enumerate() {
        if *section == Section::Var && sections.get(at + 1).is_none_or(|next| next.0 != Section::Eqn) {
            errors.push(
                Diagnostic::new(*span, "a section 'var' must be followed by a section 'eqn'")
                    .help("its variables are those of the equations behind it"),
            );
        }
    }
}

/// What the declarations have given so far.
#[derive(Default)]
struct Contents {
    spec: Spec,
    states: Vec<(StateFormula, Vec<Unclear>)>,
    /// The variables of the `var` section read last, for the equations behind it.
    vars: Vec<VarDecl>,
}

impl Contents {
    fn read(&mut self, text: &str, declaration: &Declaration) -> Result<(), Vec<Diagnostic>> {
        let piece = Piece { text, span: declaration.span, nesting: declaration.nesting };
        let spec = &mut self.spec;
        match declaration.section {
            Section::Sort => spec.sorts.extend(piece.parse(Rule::sort_decl, Reader::sort_decl)?),
            Section::Cons => {
                spec.constructors.extend(piece.parse(Rule::function_decl, Reader::function_decl)?)
            }
            Section::Map => spec.maps.extend(piece.parse(Rule::function_decl, Reader::function_decl)?),
            Section::Var => {
                if declaration.first {
                    self.vars.clear();
                }
                self.vars.extend(piece.parse(Rule::var_decls, Reader::var_decls)?);
            }
            Section::Eqn => {
                if declaration.first {
                    let vars = std::mem::take(&mut self.vars);
                    spec.equations.push(EquationSection { vars, equations: Vec::new() });
                }
                let equation = piece.parse(Rule::equation, Reader::equation)?;
                if let Some(section) = spec.equations.last_mut() {
                    section.equations.extend(equation);
                }
            }
            Section::Act => spec.actions.extend(piece.parse(Rule::action_decl, Reader::action_decl)?),
            Section::Proc => spec.processes.extend(piece.parse(Rule::process_decl, Reader::process_decl)?),
            Section::Init => spec.inits.extend(piece.parse(Rule::initial, Reader::initial)?),
            Section::Form => self.states.extend(piece.parse(Rule::formula, Reader::formula)?),
            Section::Glob => spec.globals.extend(piece.parse(Rule::var_decls, Reader::var_decls)?),
        }
        Ok(())
    }
}

impl Reader {
    fn sort_decl(&mut self, pair: Pair<'_, Rule>) -> Vec<SortDecl> {
        let mut sorts = Vec::new();
        for part in parts(pair) {
            match part.as_rule() {
                Rule::name => sorts.push(SortDecl { name: self.ident(&part), definition: None }),
                _ => {
                    let definition = self.sort(part).node;
                    if let Some(sort) = sorts.last_mut() {
                        sort.definition = Some(definition);
                    }
                }
            }
        }
        sorts
    }

    fn function_decl(&mut self, pair: Pair<'_, Rule>) -> Vec<FunctionDecl> {
        let (mut names, sort) = self.named_sorts(pair, Reader::sort);
        let Some(Deep { node: sort, .. }) = sort else { return Vec::new() };
        self.check_copies(&mut names, sort.span);
        names.into_iter().map(|name| FunctionDecl { name, sort: sort.clone() }).collect()
    }

    fn action_decl(&mut self, pair: Pair<'_, Rule>) -> Vec<ActionDecl> {
        let (mut names, sorts) = self.named_sorts(pair, Reader::sort_product);
        let sorts: Vec<Sort> = sorts.into_iter().flatten().map(|sort| sort.node).collect();
        if let (Some(first), Some(last)) = (sorts.first(), sorts.last()) {
            self.check_copies(&mut names, first.span.to(last.span));
        }
        names.into_iter().map(|name| ActionDecl { name, sorts: sorts.clone() }).collect()
    }

    /// `a, b: S`.
    fn named_sorts<'i, T>(
        &mut self,
        pair: Pair<'i, Rule>,
        read: fn(&mut Reader, Pair<'i, Rule>) -> T,
    ) -> (Vec<Ident>, Option<T>) {
        let mut names = Vec::new();
        let mut sort = None;
        for part in parts(pair) {
            match part.as_rule() {
                Rule::names => names.extend(parts(part).map(|name| self.ident(&name))),
                _ => sort = Some(read(self, part)),
            }
        }
        (names, sort)
    }

    fn var_decls(&mut self, pair: Pair<'_, Rule>) -> Vec<VarDecl> {
        parts(pair).flat_map(|vars| self.vars(vars).0).collect()
    }

    fn equation(&mut self, pair: Pair<'_, Rule>) -> Option<Equation> {
        let mut sides: Vec<Data> = Vec::new();
        for side in parts_of(pair, Rule::data) {
            sides.push(self.data(side).node);
        }
        let right = sides.pop()?;
        let left = sides.pop()?;
        let condition = sides.pop();
        let span = condition.as_ref().unwrap_or(&left).span.to(right.span);
        Some(Equation { condition, left, right, span })
    }

    fn process_decl(&mut self, pair: Pair<'_, Rule>) -> Option<ProcessDecl> {
        let mut name = None;
        let mut params = Vec::new();
        for part in parts(pair) {
            match part.as_rule() {
                Rule::name => name = Some(self.ident(&part)),
                Rule::params => params.extend(parts(part).flat_map(|vars| self.vars(vars).0)),
                _ => {
                    let body = self.process(part).node;
                    return Some(ProcessDecl { name: name?, params, body });
                }
            }
        }
        None
    }

    fn initial(&mut self, pair: Pair<'_, Rule>) -> Option<Process> {
        parts(pair).next().map(|process| self.process(process).node)
    }
}
