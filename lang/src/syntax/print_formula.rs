//! Formulas as text again: parsing the text gives the same tree, apart from places.

use super::formula::*;
use super::modal::levels as state_levels;
use super::print::{DataText, DatasText, SortText, VarsText, data_declarations, join};
use super::regular::levels as regular_levels;
use super::with_deep_stack;
use std::fmt::{self, Display, Formatter};

/// A formula file as text.
pub fn formula(formula: &Formula) -> String {
    with_deep_stack(|| FormulaText(formula).to_string())
}

/// A state formula as text.
pub fn state(state: &StateFormula) -> String {
    with_deep_stack(|| StateText(state, 0).to_string())
}

struct FormulaText<'t>(&'t Formula);

impl Display for FormulaText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        data_declarations(f, &self.0.declarations)?;
        writeln!(f, "form {};", StateText(&self.0.state, 0))
    }
}

/// A state formula where an operator of a level takes it.
struct StateText<'t>(&'t StateFormula, u8);

impl Display for StateText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let level = state_level(self.0);
        if level < self.1 {
            return write!(f, "({})", StateText(self.0, 0));
        }
        match &self.0.kind {
            StateKind::Bool(value) => write!(f, "{value}"),
            StateKind::Data(data) => write!(f, "val({})", DataText(data, 0)),
            StateKind::Not(body) => write!(f, "!{}", StateText(body, level)),
            StateKind::And(operands) => {
                join(f, operands, " && ", |f, operand| StateText(operand, level + 1).fmt(f))
            }
            StateKind::Or(operands) => {
                join(f, operands, " || ", |f, operand| StateText(operand, level + 1).fmt(f))
            }
            StateKind::Implies(left, right) => {
                write!(f, "{} => {}", StateText(left, level + 1), StateText(right, level))
            }
            StateKind::Box(regular, body) => {
                write!(f, "[{}]{}", RegularText(regular, 0), StateText(body, level))
            }
            StateKind::Diamond(regular, body) => {
                write!(f, "<{}>{}", RegularText(regular, 0), StateText(body, level))
            }
            StateKind::Fixpoint(fixpoint, name, params, body) => {
                let word = match fixpoint {
                    Fixpoint::Least => "mu",
                    Fixpoint::Greatest => "nu",
                };
                write!(f, "{word} {}", name.name)?;
                if !params.is_empty() {
                    f.write_str("(")?;
                    join(f, params, ", ", |f, FixpointParam { name, sort, value }| {
                        write!(f, "{}: {} = {}", name.name, SortText(sort), DataText(value, 0))
                    })?;
                    f.write_str(")")?;
                }
                write!(f, ". {}", StateText(body, level))
            }
            StateKind::Quantifier(quantifier, vars, body) => {
                write!(f, "{} {}. {}", word(*quantifier), VarsText(vars), StateText(body, level))
            }
            StateKind::Variable(name, arguments) => applied(f, &name.name, arguments),
        }
    }
}

fn word(quantifier: Quantifier) -> &'static str {
    match quantifier {
        Quantifier::Forall => "forall",
        Quantifier::Exists => "exists",
    }
}

fn applied(f: &mut Formatter<'_>, name: &str, arguments: &[super::tree::Data]) -> fmt::Result {
    match arguments {
        [] => f.write_str(name),
        _ => write!(f, "{name}({})", DatasText(arguments)),
    }
}

fn state_level(state: &StateFormula) -> u8 {
    match &state.kind {
        StateKind::Fixpoint(..) => state_levels::FIXPOINT,
        StateKind::Quantifier(..) => state_levels::QUANTIFIER,
        StateKind::Implies(..) => state_levels::IMPLIES,
        StateKind::Or(_) => state_levels::OR,
        StateKind::And(_) => state_levels::AND,
        StateKind::Not(_) | StateKind::Box(..) | StateKind::Diamond(..) => state_levels::MODALITY,
        StateKind::Bool(_) | StateKind::Data(_) | StateKind::Variable(..) => u8::MAX,
    }
}

/// A regular formula where an operator of a level takes it.
struct RegularText<'t>(&'t RegularFormula, u8);

impl Display for RegularText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (level, between, operands) = match &self.0.kind {
            RegularKind::Action(action) => return ActionText(action, self.1).fmt(f),
            // A '+' directly before an operand would stand between two.
            RegularKind::Star(body) | RegularKind::Plus(body) => {
                let sign = if matches!(self.0.kind, RegularKind::Star(_)) { "*" } else { "+" };
                let level = regular_levels::REPEAT;
                return match level < self.1 {
                    true => write!(f, "({}{sign})", RegularText(body, level)),
                    false => write!(f, "{}{sign}", RegularText(body, level)),
                };
            }
            RegularKind::Choice(operands) => (regular_levels::CHOICE, " + ", operands),
            RegularKind::Seq(operands) => (regular_levels::SEQ, " . ", operands),
        };
        let (open, close) = if level < self.1 { ("(", ")") } else { ("", "") };
        f.write_str(open)?;
        join(f, operands, between, |f, operand| RegularText(operand, level + 1).fmt(f))?;
        f.write_str(close)
    }
}

/// An action formula where an operator of a level takes it.
struct ActionText<'t>(&'t ActionFormula, u8);

impl Display for ActionText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let level = action_level(self.0);
        if level < self.1 {
            return write!(f, "({})", ActionText(self.0, 0));
        }
        match &self.0.kind {
            ActionKind::Bool(value) => write!(f, "{value}"),
            ActionKind::Data(data) => write!(f, "val({})", DataText(data, 0)),
            ActionKind::MultiAction(actions) if actions.is_empty() => f.write_str("tau"),
            ActionKind::MultiAction(actions) => {
                join(f, actions, "|", |f, action| applied(f, &action.name.name, &action.arguments))
            }
            ActionKind::Not(body) => write!(f, "!{}", ActionText(body, level)),
            ActionKind::And(operands) => {
                join(f, operands, " && ", |f, operand| ActionText(operand, level + 1).fmt(f))
            }
            ActionKind::Or(operands) => {
                join(f, operands, " || ", |f, operand| ActionText(operand, level + 1).fmt(f))
            }
            ActionKind::Implies(left, right) => {
                write!(f, "{} => {}", ActionText(left, level + 1), ActionText(right, level))
            }
            ActionKind::Quantifier(quantifier, vars, body) => {
                write!(f, "{} {}. {}", word(*quantifier), VarsText(vars), ActionText(body, level))
            }
        }
    }
}

fn action_level(action: &ActionFormula) -> u8 {
    match &action.kind {
        ActionKind::Quantifier(..) => regular_levels::QUANTIFIER,
        ActionKind::Implies(..) => regular_levels::IMPLIES,
        ActionKind::Or(_) => regular_levels::OR,
        ActionKind::And(_) => regular_levels::AND,
        ActionKind::Not(_) => regular_levels::NOT,
        ActionKind::Bool(_) | ActionKind::Data(_) | ActionKind::MultiAction(_) => u8::MAX,
    }
}
