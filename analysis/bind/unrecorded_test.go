package bind

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestUnrecordedCalls: there is a note on calls that nobody asked for when the run was recorded, and none on others. The returns of a
// function are ends of its calls too.
func TestUnrecordedCalls(t *testing.T) {
	const text = "thread any = name \"*\"\nevent a = call approve\nevent b = leave pay\nevent unused = call nothing\nmttl p = forall i : any . @i (a -> once b)\n"
	s, problems := spec.Parse("bank.tps", text)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	r, err := New(Options{Spec: s, Names: bank{}, Window: 8, Queue: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		asked []string
		want  string
	}{
		{[]string{"call approve", "leave pay"}, ""},
		{[]string{"call approve", "return pay", "call other"}, ""},
		{[]string{"leave pay"}, "call approve"},
		{[]string{"call approve", "call pay"}, "leave pay"},
	} {
		var calls []run.Calls
		for _, on := range c.asked {
			calls = append(calls, run.Calls{Pattern: on})
		}
		notes := strings.Join(r.Unrecorded(calls), "\n")
		if (notes == "") != (c.want == "") || !strings.Contains(notes, c.want) || strings.Contains(notes, "\n") {
			t.Errorf("%v: %q, want one about %q", c.asked, notes, c.want)
		}
	}
}
