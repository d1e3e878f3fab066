//! Names and sorts of formulas and patterns, checked against the specification.
//!
//! The syntax tree stays as it is; what its names stand for is kept beside it, by place: a data expression by its span,
//! an action by the span of its name, a variable by the span of its declaration. Invariant: if there are no errors,
//! every data expression, action and variable of what was walked has an entry.

use super::labels::{TERMINATE, TERMINATE_TEXT};
use super::occurrence::Occurrence;
use super::reach::Reach;
use super::sight::Sight;
use crate::check::Checker;
use crate::data::compile::free_vars;
use crate::diagnostic::{Diagnostic, Span, did_you_mean};
use crate::model::{ActName, Expr, Model, SortId, VarId};
use crate::network::build::Builder;
use crate::places::Places;
use crate::syntax::formula::{
    ActionFormula, ActionKind, FixpointParam, Formula, PatternArgument, RegularFormula, RegularKind,
    StateFormula, StateKind,
};
use crate::syntax::tree::{ActionDecl, Data, DataKind, Ident, Spec, VarDecl};
use gridlock_lts::base::hash::Map;

/// A way to read an action: with the parameters of one of its declarations.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Its name.
    pub name: ActName,
    /// Its arguments with their sorts, `None` for any one value; no list for any arguments at all.
    pub args: Option<Vec<(Option<Expr>, SortId)>>,
}

/// What the names of a formula stand for.
#[derive(Debug, Default)]
pub struct Meanings {
    exprs: Map<Span, Expr>,
    actions: Map<Span, Vec<Reading>>,
    vars: Map<Span, VarId>,
    /// For each use of a fixed point variable the place of the name that it is declared by.
    uses: Map<Span, Span>,
}

impl Meanings {
    /// Whether a part of the formula uses what was declared at one of these places.
    pub(super) fn uses_in(&self, part: Span, declared: &[Span]) -> bool {
        let inside = |place: &Span| part.start <= place.start && place.end <= part.end;
        let vars: Vec<VarId> = declared.iter().filter_map(|place| self.vars.get(place).copied()).collect();
        let names = |expr: &Expr| {
            let mut used = Vec::new();
            free_vars(expr, &mut used);
            used.iter().any(|var| vars.contains(var))
        };
        let named = |readings: &[Reading]| {
            let args = readings.iter().filter_map(|reading| reading.args.as_ref()).flatten();
            args.filter_map(|(expr, _)| expr.as_ref()).any(names)
        };
        self.exprs.iter().any(|(place, expr)| inside(place) && names(expr))
            || self.actions.iter().any(|(place, readings)| inside(place) && named(readings))
            || self.uses.iter().any(|(place, by)| inside(place) && declared.contains(by))
    }

    /// A data expression.
    pub fn expr(&self, data: &Data) -> &Expr {
        self.exprs.get(&data.span).expect("every data expression was checked")
    }

    /// The readings of an action, at least one.
    pub fn readings(&self, name: &Ident) -> &[Reading] {
        self.actions.get(&name.span).expect("every action was checked")
    }

    /// A declared variable.
    pub fn var(&self, decl: &VarDecl) -> VarId {
        self.named(&decl.name)
    }

    /// The variable that a name declares: that of a quantifier, or a parameter of a fixed point.
    pub fn named(&self, name: &Ident) -> VarId {
        *self.vars.get(&name.span).expect("every variable was checked")
    }

    /// Where a fixed point variable is declared: the place of its name there.
    pub fn declared_at(&self, name: &Ident) -> Span {
        *self.uses.get(&name.span).expect("every fixed point variable was checked")
    }
}

/// Why no step seems to have an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unseen {
    /// None has it, visible or hidden: none performs it, or communication, `allow` and `block` leave none.
    Absent,
    /// The specification hides it everywhere it occurs.
    Hidden,
}

/// Arguments as the user gave them.
pub enum Given<'t> {
    /// Nothing, which stands for any arguments.
    Anything,
    /// One by one, `None` for `_`.
    List(Vec<Option<&'t Data>>),
}

impl Given<'_> {
    /// Whether an action without arguments is meant, too.
    fn can_be_none(&self) -> bool {
        match self {
            Given::Anything => true,
            Given::List(args) => args.is_empty(),
        }
    }
}

/// Checks formulas and patterns. All errors are collected.
pub struct Resolver<'o> {
    checker: Checker,
    /// The text of the specification.
    places: &'o Places,
    occurrence: &'o Occurrence,
    sight: &'o Sight,
    scope: Vec<VarId>,
    /// The fixed points in scope, innermost last, with the sorts of their parameters.
    fixpoints: Vec<(Ident, Vec<SortId>)>,
    meanings: Meanings,
    /// The names met that no step seems to have.
    unseen: Vec<(String, Unseen)>,
    /// Operators of which it is unclear how far they reach.
    reach: Reach,
    errors: Vec<Diagnostic>,
}

impl<'o> Resolver<'o> {
    /// A resolver for a specification.
    pub fn new(builder: &'o Builder, occurrence: &'o Occurrence, sight: &'o Sight) -> Self {
        let mut model = Model::clone(builder.model());
        model.formula_from = Some(model.functions.len());
        Resolver {
            checker: Checker::new(model),
            places: builder.places(),
            occurrence,
            sight,
            scope: Vec::new(),
            fixpoints: Vec::new(),
            meanings: Meanings::default(),
            unseen: Vec::new(),
            reach: Reach::default(),
            errors: Vec::new(),
        }
    }

    /// The meanings, with the model that has the sorts and variables which only occur in the formula; or the errors.
    pub fn finish(self) -> Result<(Meanings, Model), Vec<Diagnostic>> {
        if self.errors.is_empty() { Ok((self.meanings, self.checker.into_model())) } else { Err(self.errors) }
    }

    /// The names that no step seems to have, each once; or the errors.
    pub fn unseen(self) -> Result<Vec<(String, Unseen)>, Vec<Diagnostic>> {
        if self.errors.is_empty() { Ok(self.unseen) } else { Err(self.errors) }
    }

    /// A formula file.
    pub fn formula(&mut self, formula: &Formula) {
        self.declarations(&formula.declarations);
        self.reach = Reach::new(&formula.unclear);
        self.state(&formula.state);
        let unclear = std::mem::take(&mut self.reach).problems(&self.meanings);
        self.errors.extend(unclear);
    }

    /// Tells [`Reach`] what an operator declares, before it does.
    fn reaches<'n>(&mut self, from: u32, mut names: impl Iterator<Item = &'n Ident>) {
        let model = self.checker.model();
        let known = |name: &Ident| {
            self.scope.iter().any(|var| model.vars[var.ix()].name == name.name)
                || self.fixpoints.iter().any(|(fixpoint, _)| fixpoint.name == name.name)
                || model.has_data(&name.name)
        };
        if self.reach.asks(from) {
            let elsewhere = names.any(known);
            self.reach.declares(from, elsewhere);
        }
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        self.errors.push(diagnostic);
    }

    /// The declarations of a formula file: data of its own, and actions, which must be the specification's.
    fn declarations(&mut self, spec: &Spec) {
        let data = [spec.sorts.len(), spec.constructors.len(), spec.maps.len(), spec.equations.len()];
        if data.iter().any(|declared| *declared > 0)
            && let Err(errors) = self.checker.extend(spec, self.places)
        {
            self.errors.extend(errors);
        }
        for decl in &spec.actions {
            self.action_again(decl);
        }
    }

    fn action_again(&mut self, decl: &ActionDecl) {
        let mut sorts = Vec::new();
        for sort in &decl.sorts {
            match self.checker.sort(sort) {
                Ok(sort) => sorts.push(sort),
                Err(errors) => return self.errors.extend(errors),
            }
        }
        let Some(name) = self.name(&decl.name) else { return };
        let overloads = self.overloads(name);
        if !overloads.contains(&sorts) {
            let message = format!("the specification declares action '{}' differently", decl.name.name);
            let help = self.declared(&decl.name, &overloads);
            self.error(Diagnostic::new(decl.name.span, message).help(help));
        }
    }

    /// The action of a name; an error if there is none.
    fn name(&mut self, name: &Ident) -> Option<ActName> {
        let model = self.checker.model();
        if let Some(at) = model.action_names.iter().position(|n| *n == name.name) {
            return Some(ActName(at as u32));
        }
        if &*name.name == TERMINATE_TEXT {
            return Some(TERMINATE);
        }
        let diagnostic = Diagnostic::new(name.span, format!("no action '{}' is declared", name.name));
        let guess = did_you_mean(&name.name, model.action_names.iter().map(|n| &**n));
        let diagnostic = match guess {
            Some(guess) => diagnostic.help(format!("did you mean '{guess}'?")),
            None => diagnostic.help("name an action of the specification's 'act' section"),
        };
        self.error(diagnostic);
        None
    }

    fn overloads(&self, name: ActName) -> Vec<Vec<SortId>> {
        if name == TERMINATE {
            return vec![Vec::new()];
        }
        let declared = self.checker.model().actions.iter().filter(|a| a.0 == name);
        declared.map(|a| a.1.clone()).collect()
    }

    fn declared(&self, name: &Ident, overloads: &[Vec<SortId>]) -> String {
        let model = self.checker.model();
        let listed: Vec<String> = overloads
            .iter()
            .take(4)
            .map(|sorts| match sorts.is_empty() {
                true => format!("'{}'", name.name),
                false => format!("'{}: {}'", name.name, model.sort_names(sorts)),
            })
            .collect();
        format!("declared: {}", listed.join(", "))
    }

    /// An action with its arguments.
    pub fn action(&mut self, ident: &Ident, given: Given<'_>) {
        let Some(name) = self.name(ident) else {
            // The arguments cannot be checked without a declaration.
            return;
        };
        if self.sight.sees(name) && self.occurrence.is_out_of_reach(name) {
            return self.error(
                Diagnostic::new(
                    ident.span,
                    format!(
                        "action '{}' is hidden inside a sequential process and cannot be named",
                        ident.name
                    ),
                )
                .help("move the 'hide' outwards, around the parallel processes of the initial process"),
            );
        }
        // A declared action of that name does not take the place of the end: their labels read the same.
        let ends = &*ident.name == TERMINATE_TEXT && name != TERMINATE && given.can_be_none();
        let readings = match given {
            Given::Anything => Some(vec![Reading { name, args: None }]),
            Given::List(_) if ends && !self.overloads(name).contains(&Vec::new()) => Some(Vec::new()),
            Given::List(args) => self.fitting(ident, name, &args),
        };
        let unseen = match name {
            _ if name == TERMINATE || ends => None,
            _ if self.occurrence.is_absent(name) => Some(Unseen::Absent),
            _ if self.occurrence.is_hidden(name) && !self.sight.sees(name) => Some(Unseen::Hidden),
            _ => None,
        };
        if let Some(why) = unseen
            && !self.unseen.iter().any(|(n, _)| **n == *ident.name)
        {
            self.unseen.push((ident.name.to_string(), why));
        }
        if let Some(mut readings) = readings {
            readings.extend(ends.then(|| Reading { name: TERMINATE, args: Some(Vec::new()) }));
            self.meanings.actions.insert(ident.span, readings);
        }
    }

    /// The declarations that a list of arguments fits.
    fn fitting(&mut self, ident: &Ident, name: ActName, args: &[Option<&Data>]) -> Option<Vec<Reading>> {
        let overloads = self.overloads(name);
        let of_length: Vec<&Vec<SortId>> = overloads.iter().filter(|s| s.len() == args.len()).collect();
        if of_length.is_empty() {
            let message = match args.len() {
                0 => format!("action '{}' needs arguments", ident.name),
                1 => format!("action '{}' does not take 1 argument", ident.name),
                n => format!("action '{}' does not take {n} arguments", ident.name),
            };
            let help = self.declared(ident, &overloads);
            self.error(Diagnostic::new(ident.span, message).help(help));
            return None;
        }
        let mut readings = Vec::new();
        let mut first_errors = None;
        for sorts in &of_length {
            match self.arguments(args, sorts) {
                Ok(args) => readings.push(Reading { name, args: Some(args) }),
                Err(errors) => _ = first_errors.get_or_insert(errors),
            }
        }
        match first_errors {
            Some(errors) if readings.is_empty() => {
                if of_length.len() == 1 {
                    self.errors.extend(errors);
                } else {
                    let message = format!("action '{}' cannot be used with these arguments", ident.name);
                    let help = self.declared(ident, &overloads);
                    self.error(Diagnostic::new(ident.span, message).help(help));
                }
                None
            }
            _ => Some(readings),
        }
    }

    fn arguments(
        &mut self,
        args: &[Option<&Data>],
        sorts: &[SortId],
    ) -> Result<Vec<(Option<Expr>, SortId)>, Vec<Diagnostic>> {
        args.iter()
            .zip(sorts)
            .map(|(arg, &sort)| {
                let expr = arg.map(|data| self.checker.data(&self.scope, data, sort)).transpose()?;
                Ok((expr, sort))
            })
            .collect()
    }

    /// The arguments of an action in a formula. Without any, an action that is declared with parameters only is meant
    /// with any arguments.
    fn in_formula<'t>(&self, name: &Ident, args: &'t [Data]) -> Given<'t> {
        if args.is_empty() {
            let model = self.checker.model();
            let at = model.action_names.iter().position(|n| *n == name.name);
            let bare =
                at.is_none_or(|at| model.actions.iter().any(|(n, sorts)| n.ix() == at && sorts.is_empty()));
            if !bare {
                return Given::Anything;
            }
        }
        let is_wildcard = |data: &Data| matches!(&data.kind, DataKind::Name(name) if &**name == "_");
        Given::List(args.iter().map(|data| (!is_wildcard(data)).then_some(data)).collect())
    }

    fn truth(&mut self, data: &Data) {
        self.expression(data, SortId::BOOL);
    }

    fn expression(&mut self, data: &Data, sort: SortId) {
        match self.checker.data(&self.scope, data, sort) {
            Ok(expr) => _ = self.meanings.exprs.insert(data.span, expr),
            Err(errors) => self.errors.extend(errors),
        }
    }

    /// Declares variables; `false` if that failed and what they are declared for makes no sense.
    fn declare(&mut self, decls: &[VarDecl]) -> bool {
        match self.checker.variables(decls) {
            Ok(vars) => {
                self.scope.extend(&vars);
                self.meanings.vars.extend(decls.iter().map(|d| d.name.span).zip(vars));
                true
            }
            Err(errors) => {
                self.errors.extend(errors);
                false
            }
        }
    }

    fn state(&mut self, formula: &StateFormula) {
        match &formula.kind {
            StateKind::Bool(_) => {}
            StateKind::Variable(name, args) => self.variable(name, args),
            StateKind::Data(data) => self.truth(data),
            StateKind::Not(f) => self.state(f),
            StateKind::And(fs) | StateKind::Or(fs) => fs.iter().for_each(|f| self.state(f)),
            StateKind::Implies(f, g) => {
                self.state(f);
                self.state(g);
            }
            StateKind::Box(r, f) | StateKind::Diamond(r, f) => {
                self.regular(r);
                self.state(f);
            }
            StateKind::Fixpoint(_, name, params, body) => {
                let names = std::iter::once(name).chain(params.iter().map(|param| &param.name));
                self.reaches(formula.span.start, names.clone());
                self.fixpoint(name, params, body);
                self.reach.declared(formula.span.start, names.map(|name| name.span));
            }
            StateKind::Quantifier(_, vars, body) => {
                self.reaches(formula.span.start, vars.iter().map(|decl| &decl.name));
                self.reach.declared(formula.span.start, vars.iter().map(|decl| decl.name.span));
                if self.declare(vars) {
                    self.state(body);
                    self.scope.truncate(self.scope.len() - vars.len());
                }
            }
        }
    }

    fn fixpoint(&mut self, name: &Ident, params: &[FixpointParam], body: &StateFormula) {
        let decl = |p: &FixpointParam| VarDecl { name: p.name.clone(), sort: p.sort.clone() };
        let decls: Vec<VarDecl> = params.iter().map(decl).collect();
        for (at, param) in params.iter().enumerate() {
            if params[..at].iter().any(|other| other.name.name == param.name.name) {
                let message = format!("'{}' has two parameters '{}'", name.name, param.name.name);
                return self.error(Diagnostic::new(param.name.span, message).help("rename one of them"));
            }
        }
        // A first value does not see the parameters.
        let vars = match self.checker.variables(&decls) {
            Ok(vars) => vars,
            Err(errors) => return self.errors.extend(errors),
        };
        let sorts: Vec<SortId> = vars.iter().map(|var| self.checker.model().vars[var.ix()].sort).collect();
        for (param, sort) in params.iter().zip(&sorts) {
            self.expression(&param.value, *sort);
        }
        let depth = self.scope.len();
        self.meanings.vars.extend(params.iter().map(|p| p.name.span).zip(vars.iter().copied()));
        self.scope.extend(vars);
        self.fixpoints.push((name.clone(), sorts));
        self.state(body);
        self.fixpoints.pop();
        self.scope.truncate(depth);
    }

    /// A fixed point variable with its arguments.
    fn variable(&mut self, name: &Ident, args: &[Data]) {
        let found = self.fixpoints.iter().rev().find(|(known, _)| known.name == name.name).cloned();
        let Some((declared, sorts)) = found else {
            let diagnostic =
                Diagnostic::new(name.span, format!("no fixed point variable '{}' is in scope", name.name));
            let guess = did_you_mean(&name.name, self.fixpoints.iter().map(|(known, _)| &*known.name));
            let help = match guess {
                Some(guess) => format!("did you mean '{guess}'?"),
                None => {
                    format!("declare it by 'mu {0}. …' or 'nu {0}. …'; data stands in 'val(…)'", name.name)
                }
            };
            return self.error(diagnostic.help(help));
        };
        if sorts.len() != args.len() {
            let parameters = match sorts.len() {
                1 => "1 parameter".to_owned(),
                n => format!("{n} parameters"),
            };
            let message = format!("'{}' has {parameters}, and {} are given", name.name, args.len());
            return self.error(Diagnostic::new(name.span, message).help("give one value for each parameter"));
        }
        for (arg, sort) in args.iter().zip(sorts) {
            self.expression(arg, sort);
        }
        self.meanings.uses.insert(name.span, declared.span);
    }

    fn regular(&mut self, formula: &RegularFormula) {
        match &formula.kind {
            RegularKind::Action(action) => self.action_formula(action),
            RegularKind::Seq(rs) | RegularKind::Choice(rs) => rs.iter().for_each(|r| self.regular(r)),
            RegularKind::Star(r) | RegularKind::Plus(r) => self.regular(r),
        }
    }

    fn action_formula(&mut self, formula: &ActionFormula) {
        match &formula.kind {
            ActionKind::Bool(_) => {}
            ActionKind::Data(data) => self.truth(data),
            ActionKind::MultiAction(actions) => {
                for action in actions {
                    let given = self.in_formula(&action.name, &action.arguments);
                    self.action(&action.name, given);
                }
            }
            ActionKind::Not(a) => self.action_formula(a),
            ActionKind::And(all) | ActionKind::Or(all) => all.iter().for_each(|a| self.action_formula(a)),
            ActionKind::Implies(a, b) => {
                self.action_formula(a);
                self.action_formula(b);
            }
            ActionKind::Quantifier(_, vars, body) => {
                self.reaches(formula.span.start, vars.iter().map(|decl| &decl.name));
                self.reach.declared(formula.span.start, vars.iter().map(|decl| decl.name.span));
                if self.declare(vars) {
                    self.action_formula(body);
                    self.scope.truncate(self.scope.len() - vars.len());
                }
            }
        }
    }
}

/// The arguments of an action in a pattern.
pub fn in_pattern(arguments: &Option<Vec<PatternArgument>>) -> Given<'_> {
    match arguments {
        None => Given::Anything,
        Some(arguments) => Given::List(
            arguments
                .iter()
                .map(|argument| match argument {
                    PatternArgument::Any(_) => None,
                    PatternArgument::Data(data) => Some(data),
                })
                .collect(),
        ),
    }
}
