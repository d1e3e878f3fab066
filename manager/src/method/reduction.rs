//! `--reduce` and `--symmetry`: the flags for steps and states that are left out, and the report about them.

use super::Row;
use super::quantities::count;
use super::trials::Decision;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::reduce::{Keep, Save};
use gridlock_lts::engine::search::Reduction;
use serde::Serialize;

/// Whether steps are left out.
#[derive(clap::Args, Clone, Copy, Default, Debug)]
pub(super) struct Less {
    /// Leave out steps whose order makes no difference: the same verdict from fewer states. Needs complete tables [default:
    /// auto; off on MPI ranks, by slices, and with --checkpoint or --symmetry auto]
    #[arg(long, value_name = "WHEN", value_enum, help_heading = "Search")]
    reduce: Option<Reduce>,
}

/// The values of `--reduce`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Reduce {
    /// Leave out what stubborn sets allow
    On,
    /// The same, and store no states with a single step left: far less memory, longer counterexamples
    Chains,
    /// Search in full, and beside a large search with reduction on a small part of the time: whichever is over first answers
    Auto,
    /// Take every step: the counts are those of the state space
    Off,
    /// For comparison: the published two-phase method, which saves all states of phase 1
    #[value(name = "two-phase", alias = "two-phase=all")]
    TwoPhase,
    /// The same, which saves those after a step back
    #[value(name = "two-phase=back-edge")]
    BackEdge,
    /// The same, which saves none
    #[value(name = "two-phase=none")]
    SaveNone,
    /// On ranks: all, those that another rank owns as well
    #[value(name = "two-phase=all,foreign")]
    Foreign,
    /// On ranks: those after a step back, those that another rank owns as well
    #[value(name = "two-phase=back-edge,foreign")]
    ForeignBackEdge,
}

/// Whether like processes are told apart.
#[derive(clap::Args, Clone, Copy, Default, Debug)]
pub(super) struct Alike {
    /// Visit only one of the states that differ by an exchange of like processes. Needs complete tables
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, help_heading = "Search")]
    symmetry: Symmetry,
}

/// The values of `--symmetry`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Symmetry {
    /// Look for processes that can take each other's places
    Auto,
    /// Tell all processes apart: the counts are those of the state space
    #[default]
    Off,
}

impl Alike {
    /// Whether processes that can take each other's places are looked for.
    pub(super) fn is_wanted(self) -> bool {
        self.symmetry == Symmetry::Auto
    }

    /// Refuses reductions that cannot be combined with symmetry.
    pub(super) fn check(self, less: Less) -> Result<()> {
        let fits = match less.asked(false) {
            None | Some(Taken::All) => true,
            Some(Taken::Reduced(keep)) => !keep.passes_states(),
            Some(Taken::Trials { .. }) => false,
        };
        match self.is_wanted() && !fits {
            true => Err(Error::input("--symmetry auto goes with --reduce on or off: say one of these")),
            false => Ok(()),
        }
    }

    /// The name of a search with these steps.
    pub(super) fn shown(self, taken: Taken) -> String {
        taken.shown() + if self.is_wanted() { ", symmetry" } else { "" }
    }
}

/// The row about processes that can take each other's places, if they were looked for.
pub(super) fn symmetry_row(classes: &[Vec<String>]) -> Row {
    let shown = |names: &Vec<String>| match &names[..] {
        [first, .., last] if names.len() > 2 => format!("{first} to {last} ({})", names.len()),
        names => names.join(", "),
    };
    let text = match classes {
        [] => "no processes can take each other's places".to_owned(),
        classes => {
            let classes = classes.iter().map(shown).collect::<Vec<_>>().join("; ");
            format!(
                "{classes} can take each other's places: a state stands for all that differ in that alone"
            )
        }
    };
    ("symmetry", text)
}

/// Which steps a search takes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Taken {
    #[default]
    All,
    /// The steps that a reduction keeps.
    Reduced(Keep),
    /// All steps, beside a reduced search that may end sooner.
    Trials {
        /// Whether the user asked for it.
        asked: bool,
    },
}

impl Taken {
    /// What a search leaves out, in words.
    pub(super) fn shown(self) -> String {
        match self {
            Taken::All | Taken::Trials { .. } => "off".to_owned(),
            Taken::Reduced(keep) => format!("{keep:?}").to_lowercase(),
        }
    }
}

impl Less {
    /// Which steps are taken. `alone`: whether several searches are possible if the user gave no flag.
    pub(super) fn taken(self, shortest: bool, alone: bool) -> Taken {
        let unsaid = if alone { Taken::Trials { asked: false } } else { Taken::All };
        self.asked(shortest).unwrap_or(unsaid)
    }

    /// What the user asked for.
    fn asked(self, shortest: bool) -> Option<Taken> {
        let two_phase = |save, foreign| Taken::Reduced(Keep::TwoPhase { save, foreign });
        Some(match self.reduce? {
            Reduce::On if shortest => Taken::Reduced(Keep::Lengths),
            Reduce::On => Taken::Reduced(Keep::Verdicts),
            Reduce::Chains => Taken::Reduced(Keep::Chains),
            Reduce::Auto => Taken::Trials { asked: true },
            Reduce::Off => Taken::All,
            Reduce::TwoPhase => two_phase(Save::All, false),
            Reduce::BackEdge => two_phase(Save::BackEdges, false),
            Reduce::SaveNone => two_phase(Save::Nothing, false),
            Reduce::Foreign => two_phase(Save::All, true),
            Reduce::ForeignBackEdge => two_phase(Save::BackEdges, true),
        })
    }

    /// Whether `--reduce on` was given: only that value can be combined with `--shortest`.
    pub(super) fn is_on(self) -> bool {
        self.reduce == Some(Reduce::On)
    }

    /// The reduction of a method that knows stubborn sets only.
    pub(super) fn keep_of(self, method: &str) -> Result<Option<Keep>> {
        match self.reduce {
            Some(Reduce::On) => Ok(Some(Keep::Verdicts)),
            Some(Reduce::Off) | None => Ok(None),
            Some(_) => Err(Error::Input(format!("{method} takes --reduce on or off"))),
        }
    }

    /// A reduction reads from the tables what each leaf can reach, so that the tables must be complete.
    pub(super) fn needs_complete_tables(self) -> Option<&'static str> {
        match self.reduce? {
            Reduce::On => Some("--reduce on"),
            Reduce::Chains => Some("--reduce chains"),
            Reduce::Auto | Reduce::Off => None,
            _ => Some("--reduce two-phase"),
        }
    }

    /// Refuses a depth limit for reductions whose steps stand for several.
    pub(super) fn check(self, max_depth: Option<u64>) -> Result<()> {
        if let Some(Taken::Reduced(keep)) = self.asked(false)
            && keep.passes_states()
            && max_depth.is_some()
        {
            let flag = self.needs_complete_tables().unwrap_or_default();
            return Err(Error::Input(format!(
                "--max-depth counts steps, and a step of {flag} stands for several: leave one of them out"
            )));
        }
        Ok(())
    }

    /// Refuses a checkpoint if there are several searches, or states that are not stored.
    pub(super) fn check_checkpoint(self) -> Result<()> {
        match self.asked(false) {
            Some(Taken::Trials { .. }) => Err(Error::input(
                "--checkpoint keeps one search, and --reduce auto makes several: say --reduce on or off",
            )),
            Some(Taken::Reduced(Keep::TwoPhase { .. })) => Err(Error::input(
                "--checkpoint does not keep what phase 1 of --reduce two-phase has saved: say --reduce on or off",
            )),
            Some(Taken::All | Taken::Reduced(_)) | None => Ok(()),
        }
    }
}

/// The reduction in the JSON result.
#[derive(Serialize, Clone, Debug)]
pub(super) struct Reduced {
    method: &'static str,
    shortest: bool,
    /// States that were passed through without a search from them, counted each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    passed: Option<u64>,
    /// How many of them were stored nevertheless.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<u64>,
    /// States of the full search when this one took over.
    #[serde(skip_serializing_if = "Option::is_none")]
    instead_of: Option<u64>,
}

impl Reduced {
    /// What a search kept. `shortest`: whether its order makes counterexamples short.
    pub(super) fn new(kept: Reduction, shortest: bool, decision: Option<Decision>) -> Self {
        let instead_of = match decision {
            Some(Decision::Reduced(states) | Decision::Memory(states) | Decision::Longer(states)) => {
                Some(states)
            }
            Some(Decision::Full(_)) | None => None,
        };
        let method = match kept.keep {
            Keep::Verdicts | Keep::Lengths => "stubborn sets",
            Keep::Chains => "stubborn sets, chains",
            Keep::TwoPhase { save: Save::All, .. } => "two-phase, all states saved",
            Keep::TwoPhase { save: Save::BackEdges, .. } => "two-phase, states after back edges saved",
            Keep::TwoPhase { save: Save::Nothing, .. } => "two-phase, no states saved",
        };
        let Reduction { passed, saved, lengths, .. } = kept;
        Reduced { method, shortest: lengths && shortest, passed, saved, instead_of }
    }
}

/// The name of the states that a reduction counts.
pub(super) fn states(keep: Keep) -> &'static str {
    if keep.passes_states() { "states stored" } else { "states visited" }
}

/// The row about a reduction. `shortest`: whether the order of the search makes counterexamples short.
pub(super) fn row(kept: Reduction, shortest: bool) -> Row {
    let reduced = Reduced::new(kept, shortest, None);
    let passes = kept.keep.passes_states();
    let length = match (reduced.shortest, shortest && !passes) {
        (true, _) => "counterexamples are as short as possible",
        (false, true) => "counterexamples may be longer than necessary (--shortest)",
        (false, false) => "counterexamples are as the search meets them",
    };
    let states = match (passes, reduced.passed) {
        (true, Some(passed)) => format!("stored, {} were passed", count(passed)),
        (true, None) => "stored".to_owned(),
        (false, _) => "visited, not all there are".to_owned(),
    };
    let saved =
        reduced.saved.map_or(String::new(), |saved| format!(", {} of them saved besides", count(saved)));
    ("reduction", format!("{}: states are those {states}{saved}; {length}", reduced.method))
}

/// The report of `--reduce auto`.
pub(super) fn auto(decision: Decision) -> String {
    match decision {
        Decision::Full(false) => "took every step: the system is small".to_owned(),
        Decision::Full(true) => "took every step: a reduced search beside it was not over sooner".to_owned(),
        Decision::Reduced(states) => {
            format!("reduced: that was over when the full search had {} states", count(states))
        }
        Decision::Memory(states) => {
            format!("reduced: the full search ran out of memory at {} states", count(states))
        }
        Decision::Longer(states) => {
            let states = count(states);
            format!(
                "reduced: that had a counterexample when the full search ended at a limit, with {states} states"
            )
        }
    }
}
