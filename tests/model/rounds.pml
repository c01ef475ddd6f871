/* A model of the rounds that GPUs make together (framework/fused/rounds_team.h), for the model checker Spin (G. J. Holzmann,
 * 1997). `check` in this folder runs it. Comments say what of the code each part models.
 *
 * A GPU has BLOCKS blocks. A round has a barrier over all blocks of all GPUs, whose words carry frontiers; messages, each a
 * place of a list at its owner; a barrier whose words carry the lists' lengths; deliveries, with a barrier of the GPU's own
 * blocks where there was any; updates, which choose the next frontier. Properties:
 *
 * - All blocks of all GPUs decide alike in each round (assertion in Decide).
 * - A block takes from lists what was sent in this round, and all of it is delivered before any update (assertions in Receive
 *   and Update).
 * - Nothing waits for ever: all blocks leave (Spin's check of end states).
 *
 * Every access to memory that others share is a step of the model, and all have one order: the memory orders of the code are
 * not a part of it. FAULT plants a mistake that Spin must find. */

#ifndef DEVICES
#define DEVICES 2
#endif
#ifndef BLOCKS
#define BLOCKS 2 /* of each device */
#endif
#ifndef ROUNDS
#define ROUNDS 2 /* at most */
#endif
#ifndef MESSAGES
#define MESSAGES 1 /* of each block and round, at most */
#endif

#define ONE_WORD 1          /* the words of all barriers have one place */
#define NO_HOME_BARRIER 2   /* blocks update without waiting for the other blocks' deliveries */
#define NO_FIRST_BARRIER 3  /* a GPU follows its edges before all know what all have */
#define FIRST_BLOCK_SAYS 4  /* the first block that arrives writes the words */
#ifndef FAULT
#define FAULT 0
#endif

/* The number of a barrier in a word, modulo 2^16 in the code: devices are at most one barrier apart. */
#define NUMBERS 4

#if FAULT == ONE_WORD
#define SLOT(e) 0
#else
#define SLOT(e) ((e) % 2)
#endif
/* Words at `to`: their barrier and what they carry, which one store writes. */
#define WORD(e, from, to) ((SLOT(e) * DEVICES + (from)) * DEVICES + (to))
byte number[2 * DEVICES * DEVICES], carried[2 * DEVICES * DEVICES];
/* TeamRoundCounters, and RoundCounts::active. */
byte arrived[DEVICES], passed[DEVICES], frontier[DEVICES];
#define PAIR(from, to) ((from) * DEVICES + (to))
byte listed[DEVICES * DEVICES];
/* Lists: the round that each place is of, from 1. */
#define PLACES (BLOCKS * MESSAGES)
byte list[DEVICES * DEVICES * PLACES];
#define PLACE(from, to, i) list[PAIR(from, to) * PLACES + (i)]

/* What the properties are about, which no device reads. */
byte decided[ROUNDS + 1]; /* 0: by no block; 1: to leave; 2: to go on */
byte sent_to[DEVICES], delivered[DEVICES];

/* Meet. `mine`: what the word to each device carries, which the last block reads when all have arrived. */
inline Arrive(lengths) {
  epoch++;
  atomic {
    arrived[me]++;
#if FAULT == FIRST_BLOCK_SAYS
    says = (arrived[me] == 1);
    if :: arrived[me] == BLOCKS -> arrived[me] = 0 :: else fi
#else
    says = (arrived[me] == BLOCKS);
    if :: says -> arrived[me] = 0 :: else fi
#endif
  }
  if
  :: says ->
    for (q : 0 .. DEVICES - 1) {
      if
      :: lengths -> atomic { value = listed[PAIR(me, q)]; listed[PAIR(me, q)] = 0 }
      :: else -> value = frontier[me]
      fi;
      skip;
      d_step { number[WORD(epoch, me, q)] = epoch % NUMBERS; carried[WORD(epoch, me, q)] = value }
    }
  :: else
  fi
}
inline AwaitAll() {
  sum = 0;
  for (q : 0 .. DEVICES - 1) {
    atomic {
      number[WORD(epoch, q, me)] == epoch % NUMBERS ->
      got[q] = carried[WORD(epoch, q, me)];
      sum = sum + got[q]
    }
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

proctype Block(byte me; byte rank) {
  byte epoch = 0, round = 0, homes = 0, q, i, value, sum, to, got[DEVICES];
  bool says, leaves;
  do
  :: true ->
#if FAULT != NO_FIRST_BARRIER
    Arrive(false);
    AwaitAll();
    Decide();
    if :: leaves -> break :: else fi;
#else
    leaves = (round == ROUNDS);
    if :: leaves -> break :: else fi;
#endif
    /* FollowEdges: messages to others, if this device has a frontier. The update comes later, and chooses the next. */
    to = (me + 1) % DEVICES;
    for (i : 1 .. MESSAGES) {
      if
      :: frontier[me] > 0 ->
        atomic { value = listed[PAIR(me, to)]; listed[PAIR(me, to)]++ }
        d_step { PLACE(me, to, value) = round + 1; sent_to[to]++ }
      :: true
      fi
    }
    skip;
    d_step { to = 0; i = 0; value = 0 };
    Arrive(true);
    AwaitAll();
    /* Receive: each block has its places. */
    for (q : 0 .. DEVICES - 1) {
      i = rank;
      do
      :: i < got[q] ->
        d_step { assert(PLACE(q, me, i) == round + 1); delivered[me]++ }
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
    /* UpdateListed: all messages of the round are there. One block's updates decide whether there is a next frontier. */
    skip;
    d_step { assert(delivered[me] == sent_to[me]) }
    if
    :: rank == 0 ->
      if :: frontier[me] = 0 :: frontier[me] = 1 fi
    :: else
    fi;
    skip;
    d_step {
      round++;
      sum = 0; q = 0; i = 0; value = 0; says = false; leaves = false;
      got[0] = 0; got[1] = 0
#if DEVICES > 2
      ; got[2] = 0
#endif
    }
  od
}

init {
  byte d, b;
  atomic {
    for (d : 0 .. DEVICES - 1) {
      if :: frontier[d] = 0 :: frontier[d] = 1 fi;
      for (b : 0 .. BLOCKS - 1) { run Block(d, b) }
    }
  }
}
