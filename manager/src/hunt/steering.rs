//! Which member of a portfolio has the next turn.
//!
//! Every member has a weight; over time the states it expands are in proportion to that. Half of all weight is divided
//! evenly, so that no member starves: a member that finds nothing new may still find the bug. The other half follows the
//! yield of the member's last jobs: new coverage for each state expanded. The yield is per state and not per second, since
//! time would make the jobs depend on the machine and on chance. Invariant: choices follow from the feedback.

use super::coverage::Gain;

/// A new local state, local transition or trace is worth this many new states of the system.
const WORTH: f64 = 1_000.0;
/// The yield of a job fades by this factor with every later job of the member.
const FADING: f64 = 0.8;
/// A job costs at least as much as this many states: making it, sending it, reading the answer.
const LEAST: u64 = 200;

/// A member, as steering keeps it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Arm {
    /// The worth of new coverage, and the states expanded for it, both fading.
    gained: f64,
    spent: f64,
    /// States handed out divided by the weight at that time: the member with the least is next.
    charged: f64,
}

impl Arm {
    fn yields(&self) -> f64 {
        if self.spent > 0.0 { self.gained / self.spent } else { 0.0 }
    }
}

/// See the module head.
pub struct Steering {
    arms: Vec<Arm>,
    steered: bool,
    /// Without steering: the member that is next.
    turn: usize,
}

impl Steering {
    /// Steering for this many members, none of which has done a job yet.
    pub fn new(members: usize, steered: bool) -> Self {
        Steering { arms: vec![Arm::default(); members], steered, turn: 0 }
    }

    /// All members, the one that should be next first.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.arms.len()).collect();
        if self.steered {
            order.sort_by(|&a, &b| self.arms[a].charged.total_cmp(&self.arms[b].charged).then(a.cmp(&b)));
        } else {
            order.rotate_left(self.turn);
        }
        order
    }

    /// The member's part of all weight.
    pub fn weight(&self, member: usize) -> f64 {
        let equal = 1.0 / self.arms.len() as f64;
        let all: f64 = self.arms.iter().map(Arm::yields).sum();
        if !self.steered || all <= 0.0 {
            return equal;
        }
        (equal + self.arms[member].yields() / all) / 2.0
    }

    /// The yield of the member's last jobs for each state expanded.
    pub fn yields(&self, member: usize) -> f64 {
        self.arms[member].yields()
    }

    /// A member has its turn with a job of this many states at most. Returns what it is charged.
    pub fn charge(&mut self, member: usize, states: u64) -> f64 {
        let charge = states.max(LEAST) as f64 / self.weight(member);
        self.arms[member].charged += charge;
        self.turn = (member + 1) % self.arms.len();
        charge
    }

    /// The member's job is done: `charge` for at most `allowed` states, `used` of which were expanded.
    pub fn learn(&mut self, member: usize, charge: f64, allowed: u64, used: u64, worth: f64) {
        let arm = &mut self.arms[member];
        let (allowed, used) = (allowed.max(LEAST), used.max(LEAST));
        arm.charged -= charge * (1.0 - (used as f64 / allowed as f64).min(1.0));
        arm.gained = arm.gained * FADING + worth;
        arm.spent = arm.spent * FADING + used as f64;
    }
}

/// The worth of new coverage. `traces`: whether traces of the subsystem were searched to their end.
pub fn worth(gain: &Gain, traces: bool) -> f64 {
    (gain.locals + gain.moves + u64::from(traces)) as f64 * WORTH + gain.states
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(steered: bool, rounds: usize, worth: impl Fn(usize, usize) -> f64) -> Vec<u64> {
        let mut steering = Steering::new(4, steered);
        let mut spent = vec![0; 4];
        for round in 0..rounds {
            let member = steering.order()[0];
            let charge = steering.charge(member, 1_000);
            steering.learn(member, charge, 1_000, 1_000, worth(member, round));
            spent[member] += 1_000;
        }
        spent
    }

    #[test]
    fn turns_are_equal_without_steering_and_without_news() {
        assert_eq!(play(false, 400, |member, _| member as f64), [100_000; 4]);
        for worth in [0.0, 5.0] {
            let spent = play(true, 400, |_, _| worth);
            assert!(spent.iter().all(|states| (98_000..=102_000).contains(states)), "{spent:?}");
        }
    }

    #[test]
    fn who_finds_new_things_gets_more_and_nobody_starves() {
        let spent = play(true, 1_000, |member, _| if member == 2 { 900.0 } else { 0.0 });
        assert!(spent[2] > 550_000, "{spent:?}");
        assert!(spent.iter().all(|&states| states >= 100_000), "{spent:?}");
        // And what has run dry is noticed.
        let spent = play(true, 1_000, |member, round| if member == 2 && round < 100 { 900.0 } else { 50.0 });
        assert!(spent[2] < 350_000, "{spent:?}");
    }

    #[test]
    fn what_was_not_used_is_given_back() {
        let mut steering = Steering::new(2, true);
        for _ in 0..100 {
            let member = steering.order()[0];
            let charge = steering.charge(member, 10_000);
            // The first one needs a tenth of what it may use, so it has ten turns for each of the other.
            let used = if member == 0 { 1_000 } else { 10_000 };
            steering.learn(member, charge, 10_000, used, 0.0);
        }
        let [a, b] = [steering.arms[0].charged, steering.arms[1].charged];
        assert!((a - b).abs() <= 20_001.0, "{a} {b}");
    }
}
