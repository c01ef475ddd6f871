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
 * With WINDOWS, vertices wait for windows of priorities (Windows and StepLeader in framework/fused/step_limits.h), and
 * messages may improve them meanwhile. The run has as many steps as the leader orders, and MESSAGES in all. A step that is
 * no window follows all items of lists: limits and widths of steps are not modelled. Properties:
 *
 * - No vertex is lost: what a window drops has been followed since it was improved (assertion in TakeWindow).
 * - The run does not end while a vertex of any device waits or is in a list (assertion in ChooseStep).
 * - The leader decides by what all devices have counted in the last window, and by all of it (assertions in ChooseStep).
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
/* With WINDOWS. */
#define EACH_STEP_CLEARS 6   /* a device clears the counts of its window in each step */
#define BEGUN_BEFORE_CLEAR 7 /* a device clears the counts of its window once its workers may count in it */
#define IDLE_BEFORE_COUNTS 8 /* a worker becomes idle, and then counts in its window */
#define FULL_LIST_GOES_ON 9  /* the window behind one that had no room for all is the next one */
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

#ifdef WINDOWS
#ifndef VERTICES
#define VERTICES 3 /* of all devices */
#endif
#define ROOM 1 /* of a list, for vertices of a window */
#define NONE 9 /* no priority: above all of them */
#define IS_MINE(v) ((v) % DEVICES == me && (v) / DEVICES % WORKERS == rank)
/* Of vertices: the bitmap of those that wait; priorities; the step that follows the vertex as an item of a list, or 0. */
bool waits[VERTICES];
byte priority_of[VERTICES], item[VERTICES];
/* Of devices: items in lists, counted in StepCounts of three steps; WindowCounts; items of the list that a window fills. */
byte items[DEVICES * 3], left[DEVICES], was_full[DEVICES], first[DEVICES], taken[DEVICES];
/* What an order's entries say: `what` and `limit` in the first, `from` in the second. And what the leader orders next. */
#define ENDS 1
#define WINDOW 2
byte what[DEVICES], limit[DEVICES], from[DEVICES], next, next_limit, next_from;
#define IS_OVER (what[me] == ENDS)
#define NEXT_IS_OVER IS_OVER
#else
#define IS_OVER (step > STEPS)
#define NEXT_IS_OVER (step == STEPS)
#endif

/* What the properties are about, which no device reads. */
byte unsent = MESSAGES; /* messages that this step may still send */
byte sent;              /* by this step */
byte on_the_way;        /* sent and not claimed */
byte working;           /* workers that have begun a step or claimed a message, and have not become idle since */
#ifdef WINDOWS
bool unfollowed[VERTICES]; /* improved, and not followed since */
byte window_of[DEVICES];   /* the step of the window in which a device's counts were made */
byte last_window;          /* the step of the last window that the leader has ordered */
byte waiting;              /* vertices that wait, on all devices */
#endif

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

#ifdef WINDOWS
/* A message may improve a vertex that waits. It is followed at once, or put into the next list, and its bit stays. */
inline Improve() {
  atomic {
    do
    :: true -> break
    :: v < VERTICES - 1 -> v++
    od;
    if
    :: v % DEVICES == me && waits[v] && priority_of[v] > 0 ->
      priority_of[v]--;
      if
      :: unfollowed[v] = false
      :: unfollowed[v] = true; item[v] = step + 1; items[me * 3 + step % 3]++
      fi
    :: else
    fi;
    v = 0
  }
}
/* A worker follows its items of the lists. */
inline Follow() {
  d_step {
    for (v : 0 .. VERTICES - 1) {
      if
      :: IS_MINE(v) && item[v] == step -> unfollowed[v] = false; item[v] = 0
      :: else
      fi
    }
    v = 0
  }
}
/* TakeWindowOf. A worker takes vertices of its own words of the bitmap, which no message changes in this step; then it adds
 * what it has counted. */
inline TakeWindow() {
  d_step {
    my_first = NONE;
    for (v : 0 .. VERTICES - 1) {
      if
      :: !IS_MINE(v) || !waits[v]
      :: else ->
        if
        :: priority_of[v] < from[me] -> assert(unfollowed[v] == false); waits[v] = false
        :: priority_of[v] >= from[me] && priority_of[v] < limit[me] && taken[me] < ROOM ->
          taken[me]++;
          my_taken++;
          item[v] = step + 1;
          waits[v] = false
        :: else ->
          my_left++;
          my_full = my_full || priority_of[v] < limit[me];
          my_first = (priority_of[v] < my_first -> priority_of[v] : my_first)
        fi
      fi
    }
    v = 0
  }
#if FAULT == IDLE_BEFORE_COUNTS
  Rest();
#endif
  d_step {
    left[me] = left[me] + my_left;
    was_full[me] = was_full[me] + my_full;
    first[me] = (my_first < first[me] -> my_first : first[me]);
    items[me * 3 + step % 3] = items[me * 3 + step % 3] + my_taken;
    my_left = 0;
    my_full = 0;
    my_first = 0;
    my_taken = 0
  }
#if FAULT != IDLE_BEFORE_COUNTS
  Rest()
#endif
}
/* A device clears the counts of windows at the order of one. */
inline ClearWindow() {
  d_step {
    if
    :: what[me] == WINDOW || FAULT == EACH_STEP_CLEARS ->
      left[me] = 0;
      was_full[me] = 0;
      first[me] = NONE;
      taken[me] = 0;
      window_of[me] = step + 1
    :: else
    fi
  }
}
/* SumCounts, IsOut, SumWindows and StepLeader::Next: no device changes its counts meanwhile. The locals are sums. */
inline ChooseStep() {
  d_step {
    next = 0;
    my_first = NONE;
    for (i : 0 .. VERTICES - 1) { waiting = waiting + waits[i] }
    for (i : 0 .. DEVICES - 1) { my_taken = my_taken + items[i * 3 + step % 3] }
    if
    :: my_taken == 0 ->
      for (i : 0 .. DEVICES - 1) {
        assert(window_of[i] == last_window);
        my_left = my_left + left[i];
        my_full = my_full || was_full[i];
        my_first = (first[i] < my_first -> first[i] : my_first)
      }
      assert(last_window == 0 || my_left == waiting);
      if
      :: my_left == 0 ->
        for (i : 0 .. VERTICES - 1) { assert(!waits[i] && !unfollowed[i]) }
        next = ENDS
      :: else ->
        next = WINDOW;
        if
        :: last_window != 0 && (FAULT == FULL_LIST_GOES_ON || !my_full) ->
          next_from = next_limit;
          next_limit = (my_first > next_limit -> my_first : next_limit) + 1
        :: else
        fi;
        last_window = step + 1
      fi
    :: else
    fi;
    waiting = 0;
    my_taken = 0;
    my_left = 0;
    my_full = 0;
    my_first = 0;
    i = 0
  }
}
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
#ifdef WINDOWS
    Improve()
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
#ifndef WINDOWS
      unsent = MESSAGES;
#endif
      i = 0;
      ended = false
    }
#ifdef WINDOWS
    ChooseStep();
    do
    :: i < DEVICES ->
      atomic { order_first[i] = step + 1; what[i] = next; limit[i] = next_limit }
      atomic { order_second[i] = step + 1; from[i] = next_from; i++ }
#else
    do
    :: i < DEVICES -> order_first[i] = step + 1; atomic { order_second[i] = step + 1; i++ }
#endif
    :: else -> i = 0; break
    od
  :: else
  fi
}

/* A member of RelaxTogether, which is busy at first. */
proctype Worker(byte me; byte rank) {
  byte step = 1, handled, other, position, target, place, i, sum_received, sum_sent;
  bool got, ended, tried, works = true;
#ifdef WINDOWS
  byte v, my_left, my_first, my_taken;
  bool my_full;
#endif
  do
  :: IS_OVER -> break
  :: else ->
#ifdef WINDOWS
    if
    :: what[me] == WINDOW -> TakeWindow()
    :: else ->
      Follow();
#endif
      SendSome();
      Rest();
#ifdef WINDOWS
    fi;
#endif
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
#ifdef WINDOWS
      items[me * 3 + (step + 2) % 3] = 0;
#if FAULT != BEGUN_BEFORE_CLEAR
      ClearWindow();
#endif
#endif
#if FAULT == BEGINS_IDLE
      atomic { begun[me]++; working = working + (NEXT_IS_OVER -> 0 : WORKERS) }
      busy[me] = busy[me] + WORKERS;
#else
      atomic { begun[me]++; busy[me] = busy[me] + WORKERS; working = working + (NEXT_IS_OVER -> 0 : WORKERS) }
#endif
      opened[me] = step + 1;
#if FAULT == BEGUN_BEFORE_CLEAR
      ClearWindow()
#endif
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
#ifdef WINDOWS
    for (d : 0 .. VERTICES - 1) {
      if
      :: true
      :: priority_of[d] = 1
      :: priority_of[d] = 2
      fi;
      waits[d] = (priority_of[d] != 0);
      unfollowed[d] = waits[d];
      left[d % DEVICES] = left[d % DEVICES] || waits[d] /* TeamRelaxRef::waits */
    }
#endif
    d = 0;
    w = 0
  }
}
