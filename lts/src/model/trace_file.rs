//! Traces as files: what a person can read, `grep` and `diff`, and what a replay needs to find the same steps again.
//!
//! ```text
//! gridlock trace 1
//! specification<TAB>models/abp.mcrl2
//! step<TAB>c2(d1, true)
//! <TAB>S<TAB>s2(d1, true)<TAB>T(d = d1, b = true)
//! <TAB>K<TAB>r2(d1, true)<TAB>abp.mcrl2:31:5(d = d1, b = true)
//! end<TAB>1
//! ```
//!
//! A run that repeats for ever has a line `repeats<TAB>k` before the last: after its last step it is where it was before
//! step k, counted from 1.
//!
//! The first line names the format and its version. Each `step` line has the label of a step as the system shows it
//! (hidden ones are `tau`); the indented lines below it name the processes that take part, in the order of the
//! specification: its name, what it contributes before communication and hiding, and its state afterwards. The last line
//! repeats the number of steps, so that a file that was cut off is noticed. In all fields a tab, a line break, a carriage
//! return and a backslash are written `\t`, `\n`, `\r` and `\\`. Empty lines and lines that begin with `#` mean nothing.
//!
//! Numbers of states and vectors depend on how tables were filled and are not in the file: a step is identified by its
//! label and by what each process contributes ([`RecordedStep::matches`]). The states afterwards are for people, and for
//! telling apart two moves of a process that agree in everything else.

use crate::model::network::{LeafIx, Local, LocalLabel, Network, Outcome, TableSource, VectorIx};
use crate::model::trace::Trace;
use std::fmt;
use std::io::{self, Write};

const FIRST_LINE: &str = "gridlock trace ";
const VERSION: &str = "1";

/// A trace as a file holds it.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct TraceFile {
    /// The name of the specification when the trace was recorded.
    pub specification: String,
    /// Where it begins if not in the initial state, for people: it is written as a remark, and not read.
    pub from: Option<String>,
    /// The steps, from there.
    pub steps: Vec<RecordedStep>,
    /// The first of the steps that are repeated for ever, counted from 1, if any are.
    pub repeats_from: Option<usize>,
}

/// One step of the system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedStep {
    /// The visible label.
    pub label: String,
    /// The leaves that take part, in the order of the specification.
    pub parts: Vec<RecordedPart>,
}

/// What one leaf does in a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedPart {
    /// The leaf's name.
    pub leaf: String,
    /// Its local label.
    pub action: String,
    /// Its state afterwards, as [`TableSource::describe`] prints it.
    pub state: String,
}

impl RecordedStep {
    /// Writes down the step of a vector that leads to the given local states.
    pub fn new(net: &Network, source: &dyn TableSource, vector: VectorIx, target: &[Local]) -> Self {
        let taken = &net.vectors[vector.0 as usize];
        let part = |&(leaf, label): &(LeafIx, LocalLabel)| {
            let table = &net.leaves[leaf.0 as usize];
            RecordedPart {
                leaf: table.name.clone(),
                action: table.labels[label.0 as usize].clone(),
                state: source.describe(leaf, target[leaf.0 as usize]),
            }
        };
        RecordedStep {
            label: label_of(net, vector).to_owned(),
            parts: taken.parts.iter().map(part).collect(),
        }
    }

    /// Whether a vector is what was recorded: the same label, and the same leaves contribute the same.
    pub fn matches(&self, net: &Network, vector: VectorIx) -> bool {
        let parts = &net.vectors[vector.0 as usize].parts;
        label_of(net, vector) == self.label
            && parts.len() == self.parts.len()
            && parts.iter().zip(&self.parts).all(|(&(leaf, label), part)| {
                let table = &net.leaves[leaf.0 as usize];
                table.name == part.leaf && table.labels[label.0 as usize] == part.action
            })
    }
}

/// What the system shows when a vector is taken; a fault shows its message.
fn label_of(net: &Network, vector: VectorIx) -> &str {
    match net.vectors[vector.0 as usize].outcome {
        Outcome::Step(label) => &net.labels[label.0 as usize],
        Outcome::Fault(fault) => &net.faults[fault as usize],
    }
}

impl TraceFile {
    /// Writes down a trace of a network.
    pub fn record(net: &Network, source: &dyn TableSource, specification: &str, trace: &Trace) -> Self {
        let steps = trace.steps.iter().map(|s| RecordedStep::new(net, source, s.vector, &s.target)).collect();
        TraceFile { specification: specification.to_owned(), from: None, steps, repeats_from: None }
    }

    /// Writes the file.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = io::BufWriter::new(out);
        writeln!(out, "{FIRST_LINE}{VERSION}")?;
        writeln!(out, "specification\t{}", Escaped(&self.specification))?;
        if let Some(from) = &self.from {
            writeln!(out, "# from {}", Escaped(from))?;
        }
        for step in &self.steps {
            writeln!(out, "step\t{}", Escaped(&step.label))?;
            for RecordedPart { leaf, action, state } in &step.parts {
                writeln!(out, "\t{}\t{}\t{}", Escaped(leaf), Escaped(action), Escaped(state))?;
            }
        }
        if let Some(from) = self.repeats_from {
            writeln!(out, "repeats\t{from}")?;
        }
        writeln!(out, "end\t{}", self.steps.len())?;
        out.flush()
    }

    /// Reads the text of a file.
    pub fn read(text: &str) -> Result<TraceFile, ReadError> {
        let mut trace = TraceFile::default();
        let mut lines = (1..).zip(text.lines()).filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
        let wrong = |line: usize, problem: &str| ReadError { line, problem: problem.to_owned() };
        let (line, first) = lines.next().unwrap_or((1, ""));
        match first.strip_prefix(FIRST_LINE).map(str::trim_end) {
            Some(VERSION) => {}
            Some(other) => {
                let problem = format!("this is version {other} of the format, only {VERSION} is understood");
                return Err(wrong(line, &problem));
            }
            None => return Err(wrong(line, "expected the line `gridlock trace 1`: this is no trace")),
        }
        let mut end = None;
        for (line, content) in lines {
            let fields: Vec<&str> = content.split('\t').collect();
            let text = |k: usize| {
                unescape(fields[k])
                    .ok_or_else(|| wrong(line, "a backslash begins none of \\t, \\n, \\r, \\\\"))
            };
            match fields[..] {
                _ if end.is_some() => return Err(wrong(line, "there is more after the line `end`")),
                ["specification", _] if trace.steps.is_empty() => trace.specification = text(1)?,
                ["repeats", from] => {
                    let from = from.trim_end().parse().ok();
                    if trace.repeats_from.is_some() || !from.is_some_and(|k| 1 <= k && k <= trace.steps.len())
                    {
                        return Err(wrong(line, "`repeats` names one of the steps before it, once"));
                    }
                    trace.repeats_from = from;
                }
                _ if trace.repeats_from.is_some() && fields[0] != "end" => {
                    return Err(wrong(line, "expected `end` after `repeats`"));
                }
                ["step", _] => trace.steps.push(RecordedStep { label: text(1)?, parts: Vec::new() }),
                ["", _, _, _] => {
                    let step =
                        trace.steps.last_mut().ok_or_else(|| wrong(line, "there is no step before"))?;
                    step.parts.push(RecordedPart { leaf: text(1)?, action: text(2)?, state: text(3)? });
                }
                ["end", count] if count.trim_end() == trace.steps.len().to_string() => end = Some(line),
                ["end", count] => {
                    let problem = format!("{count} steps announced, {} found", trace.steps.len());
                    return Err(wrong(line, &problem));
                }
                _ => {
                    let problem =
                        "expected `step`, a process that takes part, or `end`, with tabs between fields";
                    return Err(wrong(line, problem));
                }
            }
        }
        match end {
            Some(_) => Ok(trace),
            None => Err(wrong(text.lines().count(), "the line `end` is missing: the file is cut off")),
        }
    }
}

/// Why a trace file could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for ReadError {}

/// A field as the file has it.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        self.0.chars().try_for_each(|c| match c {
            '\t' => f.write_str("\\t"),
            '\n' => f.write_str("\\n"),
            '\r' => f.write_str("\\r"),
            '\\' => f.write_str("\\\\"),
            other => f.write_char(other),
        })
    }
}

fn unescape(field: &str) -> Option<String> {
    let mut text = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next()? {
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                '\\' => '\\',
                _ => return None,
            },
            other => other,
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use crate::samples::synthetic::philosophers;

    struct Numbers;

    impl TableSource for Numbers {
        fn expand(&mut self, _: &mut Network, _: LeafIx, _: Local) -> crate::base::error::Result<()> {
            Ok(())
        }

        fn describe(&self, leaf: LeafIx, local: Local) -> String {
            format!("{}\t{}\\\n", leaf.0, local.0)
        }
    }

    /// A walk of some steps.
    fn walk(net: &Network, length: usize, seed: u64) -> Trace {
        let mut rng = Rng::new(seed);
        let mut trace = Trace::default();
        let mut steps = Vec::new();
        for _ in 0..length {
            net.successors(&trace.end(net), &mut steps);
            if steps.is_empty() {
                break;
            }
            trace.steps.push(steps.swap_remove(rng.below(steps.len())));
        }
        trace
    }

    fn written(file: &TraceFile) -> String {
        let mut out = Vec::new();
        file.write(&mut out).expect("memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn what_is_written_is_read() {
        let net = philosophers(3);
        for seed in 0..20 {
            let trace = walk(&net, seed as usize, seed);
            let file = TraceFile::record(&net, &Numbers, "odd\tname.mcrl2", &trace);
            assert_eq!(file.steps.len(), trace.len());
            assert_eq!(TraceFile::read(&written(&file)), Ok(file));
        }
    }

    #[test]
    fn a_step_matches_its_own_vector_only() {
        let net = philosophers(4);
        let trace = walk(&net, 30, 7);
        let file = TraceFile::record(&net, &Numbers, "", &trace);
        for (recorded, step) in file.steps.iter().zip(&trace.steps) {
            // In this network no two vectors have the same parts.
            for vector in (0..net.vectors.len() as u32).map(VectorIx) {
                assert_eq!(recorded.matches(&net, vector), vector == step.vector);
            }
        }
    }

    #[test]
    fn comments_and_empty_lines_mean_nothing() {
        let text = "# mine\n\ngridlock trace 1\n# more\nstep\ta\n\n\tP\ta\tX\nend\t1\n";
        let file = TraceFile::read(text).expect("well-formed");
        assert_eq!((file.steps[0].label.as_str(), file.steps[0].parts[0].leaf.as_str()), ("a", "P"));
    }

    #[test]
    fn a_run_that_goes_round_says_from_where() {
        let text = "gridlock trace 1\nspecification\tx\nstep\ta\nstep\tb\nrepeats\t2\nend\t2\n";
        let file = TraceFile::read(text).expect("well-formed");
        assert_eq!(file.repeats_from, Some(2));
        assert_eq!(written(&file), text);
    }

    #[test]
    fn damage_is_named() {
        let good = "gridlock trace 1\nspecification\tx\nstep\ta\n\tP\ta\tX\nend\t1\n";
        assert!(TraceFile::read(good).is_ok());
        for (text, line, problem) in [
            ("", 1, "no trace"),
            ("des (0,1,2)\n", 1, "no trace"),
            ("gridlock trace 2\n", 1, "version 2"),
            (&good[..good.len() - 6], 4, "cut off"),
            (&good.replace("end\t1", "end\t2"), 5, "2 steps announced, 1 found"),
            (&good.replace("\ta\tX", "\tX"), 4, "expected"),
            (&good.replace("\tX", "\t\\X"), 4, "backslash"),
            (&good.replace("step\ta\n", ""), 3, "no step before"),
            (&format!("{good}step\tb\n"), 6, "after the line `end`"),
            (&good.replace("end", "repeats\t0\nend"), 5, "names one of the steps"),
            (&good.replace("end", "repeats\t2\nend"), 5, "names one of the steps"),
            (&good.replace("end", "repeats\tx\nend"), 5, "names one of the steps"),
            (&good.replace("end", "repeats\t1\nrepeats\t1\nend"), 6, "names one of the steps"),
            (&good.replace("end", "repeats\t1\nstep\tb\nend"), 6, "expected `end`"),
        ] {
            let error = TraceFile::read(text).expect_err(text);
            assert!(error.line == line && error.problem.contains(problem), "{error} in {text}");
        }
    }
}
