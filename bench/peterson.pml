/* Peterson's mutual exclusion for N processes, one to one with models/peterson/peterson.mcrl2: every read and write of a
 * shared variable is a step, entering and leaving are steps. -DN=4 sets the number of processes; there is no init
 * process, so it adds no states. -DBUG is peterson-bug.mcrl2: a process signs as the last before it announces its room.
 * Then the processes that are inside are counted, which adds no states either, and there must be one at most. */
#ifndef N
#define N 3
#endif
#define FIRST        (_pid == 0 -> 1 : 0)
#define FOLLOWING(q) (q + 1 == _pid -> q + 2 : q + 1)
#ifdef BUG
#define BEGIN        last[room + 1] = _pid
#define COMPLETE     level[_pid] = room
#define ENTER        inside++; assert(inside == 1); goto critical
#define LEAVE        inside--
byte inside;
#else
#define BEGIN        level[_pid] = room + 1
#define COMPLETE     last[room] = _pid
#define ENTER        goto critical
#define LEAVE        skip
#endif

byte level[N], last[N];

active [N] proctype process()
{
	byte room, q;

announce:	/* room counts from 0 here: the state before the first announcement is all zero */
	atomic { BEGIN; room = room + 1 };
	atomic { COMPLETE; q = FIRST };
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
	:: atomic { room + 1 < N -> BEGIN; room = room + 1 }
	:: atomic { room + 1 == N -> room = 0; ENTER }
	fi;
	atomic { COMPLETE; q = FIRST };
	goto look;
critical:
	LEAVE;
	atomic { level[_pid] = 0; goto announce }
}
