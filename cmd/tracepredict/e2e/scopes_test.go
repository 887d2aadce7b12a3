package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// scopePrograms is where the benchmarks have the programs of Soueidi, El-Hokayem and Falcone (FASE 2023), section 4.
const scopePrograms = "../../../scripts/bench/programs"

// TestScopePrograms observes each of them with the property that the paper checks, right and broken: only the broken one
// violates it.
func TestScopePrograms(t *testing.T) {
	needBPF(t)
	for _, c := range []struct {
		program, spec string
		args          []string
		regions       string // that the program without the defect has; "" if they depend on its schedule
		check         string // that the broken one violates
	}{
		{"readers_writers", "readers_writers", []string{"3", "2", "12", "48"}, "21 regions were judged", "readers and writers do not exclude each other"},
		{"ping_pong", "ping_pong", []string{"20"}, "41 regions were judged", "ping and pong do not alternate"},
		{"bakery", "bakery2", []string{"2", "10"}, "21 regions were judged", "process 2 waits for more turns than there are others"},
		{"bakery", "bakery4", []string{"4", "5"}, "21 regions were judged", "process 4 waits for more turns than there are others"},
		{"producer_consumer", "producer_consumer", []string{"2", "20"}, "", "something is consumed before anything is produced"},
		{"mergesort", "mergesort", []string{"64", "3"}, "4 regions were judged", "a task returns an unsorted array"},
	} {
		t.Run(c.spec, func(t *testing.T) {
			source := filepath.Join("..", scopePrograms, c.program+".c") // build looks in testdata
			spec := filepath.Join(scopePrograms, c.spec+".tps")
			run := func(flags ...string) (int, jsonReport) {
				program := build(t, "gcc", source, append([]string{"-O2", "-pthread"}, flags...)...)
				return reported(t, append([]string{"exec", "--watch-shared=off", "--spec", spec, "--", program}, c.args...)...)
			}
			status, right := run()
			if notes := strings.Join(right.Run.Notes, "\n"); status != 0 || len(right.Findings) > 0 || !strings.Contains(notes, c.regions) {
				t.Errorf("without the defect: status %d, %+v\n%s\nwant no finding and %q", status, right.Findings, notes, c.regions)
			}
			status, wrong := run("-DBROKEN")
			found := false
			for _, f := range wrong.Findings {
				found = found || f.Kind == "scope" && f.Confidence == "observed" && f.Message == c.check
			}
			if status != 66 || !found {
				t.Errorf("with the defect: status %d, %+v\nwant %q observed", status, wrong.Findings, c.check)
			}
		})
	}
}

// TestScopeOfNamedThread: a thread names itself in one region, and is of a type from then on. In another run it may have done
// so in another region, which is predicted, unless it had to wait. If another thread gives the name, the report says that no
// other runs were looked at.
func TestScopeOfNamedThread(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "named_region.c", "-O1", "-g", "-pthread")
	file := specFile(t, `
lock turn_lock = turn_lock
thread poster = main
thread worker = name "worker"
event turn  = acquire turn_lock
event posts = call post by poster
event works = call work by worker

scope turns (turn) {
  property posted on poster(posts) is F(posts)
  property worked on worker(works) is F(works)
  atom posting = any(posted)
  atom working = any(worked)
  check "one works while the other posts" always !(posting && working)
}
`)
	for how, found := range map[string]int{"self": 1, "waits": 0, "creator": 0} {
		trace := filepath.Join(t.TempDir(), "trace")
		_, live := reported(t, "exec", "--watch-shared=off", "--spec", file, "--record", trace, "--", program, how)
		_, again := reported(t, "analyze", "--spec", file, trace)
		for _, r := range []jsonReport{live, again} {
			notes := strings.Join(r.Run.Notes, "\n")
			left := strings.Contains(notes, "other runs were not all examined")
			if len(r.Findings) != found || found > 0 && (r.Findings[0].Confidence != "predicted" || r.Findings[0].Kind != "scope") || left != (how == "creator") {
				t.Errorf("%s: %+v\n%s", how, r.Findings, notes)
			}
		}
	}
}
