package clib

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/libname"
	"github.com/tracepredict/tracepredict/probes/symbolize"
)

// build writes the sources (path → text), runs the commands in their folder, and opens the file
// called program.
func build(t *testing.T, sources map[string]string, commands ...string) *elf.File {
	t.Helper()
	dir := t.TempDir()
	for name, text := range sources {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range commands {
		words := strings.Fields(c)
		testtool.Need(t, words[0])
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", c, err, out)
		}
	}
	return open(t, filepath.Join(dir, "program"))
}

func open(t *testing.T, path string) *elf.File {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// sourceOf returns a function that returns source files from debug information.
func sourceOf(f *elf.File) func(uint64) string {
	names := symbolize.New(f)
	return func(addr uint64) string {
		frames := names.Frames(addr)
		return frames[len(frames)-1].File
	}
}

// own are functions of a program that have names of the C library's.
const own = `
#include <stddef.h>
struct sem { const char *name; long n; };
static long locked;
void sem_init(struct sem *s, const char *name) { s->name = name; s->n = 1; }
void sem_wait(struct sem *s) { s->n--; }
void sem_post(struct sem *s) { s->n++; }
void mtx_lock(void) { locked++; }
long mtx_unlock(void) { return locked; }
int thrd_create(void *attributes) { return attributes != NULL; }
int cnd_wait(int seconds) { return seconds / 2; }
void call_once(void (*f)(void)) { f(); }
`

const user = `
#include <pthread.h>
#include <stdio.h>
struct sem { const char *name; long n; };
void sem_init(struct sem *s, const char *name); void sem_wait(struct sem *); void sem_post(struct sem *);
void mtx_lock(void); long mtx_unlock(void); int thrd_create(void *); int cnd_wait(int); void call_once(void (*f)(void));
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static void start(void) { puts("started"); pthread_barrier_init(&barrier, 0, 2); }
static void *run(void *p) { struct sem *s = p; sem_wait(s); pthread_mutex_lock(&m); mtx_lock(); pthread_mutex_unlock(&m); sem_post(s); return 0; }
int main(void) {
	struct sem s; pthread_t t;
	sem_init(&s, "work"); call_once(start); pthread_spin_init(&spin, 0); pthread_spin_lock(&spin); pthread_spin_unlock(&spin);
	pthread_create(&t, 0, run, &s); pthread_join(t, 0); pthread_barrier_wait(&barrier);
	return (int)mtx_unlock() + thrd_create(&t) + cnd_wait(3);
}
`

var (
	ownNames   = strings.Fields("sem_init sem_wait sem_post mtx_lock mtx_unlock thrd_create cnd_wait call_once")
	libraryOne = strings.Fields("pthread_mutex_lock pthread_mutex_unlock pthread_create pthread_join pthread_spin_init pthread_spin_lock pthread_spin_unlock pthread_barrier_init pthread_barrier_wait")
)

// TestOwnFunctions checks that a program's own functions are told from those of the C library in it,
// and that no function of a C library is mistaken for a program's, however the program is linked.
func TestOwnFunctions(t *testing.T) {
	apart := map[string]string{"own.c": own, "main.c": user, "late.c": "int use(void); int main(void) { return use(); }"}
	for name, commands := range map[string][]string{
		"static":            {"gcc -static -pthread -w -o program main.c own.c"},
		"reversed":          {"gcc -static -pthread -w -O2 -o program own.c main.c"},
		"debug information": {"gcc -static -pthread -w -g -O2 -o program main.c own.c"},
		"PIE":               {"gcc -static-pie -pthread -w -o program main.c own.c"},
		"link-time":         {"gcc -static -pthread -w -O2 -flto -fno-ipa-icf -o program main.c own.c"},
		"sections":          {"gcc -static -pthread -w -Os -ffunction-sections -Wl,--gc-sections -o program main.c own.c"},
		"archive":           {"gcc -c -w own.c", "ar rcs libown.a own.o", "gcc -static -pthread -w -o program main.c libown.a"},
		"after the C library": {"gcc -c -w own.c", "ar rcs libown.a own.o", "gcc -c -w -Dmain=use main.c", "ar rcs libuse.a main.o",
			"gcc -static -pthread -w -o program late.c -Wl,--start-group libown.a -lc libuse.a -Wl,--end-group"},
		"gold":            {"gcc -static -pthread -w -fuse-ld=gold -o program main.c own.c"},
		"clang":           {"clang-19 -static -pthread -w -O1 -o program main.c own.c"},
		"musl":            {"musl-gcc -static -w -o program main.c own.c"},
		"musl, optimised": {"musl-gcc -static -w -O2 -g -o program own.c main.c"},
		"musl, link-time": {"musl-gcc -static -w -O2 -flto -fno-ipa-icf -o program own.c main.c"},
		"musl, archive":   {"musl-gcc -c -w own.c", "ar rcs libown.a own.o", "musl-gcc -static -w -o program main.c libown.a"},
		"musl, after the library, with debug information": {"musl-gcc -g -c -w own.c", "ar rcs libown.a own.o", "musl-gcc -c -w -Dmain=use main.c", "ar rcs libuse.a main.o",
			"musl-gcc -g -static -w -o program late.c -Wl,--start-group libown.a -lc libuse.a -Wl,--end-group"},
	} {
		t.Run(name, func(t *testing.T) {
			f := build(t, apart, commands...)
			l, source := Of(f), sourceOf(f)
			for _, n := range ownNames {
				for _, s := range f.Lookup(n) {
					if why := l.Foreign(n, s.Addr, source); why == "" {
						t.Errorf("%s at 0x%x is taken for the C library's", n, s.Addr)
					}
				}
			}
			checkLibrary(t, f, libraryOne)
		})
	}
}

// checkLibrary checks that functions of these names are the C library's.
func checkLibrary(t *testing.T, f *elf.File, names []string) {
	t.Helper()
	l, source := Of(f), sourceOf(f)
	for _, n := range names {
		symbols := f.Lookup(n)
		for _, s := range symbols {
			if why := l.Foreign(n, s.Addr, source); why != "" {
				t.Errorf("%s at 0x%x is not taken for the C library's: %s", n, s.Addr, why)
			}
		}
		if len(symbols) == 0 {
			t.Errorf("no %s", n)
		}
	}
}

// everything uses functions of each family.
const everything = `
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
void *calls[] = {
	pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_timedlock, pthread_mutex_unlock, pthread_mutex_init, pthread_mutex_destroy,
	pthread_rwlock_rdlock, pthread_rwlock_wrlock, pthread_rwlock_unlock, pthread_rwlock_init, pthread_spin_init, pthread_spin_lock, pthread_spin_unlock,
	pthread_cond_wait, pthread_cond_timedwait, pthread_cond_signal, pthread_cond_broadcast, pthread_barrier_wait, pthread_barrier_init,
	sem_init, sem_wait, sem_trywait, sem_timedwait, sem_post, sem_destroy, pthread_once, pthread_create, pthread_join, pthread_detach, pthread_cancel,
	mtx_init, mtx_lock, mtx_trylock, mtx_timedlock, mtx_unlock, cnd_init, cnd_wait, cnd_timedwait, cnd_signal, cnd_broadcast,
	thrd_create, thrd_join, thrd_detach, call_once,
};
int main(int argc, char **argv) { return calls[argc] == argv; }
`

// TestLibraryInStaticProgram checks that all functions of a C library in a static program are its.
func TestLibraryInStaticProgram(t *testing.T) {
	for name, command := range map[string]string{
		"glibc": "gcc -static -pthread -o program p.c", "glibc, debug": "gcc -g -static -pthread -o program p.c", "PIE": "gcc -static-pie -O2 -pthread -o program p.c",
		"gold": "gcc -static -fuse-ld=gold -pthread -o program p.c", "C++": "g++ -fpermissive -w -static -pthread -o program p.c",
		"musl": "musl-gcc -static -o program p.c", "musl, debug": "musl-gcc -g -static -O2 -o program p.c",
	} {
		t.Run(name, func(t *testing.T) {
			f := build(t, map[string]string{"p.c": everything}, command)
			var names []string
			for _, s := range f.Symbols() {
				if s.Kind == elf.Func && (libname.OnObject(s.Name) || s.Name == "call_once" || strings.HasPrefix(s.Name, "thrd_")) {
					names = append(names, s.Name)
				}
			}
			if len(names) < 44 {
				t.Errorf("only %d functions: %v", len(names), names)
			}
			checkLibrary(t, f, names)
		})
	}
}

// TestSharedFiles checks which shared files are the C library.
func TestSharedFiles(t *testing.T) {
	for _, path := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libpthread.so.0", "/lib64/libc.so.6", "/usr/lib/x86_64-linux-musl/libc.so", "/lib/aarch64-linux-gnu/libc.so.6"} {
		if _, err := os.Stat(path); err == nil && !Of(open(t, path)).whole {
			t.Errorf("%s is not the C library", path)
		}
	}
	const shim = `
#define _GNU_SOURCE
#include <dlfcn.h>
int pthread_mutex_lock(void *m) { int (*next)(void *) = dlsym(RTLD_NEXT, "pthread_mutex_lock"); return next(m); }
int __libc_start_main(void) { return 0; }
`
	for name, flags := range map[string]string{
		"an interposing library":                    "-shared -fPIC",
		"with a name":                               "-shared -fPIC -Wl,-soname,libshim.so.1",
		"a library whose name begins like libc":     "-shared -fPIC -Wl,-soname,libc-client.so.2",
		"another library of threads":                "-shared -fPIC -Wl,-soname,libpthreadpool.so.0",
		"a library that is called like a part of C": "-shared -fPIC -Wl,-soname,libpthread-workqueue.so.0",
	} {
		f := build(t, map[string]string{"shim.c": shim}, "gcc -w "+flags+" -o program shim.c")
		if why := Of(f).Foreign("pthread_mutex_lock", f.Lookup("pthread_mutex_lock")[0].Addr, nil); why != "defined in program, which is not the C library" {
			t.Errorf("%s: %q", name, why)
		}
	}
	f := build(t, map[string]string{"p.c": "void mtx_lock(int *n) { ++*n; }\nint main(void) { int n = 0; mtx_lock(&n); return n; }\n"}, "gcc -o program p.c", "gcc -shared -fPIC -nostdlib -Wl,-soname,libc.so -o program p.c")
	if why := Of(f).Foreign("mtx_lock", f.Lookup("mtx_lock")[0].Addr, nil); why == "" {
		t.Error("a library that starts no program is the C library")
	}
}

// TestSources checks that the source files decide where a static program's C library has debug
// information, wherever the linker puts the code.
func TestSources(t *testing.T) {
	sources := map[string]string{
		"libc/csu/libc-start.c": "int main(void); void __libc_start_main(void) { main(); }\nvoid _start(void) { __libc_start_main(); }\n",
		"libc/nptl/sem_wait.c":  "int sem_wait(int *s) { return --*s; }\n",
		"app/tiny.c":            "int sem_post(int *s) { return ++*s; }\n",
		"app/main.c":            "int sem_post(int *); int sem_wait(int *); int main(void) { int s = 0; sem_post(&s); return sem_wait(&s); }\n",
	}
	for name, command := range map[string]string{
		"program first": "gcc -g -static -nostdlib -o program app/main.c app/tiny.c libc/csu/libc-start.c libc/nptl/sem_wait.c",
		"library first": "gcc -g -static -nostdlib -o program libc/nptl/sem_wait.c libc/csu/libc-start.c app/main.c app/tiny.c",
	} {
		f := build(t, sources, command)
		why := Of(f).Foreign("sem_post", f.Lookup("sem_post")[0].Addr, sourceOf(f))
		if want := "compiled from tiny.c, apart from the C library"; why != want {
			t.Errorf("%s: sem_post: %q", name, why)
		}
		checkLibrary(t, f, []string{"sem_wait"})
	}
}

// TestWithoutLibrary checks a static program that contains no C library.
func TestWithoutLibrary(t *testing.T) {
	f := build(t, map[string]string{"p.c": "int sem_wait(int *s) { return --*s; }\nvoid _start(void) { int s = 1; sem_wait(&s); }\n"}, "gcc -static -nostdlib -o program p.c")
	if why := Of(f).Foreign("sem_wait", f.Lookup("sem_wait")[0].Addr, nil); why == "" {
		t.Error("sem_wait is the C library's")
	}
}
