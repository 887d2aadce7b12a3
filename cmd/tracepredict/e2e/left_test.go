package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/loader/ptrace"
	"github.com/tracepredict/tracepredict/loader/steer"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/live"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// leaver has a program left stopped once two threads are held.
type leaver struct {
	t       *testing.T
	session *loader.Session
	at      map[int]uint64 // by thread: the address of its next instruction
}

func (l *leaver) Reached(tid, _ int) {
	next, _, err := ptrace.Registers(tid)
	if err != nil {
		l.t.Error(err)
	}
	if l.at[tid] = next; len(l.at) == 2 {
		l.session.Leave()
	}
}

func (*leaver) Done(int, int)   {}
func (*leaver) Complete() bool  { return false }
func (*leaver) Stayed() bool    { return false }
func (*leaver) Met([2]int) bool { return false }

// TestLeftWhereHeld: of a program that is left stopped, the threads that were held have executed nothing since, the others
// are stopped too, nobody traces them, and all goes on as if nothing had been.
func TestLeftWhereHeld(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := example(t, "shop")
	isCall := func(in *insn.Inst) bool { return in.Kind == insn.Call }
	sell, refund := instruction(t, program, "sell", isCall), instruction(t, program, "refund", isCall)
	plan := &steer.Plan{
		Sites: []steer.Site{{Module: program, Return: sell.End()}, {Module: program, Return: refund.End()}},
		Gates: []steer.Gate{
			{Thread: []int{0}, Site: 0, Count: 1, After: []int{2}}, {Thread: []int{1}, Site: 1, Count: 1, After: []int{2}},
			{Thread: []int{99}, What: "a thread that is never created"},
		},
	}
	follows, link := &leaver{t: t, at: map[int]uint64{}}, live.NewLink()
	link.Observe(observer.Options{}, false)
	stdout, output := captured(t)
	res, err := loader.Start(context.Background(),
		loader.Program{Path: program, Args: []string{program}, Stdout: stdout},
		loader.Options{Plan: probes.Options{Table: tables(t, nil)}, Handler: link.Observer, Steer: plan, Following: follows},
		func(s *loader.Session) { boundOf(t).owns(s.PID()); follows.session = s; link.Begin(s) })
	if err != nil {
		t.Fatal(err)
	}
	if res.Left == nil {
		t.Fatalf("it was not left, and %d threads were held", len(follows.at))
	}
	pid := res.Left.PID
	for _, field := range []struct{ name, want string }{{"State", "T (stopped)"}, {"TracerPid", "0"}} {
		for _, got := range threadStates(pid, field.name) {
			if got != field.want {
				t.Errorf("%s of a thread: %s, want %s", field.name, got, field.want)
			}
		}
	}
	for tid, want := range follows.at {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
		if err != nil {
			t.Fatal(err)
		}
		if words := strings.Fields(string(text)); len(words) != 3 || words[0] != "-1" || words[2] != fmt.Sprintf("%#x", want) {
			t.Errorf("thread %d was held at %#x, and is at: %s", tid, want, text)
		}
	}
	res.Left.GoOn()
	exit, err := res.Left.Await(func(err error) { t.Error(err) })
	if got := output(); err != nil || exit.Code() != 0 || got != "85 tickets left, 25 entries\n" {
		t.Errorf("it ended with %+v, %v, and printed %q", exit, err, got)
	}
}
