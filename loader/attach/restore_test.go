package attach

import (
	"testing"

	"github.com/tracepredict/tracepredict/internal/loadertest"
	"github.com/tracepredict/tracepredict/internal/testtool"
)

// TestRestore: the kernel removes a breakpoint that is no probe's, and leaves one that is.
func TestRestore(t *testing.T) {
	loadertest.NeedBPF(t)
	testtool.Need(t, "gcc")
	a := loadertest.StartAsked(t)
	file := a.Open()
	r, err := NewRestorer()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	both := []uint64{a.Answer.Offset, a.Other.Offset}
	a.Leak(a.Answer)
	a.Leak(a.Other)
	if err := r.Restore(file, a.PID, both); err != nil || a.First(a.Answer) != a.Answer.Original || a.First(a.Other) != a.Other.Original {
		t.Errorf("the functions begin with %#x and %#x, %v", a.First(a.Answer), a.First(a.Other), err)
	}
	a.WantAnswers()

	l, err := linkMulti(file.Name(), r.prog.FD(), false, a.PID, []offset{{at: both[0]}})
	if err != nil {
		t.Fatal(err)
	}
	a.Leak(a.Other)
	if err := r.Restore(file, a.PID, both); err != nil || a.First(a.Answer) != 0xcc || a.First(a.Other) != a.Other.Original {
		t.Errorf("beside a probe, the functions begin with %#x and %#x, %v", a.First(a.Answer), a.First(a.Other), err)
	}
	a.WantAnswers()
	if err := l.Close(); err != nil || a.First(a.Answer) != a.Answer.Original {
		t.Errorf("the probe stays: %v", err)
	}

	// Where one of the places cannot have a probe, the others are put right.
	a.Leak(a.Answer)
	if err := r.Restore(file, a.PID, []uint64{1 << 40, a.Answer.Offset}); err == nil || a.First(a.Answer) != a.Answer.Original {
		t.Errorf("the function begins with %#x, %v", a.First(a.Answer), err)
	}
	a.WantAnswers()
}
