# Two threads, one after the other, use two locks in opposite orders. The argument says how:
#
#   guilty    as with statements do
#   gated     the same, with a third lock held
#   tried     they give up if the second lock is held
#   same      in the same order
import sys
import threading
import time

how = sys.argv[1]
a, b, gate = threading.Lock(), threading.Lock(), threading.Lock()
done = []


def both(first, second):
    with first:
        time.sleep(0)  # lets other threads go on
        if second.acquire(blocking=how != "tried"):
            second.release()


def run(first, second):
    if how == "gated":
        with gate:
            both(first, second)
    else:
        both(first, second)
    done.append(None)


def one_more(first, second):
    """Runs a thread, and waits until it is done, which only a list tells."""
    n = len(done)
    t = threading.Thread(target=run, args=(first, second))
    t.start()
    while len(done) == n:
        time.sleep(0.001)
    return t


threads = [one_more(a, b), one_more(a, b) if how == "same" else one_more(b, a)]
for t in threads:
    t.join()
