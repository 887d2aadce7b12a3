package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// TestDraw: the same seed and number draw the same round, every happening and server is drawn, and no round asks for what
// cannot be.
func TestDraw(t *testing.T) {
	servers := []string{churn, forks, memcached}
	drawn := map[string]int{}
	for n := range 10_000 {
		p := draw(7, n, servers)
		if p != draw(7, n, servers) {
			t.Fatalf("round %d is drawn in two ways", n)
		}
		drawn[string(p.what)]++
		drawn[p.server]++
		drawn[p.command()]++
		switch {
		case p.what == workerKilled && p.server != forks:
			t.Errorf("%v: it has no workers", p)
		case (p.what == groupKilled || p.what == killedLeaving) && p.exec:
			t.Errorf("%v: under exec that is about the server too", p)
		case p.ring < 16 && !p.lossy:
			t.Errorf("%v: such a ring buffer is refused", p)
		}
	}
	for _, want := range append([]string{"exec", "attach"}, servers...) {
		if drawn[want] < 1000 {
			t.Errorf("%s is drawn %d times", want, drawn[want])
		}
	}
	for _, h := range happenings {
		if drawn[string(h)] < 500 {
			t.Errorf("%s is drawn %d times", h, drawn[string(h)])
		}
	}
	if draw(7, 1, servers) == draw(8, 1, servers) {
		t.Error("two seeds draw the same")
	}
}

func TestPlanIsDescribed(t *testing.T) {
	p := plan{server: forks, exec: true, what: durationOver, shared: "all", ring: 1, lossy: true, follow: true, parent: true, after: time.Second}
	const want = "--duration after 1s (stops: 0s), exec --watch-shared=all --ring=1 --lossy --follow --duration=2s (the process that waits) forks"
	if got := p.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestReport(t *testing.T) {
	r, err := parseReport([]byte(`{"run": {"pid": 7, "events": 10, "lost": 3}, "findings": []}`))
	if err != nil || r.Run.Lost != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, text := range []string{"", `{"run": {"pid": 7`, `{"findings": []}`, `{"run": {}}`} {
		if _, err := parseReport([]byte(text)); err == nil {
			t.Errorf("%q is taken for a report", text)
		}
	}
}

// patched is memory in which one byte is a breakpoint.
type patched struct {
	io.ReaderAt
	at int64
}

func (p patched) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.ReaderAt.ReadAt(b, off)
	if i := p.at - off; i >= 0 && i < int64(n) {
		b[i] ^= 0xff
	}
	return n, err
}

// TestCode: the code of a process is that of its files, and a breakpoint in it is seen.
func TestCode(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to read files by their mappings")
	}
	if err := codeIntact(os.Getpid()); err != nil {
		t.Error(err)
	}
	maps, err := procfs.Maps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	at := slices.IndexFunc(maps, func(m procfs.Mapping) bool { return m.Exec && m.File.Inode != 0 })
	m := maps[at]
	if err := sameCode(mem, m, "/proc/self/exe"); err != nil {
		t.Error(err)
	}
	if err := sameCode(patched{mem, int64(m.Lo) + 0x2000}, m, "/proc/self/exe"); err == nil || !strings.Contains(err.Error(), "a breakpoint is left") {
		t.Errorf("a breakpoint: %v", err)
	}
}

// TestRunsFreely: a process that is stopped does not run freely.
func TestRunsFreely(t *testing.T) {
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cat.Process.Pid
	stopped := func() bool { return runsFreely(pid) != nil }
	if stopped() {
		t.Error(runsFreely(pid))
	}
	for _, c := range []struct {
		sig  unix.Signal
		want bool
	}{{unix.SIGSTOP, true}, {unix.SIGCONT, false}} {
		if err := unix.Kill(pid, c.sig); err != nil {
			t.Fatal(err)
		}
		if err := wait(t.Context(), "the state", func() bool { return stopped() == c.want }); err != nil {
			t.Errorf("%v: %v, %v", c.sig, err, runsFreely(pid))
		}
	}
	in.Close()
	if err := cat.Wait(); err != nil {
		t.Error(err)
	}
}

// TestAnswers: a wrong answer is told from a broken connection.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		server, answer string
		right, wrong   bool
	}{
		{churn, "11\n", true, false},
		{churn, "12\n", false, true},
		{churn, "1", false, false},
		{memcached, "STORED\r\nVALUE k5 0 1\r\n5\r\nEND\r\n", true, false},
		{memcached, "STORED\r\nEND\r\n", false, true},
		{memcached, "ERROR\r\n", false, true},
		{memcached, "STORED\r\n", false, false},
	} {
		here, there := net.Pipe()
		go func() {
			_, _ = bufio.NewReader(there).ReadString('\n')
			_, _ = io.WriteString(there, c.answer)
			there.Close()
		}()
		s := &server{name: c.server}
		err := s.ask(here, bufio.NewReader(here), 5)
		here.Close()
		var wrong *wrongAnswer
		if (err == nil) != c.right || errors.As(err, &wrong) != c.wrong {
			t.Errorf("%s answers %q: %v", c.server, c.answer, err)
		}
		if err != nil {
			s.failed(err)
		}
		if (s.failure() != nil) != c.wrong || (s.broken.Load() == 1) != (!c.right && !c.wrong) {
			t.Errorf("%s answers %q: %v, %d connections broken", c.server, c.answer, s.failure(), s.broken.Load())
		}
	}
}

func TestCounts(t *testing.T) {
	c := newCounts()
	lossy, err := parseReport([]byte(`{"run": {"lost": 3}, "findings": []}`))
	if err != nil {
		t.Fatal(err)
	}
	c.add(interrupted, lossy)
	c.add(interrupted, nil)
	c[diskFull].skipped = "no mount namespace"
	c.add(groupKilled, nil)
	c.addRepaired(groupKilled, removedBy([]byte("tracepredict (process 7) was killed.\n  removed: a+0x1 at 0x2\n  removed: a+0x2 at 0x3\n  left: a+0x3 at 0x4\n")))
	c.add(groupKilled, nil)
	c.addRepaired(groupKilled, 0)
	var text strings.Builder
	c.print(&text, 90*time.Second, 7, 1234)
	for _, want := range []string{" SIGINT|       2|        1|                     1|            3|\n", "chaos: no rounds of trace on a full disk: no mount namespace\n", "chaos: after 1 of 2 rounds of cgroup.kill the kernel left breakpoints, which tracepredict repair removed: 2\n", "chaos: 4 rounds in 1m30s, seed 7: 1234 requests were answered, 1 reports\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}
