//! Freedom from deadlock without exploring: the marking equation and traps.
//!
//! Local states are the places of a net, and each leaf has one token. However a run goes, the token of a leaf is where it was
//! plus what came in minus what went out, and as many moves were made by a label as syncs needed it. These equations, and that
//! no sync is possible at the end, are linear in the numbers of moves and the final places. If they have no solution there
//! is no deadlock ([`equations`]). A solution may still leave a *trap* empty: places that no sync takes a token from without
//! putting one into them. A trap that has a token at the beginning always has one, which is one more inequality. A final place
//! that holds a part of a token is tried both as full and as empty.
//!
//! A solver that computes with floating-point numbers looks for solutions. Its claim that there are none is not trusted:
//! that takes a certificate, rounded to fractions and checked exactly by other code ([`certificate`]). Invariant: *proved*
//! is said only if every case has such a certificate.

mod certificate;
mod equations;
mod traps;

use super::frame::Frame;
use crate::engine::parts::{Stop, Trouble};
use equations::{Equations, Solved};
use serde::{Deserialize, Serialize};

/// Variables of all systems that are given to the solver for one question, together.
const MOST_IN_ALL: u64 = 40_000;
/// Larger systems are not tried: the solver cannot be stopped.
const MOST_VARIABLES: usize = 4000;
/// What counts as nothing among the solver's numbers.
const NEARLY: f64 = 1e-6;

/// Figures of a proof by the marking equation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Marking {
    /// Systems that the solver was given.
    pub systems: u64,
    /// Cases that were shown to be impossible, each by a certificate.
    pub cases: u64,
    /// Traps that were needed.
    pub traps: u64,
}

/// A place whose token is taken to be there, or not.
type Fixed = (u32, bool);

/// Whether no run ends in a deadlock; nothing if that is not shown.
pub(super) fn proves(frame: &Frame, stop: &Stop) -> Result<Option<Marking>, Trouble> {
    let equations = Equations::new(frame);
    if equations.variables() > MOST_VARIABLES {
        return Ok(None);
    }
    let mut traps: Vec<Vec<u32>> = Vec::new();
    let mut open: Vec<Vec<Fixed>> = vec![Vec::new()];
    let (mut systems, mut cases) = (0, 0);
    while let Some(fixed) = open.last() {
        stop.check()?;
        if systems * equations.variables() as u64 > MOST_IN_ALL {
            return Ok(None);
        }
        systems += 1;
        match equations.solve(&traps, fixed) {
            Solved::Impossible => {
                let Some(certificate) = equations.certificate(&traps, fixed) else { return Ok(None) };
                if !certificate.is_valid(&equations, &traps, fixed) {
                    return Ok(None);
                }
                cases += 1;
                open.pop();
            }
            Solved::Marking(tokens) => {
                let empty: Vec<bool> = tokens.iter().map(|&tokens| tokens < NEARLY).collect();
                if let Some(trap) = traps::marked_trap(&equations, &empty) {
                    traps.push(trap);
                } else if let Some(place) = parted(&tokens) {
                    let mut other = fixed.clone();
                    other.push((place, false));
                    let last = open.last_mut().expect("this case is open");
                    last.push((place, true));
                    open.push(other);
                } else {
                    return Ok(None);
                }
            }
            Solved::Unknown => return Ok(None),
        }
    }
    Ok(Some(Marking { systems, cases, traps: traps.len() as u64 }))
}

/// The place whose part of a token is nearest to a half, if there is one.
fn parted(tokens: &[f64]) -> Option<u32> {
    let from_half = |tokens: f64| (tokens - 0.5).abs();
    let parted = (0u32..).zip(tokens).filter(|&(_, &tokens)| from_half(tokens) < 0.5 - NEARLY);
    parted
        .min_by(|a, b| from_half(*a.1).total_cmp(&from_half(*b.1)).then(a.0.cmp(&b.0)))
        .map(|(place, _)| place)
}
