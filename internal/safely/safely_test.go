package safely_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/safely"
)

// fail dereferences nil.
func fail() {
	var p *struct{ n int }
	p.n++
}

func TestCall(t *testing.T) {
	if p := safely.Call(func() {}); p != nil {
		t.Errorf("%v without a panic", p)
	}
	p := safely.Call(fail)
	if p == nil || !strings.Contains(p.Error(), "nil pointer dereference, in internal/safely_test.fail (safely_test.go:14)") || !strings.Contains(string(p.Stack), "safely_test.fail") {
		t.Errorf("%v", p)
	}
	if p := safely.Call(func() { panic(errors.New("gone")) }); p == nil || !strings.HasPrefix(p.Error(), "gone, in internal/safely_test.TestCall.func") {
		t.Errorf("%v", p)
	}
}

func TestGo(t *testing.T) {
	failed := make(chan *safely.Panic)
	safely.Go(fail, func(p *safely.Panic) { failed <- p })
	if p := <-failed; !strings.Contains(p.Where, "safely_test.fail") {
		t.Errorf("%+v", p)
	}
}

// TestGroup: a panic of a goroutine is that of Wait, with the stack of the goroutine, or is given to Failed.
func TestGroup(t *testing.T) {
	var g safely.Group
	g.Go(fail)
	g.Go(func() {})
	if p := safely.Call(g.Wait); p == nil || !strings.Contains(p.Where, "safely_test.fail") {
		t.Errorf("%+v", p)
	}
	var innocent safely.Group
	innocent.Go(func() {})
	if p := safely.Call(innocent.Wait); p != nil {
		t.Errorf("%+v", p)
	}
	failed := make(chan *safely.Panic, 1)
	handled := safely.Group{Failed: func(p *safely.Panic) { failed <- p }}
	handled.Go(fail)
	if p := safely.Call(handled.Wait); p != nil || len(failed) != 1 {
		t.Errorf("%+v, and %d were handled", p, len(failed))
	}
}
