//! A simulation without its user interface: the current state, the possible steps, and the trace to the state.
//!
//! Invariant: all local states of the current state are expanded, and `possible` are its steps.

use crate::shown_trace::{ShownStep, ShownTrace};
use crate::stuck::{self, ShownStuck};
use gridlock_lang::system::System;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::model::network::{LeafIx, Local, Network, Outcome, Step, TableSource};
use gridlock_lts::model::trace::Trace;
use gridlock_lts::model::trace_file::TraceFile;

/// See the module head.
pub struct Session {
    system: System,
    trace: Trace,
    possible: Vec<Step>,
    seed: u64,
    rng: Rng,
}

impl Session {
    /// A session in the initial state.
    pub fn new(system: System, seed: u64) -> Result<Self, String> {
        let mut session =
            Session { system, trace: Trace::default(), possible: Vec::new(), seed, rng: Rng::new(seed) };
        session.arrive()?;
        Ok(session)
    }

    fn arrive(&mut self) -> Result<(), String> {
        let state = self.state();
        let System { network, builder, .. } = &mut self.system;
        for (leaf, local) in (0..).map(LeafIx).zip(&state) {
            builder.expand(network, leaf, *local).map_err(|e| e.to_string())?;
        }
        network.successors(&state, &mut self.possible);
        Ok(())
    }

    /// The network as far as it is known.
    pub fn network(&self) -> &Network {
        &self.system.network
    }

    /// The current state.
    pub fn state(&self) -> Vec<Local> {
        self.trace.end(&self.system.network)
    }

    /// The local state of a leaf in words.
    pub fn describe(&self, leaf: LeafIx, local: Local) -> String {
        self.system.builder.describe(leaf, local)
    }

    /// The possible steps.
    pub fn possible(&self) -> &[Step] {
        &self.possible
    }

    /// The trace to the current state.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The seed of random choices.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The message of a possible step that is no step but a place where the specification has no meaning.
    pub fn fault(&self, choice: usize) -> Option<&str> {
        let net = self.network();
        match net.vectors[self.possible[choice].vector.0 as usize].outcome {
            Outcome::Fault(fault) => Some(&net.faults[fault as usize]),
            Outcome::Step(_) => None,
        }
    }

    /// Takes a possible step that is no fault.
    pub fn take(&mut self, choice: usize) -> Result<(), String> {
        self.trace.steps.push(self.possible[choice].clone());
        self.arrive()
    }

    /// A random one of the possible steps that are no faults.
    pub fn random_choice(&mut self) -> Option<usize> {
        let steps: Vec<usize> = (0..self.possible.len()).filter(|&c| self.fault(c).is_none()).collect();
        if steps.is_empty() { None } else { Some(steps[self.rng.below(steps.len())]) }
    }

    /// Goes back by a number of steps, or to the beginning; gives the number of steps undone.
    pub fn undo(&mut self, steps: usize) -> Result<usize, String> {
        let undone = steps.min(self.trace.len());
        self.trace.steps.truncate(self.trace.len() - undone);
        self.arrive()?;
        Ok(undone)
    }

    /// A step in words.
    pub fn shown(&self, step: &Step) -> ShownStep {
        let trace = Trace { steps: vec![step.clone()] };
        ShownTrace::steps(self.network(), &self.system.builder, &trace).steps.remove(0)
    }

    /// Why no step is possible here, if none is. `short` are the short names of leaves.
    pub fn stuck(&self, short: &[String]) -> Vec<ShownStuck> {
        stuck::explain(self.network(), &self.system.builder, &self.state(), short)
    }

    /// The trace so far, for a file.
    pub fn record(&self, specification: &str) -> TraceFile {
        TraceFile::record(self.network(), &self.system.builder, specification, &self.trace)
    }
}
