//! Process expressions: names resolved to actions and processes, multi-actions flattened, operator sets checked.

use super::mismatch::count;
use super::overload::Candidates;
use super::{Checker, deep};
use crate::diagnostic::{Diagnostic, Span, did_you_mean};
use crate::model::{Action, Expr, ExprKind, Proc, ProcId, ProcKind, SortId};
use crate::syntax::tree;
use crate::syntax::tree::{Data, Ident, ProcessKind};
use gridlock_lts::base::hash::Map;
use std::sync::Arc;

impl Checker {
    /// The bodies of all processes. `decls` are those that [`Checker::declare_processes`] has seen.
    pub(super) fn check_processes(&mut self, decls: &[tree::ProcessDecl]) {
        for (i, decl) in decls.iter().enumerate() {
            let params = self.model.processes[i].params.clone();
            self.enclosing = Some(ProcId(i as u32));
            let body = self.in_scope(&params, |checker| checker.process(&decl.body));
            self.model.processes[i].body = body;
        }
        self.enclosing = None;
    }

    /// `init`, of which there must be exactly one.
    pub(super) fn check_init(&mut self, inits: &[tree::Process]) {
        for extra in inits.iter().skip(1) {
            self.error(
                Diagnostic::new(extra.span, "there is more than one 'init'")
                    .help("a specification has one initial process; join them with '||' if both are meant"),
            );
        }
        match inits.first() {
            Some(init) => self.model.init = Some(self.process(init)),
            None => self.error(
                Diagnostic::new(Span::END, "there is no 'init'")
                    .help("say where the system starts, as in 'init P;'"),
            ),
        }
    }

    /// A checked process expression.
    pub(super) fn process(&mut self, process: &tree::Process) -> Proc {
        let kind = deep(|| self.process_kind(process));
        Proc { kind, span: process.span }
    }

    fn process_kind(&mut self, process: &tree::Process) -> ProcKind {
        let operand = |checker: &mut Self, p: &tree::Process| Box::new(checker.process(p));
        match &process.kind {
            ProcessKind::Call(name, args) => self.call(name, args, process.span),
            ProcessKind::Assign(name, assignments) => self.assignment_call(name, assignments, process.span),
            ProcessKind::Delta => ProcKind::Delta,
            ProcessKind::Tau => ProcKind::Multi(Vec::new()),
            ProcessKind::Choice(parts) => ProcKind::Choice(self.process_list(parts)),
            ProcessKind::Seq(parts) => ProcKind::Seq(self.process_list(parts)),
            ProcessKind::Parallel(parts) => ProcKind::Parallel(self.process_list(parts)),
            ProcessKind::LeftMerge(left, right) => {
                ProcKind::LeftMerge(operand(self, left), operand(self, right))
            }
            ProcessKind::Sync(parts) => self.sync(parts),
            ProcessKind::Sum(decls, body) => {
                let vars = self.declare_vars(decls);
                let body = self.in_scope(&vars, |checker| checker.process(body));
                ProcKind::Sum(vars, Box::new(body))
            }
            ProcessKind::Condition(condition, yes, no) => {
                let condition = self.expression(condition, SortId::BOOL);
                let yes = operand(self, yes);
                let no = no.as_ref().map(|no| operand(self, no));
                ProcKind::Condition(Box::new(condition), yes, no)
            }
            ProcessKind::Block(names, body) => {
                let names = self.action_set("block", names);
                ProcKind::Block(names, operand(self, body))
            }
            ProcessKind::Hide(names, body) => {
                let names = self.action_set("hide", names);
                ProcKind::Hide(names, operand(self, body))
            }
            ProcessKind::Rename(pairs, body) => {
                let pairs = self.rename_set(pairs);
                ProcKind::Rename(pairs, operand(self, body))
            }
            ProcessKind::Allow(multis, body) => {
                let multis = self.allow_set(multis);
                ProcKind::Allow(multis, operand(self, body))
            }
            ProcessKind::Comm(rules, body) => {
                let rules = self.comm_set(rules);
                ProcKind::Comm(rules, operand(self, body))
            }
        }
    }

    fn process_list(&mut self, parts: &[tree::Process]) -> Vec<Proc> {
        parts.iter().map(|part| self.process(part)).collect()
    }

    /// `p | q | …`: the actions among the operands form one multi-action.
    fn sync(&mut self, parts: &[tree::Process]) -> ProcKind {
        let mut actions: Vec<Action> = Vec::new();
        let mut span: Option<Span> = None;
        let mut others: Vec<Proc> = Vec::new();
        for part in parts {
            let part = self.process(part);
            match part.kind {
                ProcKind::Multi(more) => {
                    actions.extend(more);
                    span = Some(span.map_or(part.span, |s| s.to(part.span)));
                }
                kind => others.push(Proc { kind, span: part.span }),
            }
        }
        let multi = span.map(|span| Proc { kind: ProcKind::Multi(actions), span });
        let joined = multi.into_iter().chain(others).reduce(|left, right| {
            let span = left.span.to(right.span);
            Proc { kind: ProcKind::Sync(Box::new(left), Box::new(right)), span }
        });
        joined.map_or(ProcKind::Multi(Vec::new()), |proc| proc.kind)
    }

    /// `a(e)` or `P(e)`.
    fn call(&mut self, name: &Ident, args: &[Data], span: Span) -> ProcKind {
        if self.actions.contains_key(&name.name) {
            return match self.action_call(name, args, span) {
                Some(action) => ProcKind::Multi(vec![action]),
                None => ProcKind::Delta,
            };
        }
        self.forget();
        let found: Vec<Candidates> = args.iter().map(|arg| self.infer(arg)).collect();
        let Some(processes) = self.processes.get(&name.name).cloned() else {
            let diagnostic = self.unknown_process(name);
            self.error(diagnostic);
            return ProcKind::Delta;
        };
        let overloads: Vec<Vec<SortId>> = processes.iter().map(|p| self.parameter_sorts(*p)).collect();
        match self.pick_overload("process", name, &overloads, args, &found, span) {
            Some(i) => ProcKind::Call(processes[i], self.arguments(args, &overloads[i])),
            None => ProcKind::Delta,
        }
    }

    /// An action with its arguments; `None` with an error if it is not declared like that.
    pub(super) fn action_call(&mut self, name: &Ident, args: &[Data], span: Span) -> Option<Action> {
        self.forget();
        let found: Vec<Candidates> = args.iter().map(|arg| self.infer(arg)).collect();
        let Some(&action) = self.actions.get(&name.name) else {
            let names = self.actions.keys().map(|n| &**n);
            let diagnostic = self.unknown(name.span, "action", &name.name, names);
            self.error(diagnostic);
            return None;
        };
        let overloads: Vec<Vec<SortId>> =
            self.signatures[action.ix()].iter().map(|&i| self.model.actions[i as usize].1.clone()).collect();
        let i = self.pick_overload("action", name, &overloads, args, &found, span)?;
        let args = self.arguments(args, &overloads[i]);
        Some(Action { name: action, args, span })
    }

    fn arguments(&mut self, args: &[Data], sorts: &[SortId]) -> Vec<Expr> {
        args.iter().zip(sorts).map(|(arg, sort)| self.elaborate(arg, *sort)).collect()
    }

    /// Which overload of an action or process the arguments fit best.
    pub(super) fn pick_overload(
        &mut self,
        kind: &str,
        name: &Ident,
        overloads: &[Vec<SortId>],
        args: &[Data],
        found: &[Candidates],
        span: Span,
    ) -> Option<usize> {
        let mut best: Option<(u32, usize)> = None;
        let mut tie = None;
        for (i, sorts) in overloads.iter().enumerate() {
            let Some(cost) = self.fit_all(found, sorts) else { continue };
            match best {
                Some((least, _)) if cost > least => {}
                Some((least, _)) if cost == least => tie = Some(i),
                _ => (best, tie) = (Some((cost, i)), None),
            }
        }
        let Some((_, best)) = best else {
            let diagnostic = self.no_overload(kind, name, overloads, args, found, span);
            self.error(diagnostic);
            return None;
        };
        // With a failed argument, or after a failed declaration, the tie is no news.
        let quiet = found.iter().any(|f| f.iter().any(|c| matches!(c.ty, super::types::Ty::Unknown)))
            || overloads.iter().any(|sorts| sorts.contains(&SortId::ERROR));
        if let (Some(tie), false) = (tie, quiet) {
            let both = [best, tie].map(|i| format!("({})", self.model.sort_names(&overloads[i])));
            self.error(
                Diagnostic::new(span, format!("{kind} '{}' is ambiguous here", name.name))
                    .help(format!("it could be the one with {} or with {}", both[0], both[1])),
            );
            return None;
        }
        Some(best)
    }

    fn no_overload(
        &mut self,
        kind: &str,
        name: &Ident,
        overloads: &[Vec<SortId>],
        args: &[Data],
        found: &[Candidates],
        span: Span,
    ) -> Diagnostic {
        let listed: Vec<String> = overloads
            .iter()
            .take(4)
            .map(|sorts| match sorts.is_empty() {
                true => format!("'{}'", name.name),
                false => format!("'{}: {}'", name.name, self.model.sort_names(sorts)),
            })
            .collect();
        let declared = format!("declared: {}", listed.join(", "));
        let fitting: Vec<&Vec<SortId>> = overloads.iter().filter(|s| s.len() == args.len()).collect();
        if let [sorts] = fitting[..]
            && let Some(diagnostic) = self.wrong_argument(sorts, args, found, &declared)
        {
            return diagnostic;
        }
        if fitting.is_empty() {
            let message = match args.len() {
                0 => format!("{kind} '{}' needs arguments", name.name),
                n => format!("{kind} '{}' does not take {}", name.name, count(n)),
            };
            return Diagnostic::new(span, message).help(declared);
        }
        let names: Vec<String> = found.iter().map(|arg| self.candidate_names(arg)).collect();
        let message = format!("{kind} '{}' cannot be used with ({})", name.name, names.join(", "));
        Diagnostic::new(span, message).help(declared)
    }

    /// `P(x = e)`: parameters that are not named keep the value of the variable of the same name.
    fn assignment_call(&mut self, name: &Ident, assignments: &[(Ident, Data)], span: Span) -> ProcKind {
        self.forget();
        for (_, value) in assignments {
            self.infer(value);
        }
        let Some(processes) = self.processes.get(&name.name).cloned() else {
            if assignments.is_empty() && self.actions.contains_key(&name.name) {
                return self.call(name, &[], span);
            }
            let diagnostic = match self.actions.contains_key(&name.name) {
                true => Diagnostic::new(
                    span,
                    format!("'{}' is an action and has no parameters to assign", name.name),
                ),
                false => self.unknown_process(name),
            };
            self.error(diagnostic);
            return ProcKind::Delta;
        };
        let mut values: Map<Arc<str>, &Data> = Map::default();
        for (parameter, value) in assignments {
            if values.insert(parameter.name.clone(), value).is_some() {
                let message = format!("parameter '{}' is assigned twice", parameter.name);
                self.error(Diagnostic::new(parameter.span, message));
            }
        }
        let Some(process) = self.assigned_process(name, &processes, assignments, span) else {
            return ProcKind::Delta;
        };
        let params = self.model.processes[process.ix()].params.clone();
        let args = params
            .into_iter()
            .filter_map(|param| {
                let (parameter, sort) =
                    (self.model.vars[param.ix()].name.clone(), self.model.vars[param.ix()].sort);
                match values.get(&parameter) {
                    Some(value) => Some(self.elaborate(value, sort)),
                    None => self.kept_parameter(&parameter, sort, name, span),
                }
            })
            .collect();
        ProcKind::Call(process, args)
    }

    /// The process that has all the assigned parameters and whose other parameters are in scope.
    fn assigned_process(
        &mut self,
        name: &Ident,
        processes: &[ProcId],
        assignments: &[(Ident, Data)],
        span: Span,
    ) -> Option<ProcId> {
        let has = |checker: &Self, process: ProcId, parameter: &str| {
            let params = &checker.model.processes[process.ix()].params;
            params.iter().any(|v| &*checker.model.vars[v.ix()].name == parameter)
        };
        let mut fitting: Vec<ProcId> = processes.to_vec();
        fitting.retain(|p| assignments.iter().all(|(parameter, _)| has(self, *p, &parameter.name)));
        if fitting.is_empty() {
            let wrong = assignments.iter().find(|(p, _)| !processes.iter().any(|q| has(self, *q, &p.name)));
            let diagnostic = match wrong {
                Some((parameter, _)) => {
                    let names = processes
                        .iter()
                        .flat_map(|p| &self.model.processes[p.ix()].params)
                        .map(|v| &*self.model.vars[v.ix()].name);
                    let message = format!("process '{}' has no parameter '{}'", name.name, parameter.name);
                    let diagnostic = Diagnostic::new(parameter.span, message);
                    let names: Vec<&str> = names.collect();
                    match did_you_mean(&parameter.name, names.iter().copied()) {
                        Some(guess) => diagnostic.help(format!("did you mean '{guess}'?")),
                        None if names.is_empty() => diagnostic.help("it has no parameters"),
                        None => diagnostic.help(format!("it has '{}'", names.join("', '"))),
                    }
                }
                None => Diagnostic::new(
                    span,
                    format!("no process '{}' has all the parameters assigned here", name.name),
                ),
            };
            self.error(diagnostic);
            return None;
        }
        if fitting.len() > 1 {
            let complete = |process: &ProcId| {
                self.model.processes[process.ix()].params.iter().all(|param| {
                    let var = &self.model.vars[param.ix()];
                    assignments.iter().any(|(p, _)| p.name == var.name)
                        || self.variable(&var.name).is_some_and(|v| self.model.vars[v.ix()].sort == var.sort)
                })
            };
            let complete: Vec<ProcId> = fitting.iter().copied().filter(complete).collect();
            if !complete.is_empty() {
                fitting = complete;
            }
        }
        match (&fitting[..], self.enclosing) {
            ([one], _) => Some(*one),
            (several, Some(own)) if several.contains(&own) => Some(own),
            _ => {
                self.error(
                    Diagnostic::new(
                        span,
                        format!("there are several processes '{}' this could be", name.name),
                    )
                    .help("give all arguments by position"),
                );
                None
            }
        }
    }

    fn kept_parameter(
        &mut self,
        parameter: &Arc<str>,
        sort: SortId,
        process: &Ident,
        span: Span,
    ) -> Option<Expr> {
        let var = self.variable(parameter);
        let own = var.map(|v| self.model.vars[v.ix()].sort);
        match (var, own) {
            (Some(var), Some(own)) if own == sort || sort == SortId::ERROR || own == SortId::ERROR => {
                Some(Expr { kind: ExprKind::Var(var), sort, span })
            }
            (_, own) => {
                let message = format!("parameter '{parameter}' of process '{}' gets no value", process.name);
                let help = match own {
                    None => format!("no '{parameter}' is in scope that could keep its value; assign it"),
                    Some(own) => format!(
                        "the '{parameter}' in scope is {}, the parameter {}; assign it",
                        self.model.sort_name(own),
                        self.model.sort_name(sort)
                    ),
                };
                self.error(Diagnostic::new(span, message).help(help));
                None
            }
        }
    }
}
