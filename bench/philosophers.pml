/* The textbook dining philosophers, one to one with models/philosophers/philosophers-bug.mcrl2: the same states, and a
 * transition here for every transition there. Each philosopher takes the left fork, takes the right one, puts down the
 * left one, puts down the right one. -DN=8 sets the number; there is no init process, so it adds no states. */
#ifndef N
#define N 3
#endif
#define LEFT  _pid
#define RIGHT ((_pid + 1) % N)

bool taken[N];

active [N] proctype philosopher()
{
think:
	atomic { !taken[LEFT] -> taken[LEFT] = true };
	atomic { !taken[RIGHT] -> taken[RIGHT] = true };
	taken[LEFT] = false;
	atomic { taken[RIGHT] = false; goto think }
}
