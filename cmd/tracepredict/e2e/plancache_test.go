package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPlanCache checks which runs take their plans from those before: not one of a changed program, and not one
// with --no-plan-cache.
func TestPlanCache(t *testing.T) {
	needBPF(t)
	t.Parallel()
	dir := filepath.Join(filepath.Dir(build(t, "gcc", "swap.c", "-O2", "-pthread")), t.Name())
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	report, program := filepath.Join(dir, "report.json"), filepath.Join(dir, "swap")
	built, err := os.ReadFile(build(t, "gcc", "swap.c", "-O2", "-pthread"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, built, 0o755); err != nil {
		t.Fatal(err)
	}
	cache := "XDG_CACHE_HOME=" + filepath.Join(dir, "cache")
	plans := func(t *testing.T, flags ...string) (made, cached int) {
		t.Helper()
		args := append([]string{"exec", "--stats", "--format", "json", "--output", report, "--fail-on", "never", "--watch-shared=all"}, flags...)
		startTool(t, childOptions{Env: []string{cache}}, append(args, "--", program)...).want(0)
		p := readFigures(t, report).Stats.Plans
		if p == nil {
			t.Fatal("there are no figures of the plans")
		}
		return p.Made, p.Cached
	}
	all, cached := plans(t)
	if all < 2 || cached != 0 {
		t.Fatalf("the first run: %d made, %d of earlier runs", all, cached)
	}
	for _, c := range []struct {
		name   string
		flags  []string
		made   int
		change func() error
	}{
		{"again", nil, 0, nil},
		{"as another user", []string{"--user", "nobody"}, 0, nil},
		{"without the cache", []string{"--no-plan-cache"}, all, nil},
		{"with a name", []string{"--watch", "first"}, all, nil},
		{"changed", nil, 1, func() error { return os.WriteFile(program, append(built, 0), 0o755) }},
		{"changed, again", nil, 0, nil},
		// The tool then keeps its plans where other tests do too, and none of theirs is of these flags.
		{"another user's directory", []string{"--sites", "entry", "--watch", "second"}, all, func() error { return os.Chown(filepath.Join(dir, "cache", "tracepredict"), 65534, 65534) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.change != nil {
				if err := c.change(); err != nil {
					t.Fatal(err)
				}
			}
			if made, cached := plans(t, c.flags...); made != c.made || cached != all-c.made {
				t.Errorf("%d made, %d of earlier runs, want %d made of %d", made, cached, c.made, all)
			}
		})
	}
	if st, err := os.Stat(filepath.Join(dir, "cache", "tracepredict", "plans-1")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", st, err)
	}
}
