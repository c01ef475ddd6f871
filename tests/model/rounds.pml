/* A model of the rounds that GPUs make together (framework/fused/rounds_team.h), for the model checker Spin (G. J. Holzmann,
 * 1997). `check` in this folder runs it. Comments say what of the code each part models.
 *
 * A GPU has BLOCKS blocks. A round has a barrier over all blocks of all GPUs, to whose words blocks add their frontiers;
 * messages, each an entry of a list at its owner; a barrier to whose words blocks add how many of these they have put into
 * the list; deliveries, with a barrier of the GPU's own blocks where there was any; updates, which choose the next frontier.
 * Properties:
 *
 * - All blocks of all GPUs decide alike in each round (assertion in Decide).
 * - A block takes from lists what was sent in this round, and all of it is delivered before any update (assertions in Receive
 *   and Update).
 * - Nothing waits for ever: all blocks leave (Spin's check of end states).
 *
 * Every access to memory that others share is a step of the model, and all have one order: the memory orders of the code are
 * not a part of it. But an entry may be seen at any time after it is stored, as the code allows. Stops, failures and what a
 * kernel finds of the one before are not modelled. FAULT plants a mistake that Spin must find. */

#ifndef DEVICES
#define DEVICES 2
#endif
#ifndef BLOCKS
#define BLOCKS 2 /* of each device */
#endif
#ifndef ROUNDS
#define ROUNDS 2 /* at most */
#endif
/* ONE_SENDER: the first device has a frontier in each round, and the others have none. */
#ifndef MESSAGES
#define MESSAGES 1 /* of each block and round, at most */
#endif

#define ONE_WORD 1          /* the words of all barriers have one place */
#define NO_HOME_BARRIER 2   /* blocks update without waiting for the other blocks' deliveries */
#define NO_FIRST_BARRIER 3  /* a GPU follows its edges before all know what all have */
#define EARLY_RESET 4       /* places in lists begin anew before all blocks have theirs */
#define NO_TAGS 5           /* an entry is taken without a look at the barrier's number in it */
#define LATE_RESET 6        /* places in lists begin anew when others may have theirs of the next round */
#ifndef FAULT
#define FAULT 0
#endif

#if FAULT == ONE_WORD
#define SLOT(e) 0
#define TURNS(e) (e)
#else
#define SLOT(e) ((e) % 2)
#define TURNS(e) (((e) + 1) / 2)
#endif
/* Words at `to`: arrivals, and the counts that came with them. They only grow: a block expects so many
 * arrivals in all, and subtracts the counts that it has seen. */
#define WORD(e, from, to) ((SLOT(e) * DEVICES + (from)) * DEVICES + (to))
byte arrived[2 * DEVICES * DEVICES], carried[2 * DEVICES * DEVICES];
byte passed[DEVICES]; /* TeamRoundCounters */
#define PAIR(from, to) ((from) * DEVICES + (to))
byte listed[DEVICES * DEVICES];
/* Lists: the round that each place is of, from 1. */
#define PLACES (BLOCKS * MESSAGES)
byte list[DEVICES * DEVICES * PLACES];
#define PLACE(from, to, i) list[PAIR(from, to) * PLACES + (i)]

/* Stores of entries that others see later than the words behind them, of each block: the place, from 1, and the round. */
byte late_place[DEVICES * BLOCKS], late_round[DEVICES * BLOCKS];
#define LATE(me, rank) ((me) * BLOCKS + (rank))

/* What the properties are about, which no device reads. */
byte decided[ROUNDS + 1]; /* 0: by no block; 1: to leave; 2: to go on */
byte sent_to[DEVICES], delivered[DEVICES];

/* Arrive. A block adds to the word at each device: what it has put into the list there, or its part of the frontier. */
inline Arrive(lengths) {
  epoch++;
  for (q : 0 .. DEVICES - 1) {
    d_step {
      arrived[WORD(epoch, me, q)]++;
      carried[WORD(epoch, me, q)] = carried[WORD(epoch, me, q)] + (lengths -> sent[q] : found);
      sent[q] = 0
    }
  }
}
/* Await: got[q] is what a GPU's blocks have added. The block reads all words in one step, when all blocks have arrived: a word
 * that changes before would have it wait for ever, which is an end state that Spin reports. */
#define THERE(q) (arrived[WORD(epoch, q, me)] == BLOCKS * TURNS(epoch))
#if DEVICES > 2
#define ALL_THERE (THERE(0) && THERE(1) && THERE(2))
#else
#define ALL_THERE (THERE(0) && THERE(1))
#endif
inline AwaitAll() {
  d_step {
    ALL_THERE ->
    sum = 0;
    for (q : 0 .. DEVICES - 1) {
      got[q] = carried[WORD(epoch, q, me)] - seen[SLOT(epoch) * DEVICES + q];
      seen[SLOT(epoch) * DEVICES + q] = carried[WORD(epoch, q, me)];
      sum = sum + got[q]
    }
    q = 0
  }
}

inline Decide() {
  skip;
  d_step {
    leaves = (sum == 0 || round == ROUNDS);
    assert(decided[round] == 0 || decided[round] == (leaves -> 1 : 2));
    decided[round] = (leaves -> 1 : 2)
  }
}

#if FAULT == NO_TAGS
#define TAGGED(from, i) true
#else
#define TAGGED(from, i) (PLACE(from, me, i) == round + 1)
#endif

/* Links: a late store is seen at any time. */
#define SEE(x)                                                                        \
  late_place[x] > 0 -> d_step {                                                       \
    PLACE((x) / BLOCKS, ((x) / BLOCKS + 1) % DEVICES, late_place[x] - 1) = late_round[x]; \
    late_place[x] = 0;                                                                \
    late_round[x] = 0                                                                 \
  }
proctype Links() {
end:
  do
  :: SEE(0)
  :: SEE(1)
#if DEVICES * BLOCKS > 2
  :: SEE(2)
#endif
#if DEVICES * BLOCKS > 3
  :: SEE(3)
#endif
  od
}

proctype Block(byte me; byte rank; byte found) {
  byte epoch = 0, round = 0, homes = 0, q, i, value, sum, to, got[DEVICES], sent[DEVICES], seen[2 * DEVICES];
  bool leaves;
  do
  :: true ->
#if FAULT != NO_FIRST_BARRIER
    Arrive(false);
    AwaitAll();
    Decide();
    if :: leaves -> break :: else fi;
#if FAULT == LATE_RESET
    if :: rank == 0 -> d_step { for (q : 0 .. DEVICES - 1) { listed[PAIR(me, q)] = 0 }; q = 0 } :: else fi;
#endif
#else
    leaves = (round == ROUNDS);
    if :: leaves -> break :: else fi;
#endif
    /* FollowEdges: messages to others, if the block has a part of the frontier. Others may see the last one late. */
    to = (me + 1) % DEVICES;
    for (i : 1 .. MESSAGES) {
      if
      :: found > 0 ->
        atomic { value = listed[PAIR(me, to)]; listed[PAIR(me, to)]++ }
        d_step { sent_to[to]++; sent[to]++ }
        if
        :: d_step { PLACE(me, to, value) = round + 1 }
        :: i == MESSAGES -> d_step { late_place[LATE(me, rank)] = value + 1; late_round[LATE(me, rank)] = round + 1 }
        fi
      :: true
      fi
    }
    skip;
    d_step { to = 0; i = 0; value = 0 };
#if FAULT == EARLY_RESET
    if :: rank == 0 -> d_step { for (q : 0 .. DEVICES - 1) { listed[PAIR(me, q)] = 0 }; q = 0 } :: else fi;
#endif
    Arrive(true);
    AwaitAll();
#if FAULT != EARLY_RESET && FAULT != LATE_RESET
    /* The first block: all have their places. */
    if :: rank == 0 -> d_step { for (q : 0 .. DEVICES - 1) { listed[PAIR(me, q)] = 0 }; q = 0 } :: else fi;
#endif
    /* Receive: each block has its places. */
    for (q : 0 .. DEVICES - 1) {
      i = rank;
      do
      :: i < got[q] ->
        d_step { TAGGED(q, i) -> assert(PLACE(q, me, i) == round + 1); delivered[me]++ }
        i = i + BLOCKS
      :: else -> break
      od
    }
#if FAULT != NO_HOME_BARRIER
    if
    :: sum > 0 ->
      homes++;
      passed[me]++;
      passed[me] >= homes * BLOCKS
    :: else
    fi;
#endif
    /* UpdateListed: all messages of the round are there. The block's updates decide its part of the next frontier. */
    skip;
    d_step { assert(delivered[me] == sent_to[me]) }
#ifndef ONE_SENDER
    if :: found = 0 :: found = 1 fi;
#endif
    skip;
    d_step {
      round++;
      sum = 0; q = 0; i = 0; value = 0; leaves = false;
      got[0] = 0; got[1] = 0
#if DEVICES > 2
      ; got[2] = 0
#endif
    }
  od
}

init {
  byte d, b, part;
  atomic {
    run Links();
    for (d : 0 .. DEVICES - 1) {
      for (b : 0 .. BLOCKS - 1) {
#ifdef ONE_SENDER
        part = (d == 0);
#else
        if :: part = 0 :: part = 1 fi;
#endif
        run Block(d, b, part)
      }
    }
  }
}
