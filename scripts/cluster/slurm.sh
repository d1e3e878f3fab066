#!/usr/bin/env bash
#SBATCH --job-name=gridlock
#SBATCH --ntasks=8
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=4G
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=gridlock-%j.log
#
# Verifies a specification as one Slurm job that survives its time limit.
#
#   sbatch scripts/cluster/slurm.sh SPEC [options of `gridlock check`]
#   sbatch scripts/cluster/slurm.sh SPEC --search bfs [options]        (every rank owns a part of the states)
#
# Without --search it is an informed swarm. `gridlock plan` writes a script for the second, with the ranks and memory it needs.
# Two minutes before the limit Slurm warns this script (--signal); Gridlock writes its last records and ends; the job puts
# itself back into the queue and goes on from its checkpoint. A node that fails is the same thing without the warning.
# The checkpoint is gridlock-JOBID in the directory from which the job was submitted; `gridlock status` reads it.
#
# GRIDLOCK   the program (default: gridlock)
# LAUNCH     what starts its processes (default: mpirun --bind-to none, so that threads of a rank may use other cores;
#            with a Slurm that knows your MPI: srun, or srun --mpi=pmix)
set -u
gridlock=${GRIDLOCK:-gridlock}
launch=${LAUNCH:-mpirun --bind-to none}
checkpoint=gridlock-$SLURM_JOB_ID
warned=no
job=

# Both mpirun and srun pass the signal on to all processes. The warning may come before there are any.
trap 'warned=yes; [ -n "$job" ] && kill -USR1 "$job" 2> /dev/null' USR1

search=(--search isv)
for word in "$@"; do case $word in --search | --search=*) search=() ;; esac done
# In a swarm the first process manages, and the others search. LAUNCH is a list of words.
# shellcheck disable=SC2086
$launch "$gridlock" check "$@" ${search[@]+"${search[@]}"} --checkpoint "$checkpoint" --resume &
job=$!
# A signal ends the wait, not the job.
while kill -0 "$job" 2> /dev/null; do
    wait "$job"
done
# The shell remembers how it ended.
wait "$job"
code=$?
if [ $warned = yes ] && [ $code -eq 3 ]; then
    echo "the time limit is near: job $SLURM_JOB_ID goes back into the queue"
    scontrol requeue "$SLURM_JOB_ID"
fi
exit $code
