//! The tree as text again: parsing the text gives the same tree, apart from places.
//!
//! Parentheses stand where precedence asks for them, by the levels that the readers use, so that printing and parsing
//! check each other.

use super::data::{binary_level, levels as data_levels};
use super::process::levels as process_levels;
use super::tree::*;
use super::with_deep_stack;
use std::fmt::{self, Display, Formatter};

/// A specification as text.
pub fn spec(spec: &Spec) -> String {
    with_deep_stack(|| SpecText(spec).to_string())
}

/// A sort as text.
pub fn sort(sort: &Sort) -> String {
    with_deep_stack(|| SortText(sort).to_string())
}

/// A data expression as text.
pub fn data(data: &Data) -> String {
    with_deep_stack(|| DataText(data, 0).to_string())
}

/// A process as text.
pub fn process(process: &Process) -> String {
    with_deep_stack(|| ProcessText(process, 0).to_string())
}

/// Items with something between them.
pub(super) fn join<T>(
    f: &mut Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    between: &str,
    mut show: impl FnMut(&mut Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            f.write_str(between)?;
        }
        show(f, item)?;
    }
    Ok(())
}

struct SpecText<'t>(&'t Spec);

impl Display for SpecText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        data_declarations(f, self.0)?;
        if !self.0.globals.is_empty() {
            writeln!(f, "glob {};", VarsText(&self.0.globals))?;
        }
        for ProcessDecl { name, params, body } in &self.0.processes {
            write!(f, "proc {}", name.name)?;
            if !params.is_empty() {
                write!(f, "({})", VarsText(params))?;
            }
            writeln!(f, " = {};", ProcessText(body, 0))?;
        }
        for init in &self.0.inits {
            writeln!(f, "init {};", ProcessText(init, 0))?;
        }
        Ok(())
    }
}

/// Everything but processes.
pub(super) fn data_declarations(f: &mut Formatter<'_>, spec: &Spec) -> fmt::Result {
    for SortDecl { name, definition } in &spec.sorts {
        match definition {
            Some(definition) => writeln!(f, "sort {} = {};", name.name, SortText(definition))?,
            None => writeln!(f, "sort {};", name.name)?,
        }
    }
    for FunctionDecl { name, sort } in &spec.constructors {
        writeln!(f, "cons {}: {};", name.name, SortText(sort))?;
    }
    for FunctionDecl { name, sort } in &spec.maps {
        writeln!(f, "map {}: {};", name.name, SortText(sort))?;
    }
    for EquationSection { vars, equations } in &spec.equations {
        if !vars.is_empty() {
            writeln!(f, "var {};", VarsText(vars))?;
        }
        writeln!(f, "eqn")?;
        for Equation { condition, left, right, .. } in equations {
            if let Some(condition) = condition {
                write!(f, "{} -> ", DataText(condition, 0))?;
            }
            writeln!(f, "{} = {};", DataText(left, 0), DataText(right, 0))?;
        }
    }
    for ActionDecl { name, sorts } in &spec.actions {
        write!(f, "act {}", name.name)?;
        if !sorts.is_empty() {
            f.write_str(": ")?;
            product(f, sorts)?;
        }
        writeln!(f, ";")?;
    }
    Ok(())
}

/// Sorts between `#`.
fn product(f: &mut Formatter<'_>, sorts: &[Sort]) -> fmt::Result {
    join(f, sorts, " # ", |f, sort| match sort.kind {
        SortKind::Function(..) | SortKind::Struct(_) => write!(f, "({})", SortText(sort)),
        _ => SortText(sort).fmt(f),
    })
}

pub(super) struct SortText<'t>(pub &'t Sort);

impl Display for SortText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            SortKind::Name(name) => f.write_str(name),
            SortKind::Container(container, element) => {
                let word = match container {
                    Container::List => "List",
                    Container::Set => "Set",
                    Container::FSet => "FSet",
                    Container::Bag => "Bag",
                    Container::FBag => "FBag",
                };
                write!(f, "{word}({})", SortText(element))
            }
            SortKind::Struct(constructors) => {
                f.write_str("struct ")?;
                join(f, constructors, " | ", constructor)
            }
            SortKind::Function(domain, codomain) => {
                product(f, domain)?;
                f.write_str(" -> ")?;
                match codomain.kind {
                    SortKind::Struct(_) => write!(f, "({})", SortText(codomain)),
                    _ => SortText(codomain).fmt(f),
                }
            }
        }
    }
}

fn constructor(f: &mut Formatter<'_>, constructor: &StructConstructor) -> fmt::Result {
    f.write_str(&constructor.name.name)?;
    if !constructor.fields.is_empty() {
        f.write_str("(")?;
        join(f, &constructor.fields, ", ", |f, (projection, sort)| {
            if let Some(projection) = projection {
                write!(f, "{}: ", projection.name)?;
            }
            SortText(sort).fmt(f)
        })?;
        f.write_str(")")?;
    }
    match &constructor.recogniser {
        Some(recogniser) => write!(f, "?{}", recogniser.name),
        None => Ok(()),
    }
}

pub(super) struct VarsText<'t>(pub &'t [VarDecl]);

impl Display for VarsText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        join(f, self.0, ", ", |f, VarDecl { name, sort }| {
            // In a comprehension '|' follows; in a 'struct' without parentheses it would add a constructor.
            match sort.kind {
                SortKind::Struct(_) => write!(f, "{}: ({})", name.name, SortText(sort)),
                _ => write!(f, "{}: {}", name.name, SortText(sort)),
            }
        })
    }
}

/// Data where an operator of a level takes it.
pub(super) struct DataText<'t>(pub &'t Data, pub u8);

impl Display for DataText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if data_level(self.0) < self.1 {
            return write!(f, "({})", DataText(self.0, 0));
        }
        match &self.0.kind {
            DataKind::Name(name) => f.write_str(name),
            DataKind::Number(number) => write!(f, "{number}"),
            DataKind::Bool(value) => write!(f, "{value}"),
            DataKind::List(elements) => write!(f, "[{}]", DatasText(elements)),
            DataKind::Set(elements) => write!(f, "{{{}}}", DatasText(elements)),
            DataKind::Bag(elements) if elements.is_empty() => f.write_str("{:}"),
            DataKind::Bag(elements) => {
                f.write_str("{")?;
                join(f, elements, ", ", |f, (element, count)| {
                    write!(f, "{}: {}", DataText(element, 0), DataText(count, 0))
                })?;
                f.write_str("}")
            }
            DataKind::Comprehension(variable, body) => {
                write!(f, "{{{} | {}}}", VarsText(std::slice::from_ref(variable)), DataText(body, 0))
            }
            DataKind::Apply(function, arguments) => {
                write!(f, "{}({})", DataText(function, data_levels::POSTFIX), DatasText(arguments))
            }
            DataKind::Update(function, at, value) => {
                let function = DataText(function, data_levels::POSTFIX);
                write!(f, "{function}[{} -> {}]", DataText(at, 0), DataText(value, 0))
            }
            DataKind::Unary(op, operand) => {
                write!(f, "{}{}", op.symbol(), DataText(operand, data_levels::PREFIX))
            }
            DataKind::Binary(op, left, right) => {
                let (level, assoc) = binary_level(*op);
                let (left_level, right_level) = assoc.operand_levels(level);
                write!(f, "{} {} {}", DataText(left, left_level), op.symbol(), DataText(right, right_level))
            }
            DataKind::Binder(binder, vars, body) => {
                let word = match binder {
                    Binder::Forall => "forall",
                    Binder::Exists => "exists",
                    Binder::Lambda => "lambda",
                };
                write!(f, "{word} {}. {}", VarsText(vars), DataText(body, data_levels::BINDER))
            }
            DataKind::Where(body, assignments) => {
                write!(f, "{} whr {} end", DataText(body, data_levels::WHERE), AssignmentsText(assignments))
            }
        }
    }
}

fn data_level(data: &Data) -> u8 {
    match &data.kind {
        DataKind::Unary(..) => data_levels::PREFIX,
        DataKind::Binary(op, ..) => binary_level(*op).0,
        DataKind::Binder(..) => data_levels::BINDER,
        DataKind::Where(..) => data_levels::WHERE,
        _ => data_levels::POSTFIX,
    }
}

pub(super) struct DatasText<'t>(pub &'t [Data]);

impl Display for DatasText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        join(f, self.0, ", ", |f, data| DataText(data, 0).fmt(f))
    }
}

struct AssignmentsText<'t>(&'t [(Ident, Data)]);

impl Display for AssignmentsText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        join(f, self.0, ", ", |f, (name, value)| write!(f, "{} = {}", name.name, DataText(value, 0)))
    }
}

/// A process where an operator of a level takes it.
struct ProcessText<'t>(&'t Process, u8);

impl Display for ProcessText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let level = process_level(self.0);
        if level < self.1 {
            return write!(f, "({})", ProcessText(self.0, 0));
        }
        match &self.0.kind {
            ProcessKind::Call(name, arguments) if arguments.is_empty() => f.write_str(&name.name),
            ProcessKind::Call(name, arguments) => write!(f, "{}({})", name.name, DatasText(arguments)),
            ProcessKind::Assign(name, assignments) => {
                write!(f, "{}({})", name.name, AssignmentsText(assignments))
            }
            ProcessKind::Delta => f.write_str("delta"),
            ProcessKind::Tau => f.write_str("tau"),
            ProcessKind::Choice(operands) => chain(f, operands, " + ", level),
            ProcessKind::Seq(operands) => chain(f, operands, " . ", level),
            ProcessKind::Parallel(operands) => chain(f, operands, " || ", level),
            ProcessKind::Sync(operands) => chain(f, operands, " | ", level),
            ProcessKind::LeftMerge(left, right) => {
                write!(f, "{} ||_ {}", ProcessText(left, level + 1), ProcessText(right, level))
            }
            ProcessKind::Sum(vars, body) => write!(f, "sum {}. {}", VarsText(vars), ProcessText(body, level)),
            ProcessKind::Condition(condition, then, otherwise) => {
                write!(f, "{} -> ", ConditionText(condition))?;
                match otherwise {
                    None => ProcessText(then, level).fmt(f),
                    // A condition in the then-branch would take the '<>' for itself.
                    Some(otherwise) => {
                        write!(f, "{} <> {}", ProcessText(then, level + 1), ProcessText(otherwise, level))
                    }
                }
            }
            ProcessKind::Block(names, body) => {
                restriction(f, "block", names, body, |f, name| f.write_str(&name.name))
            }
            ProcessKind::Hide(names, body) => {
                restriction(f, "hide", names, body, |f, name| f.write_str(&name.name))
            }
            ProcessKind::Rename(pairs, body) => restriction(f, "rename", pairs, body, |f, (from, to)| {
                write!(f, "{} -> {}", from.name, to.name)
            }),
            ProcessKind::Allow(names, body) => {
                restriction(f, "allow", names, body, |f, names| multi_action(f, names))
            }
            ProcessKind::Comm(pairs, body) => restriction(f, "comm", pairs, body, |f, (parties, result)| {
                multi_action(f, parties)?;
                write!(f, " -> {}", result.name)
            }),
        }
    }
}

fn process_level(process: &Process) -> u8 {
    match &process.kind {
        ProcessKind::Choice(_) => process_levels::CHOICE,
        ProcessKind::Sum(..) => process_levels::SUM,
        ProcessKind::Parallel(_) => process_levels::PARALLEL,
        ProcessKind::LeftMerge(..) => process_levels::LEFT_MERGE,
        ProcessKind::Condition(..) => process_levels::CONDITION,
        ProcessKind::Seq(_) => process_levels::SEQ,
        ProcessKind::Sync(_) => process_levels::SYNC,
        _ => u8::MAX,
    }
}

/// Operands side by side. One that is such a chain itself was in parentheses.
fn chain(f: &mut Formatter<'_>, operands: &[Process], between: &str, level: u8) -> fmt::Result {
    join(f, operands, between, |f, operand| ProcessText(operand, level + 1).fmt(f))
}

fn restriction<T>(
    f: &mut Formatter<'_>,
    word: &str,
    set: &[T],
    body: &Process,
    show: impl FnMut(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    write!(f, "{word}({{")?;
    join(f, set, ", ", show)?;
    write!(f, "}}, {})", ProcessText(body, 0))
}

fn multi_action(f: &mut Formatter<'_>, names: &[Ident]) -> fmt::Result {
    join(f, names, "|", |f, name| f.write_str(&name.name))
}

/// Data before `->`: without parentheses only where the language admits it.
struct ConditionText<'t>(&'t Data);

impl Display for ConditionText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            DataKind::Name(_) | DataKind::Bool(_) => DataText(self.0, 0).fmt(f),
            _ => write!(f, "({})", DataText(self.0, 0)),
        }
    }
}
