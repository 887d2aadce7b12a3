package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"
)

// futexWaits returns how many waits of a kind a profile has, for how long, and in which of the program's functions. by are
// those that ended them.
func futexWaits(t *testing.T, p *profile.Profile, kind, typ string) (waits, ns int64, in, by string) {
	t.Helper()
	i, err := p.SampleIndexByName(typ)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sample {
		if s.Value[i] == 0 || !s.HasLabel("kind", kind) {
			continue
		}
		waits += s.Value[i]
		ns += s.Value[i+1]
		for _, l := range s.Location {
			if name := l.Line[0].Function.Name; strings.HasSuffix(l.Line[0].Function.Filename, "contended.c") && in == "" {
				in = name
			}
		}
		if woken := s.Label["woken_by"]; len(woken) > 0 {
			by, _, _ = strings.Cut(woken[0], " ")
		}
	}
	return waits, ns, in, by
}

// contendedFunctions has, for each kind of wait of contended.c, the function that waits and the one that ends the wait. The
// kernel ends a join.
var contendedFunctions = map[string][2]string{
	"lock": {"take_desk", "leave_desk"}, "condition": {"hear_bell", "ring"}, "semaphore": {"take_seat", "give_seat"},
	"barrier": {"meet", "arrive"}, "join": {"see_off", ""}, "other": {"look", "wink"},
}

// wantContended checks that a profile has the waits of some kinds that the program says it had, for no less than it slept and no
// longer than its calls took. typ is the type of their number, with KIND for the kind.
func wantContended(t *testing.T, p *profile.Profile, said, typ string, kinds ...string) {
	t.Helper()
	n := 0
	for line := range strings.Lines(said) {
		var kind string
		var slept, took int64
		if _, err := fmt.Sscan(line, &kind, &slept, &took); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		n++
		if !slices.Contains(kinds, kind) {
			continue
		}
		waits, ns, in, by := futexWaits(t, p, kind, strings.ReplaceAll(typ, "KIND", kind))
		want := contendedFunctions[kind]
		if waits < 1 || ns < slept || ns > took || in != want[0] || by != want[1] {
			t.Errorf("%s: %d waits of %d ns in %q, ended by %q; the program slept for %d to %d ns in %s, until %q", kind, waits, ns, in, by, slept, took, want[0], want[1])
		}
	}
	if n != len(contendedFunctions) {
		t.Errorf("the program says %q", said)
	}
}

// TestContended checks that profile --contended has each kind of wait with its time, its call stack and that of who ended it,
// as the program itself knows them, of dynamic and static programs; that profile has those that no event shows; and that there is
// nothing of a program in which nobody waits.
func TestContended(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for name, flags := range map[string][]string{"dynamic": nil, "static": {"-static"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := build(t, "gcc", "contended.c", append(flags, "-O1", "-g", "-pthread")...)
			dir := t.TempDir()
			file, page := filepath.Join(dir, "waits.pb.gz"), filepath.Join(dir, "waits.html")
			c := startTool(t, childOptions{}, "profile", "--contended", "--top", "-o", file, "--flame", page, "--", program)
			c.want(0)
			wantContended(t, readProfile(t, file), c.out.String(), "futex_KIND_waits", "lock", "condition", "semaphore", "barrier", "join", "other")
			tables := titled(c.err.String())
			row := regexp.MustCompile(`(?m)^ +[0-9.]+m?s +\d+  desk  take_desk \(contended\.c:\d+\) +T\d worker +leave_desk \(contended\.c:\d+\)( \d+ %)?$`)
			if !row.MatchString(tables["waits for locks"]) || tables["locks held"] != "" {
				t.Errorf("the tables are:\n%s", c.err.String())
			}
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, box := range []string{`>because of leave_desk \(contended\.c:\d+\)</div>`, `>called by main \(contended\.c:\d+\)</div>`} {
				if !regexp.MustCompile(box).Match(text) {
					t.Errorf("the page has no %s", box)
				}
			}
			c = startTool(t, childOptions{}, "profile", "-o", file, "--", program)
			c.want(0)
			wantContended(t, readProfile(t, file), c.out.String(), "futex_waits", "join", "other")
			c = startTool(t, childOptions{}, "profile", "--contended", "--", program, "apart")
			c.want(0)
			if !c.err.has("nobody waited in the kernel for a futex") {
				t.Errorf("nobody waits:\n%s", c.err.String())
			}
		})
	}
}

// TestContendedProcess checks that profile --contended observes a running process, has a wait that does not end, and leaves the
// process alone.
func TestContendedProcess(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	file := filepath.Join(t.TempDir(), "waits.pb.gz")
	tool := startTool(t, childOptions{}, "profile", "--contended", "--top=3", "-o", file, "-p", strconv.Itoa(pid))
	waitObserving(t, tool)
	server.ask("twist")
	tool.signal(unix.SIGINT)
	tool.want(0)
	if !strings.Contains(tool.err.String(), "in the kernel for futexes") {
		t.Errorf("it says:\n%s", tool.err.String())
	}
	readProfile(t, file)
	wantLeftAlone(t, pid)
	server.ask("twist")
	server.want(0)
}
