#!/usr/bin/env bash
#PBS -N gridlock
#PBS -l select=2:ncpus=4:mpiprocs=4:mem=16gb
#PBS -l walltime=04:00:00
#PBS -r y
#PBS -j oe
#
# Verifies a specification as one PBS job; submit it again (or let PBS rerun it) and it goes on from its checkpoint.
#
#   qsub -v ARGS="SPEC --subsystem LEAF" scripts/cluster/pbs.sh
#
# PBS ends a job at its walltime with SIGTERM; Gridlock then writes its last records. --time-limit ends it a little
# before, so that the end is its own.
#
# ARGS        the specification and options of `gridlock check`; without --search it is an informed swarm, with
#             --search bfs every rank owns a part of the states
# CHECKPOINT  its directory (default: gridlock-checkpoint); the same one for a job that is submitted again
# GRIDLOCK    the program (default: gridlock)
# LIMIT       when to stop (default: 3h55m of the four hours above)
set -u
cd "$PBS_O_WORKDIR" || exit 2
search="--search isv"
case " ${ARGS:?} " in *" --search "* | *" --search="*) search="" ;; esac
# An MPI library that was built for PBS knows the nodes by itself; it does no harm to tell it.
# ARGS and search are lists of words.
# shellcheck disable=SC2086
exec mpirun --bind-to none --hostfile "$PBS_NODEFILE" "${GRIDLOCK:-gridlock}" check $ARGS $search \
    --checkpoint "${CHECKPOINT:-gridlock-checkpoint}" --resume \
    --time-limit "${LIMIT:-235m}"
