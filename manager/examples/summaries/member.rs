//! The member `prefix` as it is, on virtual workers.

use super::{Scene, Score};
use gridlock_manager::grid::machine::{Machine, Next, window};
use gridlock_manager::hunt::run::Searched;
use gridlock_manager::hunt::{Config, Hunt, Kind};
use gridlock_worker::hunt::job::HuntFeedback;
use gridlock_worker::life::Life;
use gridlock_worker::sketch;
use std::collections::BTreeMap;

/// Jobs are done as they are handed out; their answers arrive when as many turns have passed as they have expanded states.
/// Answers that have not arrived after the last turn do not count.
pub(super) fn play(searched: &Searched, scene: Scene) -> Result<Score, String> {
    let Scene { workers, turns, delay, told } = scene;
    let config = Config {
        portfolio: vec![Kind::Prefix],
        share: told == 1,
        job_states: delay,
        findings: u64::MAX,
        window: window(workers as u64),
        shorten: 0,
        ..Config::new(1, false, Vec::new())
    };
    let packing = match searched {
        Searched::Complete(prepared) => prepared.packing().clone(),
        Searched::Open(_) => return Err("its tables cannot be completed, so jobs tell nothing".into()),
    };
    let work = searched.work(None).map_err(|error| error.to_string())?;
    let mut search = work.worker();
    let mut hunt = Hunt::new(searched.view(), packing, None, config);
    // Answers on their way, by the turn in which they arrive.
    let mut away: BTreeMap<(u64, u64), HuntFeedback> = BTreeMap::new();
    let mut sketch = vec![0; sketch::REGISTERS];
    let (mut now, mut score) = (0, Score { turns, ..Score::default() });
    loop {
        while away.len() < workers {
            let Next::Job(job) = hunt.next() else { break };
            let answer = search(job, &Life::default());
            away.insert((now + answer.effort.states.max(1), answer.number), answer);
        }
        let free = (workers - away.len()) as u64;
        let first = away.pop_first().filter(|((then, _), _)| *then <= turns);
        score.idle += (first.as_ref().map_or(turns, |((then, _), _)| *then) - now) * free;
        let Some(((then, _), answer)) = first else { break };
        now = then;
        sketch::merge(&mut sketch, &answer.coverage.sketch);
        score.expanded += answer.effort.states;
        let told = answer.below.as_ref().and_then(|below| below.told.as_ref());
        score.keys += told.map_or(0, |told| told.depths.len() as u64);
        hunt.accept(answer, 0);
    }
    score.unique = sketch::estimate(&sketch) as u64;
    Ok(score)
}
