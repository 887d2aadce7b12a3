package probes

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const placesSource = `
#include <stdatomic.h>
#include <pthread.h>
#include <unistd.h>
#include <sys/syscall.h>
static atomic_int observed;
__attribute__((noinline)) int swap(int *p) { return __atomic_exchange_n(p, 1, __ATOMIC_SEQ_CST); }
__attribute__((noinline)) void add(int *p) { __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST); __asm__ volatile ("" ::: "memory"); __atomic_fetch_add(p + 1, 1, __ATOMIC_SEQ_CST); }
__attribute__((noinline)) void direct(void) { observed++; }
__attribute__((noinline)) void plain(int *p) { __atomic_store_n(p, 0, __ATOMIC_RELEASE); }
#ifdef FUTEX
__attribute__((noinline)) long wake(int *p) { return syscall(SYS_futex, p, 1, 1, 0, 0, 0) + 1; }
#endif
#ifdef SYSCALL
__attribute__((noinline)) long raw(int *p) { long r; __asm__ volatile ("lock incl (%1)\n syscall" : "=a"(r) : "r"(p), "a"(39) : "rcx", "r11", "memory"); return r; }
#endif
#ifdef RSEQ
__attribute__((section("__rseq_cs"), used)) static long sequences[4];
#endif
#ifdef MORE
__asm__ (".text\n.type more, @function\nmore: .fill " MORE ", 1, 0x90\n ret\n.size more, . - more\n");
#endif
int main(int argc, char **argv) { (void)argv; int x[2] = {0}; add(x); direct(); plain(x); return swap(x) + argc; }
`

// TestSitesAtExits checks that a site is marked whose probe is where a loop that waits is left.
func TestSitesAtExits(t *testing.T) {
	const source = `
#include <unistd.h>
int total;
__attribute__((noipa)) void await(const char *name) { while (access(name, F_OK)) usleep(10); total *= 3; }
__attribute__((noipa)) void rounds(const char *name) { for (int i = 0; i < 9; i++) { access(name, F_OK); usleep(10); } total *= 3; }
int main(int argc, char **argv) { if (argc > 1) await(argv[1]); rounds("/"); return total; }
`
	p := plan(t, build(t, "gcc", source, "-O2", "-g"), Options{Atomics: true, Shared: true})
	var marked []string
	for i := range p.Sites {
		if s := &p.Sites[i]; s.AtExit {
			marked = append(marked, s.Function+" "+s.Variable)
		}
	}
	if !slices.Equal(marked, []string{"await total"}) {
		t.Errorf("marked: %q", marked)
	}
}

// TestUnseenInStaticCPlusPlus checks that of a static program with C++'s library only the program's
// own places get probes, also where they are in instances of the library's templates.
func TestUnseenInStaticCPlusPlus(t *testing.T) {
	const source = `
#include <iostream>
#include <memory>
#include <poll.h>
std::shared_ptr<int> shared = std::make_shared<int>(3);
__attribute__((noinline)) int copy() { std::shared_ptr<int> mine = shared; return *mine; }
__attribute__((noinline)) int look(struct pollfd *p) { return poll(p, 1, 0) + 1; }
int main() { struct pollfd p = {0, POLLIN, 0}; std::cout << copy() + look(&p) << "\n"; }
`
	p := plan(t, build(t, "g++", source, "-O2", "-g", "-pthread", "-static", "-x", "c++"), Options{Atomics: true})
	in := map[string]bool{}
	for _, place := range p.UnseenProbes {
		text, _, _ := strings.Cut(p.Describe(place), " at ")
		in[text] = true
	}
	if !in["atomic instruction in copy"] || !in["call of poll in look"] || len(in) > 8 {
		t.Errorf("%d places: %v", len(p.UnseenProbes), in)
	}
	for text := range in {
		if strings.Contains(text, "locale") || strings.Contains(text, "_IO_") || strings.Contains(text, "arena") {
			t.Errorf("a place of a library: %s", text)
		}
	}
}

// TestWaitsInStaticProgram checks that a loop that sleeps while it waits is found where the function
// that sleeps is part of the file, and that loops of the C library in it are not.
func TestWaitsInStaticProgram(t *testing.T) {
	const source = `
#include <time.h>
static int flag;
__attribute__((noinline)) void await(int *p) { struct timespec t = {0, 1000}; while (!__atomic_load_n(p, __ATOMIC_ACQUIRE)) nanosleep(&t, 0); }
int main(int argc, char **argv) { (void)argv; if (argc > 1) await(&flag); return 0; }
`
	for _, flags := range [][]string{{"-O2", "-g"}, {"-O2", "-g", "-static"}, {"-O2", "-static"}} {
		p := plan(t, build(t, "gcc", source, flags...), Options{Atomics: true})
		var got []string
		for _, place := range p.UnseenProbes {
			text, _, _ := strings.Cut(p.Describe(place), " at ")
			got = append(got, text)
		}
		if !slices.Equal(got, []string{"loop that waits in await"}) {
			t.Errorf("%v: %v", flags, got)
		}
	}
}

// TestUnseenProbes checks that a plan has a probe for each place of a file that
// synchronises without being observed, or for none.
func TestUnseenProbes(t *testing.T) {
	base := []string{"atomic instruction in add", "atomic instruction in swap"}
	tests := []struct {
		name  string
		flags []string
		opts  Options
		want  []string
	}{
		{"atomic instructions", nil, Options{Atomics: true}, base},
		{"without debug information", []string{"-s"}, Options{Atomics: true}, []string{"atomic instruction at", "atomic instruction at", "atomic instruction at"}},
		{"not asked for", nil, Options{}, nil},
		{"calls too", []string{"-DFUTEX"}, Options{Atomics: true}, slices.Concat(base, []string{"system call in wake"})},
		{"a system call", []string{"-DSYSCALL"}, Options{Atomics: true}, nil},
		{"restartable sequences", []string{"-DRSEQ"}, Options{Atomics: true}, nil},
		{"much code", []string{"-DMORE=\"3000000\""}, Options{Atomics: true}, base},
		{"too much code", []string{"-DMORE=\"9000000\""}, Options{Atomics: true}, nil},
		{"the C library in it", []string{"-static"}, Options{Atomics: true}, base},
		{"the C library in it, without debug information", []string{"-static", "-g0"}, Options{Atomics: true}, base},
		{"the C library in it, and calls too", []string{"-static", "-DFUTEX"}, Options{Atomics: true}, slices.Concat(base, []string{"system call in wake"})},
		{"functions named as in a C library", []string{"-static", "-g0", "-Dadd=__libc_add", "-Dswap=_IO_swap"}, Options{Atomics: true}, []string{"atomic instruction in _IO_swap", "atomic instruction in __libc_add"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := build(t, "gcc", placesSource, append([]string{"-O2", "-g", "-pthread"}, tt.flags...)...)
			p := plan(t, f, tt.opts)
			var got []string
			for _, place := range p.UnseenProbes {
				text, _, _ := strings.Cut(p.Describe(place), " at ")
				if tt.flags != nil && tt.flags[0] == "-s" {
					text = "atomic instruction at"
				}
				got = append(got, text)
			}
			if slices.Sort(got); tt.flags == nil || tt.flags[0] != "-s" {
				got = slices.Compact(got)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const waitsSource = `
#include <pthread.h>
static volatile int flag;
struct gate { int unused; volatile int open; };
__attribute__((noinline)) void by_name(void) { while (!flag) ; }
__attribute__((noinline)) void by_pointer(struct gate *g) { while (!g->open) ; }
int main(int argc, char **argv) { (void)argv; if (argc > 1) by_name(); if (argc > 2) by_pointer((struct gate *)argv); flag = 1; return pthread_join(pthread_self(), 0) == 0; }
`

// TestWaitProbes checks that a plan has a probe where a loop that waits is left, unless its load is
// recorded.
func TestWaitProbes(t *testing.T) {
	f := build(t, "gcc", waitsSource, "-O2", "-g")
	for _, tt := range []struct {
		name string
		opts Options
		want []string
	}{
		{"nothing watched", Options{Atomics: true}, []string{"loop that waits in by_name", "loop that waits in by_pointer"}},
		{"the flag watched", Options{Atomics: true, Watch: []string{"flag"}}, []string{"loop that waits in by_pointer"}},
		{"the field watched", Options{Atomics: true, Watch: []string{"open of struct gate"}}, []string{"loop that waits in by_name"}},
		{"not asked for", Options{}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := plan(t, f, tt.opts)
			var got []string
			for _, probe := range p.UnseenProbes {
				text, _, _ := strings.Cut(p.Describe(probe), " at ")
				got = append(got, text)
				if probe.Addr == probe.At {
					t.Errorf("%s: the probe is in the loop", text)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCallsThatTell checks of which loops that wait it is known that they only ask the kernel, and which calls
// of fcntl may lock a file.
func TestCallsThatTell(t *testing.T) {
	const source = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
static int flag;
__attribute__((noinline)) int asks(const char *name) { while (!access(name, F_OK)) usleep(1); return flag; }
__attribute__((noinline)) int looks(int *p) { while (!__atomic_load_n(p, __ATOMIC_ACQUIRE)) usleep(1); return flag; }
__attribute__((noinline)) int locks(int fd, struct flock *l) { return fcntl(fd, F_OFD_SETLKW, l) + 1; }
__attribute__((noinline)) int any(int fd, int command) { return fcntl(fd, command, 0) + 1; }
__attribute__((noinline)) int flags(int fd) { return fcntl(fd, F_GETFL) + 1; }
int main(int argc, char **argv) {
	struct flock l = {0};
	return asks(argv[0]) + looks(&argc) + locks(argc, &l) + any(argc, argc) + flags(argc);
}
`
	p := plan(t, build(t, "gcc", source, "-O1", "-g", "-pthread"), Options{Atomics: true})
	got := map[string]bool{}
	for _, place := range p.UnseenProbes {
		text, _, _ := strings.Cut(p.Describe(place), " at ")
		got[text] = place.Asks || place.Locks
	}
	want := map[string]bool{
		"loop that waits in asks": true, "loop that waits in looks": false,
		"call of fcntl in locks": true, "call of fcntl in any": true, "call of fcntl in flags": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("expected (-), found (+):\n%s", diff)
	}
}
