package waiting_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/waiting"
)

// Each function of these programs begins with yes_ if it has a loop that waits, with no_ if not.
const loopsC = `
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define STORE(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELEASE)
struct gate { int unused; int open; struct gate *next; volatile int *flag; long slots[8]; };
int ready, other;
static long table[4];
__attribute__((noinline)) void outside(void *);
void *volatile kept;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
__attribute__((noinline)) static int is_set(int *p) { return LOAD(*p); }
__attribute__((noinline)) static int next_of(int *p) { *p = *p + 1; return LOAD(*p); }
__attribute__((noinline)) static int is_there(const char *name) { struct stat s; return !stat(name, &s) && s.st_size > 0; }
__attribute__((noinline)) static void keeps(const char *name) { struct stat s; other = !stat(name, &s) + s.st_size; }
__attribute__((noinline)) static int lines_of(const char *name) {
	int n = 0;
	char line[64];
	FILE *f = fopen(name, "r");
	while (fgets(line, sizeof line, f)) n++;
	fclose(f);
	return n;
}
__attribute__((noinline)) static void rests(void) { usleep(10); }

void no_once(struct gate *g) { if (!LOAD(g->open)) usleep(1); }
void yes_static(void) { while (!LOAD(ready)) usleep(1); }
void yes_spins(void) { while (!LOAD(ready)) ; }
void yes_static_and_work(void) { long n = 0; while (!LOAD(ready)) table[n++ & 3] = n; }
void yes_pointer(struct gate *g) { while (LOAD(g->open) != 2) sched_yield(); }
void yes_through_two(struct gate *g) { while (!*g->flag) usleep(1); }
void yes_element(struct gate *g, int i) { while (LOAD(g->slots[i]) == 0) usleep(1); }
void yes_compared(struct gate *g, long n) { while (n - LOAD(g->slots[2]) == 4) usleep(1); }
void yes_do(struct gate *g) { do usleep(1); while (LOAD(g->open) != 1); }
void yes_middle(struct gate *g) { for (;;) { usleep(1); if (LOAD(g->open)) break; usleep(2); } }
void yes_bounded(struct gate *g) { for (int i = 0; i < 1000 && !LOAD(g->open); i++) usleep(1); }
void yes_bounded_pause(struct gate *g) { for (int i = 0; i < 1000 && !LOAD(g->open); i++) __asm__ volatile ("pause"); }
void yes_bounded_helper(struct gate *g) { for (int i = 0; i < 1000 && !LOAD(g->open); i++) rests(); }
void yes_helper(struct gate *g) { while (!is_set(&g->open)) usleep(1); }
void yes_both(struct gate *g) { while (!LOAD(g->open) || !LOAD(ready)) usleep(1); }
long yes_ring(struct gate *g) {
	long sum = 0;
	for (long i = 0; i < 10; i++) {
		while (LOAD(g->slots[0]) == i) usleep(1);
		sum += g->slots[i & 3];
		STORE(g->slots[1], i + 1);
	}
	return sum;
}
void yes_two_ways(struct gate *g, int n) {
	if (n == 3) goto in;
	if (n == 4) while (!LOAD(g->open)) { in: usleep(1); }
}
int yes_own(void) { int done = 0; outside(&done); while (!LOAD(done)) usleep(1); return done; }

int no_walk(struct gate *g) { int n = 0; while (g && g->unused) { g = g->next; n++; } return n; }
long no_sum(struct gate *g) { long s = 0; for (int i = 0; i < g->open; i++) s += g->slots[i & 7]; return s; }
void no_own_store(struct gate *g) { while (LOAD(g->open)) { g->open--; usleep(1); } }
void no_helper_stores(struct gate *g) { while (!next_of(&g->open)) ; }
void no_helper_changes(struct gate *g) { while (!LOAD(g->open)) next_of(&g->open); }
void no_given_away(struct gate *g) { while (!LOAD(g->open)) if (read(0, &g->open, 4) < 0) sched_yield(); }
void no_cursor(struct gate *g) { while (g->next->unused) { STORE(g->next, g->next->next); usleep(1); } }
int no_string(const char *s) { int n = 0; while (*s++) n++; return n; }
void no_condition(struct gate *g) {
	pthread_mutex_lock(&m);
	while (!g->open) pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
}
void no_under_lock(struct gate *g) {
	for (int seen = 0; !seen; usleep(1)) {
		pthread_mutex_lock(&m);
		seen = g->open;
		pthread_mutex_unlock(&m);
	}
}
int no_search(struct gate *g, long key) { for (int i = 0; i < 8; i++) { if (g->slots[i] == key) return i; if (g->open) return -1; } return -2; }
void yes_asks_file(void) { while (access("gate", F_OK)) usleep(1); }
void yes_asks_bytes(int fd) { for (int n = 0; !n; usleep(1)) if (ioctl(fd, FIONREAD, &n)) return; }
void yes_asks_size(void) { struct stat s; while (stat("gate", &s) || !s.st_size) usleep(1); }
void yes_asks_helper(void) { while (!is_there("gate")) sched_yield(); }
void yes_asks_name(void) { char name[16]; do { usleep(1); pthread_getname_np(pthread_self(), name, sizeof name); } while (strcmp(name, "open")); }
void yes_makes(void) { while (mkdir("gate", 0700)) usleep(1); }
void no_removes(char **names) { while (unlink(*names++) == 0) ; }
void no_random(void) { while (rand() % 7) usleep(1); }
void no_clock(long end) { while (time(0) < end) usleep(1); }
void no_lines(FILE *f) { char line[64]; while (fgets(line, sizeof line, f)) puts(line); }
void yes_asks_line(FILE *f) { char line[64]; while (!fgets(line, sizeof line, f)) usleep(1); }
void yes_asks_number(void) {
	for (int n = 0; n < 2; usleep(1)) {
		char line[64];
		FILE *f = fopen("gate", "r");
		if (!f) continue;
		while (fgets(line, sizeof line, f)) sscanf(line, "Threads: %d", &n);
		fclose(f);
	}
}
void yes_asks_count(DIR *d) { int n; do { n = 0; usleep(1); rewinddir(d); while (readdir(d)) n++; } while (n < 3); }
void yes_asks_counts(void) { for (int n = 0; n < 3; usleep(1)) if (is_there("gate")) n++; }
void yes_asks_lines(void) { while (lines_of("gate") < 3) usleep(1); }
void yes_asks_global(void) { FILE *f = fopen("gate", "r"); while (table[1] < 2) { fscanf(f, "%ld", &table[1]); usleep(1); } }
void yes_asks_kept(void) { while (other < 2) { keeps("gate"); usleep(1); } }
void no_asks_counted(void) { for (int i = 0; i < 10; i++) { access("gate", F_OK); usleep(1); } }
void no_asks_skipped(void) { for (int i = 0; i < 10; i++) { usleep(1); if (access("gate", F_OK)) continue; other++; } }
void no_asks_bound(int n) { for (int i = 0; i < n; i++) { is_there("gate"); usleep(1); } }
long no_asks_sizes(void) { long n = 0; struct stat s; for (int i = 0; i < 9; i++) { stat("gate", &s); n += s.st_size; usleep(1); } return n; }
void no_asks_listed(char **names) { for (; *names; names++) { unlink(*names); usleep(1); } }
void no_asks_under_lock(struct gate *g) {
	for (int seen = 0; !seen; usleep(1)) {
		access("gate", F_OK);
		pthread_mutex_lock(&m);
		seen = g->open;
		pthread_mutex_unlock(&m);
	}
}
struct object { int (*done)(struct object *); int running; };
void yes_asks_unknown(struct object *o) { while (!o->done(o)) usleep(1); }
void no_unknown_counted(struct object *o) { for (int i = 0; i < 9; i++) { o->done(o); usleep(1); } }
void no_unknown_works(struct object *o) { while (o->running) { o->done(o); usleep(1); } }
static int fds[2];
static sem_t permits;
void yes_asks_element(void) { int n; do { n = 1; usleep(1); ioctl(fds[0], FIONREAD, &n); } while (n); }
void yes_asks_permits(void) { int n = 0; while (n < 1) { usleep(1); sem_getvalue(&permits, &n); } }
void yes_asks_timed(void) { struct timespec t = {1}; while (!is_there("gate")) sem_timedwait(&permits, &t); }
void no_asks_timed_rounds(void) { struct timespec t = {1}; for (int i = 0; i < 9; i++) { is_there("gate"); sem_timedwait(&permits, &t); } }
void outside(void *p) { kept = p; }
int main(int argc, char **argv) { return argc + !argv + (yes_spins != NULL) + table[1]; }
`

const loopsCC = `
#include <atomic>
#include <thread>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>
struct gate { std::atomic<bool> open; int plain; };
static std::atomic<int> ready;
void yes_atomic(gate *g) { while (!g->open.load(std::memory_order_acquire)) std::this_thread::yield(); }
void yes_static() { while (ready.load() != 2) std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
void yes_lambda(gate *g) { auto done = [&] { return g->open.load(); }; while (!done()) std::this_thread::yield(); }
void no_counts(gate *g) { for (int i = 0; i < g->plain; i++) std::this_thread::yield(); }
void rests() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
void yes_asks_file() { while (!std::filesystem::exists("gate")) rests(); }
void yes_asks_word() {
	for (std::string word; word != "open"; rests()) {
		std::ifstream in("gate");
		in >> word;
	}
}
void yes_asks_count() {
	for (int n = 0; n < 3; rests()) {
		n = 0;
		for (auto &e : std::filesystem::directory_iterator(".")) n++;
	}
}
void no_clock() {
	auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
	while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
}
void no_prints(gate *g) {
	for (int i = 0; i < 10; i++) {
		std::cout << "round " << std::to_string(i) + " of 10" << std::endl;
		rests();
	}
}
void no_fills(std::vector<std::string> *names) {
	while (names->size() < 10) {
		names->push_back("name");
		rests();
	}
}
void no_asks_counted() {
	for (int i = 0; i < 10; i++) {
		if (std::filesystem::exists("gate")) std::cout << i << "\n";
		rests();
	}
}
void *keep[] = {(void *)yes_asks_file, (void *)yes_asks_word, (void *)yes_asks_count, (void *)no_clock, (void *)no_prints, (void *)no_fills, (void *)no_asks_counted,
	(void *)yes_atomic, (void *)yes_static, (void *)yes_lambda, (void *)no_counts};
int main() { return keep[0] == nullptr; }
`

// found returns the functions of a program that have loops that wait, without prefixes of mangling.
func found(t *testing.T, compiler, source string, flags ...string) (waits []string, all []string) {
	t.Helper()
	testtool.Need(t, compiler)
	dir := t.TempDir()
	file, exe := filepath.Join(dir, "loops.c"), filepath.Join(dir, "loops")
	if strings.HasSuffix(compiler, "++") {
		file += "c"
	}
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
	defer f.Close()
	got, whole, err := waiting.Find(f, waiting.Options{Arrivals: cheapsite.NewImage(f).Arrivals, Holds: holds})
	if err != nil || !whole {
		t.Fatalf("whole %v, %v", whole, err)
	}
	short := func(name string) string {
		if strings.Contains(name, "UlvE_") || strings.HasSuffix(name, ".cold") { // the lambda itself, or a part without loops
			return ""
		}
		for _, prefix := range []string{"yes_", "no_"} {
			if i := strings.Index(name, prefix); i >= 0 && (i == 0 || strings.HasPrefix(name, "_Z")) {
				return strings.TrimSuffix(strings.TrimSuffix(name[i:], "P4gate"), "v")
			}
		}
		return ""
	}
	for _, w := range got {
		if !w.Func.Contains(w.Exit) {
			t.Errorf("%s: the exit 0x%x is elsewhere", f.FunctionName(w.Func.Lo), w.Exit)
		}
		waits = append(waits, short(f.FunctionName(w.Func.Lo)))
	}
	for _, fn := range f.Functions() {
		all = append(all, short(f.FunctionName(fn.Lo)))
	}
	slices.Sort(waits)
	return slices.Compact(waits), all
}

func holds(_ uint64, name string) (int, bool) {
	switch name {
	case "pthread_mutex_lock":
		return 1, true
	case "pthread_mutex_unlock":
		return -1, true
	case "pthread_cond_wait":
		return 0, true
	}
	return 0, false
}

// TestFind checks, at several levels of optimisation, which functions have loops that wait.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		compiler, source string
		// unseen are functions whose loops are not found, by the level.
		unseen map[string][]string
	}{
		// It makes one value of two conditions, by branches.
		{"gcc", loopsC, map[string][]string{"-O0": {"yes_asks_helper"}}},
		// It does so too; and it moves a load behind the test of a loop.
		{"clang-19", loopsC, map[string][]string{"-O0": {"yes_bounded", "yes_bounded_pause", "yes_bounded_helper", "yes_both", "yes_asks_size"}, "-Os": {"yes_own"}}},
		// It inlines std::endl, with a call through a table that may throw: a way out of the loop that is never taken.
		{"g++", loopsCC, map[string][]string{"-O2": {"no_prints"}, "-O3": {"no_prints"}}},
	} {
		for _, level := range []string{"-O0", "-O1", "-O2", "-Os", "-O3"} {
			t.Run(c.compiler+level, func(t *testing.T) {
				waits, all := found(t, c.compiler, c.source, level)
				for _, name := range all {
					if name == "" || slices.Contains(c.unseen[level], name) {
						continue
					}
					if got, want := slices.Contains(waits, name), strings.HasPrefix(name, "yes_"); got != want {
						t.Errorf("%s: %v", name, got)
					}
				}
			})
		}
	}
}
