#!/usr/bin/env bash
# Verifies a specification on the machines of a host file, without a queueing system.
#
#   scripts/cluster/mpirun.sh HOSTFILE SPEC [options of `gridlock check`]
#
# HOSTFILE has a line for each machine: a name and, with Open MPI, `slots=N`. The program and the specification must be
# at the same place on all of them. Without --search it is an informed swarm; with --search bfs every rank owns a part of the
# states. Ctrl-C ends the run with what it has seen; the same command goes on with it.
#
# GRIDLOCK  the program (default: gridlock)
set -eu
[ $# -ge 2 ] || { echo "usage: mpirun.sh HOSTFILE SPEC [options of gridlock check]" >&2; exit 2; }
hosts=$1
spec=$2
shift 2
search=(--search isv)
for word in "$@"; do case $word in --search | --search=*) search=() ;; esac done
exec mpirun --bind-to none --hostfile "$hosts" "${GRIDLOCK:-gridlock}" check "$spec" "$@" ${search[@]+"${search[@]}"} \
    --checkpoint "$(basename "$spec").checkpoint" --resume
