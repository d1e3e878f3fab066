/* Leader election after Dolev, Klawe and Rodeh, one to one with models/dkr/steps.mcrl2: a node receives, decides and
 * sends in three steps, and forgets what it no longer needs, so that the states are the same. -DN=8 sets the number of
 * nodes; there is no init process, so it adds no states. -DBUG is steps-bug.mcrl2: a node that stays active goes on with
 * its own number. Then only the greatest number, N, may be told as that of the winner. -DCLAIMS tells SPIN which node
 * reads and which writes a channel, without which its partial order reduction leaves nothing out; channels are then
 * parameters, since those of an array cannot be claimed, and the process that starts the nodes adds one state. */
#ifndef N
#define N 5
#endif
#ifdef BUG
#define GO_ON       near = 0
#define FORGET      assert(kind != WINNER || number == N); kind = 0; number = 0
#else
#define GO_ON       max = near; near = 0
#define FORGET      kind = 0; number = 0
#endif
#define ONE     1
#define TWO     2
#define WINNER  3

#define ACTIVE  1
#define PASSIVE 2
#define WON     3
#define ENDED   4

chan link[N] = [3] of { byte, byte };	/* link[p] leads into node p */

#ifdef CLAIMS
#define ME  me
#define IN  in
#define OUT out
proctype node(chan in; chan out; byte me)
{
	byte mode, max, near, kind, number;
	xr in;
	xs out;
#else
#define ME  _pid
#define IN  link[_pid]
#define OUT link[(_pid + 1) % N]
active [N] proctype node()
{
	byte mode, max, near, kind, number;
#endif

	atomic {
		OUT!ONE,(N + 3 - ME) % N + 1;
		mode = ACTIVE;
		max = (N + 3 - ME) % N + 1
	};
wait:
	IN?kind,number;
	atomic {
		if
		:: kind == WINNER && mode == WON ->
			mode = ENDED; kind = 0; number = 0;
			goto end_here
		:: kind == WINNER && mode != WON ->
			mode = ENDED; max = 0; near = 0
		:: kind != WINNER && mode == PASSIVE ->
			skip
		:: kind == ONE && mode == ACTIVE && number != max ->
			near = number; kind = TWO
		:: kind == ONE && mode == ACTIVE && number == max ->
			mode = WON; max = 0; near = 0; kind = WINNER
		:: kind == TWO && mode == ACTIVE && near > number && near > max ->
			GO_ON; kind = ONE; number = max
		:: kind == TWO && mode == ACTIVE && !(near > number && near > max) ->
			mode = PASSIVE; max = 0; near = 0; kind = 0; number = 0;
			goto wait
		fi
	};
	atomic {
		OUT!kind,number;
		FORGET;
		if
		:: mode == ENDED -> goto end_here
		:: else -> goto wait
		fi
	};
end_here:
	false
}

#ifdef CLAIMS
init {
	byte p;
	atomic {
		do
		:: p < N -> run node(link[p], link[(p + 1) % N], p); p++
		:: else -> break
		od;
		p = 0
	}
}
#endif
