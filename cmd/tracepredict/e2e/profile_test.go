package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
)

// readProfile returns the profile in a file.
func readProfile(t *testing.T, name string) *profile.Profile {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// profiled returns the sum of a value over the samples of a lock, and the functions in which they are.
func profiled(t *testing.T, p *profile.Profile, lock, typ string) (sum int64, functions string) {
	t.Helper()
	i, err := p.SampleIndexByName(typ)
	if err != nil {
		t.Fatal(err)
	}
	var in []string
	for _, s := range p.Sample {
		if !s.HasLabel("lock", lock) || s.Value[i] == 0 {
			continue
		}
		sum += s.Value[i]
		for _, l := range s.Location {
			if name := l.Line[0].Function.Name; name == "clerk" || name == "main" {
				in = append(in, name)
			}
		}
	}
	return sum, strings.Join(in, " ")
}

// TestProfile checks that the profile of a run has what the program itself knows of its waiting, that a program in which
// nobody waits has no such sample, and that the recorded run has the same profile.
func TestProfile(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "profile.c", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread")
	for _, apart := range []bool{false, true} {
		dir := t.TempDir()
		live, trace, converted := filepath.Join(dir, "live.pb.gz"), filepath.Join(dir, "run.trace"), filepath.Join(dir, "run.pb.gz")
		args := []string{"exec", "--watch-shared=off", "--profile", live, "--record", trace, "--", program}
		if apart {
			args = append(args, "apart")
		}
		c := startTool(t, childOptions{}, args...)
		c.want(0)
		held, err := strconv.ParseInt(strings.TrimSpace(c.out.String()), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		p := readProfile(t, live)
		if p.Mapping[0].File != program {
			t.Errorf("the first mapping is of %s", p.Mapping[0].File)
		}
		if ns, _ := profiled(t, p, "desk", "lock_hold"); ns < held {
			t.Errorf("desk was held for %d ns, the program says %d", ns, held)
		}
		waits, in := profiled(t, p, "desk", "possible_lock_waits")
		ns, _ := profiled(t, p, "desk", "possible_lock_wait")
		others, _ := profiled(t, p, "other_desk", "possible_lock_waits")
		switch {
		case apart && (waits != 0 || ns != 0 || others != 0):
			t.Errorf("nobody waited: %d waits for desk, %d for the other one", waits, others)
		case !apart && (waits != 1 || in != "clerk" || ns < held):
			t.Errorf("%d waits, in %q, for %d ns; the clerk waits for at least %d", waits, in, ns, held)
		}
		startTool(t, childOptions{}, "convert", "--to", "pprof", trace, converted).want(0)
		if d := cmp.Diff(p.String(), readProfile(t, converted).String()); d != "" {
			t.Errorf("the recorded run has another profile: -live +recorded:\n%s", d)
		}
	}
}
