//! Declarations, from pieces of text to the tree.

use super::grammar::{Deep, Piece, Reader, Rule, parts, parts_of};
use super::scan::{Cut, Declaration, Section};
use super::tree::{
    ActionDecl, Data, Equation, EquationSection, FunctionDecl, Process, ProcessDecl, Sort, SortDecl, Spec,
    VarDecl,
};
use crate::diagnostic::{Diagnostic, Span};
use pest::iterators::Pair;

/// Parses every declaration of a cut text and puts them together. Gives what could be read and all problems.
pub(super) fn assemble(text: &str, cut: Cut) -> (Spec, Vec<Diagnostic>) {
    let mut spec = Spec::default();
    let mut errors = cut.errors;
    check_var_sections(&cut.sections, &mut errors);
    let mut vars = Vec::new();
    for declaration in &cut.declarations {
        if declaration.first && declaration.section != Section::Eqn && declaration.section != Section::Var {
            vars.clear();
        }
        if let Err(problems) = read(text, *declaration, &mut spec, &mut vars) {
            errors.extend(problems);
        }
    }
    (spec, errors)
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

fn read(
    text: &str,
    declaration: Declaration,
    spec: &mut Spec,
    vars: &mut Vec<VarDecl>,
) -> Result<(), Vec<Diagnostic>> {
    let piece = Piece { text, span: declaration.span, nesting: declaration.nesting };
    match declaration.section {
        Section::Sort => spec.sorts.extend(piece.parse(Rule::sort_decl, Reader::sort_decl)?),
        Section::Cons => spec.constructors.extend(piece.parse(Rule::function_decl, Reader::function_decl)?),
        Section::Map => spec.maps.extend(piece.parse(Rule::function_decl, Reader::function_decl)?),
        Section::Var => {
            if declaration.first {
                vars.clear();
            }
            vars.extend(piece.parse(Rule::var_decls, Reader::var_decls)?);
        }
        Section::Eqn => {
            if declaration.first {
                spec.equations.push(EquationSection { vars: std::mem::take(vars), equations: Vec::new() });
            }
            let equation = piece.parse(Rule::equation, Reader::equation)?;
            // A faulty first equation is in the list of problems, and its section is there all the same.
            if let Some(section) = spec.equations.last_mut() {
                section.equations.extend(equation);
            }
        }
        Section::Act => spec.actions.extend(piece.parse(Rule::action_decl, Reader::action_decl)?),
        Section::Proc => spec.processes.extend(piece.parse(Rule::process_decl, Reader::process_decl)?),
        Section::Init => spec.inits.extend(piece.parse(Rule::initial, Reader::initial)?),
        Section::Glob | Section::Form => {}
    }
    Ok(())
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
        let (names, sort) = self.named_sorts(pair, Reader::sort);
        let Some(Deep { node: sort, .. }) = sort else { return Vec::new() };
        names.into_iter().map(|name| FunctionDecl { name, sort: sort.clone() }).collect()
    }

    fn action_decl(&mut self, pair: Pair<'_, Rule>) -> Vec<ActionDecl> {
        let (names, sorts) = self.named_sorts(pair, Reader::sort_product);
        let sorts: Vec<Sort> = sorts.into_iter().flatten().map(|sort| sort.node).collect();
        names.into_iter().map(|name| ActionDecl { name, sorts: sorts.clone() }).collect()
    }

    /// `a, b: S`.
    fn named_sorts<'i, T>(
        &mut self,
        pair: Pair<'i, Rule>,
        read: fn(&mut Reader, Pair<'i, Rule>) -> T,
    ) -> (Vec<super::tree::Ident>, Option<T>) {
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
