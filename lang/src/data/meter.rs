//! The cost of evaluations, and when they are ended without a result.
//!
//! *Steps* are applications of equations; they bound a single evaluation and are what `--step-limit` counts. *Work* is
//! everything an evaluator does, over its whole life. It takes time in proportion, but unlike time it is the same in
//! every run, so decisions that all ranks must make alike are made by it.
//!
//! Invariant: an evaluation that was asked to stop fails, and [`Meter::halted`] tells that from a fault of the
//! specification.

use crate::data::eval::{Eval, Failure};
use crate::data::value::{Function, Number, Set, Value};
use crate::diagnostic::Span;
use gridlock_lts::base::halt::Halt;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The work between two checks whether to stop: well below a millisecond.
const BETWEEN_LOOKS: u64 = 1 << 12;
/// How much work is done between two looks at the memory in use, which asks the system.
const BETWEEN_MEASURES: u64 = 1 << 16;
/// Values that take less than this many bytes are allocated without a question.
const LARGE: usize = 1 << 20;

/// Counts the steps and the work of evaluations, and ends them at a limit or on request.
#[derive(Debug)]
pub struct Meter {
    steps: Cell<u64>,
    step_limit: Cell<u64>,
    hit_limit: Cell<bool>,
    work: Cell<u64>,
    halt: RefCell<Arc<Halt>>,
    halted: Cell<bool>,
}

impl Meter {
    /// A meter for evaluations of at most this number of steps.
    pub fn new(step_limit: u64) -> Self {
        Meter {
            steps: Cell::new(0),
            step_limit: Cell::new(step_limit),
            hit_limit: Cell::new(false),
            work: Cell::new(0),
            halt: RefCell::default(),
            halted: Cell::new(false),
        }
    }

    /// Starts a new evaluation as far as the step limit is concerned.
    pub fn begin(&self) {
        self.steps.set(0);
    }

    /// The step limit.
    pub fn step_limit(&self) -> u64 {
        self.step_limit.get()
    }

    /// Changes the step limit.
    pub fn limit_steps(&self, limit: u64) {
        self.step_limit.set(limit);
        self.hit_limit.set(false);
    }

    /// Whether an evaluation ran into a limit on steps or depth since the limit was set.
    pub fn hit_limit(&self) -> bool {
        self.hit_limit.get()
    }

    /// Remembers that an evaluation ran into such a limit.
    pub fn set_hit_limit(&self) {
        self.hit_limit.set(true);
    }

    /// Counts one step.
    pub fn step(&self, span: Option<Span>) -> Eval<()> {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps > self.step_limit.get() {
            self.hit_limit.set(true);
            return Err(Failure::new(
                span,
                format!("evaluation did not end within {} steps", self.step_limit.get()),
                "check that the equations terminate, or raise the limit with --step-limit",
            ));
        }
        self.spend(1)
    }

    /// Counts what `body` does apart, from nothing and up to `steps`: it is no part of the evaluation that is under way,
    /// and decisions that depend on steps and work are the same with and without it.
    pub fn aside<R>(&self, steps: u64, body: impl FnOnce() -> R) -> R {
        let before = (self.steps.get(), self.step_limit.get(), self.hit_limit.get(), self.work.get());
        self.steps.set(0);
        self.step_limit.set(steps.min(before.1));
        let result = body();
        self.steps.set(before.0);
        self.step_limit.set(before.1);
        self.hit_limit.set(before.2);
        self.work.set(before.3);
        result
    }

    /// Lets this [`Halt`] ask evaluations to stop.
    pub fn heed(&self, halt: Arc<Halt>) {
        *self.halt.borrow_mut() = halt;
    }

    /// Whether an evaluation ended because it was asked to.
    pub fn halted(&self) -> bool {
        self.halted.get()
    }

    /// The work done so far.
    pub fn work(&self) -> u64 {
        self.work.get()
    }

    /// Whether it is time to stop, for work that is no evaluation and cannot fail.
    pub fn look(&self) -> bool {
        self.halted.set(self.halted.get() || self.halt.borrow().asked());
        self.halted.get()
    }

    /// Counts work, and fails if it is time to stop.
    pub fn spend(&self, work: u64) -> Eval<()> {
        let before = self.work.get();
        self.work.set(before + work);
        if before / BETWEEN_LOOKS == (before + work) / BETWEEN_LOOKS {
            return Ok(());
        }
        let halt = self.halt.borrow();
        if before / BETWEEN_MEASURES != (before + work) / BETWEEN_MEASURES {
            halt.has_room(0);
        }
        if halt.asked() { Err(self.stop()) } else { Ok(()) }
    }

    /// Asks for memory before it is allocated.
    pub fn reserve(&self, bytes: usize) -> Eval<()> {
        if bytes < LARGE {
            return Ok(());
        }
        self.spend(bytes as u64 / 64)?;
        if self.halt.borrow().has_room(bytes as u64) { Ok(()) } else { Err(self.stop()) }
    }

    fn stop(&self) -> Failure {
        self.halted.set(true);
        Failure { span: None, message: "the evaluation was stopped".to_owned(), help: None }
    }
}

/// The bytes that a value takes for itself, without what is inside its elements.
pub fn own_bytes(value: &Value) -> usize {
    match value {
        Value::List(l) => l.len() * size_of::<Value>(),
        Value::Set(s) => match &**s {
            Set::Finite(items) | Set::CoFinite(items) => items.len() * size_of::<Value>(),
            Set::Where(_) | Set::Combined(..) => 0,
        },
        Value::Bag(b) => b.exceptions.len() * size_of::<(Value, Number)>(),
        Value::Function(f) => match &**f {
            Function::Update(_, table) => table.len() * size_of::<(Value, Value)>(),
            Function::Table(_, values) => values.len() * size_of::<Value>(),
            Function::Partial(..) | Function::Lambda(..) => 0,
        },
        Value::Number(Number::Big(n)) => n.bits() as usize / 8,
        Value::Bool(_) | Value::Number(_) | Value::Ctor(..) | Value::Stuck(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_anew_and_work_is_not() {
        let meter = Meter::new(3);
        for _ in 0..2 {
            meter.begin();
            assert!((0..3).all(|_| meter.step(None).is_ok()));
        }
        assert!(!meter.hit_limit());
        assert!(meter.step(None).is_err() && meter.hit_limit() && !meter.halted());
        assert_eq!(meter.work(), 6);
    }

    #[test]
    fn what_is_done_aside_does_not_count() {
        let meter = Meter::new(3);
        assert!(meter.step(None).is_ok());
        assert!(meter.aside(1, || meter.step(None).is_ok() && meter.step(None).is_err()));
        assert!(!meter.hit_limit() && meter.work() == 1);
        assert!(meter.step(None).is_ok() && meter.step(None).is_ok() && meter.step(None).is_err());
    }

    #[test]
    fn a_request_to_stop_is_noticed_within_few_steps() {
        let (meter, halt) = (Meter::new(u64::MAX), Arc::new(Halt::default()));
        meter.heed(halt.clone());
        assert!((0..3 * BETWEEN_LOOKS).all(|_| meter.spend(1).is_ok()));
        halt.ask();
        assert!((0..BETWEEN_LOOKS).any(|_| meter.spend(1).is_err()));
        assert!(meter.halted() && !meter.hit_limit());
    }

    #[test]
    fn what_does_not_fit_is_not_allocated() {
        let Some(used) = gridlock_lts::base::memory::resident() else { return };
        let (meter, halt) = (Meter::new(u64::MAX), Arc::new(Halt::new(Some(used + (1 << 30)))));
        meter.heed(halt.clone());
        assert!(meter.reserve(2 * LARGE).is_ok() && halt.exceeded().is_none());
        assert!(meter.reserve(1 << 40).is_err() && meter.halted());
        assert_eq!(halt.exceeded(), Some(used + (1 << 30)));
    }
}
