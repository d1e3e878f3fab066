//! Swarms over the ranks of an MPI job against swarms over threads, on random networks: the same jobs, the same figures.
//!
//!     cargo build -p gridlock-manager --features mpi --example ranks
//!     mpirun -n 3 target/debug/examples/ranks
//!     mpirun -n 3 target/debug/examples/ranks --panic 1
//!
//! Messages are cut into tiny pieces in half of the runs. Ends with 0 if all agree. With `--panic` that rank panics on the
//! way, and all must end with 99.

use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::guide::Subsystem;
use gridlock_lts::model::network::LeafIx;
use gridlock_lts::property::Property;
use gridlock_lts::samples::random::Shape;
use gridlock_manager::grid::driver::Control;
use gridlock_manager::grid::transport::mpi::{Run, World};
use gridlock_manager::grid::work::Grid;
use gridlock_manager::traces::swarm::{Config, Granularity};
use gridlock_manager::traces::{Conclusion, SwarmReport, conduct, work};
use gridlock_worker::job::JobLimits;
use std::process::ExitCode;
use std::sync::Arc;

/// Some of these have thousands of tiny jobs, which take seconds over messages.
const SEEDS: u64 = 30;

fn figures(report: SwarmReport) -> String {
    let (mut status, mut conclusion) = (report.status, report.conclusion);
    if let Conclusion::TooLarge(stuck) = &mut conclusion {
        stuck.iter_mut().for_each(|s| s.effort.nanoseconds = 0);
    }
    (status.longest, status.total.nanoseconds) = (Default::default(), 0);
    let jobs: Vec<_> =
        report.events.iter().map(|e| (e.number, e.space, &e.ids, e.class, &e.pruned)).collect();
    format!("{conclusion:?} {status:?} {jobs:?}")
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let panics: Option<u32> = match (arguments.next().as_deref(), arguments.next()) {
        (Some("--panic"), Some(rank)) => Some(rank.parse().expect("a rank")),
        _ => None,
    };
    let mut world = World::start().expect("MPI starts");
    for seed in 0..SEEDS {
        if seed == SEEDS / 5 && panics == Some(world.rank()) {
            world.guard(99, || panic!("rank {} was told to panic", world.rank()));
        }
        world.cut(if seed % 2 == 0 { 1 << 28 } else { 7 });
        let net = Shape { acyclic: true, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let properties = if rng.percent(50) {
            vec![Property::DeadlockFree { allow_termination: false }]
        } else {
            Vec::new()
        };
        let prepared = Arc::new(Prepared::new(net.clone(), properties));
        let leaf = LeafIx(rng.below(net.leaves.len()) as u32);
        let guide =
            Subsystem::new(&net, &[leaf], 100_000).and_then(|s| s.guide(&net)).expect("it is acyclic");
        let guide = Arc::new(guide);
        let run = Run { file: String::new(), identity: vec![("seed".to_owned(), seed.to_string())] };
        let warn = |text| eprintln!("{text}");
        let grid = Grid::ranks(&world, &run, 2, None, &|| false, &warn).expect("all agree");
        if world.rank() > 0 {
            // Jobs come with their limits.
            let config = Config::new(JobLimits { states: 0, memory: 0 });
            let work = work(&prepared, &guide, &config).expect("a system");
            let code = grid.serve(&work).expect("rank 0 has work");
            assert_eq!(code, 7, "the code of rank 0");
            continue;
        }
        let states = if rng.percent(50) { u64::MAX } else { rng.between(5, 60) as u64 };
        let mut config = Config::new(JobLimits { states, memory: 1 << 26 });
        config.record = true;
        config.granularity = if rng.percent(50) { Granularity::Trace } else { Granularity::Prefix };
        let control = Control { stop: &|| false, progress: &|_| {}, page: &|_| Vec::new() };
        let report = conduct(&prepared, &guide, config.clone(), &grid, None, &control);
        world.end(7).expect("all have heard it");
        let ranks = figures(report.expect("a report"));
        let threads = conduct(&prepared, &guide, config, &Grid::threads(2, None), None, &control);
        let threads = figures(threads.expect("a report"));
        if ranks != threads {
            eprintln!("seed {seed}: ranks\n{ranks}\nthreads\n{threads}");
            world.abort(1);
        }
    }
    if world.rank() == 0 {
        println!("{SEEDS} swarms agree on {} ranks; {:?}", world.size(), world.traffic());
    }
    ExitCode::SUCCESS
}
