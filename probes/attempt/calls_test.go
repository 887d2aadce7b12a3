package attempt_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/attempt"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Each function of this program begins with yes_ if it tries again and again until it has a lock, and with no_ if it does
// not.
const callsC = `
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
struct object { pthread_mutex_t lock; struct object *next; long data; };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t *any = &mutex;
atomic_int tries, stop;
static long plain;
void other(void);

void yes_spins(void) { while (pthread_mutex_trylock(&mutex)) ; }
void yes_sleeps(struct object *o) { while (pthread_mutex_trylock(&o->lock) != 0) usleep(10); }
void yes_busy(struct object *o) { while (pthread_mutex_trylock(&o->lock) == EBUSY) sched_yield(); }
void yes_infinite(struct object *o) { for (;;) { if (!pthread_mutex_trylock(&o->lock)) break; sched_yield(); } o->data++; }
void yes_backs_off(struct object *o) { for (int n = 1; pthread_mutex_trylock(&o->lock); n *= 2) usleep(n); }
int yes_works_after(struct object *o) { while (pthread_mutex_trylock(&o->lock)) sched_yield(); other(); return 1; }
void yes_twice(struct object *o) { if (pthread_mutex_trylock(&o->lock)) while (pthread_mutex_trylock(&o->lock)) sched_yield(); }
void yes_interrupted(struct object *o) {
	while (pthread_mutex_trylock(&o->lock)) {
		struct timespec t = {0, 1000};
		while (nanosleep(&t, &t) == -1 && errno == EINTR) ;
	}
}

int no_tries(struct object *o) { return pthread_mutex_trylock(&o->lock); }
int no_counts(struct object *o) { for (int i = 0; i < 100; i++) if (!pthread_mutex_trylock(&o->lock)) return 1; return 0; }
void no_lets_go(struct object *o) {
	while (pthread_mutex_trylock(&o->lock)) { pthread_mutex_unlock(&mutex); pthread_mutex_lock(&mutex); }
}
void no_next(struct object *o) { while (pthread_mutex_trylock(&o->lock)) o = o->next; }
void no_any(void) { while (pthread_mutex_trylock(any)) sched_yield(); }
void no_stops(struct object *o) { while (pthread_mutex_trylock(&o->lock)) if (stop) return; }
void no_says(struct object *o) { while (pthread_mutex_trylock(&o->lock)) tries++; }
void no_stores(struct object *o) { while (pthread_mutex_trylock(&o->lock)) { *(volatile long *)&plain = 1; usleep(1); } }
void no_calls(struct object *o) { while (pthread_mutex_trylock(&o->lock)) other(); }
void no_calls_pointer(struct object *o, void (*f)(void)) { while (pthread_mutex_trylock(&o->lock)) f(); }
void no_time(struct object *o) { time_t end = time(0) + 9; while (pthread_mutex_trylock(&o->lock)) if (time(0) > end) break; }
void no_waits(struct object *o) { while (pthread_mutex_trylock(&o->lock) == EINVAL) sched_yield(); }
void no_falls_back(struct object *o) { if (pthread_mutex_trylock(&o->lock)) pthread_mutex_lock(&o->lock); }
void other(void) { plain++; }
int main(int argc, char **argv) { return argc + !argv; }
`

// TestFindCall checks, at several levels of optimisation, which calls of pthread_mutex_trylock are repeated: each call of a
// function is.
func TestFindCall(t *testing.T) {
	for _, compiler := range []string{"gcc", "clang-19"} {
		for _, level := range []string{"-O0", "-O1", "-O2", "-Os"} {
			t.Run(compiler+level, func(t *testing.T) {
				f := built(t, compiler, callsC, level)
				im := cheapsite.NewImage(f)
				c := attempt.NewCode(f, im)
				try := attempt.Callee{Zero: true, Busy: 16, Imports: func(name string) bool { return name == "pthread_mutex_trylock" }}
				for _, fn := range f.Functions() {
					name := f.FunctionName(fn.Lo)
					if !strings.HasPrefix(name, "yes_") && !strings.HasPrefix(name, "no_") {
						continue
					}
					calls, repeated := 0, 0
					im.Sweep(fn, func(in *insn.Inst) bool {
						if in.Kind.Calls() && f.PLTTargets()[in.Target] == "pthread_mutex_trylock" {
							calls++
							if attempt.FindCall(c, in.End(), try) {
								repeated++
							}
						}
						return true
					})
					if want := strings.HasPrefix(name, "yes_"); want && (calls == 0 || repeated < calls) || !want && repeated > 0 {
						t.Errorf("%s: %d of %d calls are repeated", name, repeated, calls)
					}
				}
			})
		}
	}
}

// built compiles a program and opens it.
func built(t *testing.T, compiler, source string, flags ...string) *elf.File {
	t.Helper()
	testtool.Need(t, compiler)
	dir := t.TempDir()
	file, exe := filepath.Join(dir, "program.c"), filepath.Join(dir, "program")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, append(flags, "-g", "-pthread", "-w", "-o", exe, file)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
