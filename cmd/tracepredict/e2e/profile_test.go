package e2e

import (
	"debug/elf"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"
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

// wantPlaces checks that the locations of a function, which is in the program, are those that its file has, with its build
// identifier.
func wantPlaces(t *testing.T, p *profile.Profile, program, function string) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == function })
	code := f.Progs[slices.IndexFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 })]
	note, err := f.Section(".note.gnu.build-id").Data()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, l := range p.Location {
		if l.Line[0].Function.Name != function {
			continue
		}
		n++
		at := l.Address - l.Mapping.Start + l.Mapping.Offset - code.Off + code.Vaddr
		if from := symbols[i].Value; at < from || at >= from+symbols[i].Size {
			t.Errorf("%s is at %#x to %#x of %s, and the profile has %#x in it", function, from, from+symbols[i].Size, program, at)
		}
		if id := hex.EncodeToString(note[16:]); l.Mapping.BuildID != id {
			t.Errorf("%s has the build identifier %s, and in the profile %q", program, id, l.Mapping.BuildID)
		}
	}
	if n == 0 {
		t.Errorf("no location in %s", function)
	}
	for _, f := range p.Function {
		if strings.HasPrefix(f.Name, "_dl_") {
			t.Errorf("the profile has %s, of the dynamic loader", f.Name)
		}
	}
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
		wantPlaces(t, p, program, "clerk")
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

// titled returns the tables of the command profile by their titles.
func titled(text string) map[string]string {
	all := map[string]string{}
	for part := range strings.SplitSeq(text, "\n\n") {
		if title, rows, ok := strings.Cut(part, ": "); ok {
			all[title] = rows
		}
	}
	return all
}

// TestProfileOfAProgram checks that the command profile shows who waited for which lock because of whom, and no table of waits of
// a program in which nobody waits; that the program keeps its output and status; and that a file has the same instead.
func TestProfileOfAProgram(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "profile.c", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread")
	c := startTool(t, childOptions{}, "profile", "--", program)
	c.want(0)
	if _, err := strconv.ParseInt(strings.TrimSpace(c.out.String()), 10, 64); err != nil {
		t.Errorf("the program's output is %q", c.out.String())
	}
	row := regexp.MustCompile(`(?m)^ +[0-9.]+ms +1  desk  clerk \(profile\.c:\d+\) +T2 clerk +main \(profile\.c:\d+\)$`)
	if waits := titled(c.err.String())["waits for locks"]; !row.MatchString(waits) {
		t.Errorf("the clerk does not wait for the desk because of main:\n%s", c.err.String())
	}
	c = startTool(t, childOptions{}, "profile", "--", program, "apart")
	c.want(0)
	if all := titled(c.err.String()); all["waits for locks"] != "" || !regexp.MustCompile(`  other_desk +clerk \(`).MatchString(all["locks held"]) {
		t.Errorf("nobody waited:\n%s", c.err.String())
	}
	dir := t.TempDir()
	file, page := filepath.Join(dir, "locks.pb.gz"), filepath.Join(dir, "locks.html")
	c = startTool(t, childOptions{}, "profile", "-o", file, "--flame", page, "--", program)
	c.want(0)
	if text, err := os.ReadFile(page); err != nil || !regexp.MustCompile(`>because of main \(profile\.c:\d+\)</div>`).Match(text) {
		t.Errorf("no graph says that the clerk waits because of main: %v\n%s", err, text)
	}
	if strings.Contains(c.err.String(), "desk") {
		t.Errorf("with --output it shows tables:\n%s", c.err.String())
	}
	if waits, in := profiled(t, readProfile(t, file), "desk", "possible_lock_waits"); waits != 1 || in != "clerk" {
		t.Errorf("%d waits, in %q", waits, in)
	}
	startTool(t, childOptions{}, "profile", "--", "/bin/sh", "-c", "exit 7").want(7)
}

// TestProfileOfAProcess checks that the command profile observes a running process, and leaves it alone.
func TestProfileOfAProcess(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	file := filepath.Join(t.TempDir(), "locks.pb.gz")
	tool := startTool(t, childOptions{}, "profile", "--top=3", "-o", file, "-p", strconv.Itoa(pid))
	waitObserving(t, tool)
	server.ask("twist")
	tool.signal(unix.SIGINT)
	tool.want(0)
	if held := titled(tool.err.String())["locks held"]; !strings.Contains(held, " left_lock ") {
		t.Errorf("the table does not have the lock:\n%s", tool.err.String())
	}
	if n, _ := profiled(t, readProfile(t, file), "left_lock", "lock_holds"); n == 0 {
		t.Error("the file does not have the lock")
	}
	wantLeftAlone(t, pid)
	idle := startTool(t, childOptions{}, "profile", "--duration", "10ms", "-p", strconv.Itoa(pid))
	idle.want(0)
	if !idle.err.has("no lock was taken, and nobody waited") {
		t.Errorf("of a process that does nothing:\n%s", idle.err.String())
	}
	server.ask("twist")
	server.want(0)
}
