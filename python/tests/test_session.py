"""Sessions: many runs, statistics and traces, Ctrl-C, threads and forks."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from conftest import random_matrix

import chattygraph as cg


def test_many_runs(graph: cg.Graph) -> None:
    with cg.Session(graph, "host:2") as session:
        assert session.devices == ["host:0", "host:1"]
        for source in range(20):
            assert np.array_equal(session.run("bfs", source=source).values, cg.bfs(graph, source=source))
            assert session.run("pagerank", rounds=source + 1).statistics.rounds == source + 1
        assert np.array_equal(cg.sssp(session, source=1), cg.sssp(graph, source=1))
        with pytest.raises(cg.UsageError, match="session has its devices"):
            cg.bfs(session, devices="host:3")
    assert session.closed and "closed" in repr(session)
    with pytest.raises(cg.UsageError, match="closed"):
        session.run("bfs")
    session.close()


def test_a_job_that_is_kept_goes_back_to_defaults(graph: cg.Graph) -> None:
    session = cg.Session(graph)
    first = session.run("pagerank").values
    session.run("pagerank", damping=0.5)
    session.run("pagerank", damping=0.5, rounds=3)
    with pytest.raises(cg.UsageError):
        session.run("pagerank", damping=7)
    assert np.array_equal(session.run("pagerank").values, first)


def test_answers_are_the_callers_own(graph: cg.Graph) -> None:
    session = cg.Session(graph)
    first = session.run("bfs", source=0).values
    kept = first.copy()
    session.run("bfs", source=1).values[:] = 0
    assert np.array_equal(first, kept)
    session.close()
    del session, graph
    gc.collect()
    assert np.array_equal(first, kept)


def test_statistics_and_trace(graph: cg.Graph, tmp_path) -> None:
    run = cg.run("bfs", graph, source=0, devices="host:2", trace=True, explain=True)
    statistics = run.statistics
    assert statistics.converged and statistics["ended"] == "converged" and statistics.rounds > 1
    assert [device["device"] for device in statistics.devices] == ["host:0", "host:1"]
    assert sum(device["vertices"] for device in statistics.devices) == graph.vertices
    assert statistics.buffers and statistics.pairs and "rounds" in dir(statistics)
    with pytest.raises(AttributeError, match="no statistic"):
        _ = statistics.speed
    events = run.trace.events()
    assert {"host:0", "host:1"} <= {event["track"] for event in events}
    run.trace.save(str(tmp_path / "run.json"))
    assert json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    assert cg.run("bfs", graph).trace is None
    assert repr(run).startswith("<chattygraph.Run bfs: 200 values 'level'")
    assert np.array_equal(np.asarray(run), run.values)


def test_limits_of_rounds(graph: cg.Graph) -> None:
    run = cg.run("bfs", graph, source=0, max_rounds=1)
    assert run.statistics.ended == "max_rounds" and not run.statistics.converged


def test_memory_limits(graph: cg.Graph) -> None:
    with pytest.raises(cg.OutOfMemoryError, match="needs|need"):
        cg.Session(graph, memory_limit=1000).run("bfs")
    with pytest.raises(MemoryError):
        cg.Session(graph, memory_limit=1000).run("bfs")


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory_limit": -1}, {"memory_limit": "1G"}, {"host_memory_limit": 2**64}, {"seed": -1}, {"seed": 0.5},
        {"threads": -1}, {"threads": 2**40}, {"partition": None}, {"partition": 3}, {"devices": None},
    ],
)  # fmt: skip
def test_wrong_settings_of_a_session(graph: cg.Graph, wrong: dict) -> None:
    with pytest.raises(cg.UsageError, match=next(iter(wrong))):
        cg.Session(graph, **wrong)


def test_a_wrong_value(graph: cg.Graph) -> None:
    with pytest.raises(cg.UsageError, match="value 3: program 'bfs' has level, parent"):
        cg.bfs(graph, value=3)


def test_data_with_missing_entries(graph: cg.Graph) -> None:
    with pytest.raises(cg.InputError, match="teleport have a mask"):
        cg.personalised_pagerank(graph, teleport=np.ma.masked_less(np.arange(float(graph.vertices)), 5))


def test_a_graph_without_vertices() -> None:
    empty = cg.Graph(([], []), vertices=0)
    assert len(cg.pagerank(empty)) == 0
    with pytest.raises(cg.UsageError, match="no vertices"):
        cg.bfs(empty)


# ------------------------------------------------------------------ threads ----
def test_functions_from_many_threads(graph: cg.Graph) -> None:
    expected = [cg.bfs(graph, source=s) for s in range(8)]
    failures = []

    def work(s: int) -> None:
        try:
            for _ in range(20):
                assert np.array_equal(cg.bfs(graph, source=s), expected[s])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def long_run(session: cg.Session, **arguments) -> cg.Run:
    """A run of minutes, unless it is stopped."""
    return session.run("pagerank", rounds=50_000_000, **arguments)


def test_a_session_is_one_threads_at_a_time() -> None:
    session = cg.Session(random_matrix(2000, 20_000, 1))
    ended: list[cg.Run] = []
    refused: list[str] = []

    def until_it_runs() -> None:
        while not ended:
            try:
                ended.append(session.run("pagerank", rounds=20_000))
            except cg.UsageError as error:
                refused.append(str(error))

    thread = threading.Thread(target=until_it_runs)
    thread.start()
    while thread.is_alive() and not refused:
        try:
            session.run("bfs")
        except cg.UsageError as error:
            refused.append(str(error))
    thread.join()
    assert len(ended) == 1
    assert all("another thread" in text for text in refused)
    session.run("bfs")


# ---------------------------------------------------------------- processes ----
IN_RUN = """
session = cg.Session(cg.Graph(m), _waits=True)  # its runs wait for those of in_run
bfs = cg.programs()["bfs"]._registry

def in_run():
    "Whether another thread runs a program on the session: it refuses a second one, which does not wait."
    try:
        session._core.run(bfs, "bfs", {"source": "0"}, options={}, data={})
    except cg.UsageError as error:
        assert "another thread" in str(error)
        return True
    return False

def wait_for_run():
    while not in_run():
        pass

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

def start(function):
    thread = threading.Thread(target=function)
    thread.start()
    return thread
"""


def in_another_process(code: str, argument: str = "") -> subprocess.CompletedProcess:
    """Runs Python code in a process of its own, with `argument` in sys.argv."""
    prologue = "import os, sys, signal, threading, gc\nimport numpy as np, scipy.sparse as sp, chattygraph as cg\n"
    prologue += "m = sp.eye_array(100, k=1, format='csr', dtype=np.float32)\n"
    return subprocess.run([sys.executable, "-c", prologue + code, argument], capture_output=True, text=True, timeout=600)


def test_ctrl_c_ends_a_run() -> None:
    done = in_another_process(
        "session = cg.Session(m)\n"
        "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    session.run('pagerank', rounds=2_000_000_000)\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
        "print(session.run('bfs', source=0).values[5])\n"
    )
    assert done.stdout.split() == ["interrupted", "5"], done.stderr
    assert done.stderr == ""


def test_ctrl_c_ends_a_long_run_after_short_ones() -> None:
    """Runs that repeat a short one take no thread of their own; one with other parameters is none of these."""
    done = in_another_process(
        "session = cg.Session(m)\n"
        "short = [session.run('pagerank', rounds=3).values for _ in range(5)]\n"
        "short += [session.run('bfs', source=s).values for s in range(5)]\n"
        "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    session.run('pagerank', rounds=2_000_000_000)\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
        "print(np.array_equal(session.run('pagerank', rounds=3).values, short[0]))\n"
    )
    assert done.stdout.split() == ["interrupted", "True"], done.stderr


def test_ctrl_c_ends_the_run_that_it_came_in() -> None:
    """The thread that requests stops may learn of a signal when its run has ended, and the next one has begun. Here it comes
    late: all threads share one CPU, where it runs when no other thread wants to.
    """
    done = in_another_process(
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        + IN_RUN
        + """
def tasks():
    return {int(task) for task in os.listdir("/proc/self/task")}

runs = 0
def run(rounds):
    "A run with a new parameter, which is watched."
    global runs
    runs += 1
    return session.run("pagerank", rounds=rounds, tolerance=0, damping=0.5 + runs / 1e6).statistics

def send():
    wait_for_run()
    interrupt()

run_elsewhere = start(lambda: run(10))
run_elsewhere.join()
before = tasks()
run(10)
(requesting,) = tasks() - before
os.sched_setscheduler(requesting, os.SCHED_IDLE, os.sched_param(0))
wrong = []
for i in range(60):
    thread = start(send)
    try:
        try:
            while True:
                run(500 + 100 * i)  # a signal comes near the end of some
        except KeyboardInterrupt:
            found = run(20_000)
        if found.rounds != 20_000:
            wrong.append(found)
    except KeyboardInterrupt:
        wrong.append("interrupted")
    thread.join()
print(wrong)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
    )
    assert done.stdout.split("\n")[:2] == ["[]", "True"], done.stdout + done.stderr


def test_system_in_another_thread_ignores_ctrl_c_as_long_as_it_lasts(tmp_path) -> None:
    """system() of C ignores SIGINT until its command ends, and then restores the handler that it found: of a run, too."""
    done = in_another_process(
        IN_RUN
        + """
pipe = sys.argv[1]
os.mkfifo(pipe)

def ignored():
    with open("/proc/self/status") as status:
        masks = dict(line.split(":", 1) for line in status)
    return bool(int(masks["SigIgn"], 16) >> (signal.SIGINT - 1) & 1)

def begin():
    "Calls system() in a thread."
    thread = start(lambda: os.system(f"read line < {pipe}"))
    while not ignored():
        pass
    return thread

def end(thread):
    with open(pipe, "w") as writer:
        writer.write("\\n")
    thread.join()
    assert not ignored()

def interrupted(work):
    "Whether Ctrl-C ends a run, within which another thread does this work."
    thread = start(work)
    try:
        session.run("pagerank", rounds=2_000_000_000)
    except KeyboardInterrupt:
        thread.join()
        return True
    return False

def plainly():
    wait_for_run()
    interrupt()

def during():
    wait_for_run()
    system = begin()
    interrupt()  # nobody hears it
    end(system)
    interrupt()

print(interrupted(plainly), interrupted(during), interrupted(plainly))

before = begin()
def within():
    wait_for_run()
    interrupt()  # nobody hears it
    end(before)
    interrupt()
print(interrupted(within), interrupted(plainly))

# One that begins in a run, and ends after it.
began = []
def across():
    wait_for_run()
    began[:] = [begin(), in_run()]
rounds = 50_000
while True:
    thread = start(across)
    session.run("pagerank", rounds=rounds, tolerance=0)
    thread.join()
    system, inside = began
    if inside:
        break
    end(system)
    rounds *= 2
print(session.run("pagerank", rounds=7, tolerance=0).statistics.rounds)  # while it lasts
end(system)
try:
    interrupt()
    print("not heard")
except KeyboardInterrupt:
    print("heard")
print(interrupted(plainly), interrupted(during), session.run("bfs", source=0).values[5])
""",
        argument=str(tmp_path / "pipe"),
    )
    assert done.stdout.split() == ["True"] * 5 + ["7", "heard", "True", "True", "5"], (
        done.returncode,
        done.stdout,
        done.stderr,
    )


def test_a_handler_of_ctrl_c_that_does_not_raise_ends_no_run() -> None:
    done = in_another_process(
        IN_RUN
        + """
heard = threading.Event()

def handler(*_):
    print("heard", flush=True)
    signal.signal(signal.SIGALRM, over)
    heard.set()

def over(*_):
    raise TimeoutError

def send():
    wait_for_run()
    interrupt()
    heard.wait()
    goes_on = all([in_run() for _ in range(1000)])
    print("goes on" if goes_on else "ended", flush=True)
    if goes_on:
        os.kill(os.getpid(), signal.SIGALRM)

signal.signal(signal.SIGINT, handler)
thread = start(send)
try:
    session.run("pagerank", rounds=2_000_000_000)
except TimeoutError:
    print("over")
"""
    )
    assert done.stdout.splitlines() == ["heard", "goes on", "over"], done.stderr


def test_ctrl_c_that_is_ignored_ends_no_run() -> None:
    done = in_another_process(
        IN_RUN
        + """
signal.signal(signal.SIGINT, signal.SIG_IGN)
arrived = []

def send():
    wait_for_run()
    interrupt()
    arrived[:] = [in_run()]

rounds, found = 50_000, []
while not any(arrived):  # until one was sent within a run
    rounds *= 2
    thread = start(send)
    found.append(session.run("pagerank", rounds=rounds, tolerance=0).statistics.rounds == rounds)
    thread.join()
print(all(found))
"""
    )
    assert done.stdout.split() == ["True"], done.stdout + done.stderr


def test_a_handler_of_a_signal_may_run_programs() -> None:
    done = in_another_process(
        "session, graph = cg.Session(m), cg.Graph(m)\n"
        "def handler(*_):\n    print(cg.bfs(graph, source=0)[7])\n    raise TimeoutError\n"
        "signal.signal(signal.SIGALRM, handler)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.5)\n"
        "try:\n    session.run('pagerank', rounds=2_000_000_000)\n"
        "except TimeoutError:\n    print('over')\n"
    )
    assert done.stdout.split() == ["7", "over"], done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("used", [True, False])
def test_a_forked_process(used: bool) -> None:
    done = in_another_process(
        ("graph = cg.Graph(m)\nsession = cg.Session(graph)\nsession.run('bfs')\ncg.bfs(graph)\n" if used else "")
        + "pid = os.fork()\n"
        "if pid == 0:\n"
        "  try:\n    print(cg.bfs(m, source=0)[3])\n"
        "  except cg.UsageError as error:\n    print('forked' in str(error))\n"
        "  try:\n    session.run('bfs')\n"
        "  except (cg.UsageError, NameError) as error:\n    print('refused')\n"
        "  session = graph = None\n  gc.collect()\n  sys.exit(0)\n"
        "print(os.waitpid(pid, 0)[1])\n"
    )
    assert done.stdout.split() == (["True", "refused", "0"] if used else ["3", "refused", "0"]), done.stderr


def test_nothing_is_left_at_the_end() -> None:
    done = in_another_process(
        "graph = cg.Graph(m)\nkept = [cg.run('bfs', graph, trace=True), cg.Session(graph).run('sssp')]\n"
        "try:\n    cg.bfs(graph, source=1000)\nexcept cg.UsageError as e:\n    error = e\n"
        "del kept, graph, error\n"
    )
    assert done.returncode == 0
    assert "leak" not in done.stderr, done.stderr


# -------------------------------------------------------------------- leaks ----
def test_arrays_are_held_and_given_back() -> None:
    matrix = random_matrix(100, 600, 2)
    before = sys.getrefcount(matrix.indices), sys.getrefcount(matrix.data)
    graph = cg.Graph(matrix)
    assert sys.getrefcount(matrix.indices) > before[0]
    run = cg.run("sssp", graph, source=0)
    view = graph.indices
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None
    assert np.array_equal(view, matrix.indices)  # the view keeps what it shows
    del view, run
    gc.collect()
    assert (sys.getrefcount(matrix.indices), sys.getrefcount(matrix.data)) == before


def test_errors_keep_nothing() -> None:
    indices = np.int32([0, 9])
    before = sys.getrefcount(indices)
    for _ in range(10):
        with pytest.raises(cg.InputError):
            cg.Graph((indices, indices), vertices=3)
    gc.collect()
    assert sys.getrefcount(indices) == before


def resident_kib() -> int:
    """Memory of this process."""
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("VmRSS")).split()[1])


def test_many_graphs_take_no_more_memory() -> None:
    matrix = random_matrix(20_000, 100_000, 1)

    def once() -> None:
        graph = cg.Graph(matrix)
        cg.bfs(graph, source=0)
        cg.run("pagerank", graph, rounds=2, devices="host:2", trace=True)
        with pytest.raises(cg.UsageError):
            cg.bfs(graph, source=10**9)

    for _ in range(5):
        once()
    gc.collect()
    before = resident_kib()
    for _ in range(40):
        once()
    gc.collect()
    assert resident_kib() - before < 16_000  # one graph with its state takes about 3 MB
