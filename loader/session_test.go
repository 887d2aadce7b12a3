package loader

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/ptrace"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// TestProbesOf: a chain of sites has one probe, and each site that needs one a return probe
// besides.
func TestProbesOf(t *testing.T) {
	chain := func(next uint32) bpf.Site { return bpf.Site{Next: next} }
	m := &Module{Base: 10, Plan: &probes.Plan{Sites: []probes.Site{
		{Addr: 0x100, Offset: 1, BPF: chain(2)},
		{Addr: 0x100, Offset: 1, BPF: chain(3), Return: true},
		{Addr: 0x100, Offset: 1},
		{Addr: 0x200, Offset: 2, Return: true},
		{Addr: 0x300, Offset: 3},
	}}}
	want := []attach.Probe{
		{Offset: 1, Site: 10}, {Offset: 1, Site: 11, Return: true}, {Offset: 2, Site: 13}, {Offset: 2, Site: 13, Return: true}, {Offset: 3, Site: 14},
	}
	if diff := cmp.Diff(want, m.permanentProbes(false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if sites := m.bpfSites(); len(sites) != 5 || sites[0].Next != 2 || sites[2].Next != 0 {
		t.Errorf("sites: %+v", sites)
	}
}

// TestOutOfFiles: for lack of a file descriptor a program is not started with libraries that are
// not observed; once it runs, a note names each, and one what to do.
func TestOutOfFiles(t *testing.T) {
	p := &process{pid: os.Getpid(), program: "/bin/program"}
	s := &Session{Spaces: Spaces{first: p, processes: map[int]*process{p.pid: p}}}
	lack := &os.PathError{Op: "open", Path: "/lib/a.so", Err: unix.EMFILE}
	if err := s.leaveUnobserved(p, "/lib/a.so", lack); !errors.Is(err, unix.EMFILE) {
		t.Errorf("before the program runs: %v", err)
	}
	if err := s.leaveUnobserved(p, "/lib/b.so", unix.EACCES); err != nil {
		t.Error(err)
	}
	s.running = true
	for _, path := range []string{"/lib/a.so", "/lib/c.so"} {
		if err := s.leaveUnobserved(p, path, lack); err != nil {
			t.Errorf("while the program runs: %v", err)
		}
	}
	s.noteUnsynced(p.pid, lack)
	s.noteUnsynced(p.pid, unix.ESRCH)
	remedies := 0
	for _, n := range s.notes.all() {
		if strings.Contains(n.Text, "raise the limit: ulimit -n") {
			remedies++
		}
	}
	if remedies != 1 || len(s.notes.all()) != 5 || len(s.Unobserved()) != 3 {
		t.Errorf("%d remedies; notes %q, unobserved %v", remedies, plural.Texts(s.notes.all()), s.Unobserved())
	}
}

// TestSegments: of several segments at one address, the latest is found.
func TestSegments(t *testing.T) {
	variables := []variable.Variable{{Name: "x", Addr: 0x10}}
	old := &Module{Path: "/old", Base: 1, Plan: &probes.Plan{Variables: variables}}
	now := &Module{Path: "/now", Base: 5, Plan: &probes.Plan{Variables: variables}}
	p := &process{pid: 7, segments: []Segment{
		{Lo: 0x1000, Hi: 0x3000, Bias: 0x1000, Module: old},
		{Lo: 0x2000, Hi: 0x4000, Bias: 0x2000, Module: now},
		{Lo: 0x8000, Hi: 0x9000, Bias: 0x2000, Module: now},
	}}
	s := &Session{Spaces: Spaces{first: p, all: []*process{p}}, Sites: Sites{list: []*probes.Site{nil, {Function: "f"}}}}
	for addr, want := range map[uint64]string{0xfff: "", 0x1000: "/old", 0x1fff: "/old", 0x2000: "/now", 0x2fff: "/now", 0x3fff: "/now", 0x4000: "", 0x8fff: "/now"} {
		seg, ok := s.Segment(7, addr)
		if ok != (want != "") || ok && seg.Module.Path != want {
			t.Errorf("0x%x lies in %+v (%v), want %q", addr, seg.Module, ok, want)
		}
	}
	if got := s.VariableAddr(7, "x"); got != 0x2010 {
		t.Errorf("x is at 0x%x", got)
	}
	if got := s.VariableAddr(7, "y"); got != 0 {
		t.Errorf("y is at 0x%x", got)
	}
	if got := s.Modules(); !slices.Equal(got, []*Module{old, now}) {
		t.Errorf("modules: %v", got)
	}
	if s.Site(1).Function != "f" || s.Site(0) != nil || s.Site(2) != nil || s.PID() != 7 || len(s.Segments(7)) != 3 {
		t.Error("sites, segments or the process are others")
	}
	s.notes.say("a")
	s.notes.say("b")
	s.notes.say("a")
	if got := s.Notes(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("notes: %v", got)
	}
}

// TestPassSignals: signals that are sent to the tool alone reach the program.
func TestPassSignals(t *testing.T) {
	// A program inherits the set of ignored signals, such as SIGHUP under nohup, and would not
	// be ended by one. It does not inherit which signals this process catches.
	caught := make(chan os.Signal, 8)
	signal.Notify(caught, unix.SIGUSR1, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(caught)
	for _, sig := range []unix.Signal{unix.SIGUSR1, unix.SIGTERM, unix.SIGHUP} {
		program := exec.Command("cat")
		in, err := program.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		stop := passSignals(program.Process.Pid, new(job), func(syscall.Signal) {}, func(p *safely.Panic) { panic(p) })
		if err := unix.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		_ = program.Wait()
		in.Close()
		stop()
		if ws, ok := program.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != sig {
			t.Errorf("the program ended by %v, want %v", ws.Signal(), sig)
		}
	}
}

func TestFromTerminal(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2} {
		if target.FromTerminal(sig) {
			t.Errorf("a terminal sends %v to the whole group", sig)
		}
	}
}

func TestUsageError(t *testing.T) {
	cause := errors.New("cause")
	if err := (&UsageError{Err: cause}); err.Error() != "cause" || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}

// TestAbandon: planning ends when the session is abandoned, unless the program runs already.
func TestAbandon(t *testing.T) {
	s := &Session{Spaces: Spaces{first: &process{pid: os.Getpid()}}}
	if err := s.checkAbandoned(); err != nil {
		t.Error(err)
	}
	s.interrupted(unix.SIGTSTP) // does not end a program
	if err := s.checkAbandoned(); err != nil {
		t.Error(err)
	}
	s.interrupted(unix.SIGINT)
	s.abandon(1, "later")
	var exit *target.ExitError
	if err := s.checkAbandoned(); !errors.Is(err, ErrNotBegun) || !errors.As(err, &exit) || exit.Code != 130 || !strings.Contains(err.Error(), "SIGINT") {
		t.Errorf("got %v, %+v", err, exit)
	}
	if err := s.ready(); !errors.Is(err, ErrNotBegun) {
		t.Errorf("got %v", err)
	}
	s.running = true
	if err := s.checkAbandoned(); err != nil {
		t.Errorf("while the program runs: %v", err)
	}
}

func TestIgnores(t *testing.T) {
	for _, c := range []struct {
		mask string
		sig  unix.Signal
		want bool
	}{{"0000000000000000", unix.SIGINT, false}, {"0000000000000002", unix.SIGINT, true}, {"0000000000000001", unix.SIGINT, false}, {"0000000000000001", unix.SIGHUP, true}, {"", unix.SIGINT, true}} {
		if got := ignores(map[string]string{"SigIgn": c.mask}, c.sig); got != c.want {
			t.Errorf("%v with %q: %v", c.sig, c.mask, got)
		}
	}
	for exit, code := range map[ptrace.Exit]int{{}: 125, {Status: 127}: 127, {Signal: unix.SIGTERM}: 143} {
		var e *target.ExitError
		if err := endedEarly(exit); !errors.As(err, &e) || e.Code != code || !errors.Is(err, ErrNotBegun) {
			t.Errorf("%+v: %v with status %d, want %d", exit, err, e.Code, code)
		}
	}
}
