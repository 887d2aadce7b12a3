package loader

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// TestProbesOf: one probe for a chain of sites, and the return probes beside.
func TestProbesOf(t *testing.T) {
	chain := func(next uint32) bpf.Site { return bpf.Site{Next: next} }
	m := &Module{Base: 10, Plan: &probes.Plan{Sites: []probes.Site{
		{Addr: 0x100, Offset: 1, BPF: chain(2)},
		{Addr: 0x100, Offset: 1, BPF: chain(3), Return: true},
		{Addr: 0x100, Offset: 1},
		{Addr: 0x200, Offset: 2, Return: true},
		{Addr: 0x300, Offset: 3},
	}}}
	want := []Probe{
		{Offset: 1, Site: 10}, {Offset: 1, Site: 11, Return: true}, {Offset: 2, Site: 13}, {Offset: 2, Site: 13, Return: true}, {Offset: 3, Site: 14},
	}
	if diff := cmp.Diff(want, m.probesOf()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if sites := m.bpfSites(); len(sites) != 5 || sites[0].Next != 2 || sites[2].Next != 0 {
		t.Errorf("sites: %+v", sites)
	}
}

// TestSegments: of what lay at one address in turn, the latest counts.
func TestSegments(t *testing.T) {
	variables := []variable.Variable{{Name: "x", Addr: 0x10}}
	old := &Module{Path: "/old", Base: 1, Plan: &probes.Plan{Variables: variables}}
	now := &Module{Path: "/now", Base: 5, Plan: &probes.Plan{Variables: variables}}
	p := &process{pid: 7, segments: []Segment{
		{Lo: 0x1000, Hi: 0x3000, Bias: 0x1000, Module: old},
		{Lo: 0x2000, Hi: 0x4000, Bias: 0x2000, Module: now},
		{Lo: 0x8000, Hi: 0x9000, Bias: 0x2000, Module: now},
	}}
	s := &Session{first: p, all: []*process{p}, sites: []*probes.Site{nil, {Function: "f"}}}
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
	s.note("a")
	s.note("b")
	s.note("a")
	if got := s.Notes(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("notes: %v", got)
	}
}

func TestLookupUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("sudo's caller counts for root alone: run the tests with sudo")
	}
	for _, c := range []struct {
		name, sudo string
		uid        int // -1: the tool's own
		fails      bool
	}{
		{"", "", -1, false},
		{"", "0", -1, false},
		{"", "65534", nobody, false},
		{"", "what", 0, true},
		{"", "4294967", 0, true},
		{"root", "65534", -1, false},
		{"nobody", "", nobody, false},
		{"no-such-user", "", 0, true},
	} {
		t.Setenv("SUDO_UID", c.sudo)
		got, err := LookupUser(c.name)
		switch {
		case (err != nil) != c.fails:
			t.Errorf("%+v: %v", c, err)
		case c.fails:
		case (got == nil) != (c.uid < 0) || got != nil && (got.UID != c.uid || got.Name != "nobody" || len(got.Groups) == 0):
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestExit(t *testing.T) {
	for _, c := range []struct {
		status unix.WaitStatus
		want   Exit
		code   int
	}{
		{0, Exit{}, 0},
		{0x0100, Exit{Status: 1}, 1},
		{0xff00, Exit{Status: 255}, 255},
		{9, Exit{Signal: unix.SIGKILL}, 137},
		{0x86, Exit{Signal: unix.SIGABRT, Core: true}, 134},
	} {
		got := exitOf(c.status)
		if got != c.want || got.Code() != c.code {
			t.Errorf("%#x: %+v, %d", c.status, got, got.Code())
		}
	}
	cause := errors.New("cause")
	if err := (&ExitError{Code: 126, Err: cause}); err.Error() != "cause" || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	if err := (&UsageError{Err: cause}); err.Error() != "cause" || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}

// TestPassSignals: what is sent to the tool alone reaches the program.
func TestPassSignals(t *testing.T) {
	// A program inherits which signals are ignored, as SIGHUP is under nohup, and no
	// signal would end it then. Those that this process catches it does not inherit.
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
		stop := passSignals(program.Process.Pid, new(job))
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
		if fromTerminal(sig) {
			t.Errorf("a terminal sends %v to the whole group", sig)
		}
	}
}
