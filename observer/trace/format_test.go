package trace

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestNumbersAreDocumented: the numbers of operations, kinds and flags are part of
// the format, so what the documentation says of them must stay so.
func TestNumbersAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/trace-format.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ") // wherever its lines end
	want := func(s string) {
		if !strings.Contains(page, s) {
			t.Errorf("docs/trace-format.md lacks %q", s)
		}
	}
	for op := event.None + 1; op < event.NumOps; op++ {
		want(fmt.Sprintf("| %d | %s", op, op))
	}
	for i, name := range []string{"try", "timed", "timed out", "atomic", "it has a value", "part of a condition wait", "inferred", "no source", "after a hole", "by the kernel", "late"} {
		want(fmt.Sprintf("| %d | %s", 1<<i, name))
	}
	for flag, number := range map[event.Flags]int{
		event.Try: 1, event.Timed: 2, event.TimedOut: 4, event.Atomic: 8, event.HasValue: 16, event.InCondWait: 32, event.Inferred: 64,
		event.NoSource: 128, event.AfterHole: 256, event.Kernel: 512, event.Late: 1024, event.Freed: 16384,
	} {
		if int(flag) != number {
			t.Errorf("flag %d has become %d", number, flag)
		}
	}
	kinds := "Kinds of object: 0 unknown, 1 variable, 2 mutex, 3 reader-writer lock, 4 spin lock, 5 condition, 6 barrier, 7 semaphore, 8 once, 9 instance, 10 field: a variable; the address is that of the object that it is part of; 11 channel."
	want(kinds)
	for i, k := range []event.Kind{event.KindUnknown, event.KindVariable, event.KindMutex, event.KindRWLock, event.KindSpin, event.KindCond, event.KindBarrier,
		event.KindSemaphore, event.KindOnce, event.KindInstance, event.KindField, event.KindChannel} {
		if int(k) != i {
			t.Errorf("kind %d has become %d", i, k)
		}
	}
	want(fmt.Sprintf("% x", magic[:8]))
}

// TestVersion1 checks that files of the first version stay readable. The file is smallRun, as
// that version wrote it.
func TestVersion1(t *testing.T) {
	file, err := os.ReadFile("testdata/v1.trace")
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, smallRun(), got)
}
