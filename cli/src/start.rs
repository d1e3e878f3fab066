//! The state in which a run begins, if not the initial one: `--from`.
//!
//! The state is the one after the first steps of a saved trace, or one that a file of JSON describes process by process.
//! Invariant: the network that searches get begins there, so all their verdicts, counts and traces start from that state.

use crate::input::read_text;
use crate::outcome::Failure;
use crate::quantities::{count, counted};
use crate::saved_trace::{self, Followed, LONGEST_FILE, Saved, Wanted};
use crate::watch::Watch;
use clap::Args;
use gridlock_lang::network::build::Builder;
use gridlock_lang::system::{Checked, Undescribed};
use gridlock_lts::model::network::{Local, Network, Outcome};
use gridlock_manager::fingerprint::fingerprint;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The flag.
#[derive(Args, Clone, Default, Debug)]
pub struct FromFlag {
    /// Begin in the state after a saved trace, or after its first STEP steps; or in one that a JSON file describes
    #[arg(long, value_name = "TRACE[@STEP]")]
    from: Option<String>,
}

/// A state to begin in.
#[derive(Debug)]
pub struct Start {
    /// The file, as the user named it.
    file: String,
    /// The argument of the user, if there was one.
    flag: Option<String>,
    /// Equal for equal texts.
    print: String,
    place: Given,
}

#[derive(Debug)]
enum Given {
    /// The state after these steps, with the number of steps in the file.
    Steps(Saved, usize),
    /// The state that is described, process by process.
    State(Vec<Described>),
}

/// The state of a process, as JSON has it.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Described {
    /// The process.
    pub name: String,
    /// Its state.
    pub state: String,
}

/// The same for reports.
#[derive(Serialize, Debug)]
pub struct ShownStart<'a> {
    file: &'a str,
    /// The steps before, and those of the file; null if the file describes a state.
    step: Option<usize>,
    steps: Option<usize>,
}

/// The content of a file that describes a state.
#[derive(Deserialize)]
struct StateFile {
    #[serde(default)]
    trace: Option<IgnoredAny>,
    #[serde(default, alias = "leaves")]
    end: Option<Vec<Described>>,
    #[serde(default)]
    verdict: Option<IgnoredAny>,
}

/// The least content of a file with a trace.
#[derive(Deserialize)]
struct TraceFile {
    #[serde(default)]
    trace: Option<IgnoredAny>,
}

impl FromFlag {
    /// Reads the file, if the flag names one.
    pub fn read(&self) -> Result<Option<Start>, Failure> {
        self.from.as_deref().map(Start::read).transpose()
    }
}

impl Start {
    fn read(flag: &str) -> Result<Self, Failure> {
        let (file, step) = divided(flag);
        if file == "-" {
            return Err(Failure::input("--from needs the name of a file"));
        }
        let (file, text) = read_text(Path::new(file), LONGEST_FILE)?;
        Ok(Start { flag: Some(flag.to_owned()), ..Start::parse(file, &text, step)? })
    }

    /// A state from the text of a file, after this number of its steps.
    pub fn parse(file: String, text: &str, step: Option<usize>) -> Result<Self, Failure> {
        let print = fingerprint(text);
        let described = described(text).map_err(|why| Failure::input(format_args!("{file}: {why}")))?;
        let place = match described {
            Some(_) if step.is_some() => {
                return Err(Failure::input(format_args!(
                    "{file} describes a state and has no steps: leave out the number behind @"
                )));
            }
            Some(state) => Given::State(state),
            None => {
                let Saved { mut steps, .. } = saved_trace::parse(&file, text)?;
                let all = steps.len();
                let step = step.unwrap_or(all);
                if step > all {
                    return Err(Failure::input(format_args!(
                        "{file} has only {}, so there is no state after step {}",
                        counted(all, "step"),
                        count(step as u64)
                    )));
                }
                steps.truncate(step);
                Given::Steps(Saved { steps, repeats_from: None }, all)
            }
        };
        Ok(Start { file, flag: None, print, place })
    }

    /// The state in words, to follow the word `from`.
    pub fn shown(&self) -> String {
        match &self.place {
            Given::Steps(saved, _) => format!("step {} of {}", count(saved.steps.len() as u64), self.file),
            Given::State(_) => format!("the state in {}", self.file),
        }
    }

    /// For JSON.
    pub fn fields(&self) -> ShownStart<'_> {
        let (step, steps) = match &self.place {
            Given::Steps(saved, all) => (Some(saved.steps.len()), Some(*all)),
            Given::State(_) => (None, None),
        };
        ShownStart { file: &self.file, step, steps }
    }

    /// Distinguishes it from other states to begin in, independent of the file's name.
    pub fn identity(&self) -> String {
        match &self.place {
            Given::Steps(saved, _) => format!("step {} of {}", saved.steps.len(), self.print),
            Given::State(_) => format!("state {}", self.print),
        }
    }

    /// The same on another command line.
    pub fn arguments(&self) -> [String; 2] {
        ["--from".to_owned(), self.flag.as_ref().unwrap_or(&self.file).clone()]
    }

    /// Makes a specification begin there. Its tables must still be empty.
    pub fn enter(&self, checked: &mut Checked, watch: &Watch) -> Result<(), Failure> {
        watch.begin("replaying where to begin", "");
        match &self.place {
            Given::Steps(saved, _) => {
                checked.begin_at(|net, builder| self.state_after(saved, net, builder, watch))
            }
            Given::State(state) => self.describe(state, checked, watch),
        }
    }

    fn wrong(&self, why: impl std::fmt::Display) -> Failure {
        match &self.flag {
            Some(flag) => Failure::input(format_args!("--from {flag}: {why}")),
            None => Failure::input(format_args!("{}: {why}", self.file)),
        }
    }

    fn state_after(
        &self,
        saved: &Saved,
        net: &mut Network,
        builder: &mut Builder,
        watch: &Watch,
    ) -> Result<Vec<Local>, Failure> {
        let (trace, followed) = saved_trace::follow((&mut *net, builder), saved, watch)?;
        if followed != Followed::Whole {
            let step = saved.steps.get(trace.len()).map_or("", Wanted::shown);
            return Err(self.wrong(format_args!(
                "this is no run of the specification: after {}, `{step}` is not possible\n  help: `gridlock replay` \
                 shows what is",
                counted(trace.len(), "step")
            )));
        }
        let outcome = |vector: u32| net.vectors[vector as usize].outcome;
        if trace.steps.iter().any(|step| matches!(outcome(step.vector.0), Outcome::Fault(_))) {
            return Err(self.wrong("the last step has no meaning, so there is no state after it"));
        }
        Ok(trace.end(net))
    }

    /// Makes the specification begin in the described state.
    fn describe(&self, state: &[Described], checked: &mut Checked, watch: &Watch) -> Result<(), Failure> {
        let names: Vec<String> = checked.leaves().map(str::to_owned).collect();
        if let Some(unknown) = state.iter().find(|one| !names.contains(&one.name)) {
            return Err(self.wrong(format_args!(
                "there is no process `{}`\n  help: `gridlock info` lists the processes",
                unknown.name
            )));
        }
        let of_leaf = |name: &String| {
            let mut there = state.iter().filter(|one| one.name == *name);
            match (there.next(), there.next()) {
                (Some(one), None) => Ok(one.state.as_str()),
                (None, _) => Err(self.wrong(format_args!("it does not say where `{name}` is"))),
                (Some(_), Some(_)) => Err(self.wrong(format_args!("it says twice where `{name}` is"))),
            }
        };
        let texts = names.iter().map(of_leaf).collect::<Result<Vec<&str>, _>>()?;
        let begun = checked.begin_where(&texts, &mut |states| {
            watch.count(states, 0);
            watch.stopped().is_none()
        });
        if watch.stopped().is_some() {
            return Err(Failure::Stopped);
        }
        begun.map_err(|why| {
            self.wrong(match why {
                Undescribed::Open(why) => format!(
                    "states can only be found by what they are called if there are tables of all, and those cannot be \
                     filled: {why}\n  help: give a trace that leads there"
                ),
                Undescribed::Unknown(leaf) => {
                    format!("`{}` is never in the state `{}`", names[leaf], texts[leaf])
                }
                Undescribed::Several(leaf) => format!(
                    "several states of `{}` are called `{}`\n  help: give a trace that leads there",
                    names[leaf], texts[leaf]
                ),
            })
        })
    }
}

/// Splits the flag into the file and the number of steps. If there is a file with the whole text as its name, that file is
/// meant.
fn divided(flag: &str) -> (&str, Option<usize>) {
    let divided = flag.rsplit_once('@').and_then(|(file, step)| Some((file, step.parse().ok()?)));
    match divided {
        Some((file, step)) if !Path::new(flag).exists() => (file, Some(step)),
        _ => (flag, None),
    }
}

/// The state that a text describes, if it describes one and has no trace. An error if a text has neither a state nor a trace,
/// and is no result without a trace.
fn described(text: &str) -> Result<Option<Vec<Described>>, String> {
    if !text.trim_start().starts_with('{') {
        return Ok(None);
    }
    match serde_json::from_str::<StateFile>(text) {
        Ok(StateFile { trace: None, end: Some(end), .. }) => Ok(Some(end)),
        Ok(StateFile { trace: None, end: None, verdict: None }) => Err(
            "it has neither a list `trace` of steps, nor a list `end` or `leaves` with `name` and `state` of every process"
                .to_owned(),
        ),
        Ok(_) => Ok(None),
        // What a trace has besides its steps is not asked for here.
        Err(why) => match serde_json::from_str::<TraceFile>(text) {
            Ok(TraceFile { trace: Some(_) }) => Ok(None),
            _ => Err(why.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_behind_the_file_is_a_step() {
        assert_eq!(divided("why.trace"), ("why.trace", None));
        assert_eq!(divided("why.trace@12"), ("why.trace", Some(12)));
        assert_eq!(divided("user@host"), ("user@host", None));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t@3").display().to_string();
        std::fs::write(&path, "").unwrap();
        assert_eq!(divided(&path), (&*path, None));
        assert_eq!(divided(&format!("{path}@4")), (&*path, Some(4)));
    }

    #[test]
    fn a_state_is_what_has_no_trace() {
        let state = r#"{"end": [{"name": "S", "state": "S(b = true)", "source": "x"}], "version": 1}"#;
        let of = |text: &str| described(text).unwrap();
        assert_eq!(of(state).unwrap()[0].state, "S(b = true)");
        assert!(of(&state.replace("end", "leaves")).is_some());
        assert!(of(r#"{"trace": [], "end": []}"#).is_none());
        assert!(of(r#"{"trace": [], "end": "later"}"#).is_none());
        assert!(of(r#"{"trace": null, "end": null, "verdict": "holds"}"#).is_none());
        assert!(of("a\nb\n").is_none());
        for (text, why) in [
            (r#"{"trace": null, "end": null}"#, "neither a list `trace`"),
            (r#"{"leaves": [{"name": "S"}]}"#, "missing field `state`"),
            (r#"{"end": "#, "EOF"),
        ] {
            let told = described(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }

    #[test]
    fn steps_are_counted_in_the_file() {
        let start = |step| Start::parse("f".into(), "a\nb\n", step);
        assert_eq!(start(None).unwrap().shown(), "step 2 of f");
        assert_eq!(start(Some(0)).unwrap().shown(), "step 0 of f");
        let refused = start(Some(3)).unwrap_err();
        assert!(matches!(&refused, Failure::Input(text) if text.contains("only 2 steps")), "{refused:?}");
        assert_ne!(start(Some(1)).unwrap().identity(), start(None).unwrap().identity());
    }
}
