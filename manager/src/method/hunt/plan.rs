//! The plan of a hunt, fixed before it begins: portfolio, guide, budgets, and the identity of the run.

use super::job_file::Record;
use super::options::{Hunting, Share};
use crate::grid::journal::Identity;
use crate::grid::machine::window;
use crate::hunt::run::Searched;
use crate::hunt::{Config, Found, Kind};
use crate::method::checkpoint::{JOB_MEMORY, given_job_memory};
use crate::method::subsystem::{self, split_names};
use crate::method::traces::choose::{self, Look};
use crate::method::{Listed, METHODS, Refusal, Run};
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::game::live::{self, Shape};
use gridlock_lts::engine::prepared::Prepared;
use gridlock_lts::guide::Guide;
use gridlock_lts::model::network::{LeafIx, Network, Outcome, VectorIx};
use gridlock_lts::property::Property;
use gridlock_worker::job::JobLimits;
use gridlock_worker::sketch;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The default memory for the states of one job: the least and the most.
const DEFAULT_JOB_MEMORY: std::ops::RangeInclusive<u64> = 1 << 16..=128 << 20;
/// A short look is enough to choose a subsystem that guides only some of the searches.
const LOOK: JobLimits = JobLimits { states: 500, memory: 8 << 20 };
/// States that may be expanded to shorten a finding where tables are filled as needed: each new one may take a thousand times
/// as long as with complete tables, and the entries that it fills stay in memory.
const SHORTEN_OPEN: u64 = 5_000;
/// How often the cycles of a subsystem that was chosen are closed.
const UNROLL: u32 = 1;

const SEED: &str = "seed";
const WINDOW: &str = "window";

/// See the module head.
pub struct Plan {
    /// For the manager.
    pub config: Config,
    /// The guide of the guided members, if there are any.
    pub guide: Option<Guided>,
    /// The identity of this run.
    pub identity: Identity,
    /// Members that would need complete tables, if there are none.
    left_out: Vec<Kind>,
}

/// The subsystem of the guided members.
pub struct Guided {
    /// The names of its leaves.
    pub subsystem: Vec<String>,
    /// How often its cycles are closed.
    pub unroll: Option<u32>,
    /// Its traces.
    pub guide: Arc<Guide>,
}

impl Plan {
    /// Makes the plan.
    pub fn new(hunting: &Hunting, run: &Run, searched: &Searched) -> Result<Plan> {
        let repeated = hunting.repeat.as_ref().map(|path| Record::read(path)).transpose()?;
        let (guide, preferred, formulas) = match searched {
            Searched::Complete(prepared) => {
                let net = prepared.net();
                let guide = match &repeated {
                    Some(file) => {
                        file.subsystem().map(|(names, unroll)| named(net, &names, unroll)).transpose()?
                    }
                    None => choose_guide(hunting, run, prepared)?,
                };
                (guide, preferred(net, &run.patterns), formulas(run, net)?)
            }
            Searched::Open(_) => {
                check_open(hunting, run)?;
                (None, Vec::new(), Vec::new())
            }
        };
        let recorded = |name| hunting.checkpoint.recorded_number(Hunting::NAME, name);
        let seed = repeated.as_ref().map(|file| file.seed).or(hunting.seed);
        let seed = seed.or_else(|| recorded(SEED)).unwrap_or_else(any_seed);
        let mut config = Config::new(seed, guide.is_some(), preferred);
        let alone = formulas.len() == run.properties.len();
        if !formulas.is_empty() {
            config = config.with_formulas(formulas, alone);
        }
        let mut left_out = Vec::new();
        if matches!(searched, Searched::Open(_)) {
            config.shorten = SHORTEN_OPEN;
            left_out = Kind::NAMED.into_iter().filter(|kind| kind.needs_complete_tables()).collect();
            config.portfolio.retain(|kind| !kind.needs_complete_tables());
        }
        if !hunting.portfolio.is_empty() {
            left_out.clear();
            check_members(&hunting.portfolio, &config)?;
            config.portfolio = hunting.portfolio.clone();
        }
        config.steering = !hunting.no_steering;
        config.share = hunting.share != Some(Share::Off);
        config.max_jobs = hunting.max_jobs;
        config.max_states = hunting.max_states;
        config.findings = hunting.findings;
        let given = hunting.window.or_else(|| recorded(WINDOW));
        config.window = given.unwrap_or_else(|| window(run.workers()));
        let memory = hunting.job_memory.or_else(|| recorded(JOB_MEMORY));
        let kept = searched.view().known().map_or(0, |net| kept(net, config.window, run.threads));
        config.job_memory = memory.unwrap_or_else(|| run.share_beside(kept, DEFAULT_JOB_MEMORY));
        if let Some(file) = repeated {
            config.portfolio = vec![file.member()?];
            config.job_memory = file.job.limits.memory;
            config.only = Some(file.job);
        }
        let identity = identity(hunting, run, &config, guide.as_ref());
        Ok(Plan { config, guide, identity, left_out })
    }

    /// A sentence about members that are left out, if any are.
    pub fn left_out(&self) -> Option<String> {
        let names: Vec<&str> = self.left_out.iter().map(|kind| kind.name()).collect();
        let (last, before) = names.split_last()?;
        Some(format!(
            "note: {} and {last} are left out: they need all local states and steps of the processes beforehand, and \
             tables are filled on demand",
            before.join(", ")
        ))
    }

    /// The identity that all processes of a run must agree on: the meaning of jobs. The jobs themselves come from rank 0.
    pub fn agreed(&self, given: Option<u64>) -> Identity {
        let own = [SEED, JOB_MEMORY, WINDOW];
        let decided = self.identity.iter().filter(|(name, _)| !own.contains(&name.as_str())).cloned();
        decided.chain([given_job_memory(given)]).collect()
    }

    /// The options that make the same jobs up to the one that made a finding.
    pub fn again(&self, hunting: &Hunting, found: &Found) -> Vec<String> {
        let Plan { config, guide, .. } = self;
        if let (Some(_), Some(path)) = (&config.only, &hunting.repeat) {
            return vec!["--repeat".to_owned(), path.display().to_string()];
        }
        let portfolio: Vec<String> = config.portfolio.iter().map(ToString::to_string).collect();
        let mut all = Vec::new();
        let mut more = |name: &str, value: String| all.extend([name.to_owned(), value]);
        more("--seed", config.seed.to_string());
        more("--max-jobs", (found.job.number + 1).to_string());
        more("--findings", config.findings.to_string());
        more("--job-memory", config.job_memory.to_string());
        more("--window", config.window.to_string());
        more("--portfolio", portfolio.join(","));
        more("--budget", "1d".to_owned());
        if let Some(most) = config.max_states {
            more("--max-states", most.to_string());
        }
        hunting.prefer.iter().for_each(|pattern| more("--prefer", pattern.clone()));
        if let Some(guided) = guide {
            more("--subsystem", guided.subsystem.join(","));
            if let Some(bound) = guided.unroll {
                more("--unroll", bound.to_string());
            }
        }
        if !config.share {
            more("--share", "off".to_owned());
        }
        if !config.steering {
            all.push("--no-steering".to_owned());
        }
        all
    }
}

/// Bytes that grow with the tables and not with the states of jobs: the coverage in the answers that may wait for their turn,
/// and the coverage that each thread records.
fn kept(net: &Network, window: u64, threads: usize) -> u64 {
    let states = net.leaves.iter().flat_map(|leaf| &leaf.states);
    let noted = states.map(|state| 1 + state.moves.len() as u64).sum::<u64>();
    let answers = (noted / 8 + sketch::REGISTERS as u64).saturating_mul(window);
    answers.saturating_add((noted + 8 * net.vectors.len() as u64).saturating_mul(threads as u64))
}

/// Refuses flags that need complete tables.
fn check_open(hunting: &Hunting, run: &Run) -> Result<()> {
    let needs = |what: &str| {
        Err(Error::input(format_args!(
            "{what} needs complete tables, and those of this specification are filled on demand\n  help: leave it \
             out, or complete them with --tables ahead; `gridlock info` says why that may not end"
        )))
    };
    if let Some(kind) = hunting.portfolio.iter().find(|kind| kind.needs_complete_tables()) {
        return needs(&format!("--portfolio {kind}"));
    }
    if !hunting.prefer.is_empty() {
        return needs("--prefer");
    }
    if hunting.share == Some(Share::On) {
        return needs("--share on");
    }
    if split_names(&hunting.subsystem).iter().any(|name| name != "auto") {
        return needs("--subsystem");
    }
    let formula = run.properties.iter().position(|property| matches!(property, Property::Formula(_)));
    match formula {
        Some(k) => {
            let name = run.names.get(k).map_or("a formula", String::as_str);
            Err(Error::input(format_args!(
                "to hunt for runs against {name} needs complete tables, and those of this specification are filled on \
                 demand\n  help: use `gridlock check` with --search bfs, which fills them as it goes, or --tables ahead if \
                 they have an end"
            )))
        }
        None => Ok(()),
    }
}

/// The formulas among the properties, with the shapes by which their violations are looked for; an error names a formula
/// without one.
fn formulas(run: &Run, net: &Network) -> Result<Vec<(u32, Shape)>> {
    let mut all = Vec::new();
    for (k, property) in run.properties.iter().enumerate() {
        let Property::Formula(equations) = property else { continue };
        equations.prepare(net, true)?;
        let Some(shape) = live::shape(net, &**equations)? else {
            let name = run.names.get(k).map_or("a formula", String::as_str);
            return Err(Refusal::by(METHODS, Hunting::CHOSEN_BY, name, property).into());
        };
        all.push((k as u32, shape));
    }
    Ok(all)
}

/// Refuses members that have nothing to look for, and formulas that no member looks for.
fn check_members(portfolio: &[Kind], config: &Config) -> Result<()> {
    let fits = |kind: &Kind, shape: &Shape| match kind {
        Kind::Lasso => shape.run,
        Kind::Trap => shape.trap,
        _ => false,
    };
    for kind in portfolio.iter().filter(|kind| kind.is_for_formulas()) {
        if !config.formulas.iter().any(|(_, shape)| fits(kind, shape)) {
            return Err(Error::input(format_args!(
                "--portfolio {kind} has nothing to look for: it is for formulas such as those of {}",
                if *kind == Kind::Lasso {
                    "--inevitable, --response and --no-livelock"
                } else {
                    "--always-possible"
                }
            )));
        }
    }
    let left = config.formulas.iter().find(|(_, shape)| !portfolio.iter().any(|kind| fits(kind, shape)));
    left.map_or(Ok(()), |(_, shape)| {
        let name = if shape.run { Kind::Lasso } else { Kind::Trap };
        Err(Error::input(format_args!(
            "no member of --portfolio looks for runs against a formula: add {name} to it"
        )))
    })
}

fn identity(hunting: &Hunting, run: &Run, config: &Config, guide: Option<&Guided>) -> Identity {
    let portfolio: Vec<String> = config.portfolio.iter().map(Kind::to_string).collect();
    let no = || "no".to_owned();
    run.identity(
        Hunting::NAME,
        [
            ("portfolio", portfolio.join(",")),
            ("steering", if config.steering { "yes" } else { "no" }.to_owned()),
            ("share", if config.share { "on" } else { "off" }.to_owned()),
            ("prefer", hunting.prefer.join(", ")),
            ("subsystem", guide.map_or_else(no, |guided| guided.subsystem.join(", "))),
            ("unroll", guide.and_then(|guided| guided.unroll).map_or_else(no, |k| k.to_string())),
            // More of these would make other jobs. More jobs would not.
            ("max states", config.max_states.map_or_else(no, |n| n.to_string())),
            ("findings", config.findings.to_string()),
            (JOB_MEMORY, config.job_memory.to_string()),
            (SEED, config.seed.to_string()),
            (WINDOW, config.window.to_string()),
        ],
    )
}

/// The guide of the guided members; `None` if there are none, or if the user named no subsystem and no process is fit for one.
fn choose_guide(hunting: &Hunting, run: &Run, prepared: &Prepared) -> Result<Option<Guided>> {
    let wanted = &hunting.portfolio;
    let steps = run.properties.iter().any(|property| !matches!(property, Property::Formula(_)));
    if !wanted.iter().any(|kind| kind.is_guided()) && (!wanted.is_empty() || !steps) {
        return Ok(None);
    }
    let names = split_names(&hunting.subsystem);
    if names.iter().any(|name| name != "auto") {
        return named(prepared.net(), &names, hunting.unroll).map(Some);
    }
    let mut bounds = vec![hunting.unroll];
    if hunting.unroll.is_none() {
        bounds.push(Some(UNROLL));
    }
    for unroll in bounds {
        match choose::choose(prepared, unroll, LOOK, Look::Short, run.host) {
            Ok((leaves, _)) => return guided(prepared.net(), &leaves, unroll).map(Some),
            Err(Error::Input(_)) if unroll.is_none() || wanted.is_empty() => {}
            Err(other) => return Err(other),
        }
    }
    Ok(None)
}

fn named(net: &Network, names: &[String], unroll: Option<u32>) -> Result<Guided> {
    guided(net, &subsystem::find_leaves(net, names)?, unroll)
}

fn guided(net: &Network, leaves: &[LeafIx], unroll: Option<u32>) -> Result<Guided> {
    let built = subsystem::build(net, leaves)?;
    let guide = Arc::new(subsystem::guide(net, &built, unroll)?);
    Ok(Guided { subsystem: subsystem::names(net, leaves), unroll, guide })
}

/// The vectors whose labels match one of the patterns.
fn preferred(net: &Network, patterns: &[Property]) -> Vec<u32> {
    let mut vectors = Vec::new();
    for pattern in patterns {
        let Property::Never(matches) = pattern else { continue };
        let is_step = |v: u32| matches!(net.vectors[v as usize].outcome, Outcome::Step(_));
        vectors.extend((0..net.vectors.len() as u32).filter(|&v| is_step(v) && matches(net, VectorIx(v))));
    }
    vectors.sort_unstable();
    vectors.dedup();
    vectors
}

/// A random seed, short enough to be typed.
fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    Rng::new(now ^ (u64::from(std::process::id()) << 32)).bits() >> 32
}
