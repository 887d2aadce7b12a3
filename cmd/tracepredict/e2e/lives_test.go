package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

const libraries = "/usr/lib/x86_64-linux-gnu/"

// TestLives checks that memory which is freed or unmapped and used again holds other objects, though
// no field is watched, with the C library's allocator and with others.
func TestLives(t *testing.T) {
	for _, c := range []struct {
		library string
		flags   []string
	}{
		{"", nil}, {"", []string{"-static"}}, {"libjemalloc.so.2", nil}, {"libtcmalloc_minimal.so.4", nil}, {"libmimalloc.so.2", nil},
		{"libjemalloc.a", nil}, {"libtcmalloc_minimal.a", nil},
	} {
		t.Run(c.library+strings.Join(c.flags, ""), func(t *testing.T) {
			flags := append([]string{"-O1", "-std=c++17", "-pthread"}, c.flags...)
			if c.library != "" {
				if _, err := os.Stat(libraries + c.library); err != nil {
					t.Skipf("no %s: scripts/setup test installs it where the distribution has it", c.library)
				}
			}
			if strings.HasSuffix(c.library, ".a") {
				flags = append(flags, libraries+c.library, "-ldl", "-lm", "-lstdc++")
			}
			program := build(t, "g++", "memory.cc", flags...)
			if strings.HasSuffix(c.library, ".a") || c.library == "" {
				checkLives(t, observe(t, program, options{Lives: true}))
				return
			}
			t.Setenv("LD_PRELOAD", libraries+c.library)
			checkLives(t, observe(t, program, options{Lives: true}))
		})
	}
}

// checkLives compares the lives of the locks with what the program printed: how each step ended memory,
// whether it got the same memory again, and where its lock was.
func checkLives(t *testing.T, r *run) {
	lives := map[uint64]int{} // of the locks, by address
	seen := map[event.ObjectID]bool{}
	for i := range r.Events {
		if e := &r.Events[i]; e.Op == event.Acquire && !seen[e.Object] {
			seen[e.Object] = true
			o, _ := r.Observer.ObjectInfo(e.Object)
			lives[o.Addr]++
		}
	}
	want := map[uint64]int{} // of the locks, by address
	same := 0
	for line := range strings.Lines(r.Output) {
		var name string
		var again int
		var addr uint64
		if _, err := fmt.Sscanf(line, "%s %d 0x%x", &name, &again, &addr); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want[addr]++
		if again != 0 && name != "kept" {
			want[addr]++
			same++
		}
	}
	if same == 0 {
		t.Error("no memory was used again")
	}
	for addr, n := range want {
		if lives[addr] < n {
			t.Errorf("at %#x were %d locks, observed %d", addr, n, lives[addr])
		}
	}
}

// TestLivesStop checks that a program which frees memory very often does so at its own speed soon, and
// that a deadlock is then likely, and predicted otherwise. The trace says the same.
func TestLivesStop(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "lives_storm.c", "-O1", "-pthread")
	for _, c := range []struct {
		args       []string
		confidence string
		reason     string
		note       bool
	}{
		{nil, "predicted", "", false},
		{[]string{"storm"}, "likely", "may have been freed and used again in between, which was not recorded", true},
	} {
		file := filepath.Join(t.TempDir(), "run.trace")
		_, live := reported(t, append([]string{"exec", "--watch-shared=off", "--record", file, "--", program}, c.args...)...)
		_, again := reported(t, "analyze", file)
		for from, r := range map[string]jsonReport{"exec": live, "analyze": again} {
			i := slices.IndexFunc(r.Findings, func(f jsonFinding) bool { return f.Kind == "deadlock" })
			if i < 0 {
				t.Errorf("%s %v: no deadlock: %s", from, c.args, r.summary())
				continue
			}
			if f := r.Findings[i]; f.Confidence != c.confidence || !strings.Contains(f.Reason, c.reason) {
				t.Errorf("%s %v: %s, %q", from, c.args, f.Confidence, f.Reason)
			}
			noted := slices.ContainsFunc(r.Run.Notes, func(n string) bool { return strings.HasPrefix(n, "memory was freed too often") })
			if noted != c.note {
				t.Errorf("%s %v: notes %q", from, c.args, r.Run.Notes)
			}
		}
	}
}

// TestUnloaded checks that the locks of an unloaded library end with it. A deadlock of locks that were
// loaded at one time is predicted.
func TestUnloaded(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "unloaded.c", "-O1", "-pthread", "-ldl")
	forth := build(t, "gcc", "unloaded_plugin.c", "-O1", "-g", "-shared", "-fPIC", "-DOUTER=first", "-DINNER=second")
	back := build(t, "gcc", "unloaded_plugin.c", "-O1", "-g", "-shared", "-fPIC", "-DOUTER=second", "-DINNER=first")
	for how, want := range map[string]string{"apart": "", "together": "predicted", "again": "predicted"} {
		file := filepath.Join(t.TempDir(), "run.trace")
		_, live := reported(t, "exec", "--watch-shared=off", "--record", file, "--", program, how, forth, back)
		_, again := reported(t, "analyze", file)
		for from, r := range map[string]jsonReport{"exec": live, "analyze": again} {
			var got []string
			for _, f := range r.Findings {
				got = append(got, strings.TrimSpace(f.Confidence+" "+f.Reason))
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("%s %s: %q, want %q", from, how, got, want)
			}
		}
	}
}
