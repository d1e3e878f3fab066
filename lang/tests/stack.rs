//! Stacks of operators: leaving some out changes nothing.

use gridlock_lang::data::value::Value;
use gridlock_lang::model::ActName;
use gridlock_lang::process::action::{Act, MultiAction, Names, Operator};
use gridlock_lang::process::stack::superfluous;

/// How many names the random stacks have. Few, so that they collide.
const NAMES: u32 = 4;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as u32 % n
    }

    fn name(&mut self) -> ActName {
        ActName(self.below(NAMES))
    }

    fn names(&mut self, least: u32, most: u32) -> Names {
        let count = least + self.below(most - least + 1);
        let mut names: Names = (0..count).map(|_| self.name()).collect();
        names.sort();
        names
    }

    fn operator(&mut self) -> Operator {
        match self.below(5) {
            0 => Operator::Block(self.names(1, 2)),
            1 => Operator::Hide(self.names(1, 2)),
            2 => {
                let mut pairs: Vec<(ActName, ActName)> =
                    (0..1 + self.below(3)).map(|_| (self.name(), self.name())).collect();
                pairs.sort();
                pairs.dedup_by_key(|(from, _)| *from);
                Operator::Rename(pairs)
            }
            3 => Operator::Allow((0..1 + self.below(5)).map(|_| self.names(1, 3)).collect()),
            _ => {
                // Left-hand sides share no name, as the checker demands.
                let mut rules: Vec<(Names, ActName)> = Vec::new();
                for _ in 0..2 {
                    let left = self.names(2, 3);
                    if !rules.iter().any(|(other, _)| other.iter().any(|n| left.contains(n))) {
                        rules.push((left, self.name()));
                    }
                }
                Operator::Comm(rules)
            }
        }
    }

    fn multi_action(&mut self) -> MultiAction {
        let mut acts: MultiAction = (0..self.below(5))
            .map(|_| Act { name: self.name(), args: vec![Value::Bool(self.below(2) == 0)] })
            .collect();
        acts.sort();
        acts
    }
}

/// What a stack makes of a multi-action.
fn applied(stack: &[Operator], acts: &MultiAction) -> Option<MultiAction> {
    let mut acts = acts.clone();
    stack.iter().rev().all(|operator| operator.apply(&mut acts, &mut Vec::new())).then_some(acts)
}

/// Stacks as they grow around a recursion: some operators, again and again.
fn growing(random: &mut Random) -> Vec<Operator> {
    let few: Vec<Operator> = (0..1 + random.below(3)).map(|_| random.operator()).collect();
    let height = 1 + random.below(6) as usize;
    match random.below(2) {
        0 => few.iter().cycle().take(height).cloned().collect(),
        _ => (0..height).map(|_| few[random.below(few.len() as u32) as usize].clone()).collect(),
    }
}

fn same(a: &[Operator], b: &[Operator], random: &mut Random) -> bool {
    (0..60).all(|_| {
        let acts = random.multi_action();
        applied(a, &acts) == applied(b, &acts)
    })
}

#[test]
fn what_is_left_out_changes_nothing() {
    let mut random = Random(7);
    let (mut shorter, mut wrong) = (0, 0);
    for round in 0..20_000 {
        let stack = growing(&mut random);
        let count = superfluous(&stack.iter().collect::<Vec<_>>(), NAMES as usize);
        assert!(same(&stack, &stack[count..], &mut random), "round {round}: {count} of {stack:?}");
        shorter += u32::from(count > 0);
        // A mistake is noticed: one more operator left out.
        if let Some(less) = stack.get(count + 1..) {
            wrong += u32::from(!same(&stack, less, &mut random));
        }
    }
    assert!(shorter > 4_000, "only {shorter} stacks are left shorter");
    assert!(wrong > 8_000, "only {wrong} mistakes are noticed");
}

/// However often an operator of one name at a time comes on top, stacks stay below a bound.
#[test]
fn stacks_of_operators_on_names_end() {
    let mut random = Random(11);
    for _ in 0..2_000 {
        let few: Vec<Operator> = std::iter::repeat_with(|| random.operator())
            .filter(|o| !matches!(o, Operator::Allow(_) | Operator::Comm(_)))
            .take(2)
            .collect();
        let mut stack: Vec<Operator> = Vec::new();
        for at in 0..100 {
            stack.insert(0, few[at % 2].clone());
            let count = superfluous(&stack.iter().collect::<Vec<_>>(), NAMES as usize);
            stack.drain(..count);
        }
        assert!(stack.len() <= 24, "{stack:?}");
    }
}
