/* A model of rounds of any width that GPUs make together (framework/fused/wide_team.h), for the model checker Spin (G. J.
 * Holzmann, 1997). `check` in this folder runs it. Comments say what of the code each part models.
 *
 * A GPU has BLOCKS blocks. A bitmap from one GPU to another has a word for each block, with one bit. In a push, blocks set
 * bits of the halo, meet the others of their GPU, and store words with a bit at their owners, who take them in and clear
 * them. In a pull, they store all words of the border's frontier where these are halo, and the bits join the frontier there.
 * A barrier over all GPUs is before the words are read. Another one, which carries counters, ends the round. Properties:
 *
 * - All blocks of all GPUs decide alike in each round: to leave, to push or to pull (assertion in Decide).
 * - A word is of this round where a block reads it, and so are counters (assertions in TakeWords, Sync and Decide).
 * - All bits of a round are there before any update (assertion at Apply).
 * - Nothing waits for ever: all blocks leave (Spin's check of end states).
 *
 * Every access to memory that others share is a step of the model. A load takes what is in memory then. A store at another
 * GPU, and a clear of what another GPU has stored, may be seen at any time after it. The fence of a GPU's first block waits
 * until all stores of the GPU's blocks are seen, as the code's fence orders what all blocks did before they arrived. Memory
 * orders within a GPU are not a part of the model, nor are failures and what hosts do between kernels. FAULT plants a
 * mistake that Spin must find. */

#ifndef DEVICES
#define DEVICES 2 /* 2 or 3 */
#endif
#ifndef BLOCKS
#define BLOCKS 2 /* of each device */
#endif
#ifndef ROUNDS
#define ROUNDS 2 /* at most */
#endif
#ifndef SENDERS
#define SENDERS DEVICES /* the first so many devices have frontiers, and the others none */
#endif
/* STOPS: the first device's host may ask for a stop at any time. */

#define ONE_PLACE 1       /* the entries of all barriers have one place */
#define ONE_NUMBER 2      /* a reader looks at the number of the first entry alone */
#define NO_FENCE 3        /* the first block does not wait until its GPU's stores are seen */
#define EARLY_READS 4     /* words are read before the barrier over GPUs */
#define EARLY_CLEAR 5     /* a sender clears its words behind the barrier, before all owners have read them */
#define LATE_CLEAR 6      /* an owner clears what it has taken in when the next round begins */
#define LATE_HALO_CLEAR 7 /* a pull clears the halo's bits of the last one behind the barrier */
#define NO_HOME_BARRIER 8 /* blocks update without waiting for the other blocks of their GPU */
#define EARLY_RESET 9     /* counters are cleared before all blocks have read them */
#define OWN_STOP 10       /* a GPU stops when its own host asks for it */
#ifndef FAULT
#define FAULT 0
#endif

#if FAULT == ONE_PLACE
#define SLOT(e) 0
#else
#define SLOT(e) ((e) % 2)
#endif
#define PAIR(from, to) ((from) * DEVICES + (to))
#define PAIRS (DEVICES * DEVICES)
/* Words at `to`, which `from` stores: HaloBits::messages_to and frontier_to. Twice the round they are of, from 1, and the
 * bit. A word of messages is 0 without it. */
#define MESSAGES 0
#define FRONTIER 1
#define CLEARS 2 /* stores of 0 to words of messages, which `to` makes */
#define WORD(kind, from, to, i) (((kind) * PAIRS + PAIR(from, to)) * BLOCKS + (i))
byte words[2 * PAIRS * BLOCKS];
/* WideSums at `to`, two entries of a barrier: its number, and a counter. A barrier without counters has the first alone. */
#define ACTIVE 0
#define STOP 1
#define ENTRY(counter, e, from, to) (((counter) * 2 + SLOT(e)) * PAIRS + PAIR(from, to))
byte number[4 * PAIRS], counted[4 * PAIRS];

/* In a device's own memory: WideControl, of which two take turns; PlainBarrierWords and WideTeamWords; bits of the halo that
 * pushes have set, and those that are active. */
byte active_vertices[2 * DEVICES], arrived[DEVICES], released[DEVICES], sum_active[DEVICES];
bool stop[2 * DEVICES], sum_stop[DEVICES], touched[PAIRS * BLOCKS], halo[PAIRS * BLOCKS];
#define BIT(q, i) (PAIR(me, q) * BLOCKS + (i))

/* Stores that are not seen yet: the word and 1 more, or the entry's number and its counter. How many each device has. */
#define LATE_ENTRY(counter, from, to) ((counter) * PAIRS + PAIR(from, to))
byte late_word[3 * PAIRS * BLOCKS], late_number[2 * PAIRS], late_counted[2 * PAIRS];
byte unseen_words[DEVICES], unseen_entries[DEVICES];

/* What the properties are about, which no device reads. */
byte decided[ROUNDS + 1];  /* 0: by no block; 1: to leave; 2: to push; 3: to pull */
short on_the_way[DEVICES]; /* bits sent to the device, and not delivered */
byte share[DEVICES];       /* active vertices of the device, at the last barrier with counters */

/* A link: a late store is seen at any time. */
#define SEE_WORD(kind, i)                                                                        \
  d_step {                                                                                       \
    late_word[WORD(kind, from, to, i)] > 0 ->                                                    \
    words[WORD((kind) % CLEARS, from, to, i)] = late_word[WORD(kind, from, to, i)] - 1;          \
    late_word[WORD(kind, from, to, i)] = 0;                                                      \
    unseen_words[((kind) == CLEARS -> to : from)]--                                              \
  }
#define SEE_ENTRY(counter)                                                                       \
  d_step {                                                                                       \
    late_number[LATE_ENTRY(counter, from, to)] > 0 ->                                            \
    e = late_number[LATE_ENTRY(counter, from, to)];                                              \
    number[ENTRY(counter, e, from, to)] = e;                                                     \
    counted[ENTRY(counter, e, from, to)] = late_counted[LATE_ENTRY(counter, from, to)];          \
    late_number[LATE_ENTRY(counter, from, to)] = 0;                                              \
    late_counted[LATE_ENTRY(counter, from, to)] = 0;                                             \
    unseen_entries[from]--;                                                                      \
    e = 0                                                                                        \
  }
proctype Link(byte from; byte to) {
  byte e;
end:
  do
  :: SEE_WORD(MESSAGES, 0)
  :: SEE_WORD(FRONTIER, 0)
  :: SEE_WORD(CLEARS, 0)
#if BLOCKS > 1
  :: SEE_WORD(MESSAGES, 1)
  :: SEE_WORD(FRONTIER, 1)
  :: SEE_WORD(CLEARS, 1)
#endif
  :: SEE_ENTRY(ACTIVE)
  :: SEE_ENTRY(STOP)
  od
}
inline StoreWord(kind, from, to, i, value) {
  late_word[WORD(kind, from, to, i)] = value + 1;
  unseen_words[me]++
}
inline StoreEntry(counter, to, value) {
  late_number[LATE_ENTRY(counter, me, to)] = epoch;
  late_counted[LATE_ENTRY(counter, me, to)] = value;
  unseen_entries[me]++
}

/* PlainGridBarrier. */
inline Arrive() {
  d_step { barriers++; arrived[me]++ }
}
#define ALL_ARRIVED (arrived[me] >= barriers * BLOCKS)
inline SyncHome() {
  Arrive();
  ALL_ARRIVED
}

#if FAULT == ONE_NUMBER
#define IS_THERE(q) (number[ENTRY(ACTIVE, epoch, q, me)] == epoch)
#else
#define IS_THERE(q) \
  (number[ENTRY(ACTIVE, epoch, q, me)] == epoch && (!sums || number[ENTRY(STOP, epoch, q, me)] == epoch))
#endif
#if DEVICES > 2
#define ALL_THERE ((me == 0 || IS_THERE(0)) && (me == 1 || IS_THERE(1)) && (me == 2 || IS_THERE(2)))
#else
#define ALL_THERE ((me == 0 || IS_THERE(0)) && (me == 1 || IS_THERE(1)))
#endif
/* WidePeers::Sync, and Lead for the first block. Its own last entries are seen before it stores the next: they, too, are
 * behind a fence. It looks at all entries in one step, when all are there: one that changes before would have it wait for
 * ever. */
inline Sync(sums) {
  epoch++;
  Arrive();
  if
  :: rank == 0 ->
    d_step {
      ALL_ARRIVED && unseen_entries[me] == 0 && (FAULT == NO_FENCE || unseen_words[me] == 0) ->
      for (q : 0 .. DEVICES - 1) {
        if
        :: q != me ->
          StoreEntry(ACTIVE, q, sums * active_vertices[turn * DEVICES + me]);
          if
          :: sums -> StoreEntry(STOP, q, stop[turn * DEVICES + me])
          :: else
          fi
        :: else
        fi
      }
      q = 0
    }
    d_step {
      ALL_THERE ->
      if
      :: sums ->
        sum_active[me] = active_vertices[turn * DEVICES + me];
        sum_stop[me] = stop[turn * DEVICES + me];
        share[me] = active_vertices[turn * DEVICES + me];
        for (q : 0 .. DEVICES - 1) {
          if
          :: q != me ->
            assert(number[ENTRY(STOP, epoch, q, me)] == epoch);
            sum_active[me] = sum_active[me] + counted[ENTRY(ACTIVE, epoch, q, me)];
            sum_stop[me] = sum_stop[me] || counted[ENTRY(STOP, epoch, q, me)]
          :: else
          fi
        }
        q = 0
      :: else
      fi;
      released[me] = barriers
    }
  :: else
  fi;
  released[me] == barriers
}

/* Count and BeginRound. */
inline Decide() {
  skip;
  d_step {
    assert(active_vertices[turn * DEVICES + me] == share[me]);
#if FAULT == OWN_STOP
    leaves = (sum_active[me] == 0 || round == ROUNDS || stop[turn * DEVICES + me]);
#else
    leaves = (sum_active[me] == 0 || round == ROUNDS || sum_stop[me]);
#endif
    pull = (!leaves && (sum_active[me] + round) % 2 == 0); /* a choice by the counters, as any other */
    assert(decided[round] == 0 || decided[round] == (leaves -> 1 : (pull -> 3 : 2)));
    decided[round] = (leaves -> 1 : (pull -> 3 : 2));
    turn = 1 - turn
  }
}

/* By the first block: it clears the counters of the round before. */
inline ClearControl() {
  if
  :: rank == 0 -> d_step { active_vertices[(1 - turn) * DEVICES + me] = 0; stop[(1 - turn) * DEVICES + me] = false }
  :: else
  fi
}

/* TakeIn, or TakeFrontier. A block takes words that blocks of another rank have sent. */
inline TakeWords() {
  i = (rank + 1) % BLOCKS;
  for (q : 0 .. DEVICES - 1) {
    if
    :: q != me && pull -> d_step {
        assert(words[WORD(FRONTIER, q, me, i)] / 2 == round + 1);
        halo[BIT(q, i)] = words[WORD(FRONTIER, q, me, i)] % 2
      }
    :: q != me && !pull && words[WORD(MESSAGES, q, me, i)] != 0 -> d_step {
        assert(words[WORD(MESSAGES, q, me, i)] / 2 == round + 1);
        on_the_way[me]--;
#if FAULT != LATE_CLEAR && FAULT != EARLY_CLEAR
        StoreWord(CLEARS, q, me, i, 0)
#endif
      }
    :: else
    fi
  }
  skip;
  d_step { q = 0; i = 0 }
}
inline ClearHalo() {
  d_step {
    for (q : 0 .. DEVICES - 1) { halo[BIT(q, rank)] = false }
    q = 0
  }
}

proctype Block(byte me; byte rank; bool found) {
  byte epoch = 0, barriers = 0, round = 0, turn = 0, q, i;
  bool leaves, pull, asked;
  Sync(true);
  Decide();
  do
  :: leaves -> break
  :: else ->
#ifdef STOPS
    if
    :: me == 0 && rank == 0 -> asked = true /* the host's word, at the round's begin */
    :: true
    fi;
#endif
#if FAULT == EARLY_RESET
    ClearControl();
#endif
#if FAULT == LATE_CLEAR
    d_step {
      for (q : 0 .. DEVICES - 1) { words[WORD(MESSAGES, q, me, (rank + 1) % BLOCKS)] = 0 }
      q = 0
    }
#endif
    if
    :: pull ->
      /* SendFrontier: all words, with a bit or without. */
#if FAULT != LATE_HALO_CLEAR
      ClearHalo();
#endif
      if
      :: true -> found = false
      :: found
      fi;
      d_step {
        for (q : 0 .. DEVICES - 1) {
          if
          :: q != me ->
            StoreWord(FRONTIER, me, q, rank, 2 * (round + 1) + found);
            on_the_way[q] = on_the_way[q] + found
          :: else
          fi
        }
        q = 0
      }
    :: else ->
      /* Advance: edges of the block's part of the frontier set bits of words that another block sends. */
      if
      :: found -> d_step {
          for (q : 0 .. DEVICES - 1) { touched[BIT(q, (rank + 1) % BLOCKS)] = (q != me) }
          q = 0
        }
      :: true
      fi;
      SyncHome();
      /* SendHalo. */
      d_step {
        for (q : 0 .. DEVICES - 1) {
          if
          :: touched[BIT(q, rank)] ->
            touched[BIT(q, rank)] = false;
            StoreWord(MESSAGES, me, q, rank, 2 * (round + 1) + 1);
            on_the_way[q]++
          :: else
          fi
        }
        q = 0
      }
    fi;
#if FAULT == EARLY_READS
    TakeWords();
    Sync(false);
#else
    Sync(false);
#if FAULT == LATE_HALO_CLEAR
    ClearHalo();
#endif
#if FAULT == EARLY_CLEAR
    d_step {
      for (q : 0 .. DEVICES - 1) { words[WORD(MESSAGES, me, q, rank)] = 0 }
      q = 0
    }
#endif
    TakeWords();
#endif
#if FAULT != NO_HOME_BARRIER
    SyncHome();
#endif
    if
    :: pull ->
      /* Gather: a block follows bits that another one has joined. */
      d_step {
        for (q : 0 .. DEVICES - 1) { on_the_way[me] = on_the_way[me] - halo[BIT(q, rank)] }
        q = 0
      }
      SyncHome()
    :: else
    fi;
    /* Apply: the next frontier, and its counters. The last round needs none. */
    d_step { assert(on_the_way[me] == 0) }
    if
    :: found = false
    :: round + 1 < ROUNDS && me < SENDERS -> d_step { found = true; active_vertices[turn * DEVICES + me]++ }
    fi;
    if
    :: asked -> stop[turn * DEVICES + me] = true
    :: else
    fi;
#if FAULT != EARLY_RESET
    ClearControl();
#endif
    Sync(true);
    d_step { round++; asked = false }
    Decide()
  od
}

init {
  byte d, b, q;
  bool part;
  atomic {
    for (d : 0 .. DEVICES - 1) {
      for (q : 0 .. DEVICES - 1) {
        if
        :: q != d -> run Link(d, q)
        :: else
        fi
      }
    }
    for (d : 0 .. DEVICES - 1) {
      for (b : 0 .. BLOCKS - 1) {
        if
        :: part = false
        :: d < SENDERS -> part = true
        fi;
        active_vertices[d] = active_vertices[d] + part;
        run Block(d, b, part)
      }
    }
    d = 0;
    b = 0;
    q = 0;
    part = false
  }
}
