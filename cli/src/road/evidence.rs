//! `--evidence-out`: the whole proof of a formula's answer as a file.

use crate::outcome::Failure;
use gridlock_lts::base::whole_file::write_whole;
use gridlock_lts::engine::game::ProofLts;
use gridlock_lts::model::{aut, dot};
use std::path::Path;

/// Whether a file of that name can be written.
pub fn is_known(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("aut") || e.eq_ignore_ascii_case("dot"))
}

/// Writes the proof, in the format of the file's name.
pub fn save(proof: &ProofLts, path: &Path) -> Result<(), Failure> {
    let name = |place: &(Option<u32>, String)| match place {
        (Some(state), part) => format!("state {state}\n{part}"),
        (None, truth) => truth.clone(),
    };
    let written = write_whole(path, |out| {
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("dot")) {
            dot::write_named(&proof.lts, |state| name(&proof.places[state.0 as usize]), out)
        } else {
            aut::write(&proof.lts, out)
        }
    });
    written.map_err(Failure::input)
}
