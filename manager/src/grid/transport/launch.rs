//! Whether this process is one of several that a launcher started together.
//!
//! A common accident is a program that does not know that it is one of several: N copies do the same work and all report. So
//! the environment is read, no matter what the program was built with.

/// What launchers pass to the processes that they start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch {
    /// How many processes there are, if more than one or if the launcher was an MPI one.
    pub size: u64,
    /// The variable with that number.
    pub says: &'static str,
    /// The number of this process, if the launcher passes it.
    pub rank: Option<u64>,
    /// How many of the processes share this machine, as far as the launcher passes it.
    pub here: u64,
}

impl Launch {
    /// Whether this process is one of several.
    pub fn is_distributed(&self) -> bool {
        self.size > 1
    }

    /// Whether this process reports for all.
    pub fn speaks(&self) -> bool {
        self.rank.is_none_or(|rank| rank == 0)
    }
}

/// Variables with the number of processes. Slurm sets its own also for a script that starts nothing in parallel, so they
/// count only within a step; and the shell of an interactive job is a step of one process in a job of several.
const SIZES: [(&str, Option<&str>); 4] = [
    ("OMPI_COMM_WORLD_SIZE", None),
    ("PMI_SIZE", None),
    ("SLURM_STEP_NUM_TASKS", Some("SLURM_STEP_ID")),
    ("SLURM_NTASKS", Some("SLURM_STEP_ID")),
];

const RANKS: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];
/// Variables with the number of processes on this machine. Slurm lists all machines: `16(x2),8` is two with 16 processes and
/// one with 8. The last variable of Slurm is set only if the number was asked for.
const HERE: [&str; 5] = [
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_TASKS_PER_NODE",
    "SLURM_NTASKS_PER_NODE",
];

/// Reads the environment; `None` if no launcher started this process.
pub fn launched() -> Option<Launch> {
    launched_by(&|name| std::env::var(name).ok())
}

fn launched_by(variable: &dyn Fn(&str) -> Option<String>) -> Option<Launch> {
    let number = |name: &str| variable(name)?.trim().parse::<u64>().ok();
    SIZES.iter().find_map(|&(says, within)| {
        let size = number(says).filter(|_| within.is_none_or(|name| variable(name).is_some()))?;
        let here = HERE.iter().find_map(|name| most(&variable(name)?)).unwrap_or(1).clamp(1, size.max(1));
        Some(Launch { size, says, rank: RANKS.iter().find_map(|name| number(name)), here })
    })
}

/// The greatest number of processes on one machine: which machine of the list this one is, is not known.
fn most(machines: &str) -> Option<u64> {
    let numbers = machines.split(',').map(|group| group.split('(').next()?.trim().parse().ok());
    numbers.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_noticed() {
        let with = |set: &'static [(&'static str, &'static str)]| {
            launched_by(&move |name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("OMPI_COMM_WORLD_SIZE", "3")]).map(|l| l.size), Some(3));
        assert_eq!(with(&[("PMI_SIZE", "1")]).map(|l| l.size), Some(1));
        assert_eq!(with(&[("SLURM_NTASKS", "8")]), None, "a script of eight tasks that starts one process");
        let step = with(&[("SLURM_NTASKS", "8"), ("SLURM_STEP_ID", "0")]);
        assert_eq!(step, Some(Launch { size: 8, says: "SLURM_NTASKS", rank: None, here: 1 }));
        let shell =
            with(&[("SLURM_NTASKS", "8"), ("SLURM_STEP_ID", "4294967290"), ("SLURM_STEP_NUM_TASKS", "1")]);
        assert!(shell.is_some_and(|launch| !launch.is_distributed()), "a shell on a node: {shell:?}");
        let rank = [
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_RANK", "2"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
        ];
        let launch =
            launched_by(&move |name| rank.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()));
        assert_eq!(launch.map(|l| (l.rank, l.here, l.speaks())), Some((Some(2), 2, false)));
        assert_eq!(with(&[("PMI_SIZE", "many")]), None);
        let here = |text: &'static str| {
            let set = [("SLURM_STEP_ID", "0"), ("SLURM_NTASKS", "40"), ("SLURM_STEP_TASKS_PER_NODE", text)];
            launched_by(&|name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
                .map(|launch| launch.here)
        };
        assert_eq!(here("16(x2),8"), Some(16), "the memory of a machine is that of all its processes");
        assert_eq!((here("4"), here("100"), here("x(4"), here("")), (Some(4), Some(40), Some(1), Some(1)));
    }
}
