#!/usr/bin/env bash
#SBATCH --job-name=gridlock-shard
#SBATCH --array=0-15
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@60
#SBATCH --output=gridlock-%A-%a.log
#
# Verifies a specification as an array of jobs that know nothing of each other: no MPI. Each one does its share of the
# trace IDs of a subsystem.
#
#   sbatch scripts/cluster/slurm-array.sh SPEC --subsystem LEAF [options of `gridlock check`]
#   gridlock merge gridlock-shards-JOBID/*.json        (once all have ended: the verdict of the whole)
#
# A shard that was killed, or warned a minute before its limit, is submitted again with --array=NUMBER, COUNT set to the
# number of all shards and DIR to the directory of the first time; it goes on from its checkpoint. Everything else that starts jobs by a number (HTCondor, BOINC, a loop over hosts) can do
# the same: set INDEX and COUNT.
#
# GRIDLOCK      the program (default: gridlock)
# DIR           where results and checkpoints go (default: gridlock-shards-JOBID)
# INDEX, COUNT  which share of how many (default: what the array says)
set -eu
[ $# -gt 0 ] || { echo "usage: sbatch slurm-array.sh SPEC --subsystem LEAF [options]" >&2; exit 2; }
gridlock=${GRIDLOCK:-gridlock}
index=${INDEX:-$SLURM_ARRAY_TASK_ID}
count=${COUNT:-$SLURM_ARRAY_TASK_COUNT}
dir=${DIR:-gridlock-shards-$SLURM_ARRAY_JOB_ID}
mkdir -p "$dir"
exec "$gridlock" check "$@" --search isv --shard "$index/$count" --checkpoint "$dir/$index" --resume \
    --json "$dir/$index.json"
