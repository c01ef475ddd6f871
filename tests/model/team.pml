/* A model of how the devices of a fused run agree that a step has ended (framework/fused/team.h), for the model checker Spin
 * (G. J. Holzmann, 1997). `check` in this folder runs it. Comments say what of the code each part models.
 *
 * A step is work that sends messages, at most MESSAGES of them in all. A message may cause others. Properties:
 *
 * - The leader never ends a step while a message is on the way or a worker has something to do, and the devices' counts are
 *   complete then (assertions in LeadStep).
 * - No message is handled in another step than its own (assertion in ClaimOne).
 * - Nothing waits for ever: all workers reach the end of the last step (Spin's check of end states).
 *
 * Every access to memory that others share is a step of the model, and all have one order: the memory orders of the code are
 * not a part of it. FAULT plants a mistake that Spin must find. */

#ifndef DEVICES
#define DEVICES 3 /* 2 or 3 */
#endif
#ifndef WORKERS
#define WORKERS 1 /* of each device */
#endif
#ifndef MESSAGES
#define MESSAGES 2 /* of each step, at most */
#endif
#ifndef STEPS
#define STEPS 2
#endif
#ifndef CAPACITY
#define CAPACITY 1 /* of a ring */
#endif

#define SENT_BEFORE_STATES 1 /* the leader reads the counters of sent messages before the states */
#define COUNTS_BEFORE_BUSY 2 /* an idle worker counts a message that it has claimed, and then becomes busy */
#define NO_STEP_NUMBERS 3    /* messages do not carry their step */
#define BEGINS_IDLE 4        /* a device begins a step, and then its workers become busy */
#define FULL_RING_WAITS 5    /* a sender takes no messages while it waits for room */
#ifndef FAULT
#define FAULT 0
#endif

#if FAULT == NO_STEP_NUMBERS
#define TAGS 1
#else
#define TAGS 4 /* messages carry two bits of their step */
#endif

/* Each device's word of state: TeamState. */
byte busy[DEVICES], received[DEVICES], begun[DEVICES];
/* The rings of all pairs: counters, and entries with the step of their message, or 0 where none of this lap has arrived. */
#define PAIR(from, to) ((from) * DEVICES + (to))
byte reserved[DEVICES * DEVICES], claimed[DEVICES * DEVICES], entries[DEVICES * DEVICES * CAPACITY];
#define ENTRY(from, to, position) entries[PAIR(from, to) * CAPACITY + (position) % CAPACITY]
#define NEXT(from, to) ENTRY(from, to, claimed[PAIR(from, to)])
#define IS_OF(from, to, step) (NEXT(from, to) != 0 && NEXT(from, to) % TAGS == (step) % TAGS)
#define HAS_ROOM(from, to) (reserved[PAIR(from, to)] - claimed[PAIR(from, to)] < CAPACITY)
/* The order of the next step, in two entries; TeamShared::step; the counts of three steps. */
byte order_first[DEVICES], order_second[DEVICES], opened[DEVICES], counts[DEVICES * 3];

/* What the properties are about, which no device reads. */
byte unsent = MESSAGES; /* messages that this step may still send */
byte sent;              /* by this step */
byte on_the_way;        /* sent and not claimed */
byte working;           /* workers that have begun a step or claimed a message, and have not become idle since */

#if DEVICES == 2
#define ANY_OF(to, step) (IS_OF(0, to, step) || IS_OF(1, to, step))
#define ALL_IDLE (busy[0] == 0 && busy[1] == 0)
#define ALL_RECEIVED (received[0] + received[1] == reserved[PAIR(0, 1)] + reserved[PAIR(1, 0)])
#else
#define ANY_OF(to, step) (IS_OF(0, to, step) || IS_OF(1, to, step) || IS_OF(2, to, step))
#define ALL_IDLE (busy[0] == 0 && busy[1] == 0 && busy[2] == 0)
#define ALL_RECEIVED                                                                                       \
  (received[0] + received[1] + received[2] == reserved[PAIR(0, 1)] + reserved[PAIR(0, 2)] + reserved[PAIR(1, 0)] + \
                                                  reserved[PAIR(1, 2)] + reserved[PAIR(2, 0)] + reserved[PAIR(2, 1)])
#endif

/* Messages::Claim, of one message at most. Another worker may claim it first. A worker that was idle becomes busy with the
 * addition that counts the message. */
inline ClaimOne(was_idle) {
  atomic {
    got = false;
    if
    :: IS_OF(0, me, step) -> other = 0; got = true
    :: IS_OF(1, me, step) -> other = 1; got = true
#if DEVICES == 3
    :: IS_OF(2, me, step) -> other = 2; got = true
#endif
    :: else
    fi;
    position = claimed[PAIR(other, me)]
  }
  atomic {
    if
    :: got && claimed[PAIR(other, me)] == position ->
      assert(NEXT(other, me) == step);
      NEXT(other, me) = 0;
      claimed[PAIR(other, me)]++;
      on_the_way--;
      if
      :: !works -> works = true; working++
      :: else
      fi
    :: else -> got = false
    fi;
    other = 0;
    position = 0
  }
  if
#if FAULT == COUNTS_BEFORE_BUSY
  :: got -> atomic { received[me]++; handled++ }
    busy[me] = busy[me] + was_idle
#else
  :: got -> atomic { received[me]++; handled++; busy[me] = busy[me] + was_idle }
#endif
  :: else
  fi
}

/* RelaxWorker::Send: waits for room, and takes messages meanwhile. Hosts reserve a place where there is room. GPUs reserve
 * one ahead (AHEAD), and wait before they write. */
inline SendSome() {
  do
  :: atomic {
      unsent > 0 -> unsent--;
      if
      :: me != 0 -> target = 0
      :: me != 1 -> target = 1
#if DEVICES == 3
      :: me != 2 -> target = 2
#endif
      fi
    }
#ifdef AHEAD
    atomic {
      place = reserved[PAIR(me, target)];
      reserved[PAIR(me, target)]++;
      on_the_way++;
      sent++
    }
    do
    :: atomic {
        place - claimed[PAIR(me, target)] < CAPACITY -> ENTRY(me, target, place) = step;
        place = 0;
        target = 0;
        break
      }
    :: place - claimed[PAIR(me, target)] >= CAPACITY && ANY_OF(me, step) -> ClaimOne(0)
    od
#else
    do
    :: atomic {
        HAS_ROOM(me, target) -> place = reserved[PAIR(me, target)];
        reserved[PAIR(me, target)]++;
        on_the_way++;
        sent++
      }
      atomic { ENTRY(me, target, place) = step; place = 0; target = 0; break }
#if FAULT != FULL_RING_WAITS
    :: !HAS_ROOM(me, target) && ANY_OF(me, step) -> ClaimOne(0)
#endif
    od
#endif
  :: break
  od
}

/* The member's counts, and BecomeIdle. */
inline Rest() {
  atomic { counts[me * 3 + step % 3] = counts[me * 3 + step % 3] + handled; handled = 0 }
  atomic {
    busy[me]--;
    if
    :: works -> works = false; working--
    :: else
    fi
  }
}

inline SumStates() {
  do
  :: i < DEVICES ->
    atomic {
      if
      :: busy[i] != 0 || begun[i] != step -> ended = false; i = DEVICES
      :: else -> sum_received = sum_received + received[i]; i++
      fi
    }
  :: else -> i = 0; break
  od
}
inline SumSent() {
  i = 1; /* nobody sends to itself: PAIR(0, 0), PAIR(1, 1), ... are multiples of DEVICES + 1 */
  do
  :: i < DEVICES * DEVICES ->
    atomic { sum_sent = sum_sent + reserved[i]; i = ((i + 1) % (DEVICES + 1) == 0 -> i + 2 : i + 1) }
  :: else -> i = 0; break
  od
}

/* HasEnded, SumCounts and GiveOrder. */
inline LeadStep() {
  ended = true;
#if FAULT == SENT_BEFORE_STATES
  SumSent();
  SumStates();
#else
  SumStates();
  if
  :: ended -> SumSent()
  :: else
  fi;
#endif
  atomic {
    ended = ended && sum_sent == sum_received;
    sum_sent = 0;
    sum_received = 0;
    tried = !ended
  }
  if
  :: ended ->
    assert(on_the_way == 0 && working == 0);
    atomic {
      do
      :: i < DEVICES -> sum_received = sum_received + counts[i * 3 + step % 3]; i++
      :: else -> break
      od;
      assert(sum_received == sent);
      sum_received = 0;
      sent = 0;
      unsent = MESSAGES;
      i = 0;
      ended = false
    }
    do
    :: i < DEVICES -> order_first[i] = step + 1; atomic { order_second[i] = step + 1; i++ }
    :: else -> i = 0; break
    od
  :: else
  fi
}

/* A member of RelaxTogether, which is busy at first. */
proctype Worker(byte me; byte rank) {
  byte step = 1, handled, other, position, target, place, i, sum_received, sum_sent;
  bool got, ended, tried, works = true;
  do
  :: step > STEPS -> break
  :: else ->
    SendSome();
    Rest();
    do
    :: ANY_OF(me, step) ->
      ClaimOne(1);
      if
      :: got ->
        do
        :: got -> SendSome(); ClaimOne(0)
        :: else -> break
        od;
        Rest()
      :: else
      fi
    /* The leader looks when it likes. A look that finds nothing changes nothing, so one of them stands for all: then it
     * waits for a state in which a look might succeed, or for ever. */
    :: me == 0 && rank == 0 && order_second[0] == step && (!tried || (ALL_IDLE && ALL_RECEIVED)) -> LeadStep()
    :: rank == 0 && opened[me] == step && order_first[me] == step + 1 && order_second[me] == step + 1 ->
      tried = false;
      counts[me * 3 + (step + 2) % 3] = 0;
#if FAULT == BEGINS_IDLE
      atomic { begun[me]++; working = working + (step < STEPS -> WORKERS : 0) }
      busy[me] = busy[me] + WORKERS;
#else
      atomic { begun[me]++; busy[me] = busy[me] + WORKERS; working = working + (step < STEPS -> WORKERS : 0) }
#endif
      opened[me] = step + 1
    :: opened[me] == step + 1 -> break
    od;
    atomic { step++; works = true }
  od
}

init {
  byte d, w;
  atomic {
    do
    :: d < DEVICES ->
      begun[d] = 1;
      busy[d] = WORKERS;
      opened[d] = 1;
      order_first[d] = 1;
      order_second[d] = 1;
      working = working + WORKERS;
      w = 0;
      do
      :: w < WORKERS -> run Worker(d, w); w++
      :: else -> break
      od;
      d++
    :: else -> break
    od;
    d = 0;
    w = 0
  }
}
