/* Peterson's mutual exclusion for N processes, one to one with models/peterson/peterson.mcrl2: every read and write of a
 * shared variable is a step, entering and leaving are steps. -DN=4 sets the number of processes; there is no init
 * process, so it adds no states. */
#ifndef N
#define N 3
#endif
#define FIRST        (_pid == 0 -> 1 : 0)
#define FOLLOWING(q) (q + 1 == _pid -> q + 2 : q + 1)

byte level[N], last[N];

active [N] proctype process()
{
	byte room, q;

announce:	/* room counts from 0 here: the state before the first announcement is all zero */
	atomic { level[_pid] = room + 1; room = room + 1 };
	atomic { last[room] = _pid; q = FIRST };
look:
	if
	:: atomic { level[q] < room && FOLLOWING(q) < N -> q = FOLLOWING(q); goto look }
	:: atomic { level[q] < room && FOLLOWING(q) >= N -> q = 0; goto next }
	:: atomic { level[q] >= room -> q = 0 }
	fi;
	if
	:: atomic { last[room] == _pid -> q = FIRST; goto look }
	:: atomic { last[room] != _pid -> goto next }
	fi;
next:
	if
	:: atomic { room + 1 < N -> level[_pid] = room + 1; room = room + 1 }
	:: atomic { room + 1 == N -> room = 0; goto critical }
	fi;
	atomic { last[room] = _pid; q = FIRST };
	goto look;
critical:
	skip;
	atomic { level[_pid] = 0; goto announce }
}
