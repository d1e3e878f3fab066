//! Whether this process is one of several that a launcher started together.
//!
//! The classic accident is a program that does not know it has company: N copies do the same work and all report. So the
//! environment is asked, whatever the program was built with.

/// What launchers tell the processes they start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch {
    /// How many processes there are, if more than one or if the launcher was an MPI one.
    pub size: u64,
    /// The variable that says so.
    pub says: &'static str,
}

/// Variables with the number of processes. Slurm sets its own also for a script that starts nothing in parallel, so it
/// counts only within a step.
const SIZES: [(&str, Option<&str>); 4] = [
    ("OMPI_COMM_WORLD_SIZE", None),
    ("PMI_SIZE", None),
    ("MPI_LOCALNRANKS", None),
    ("SLURM_NTASKS", Some("SLURM_STEP_ID")),
];

/// What the environment says; `None` if no launcher is at work.
pub fn launched() -> Option<Launch> {
    launched_by(&|name| std::env::var(name).ok())
}

fn launched_by(variable: &dyn Fn(&str) -> Option<String>) -> Option<Launch> {
    SIZES.iter().find_map(|&(says, within)| {
        let size = variable(says)?.trim().parse().ok()?;
        within.is_none_or(|name| variable(name).is_some()).then_some(Launch { size, says })
    })
}

/// The error of a program that was started several times and cannot work together.
pub fn without_company(launch: Launch) -> String {
    format!(
        "this is one of {} processes ({} says so), but gridlock was built without MPI: build it with \
         `--features mpi`, or start it once and let --workers use the cores of the machine",
        launch.size, launch.says
    )
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
        assert_eq!(step, Some(Launch { size: 8, says: "SLURM_NTASKS" }));
        assert_eq!(with(&[("PMI_SIZE", "many")]), None);
    }
}
