package profile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// This file makes profiles of waits in the kernel for futexes, of which only sums are known.

// contendedKinds are the kinds of waits that have values of their own, in the order of their values. Each has two: waits, and
// their time. Those of all kinds together are last, since readers show the last one first.
var contendedKinds = []run.FutexKind{run.FutexOther, run.FutexJoin, run.FutexBarrier, run.FutexSemaphore, run.FutexCondition, run.FutexLock}

// contendedTables are the tables of WriteTop for such profiles.
var contendedTables = []table{
	{value: 10, label: string(run.FutexLock), title: "waits for locks", time: "waited", n: "waits", from: "waits in"},
	{value: 8, label: string(run.FutexCondition), title: "waits for conditions", time: "waited", n: "waits", from: "waits in"},
	{value: 6, label: string(run.FutexSemaphore), title: "waits for semaphores", time: "waited", n: "waits", from: "waits in"},
	{value: 4, label: string(run.FutexBarrier), title: "waits at barriers", time: "waited", n: "waits", from: "waits in"},
	{value: 2, label: threadLabel, title: "waits for the end of threads", time: "waited", n: "waits", from: "waits in"},
	{value: 0, label: futexLabel, title: "waits for other futexes", time: "waited", n: "waits", from: "waits in"},
}

const (
	futexLabel  = "futex"
	threadLabel = "joined"
	// wokenLabel has the call stack that ended a wait, innermost function first: as many values as it has functions.
	wokenLabel = "woken_by"
)

// maxWoken bounds the functions of wokenLabel.
const maxWoken = 32

// contendedTypes returns the types of the values.
func contendedTypes() []*profile.ValueType {
	var types []*profile.ValueType
	add := func(name string) {
		types = append(types, &profile.ValueType{Type: name + "s", Unit: "count"}, &profile.ValueType{Type: name, Unit: "nanoseconds"})
	}
	for _, k := range contendedKinds {
		add("futex_" + string(k) + "_wait")
	}
	add("futex_wait")
	return types
}

// Contended returns the profile of waits in the kernel for futexes, in a run of the given length.
func Contended(waits []run.FutexWait, length time.Duration, opts Options) (*profile.Profile, error) {
	types := contendedTypes()
	b := newBuilder(opts, &profile.Profile{SampleType: types, DefaultSampleType: types[len(types)-1].Type, DurationNanos: int64(length), DropFrames: dropped})
	b.inLibrary = true
	for _, w := range sortedFutexWaits(waits) {
		values := make([]int64, len(types))
		k := 2 * max(0, slices.Index(contendedKinds, w.Kind))
		values[k], values[k+1] = w.Waits, w.Time
		values[len(values)-2], values[len(values)-1] = w.Waits, w.Time
		b.profile.Sample = append(b.profile.Sample, &profile.Sample{Location: b.stack(w.Stack), Value: values, Label: b.futexLabels(&w)})
	}
	b.putFirst(opts.Program)
	if err := b.profile.CheckValid(); err != nil {
		return nil, fmt.Errorf("make the profile: %w", err)
	}
	return b.profile, nil
}

// sortedFutexWaits returns waits in an order that does not depend on that of the kernel's table.
func sortedFutexWaits(waits []run.FutexWait) []run.FutexWait {
	return slices.SortedFunc(slices.Values(waits), func(a, b run.FutexWait) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Word, b.Word), cmp.Compare(a.Stack, b.Stack), cmp.Compare(a.Waker, b.Waker), cmp.Compare(a.Time, b.Time))
	})
}

// futexLabels returns the labels of a wait for a futex.
func (b *builder) futexLabels(w *run.FutexWait) map[string][]string {
	name, object := string(w.Kind), valid(w.Name)
	switch {
	case w.Kind == run.FutexOther:
		name = futexLabel
	case w.Kind == run.FutexJoin:
		name, object = threadLabel, "a thread"
	}
	if object == "" {
		object = others
		if w.Word != 0 {
			object = fmt.Sprintf("%s@%#x", name, w.Word)
		}
	}
	labels := map[string][]string{name: {object}, "kind": {string(w.Kind)}, "thread": {threadName(w.Thread)}}
	b.addThreadName(labels, w.Thread)
	if start := startRoutine(b.stackFrames(w.Stack)); start != "" { // no event has it where no call of pthread_create is observed
		labels["thread_name"] = []string{valid(start)}
	}
	if w.Waker != 0 {
		labels[blockedByLabel] = []string{b.functionOf(w.Waker)}
		labels[wokenLabel] = b.functionsOf(w.Waker)
	}
	return labels
}

// functionsOf returns the functions of a call stack, innermost first, from the program's own on.
func (b *builder) functionsOf(id event.StackID) []string {
	frames := b.stackFrames(id)
	var all []string
	for _, f := range frames[max(0, run.OwnIndex(frames)):] {
		all = append(all, placed(frameName(f), valid(f.File), int64(f.Line)))
	}
	return all[:min(len(all), maxWoken)]
}

// startRoutine returns the function that a thread has begun in: the program's outermost one, if the C library has called it;
// "" for the first thread, which begins in the program's own code.
func startRoutine(frames []event.Frame) string {
	n := len(frames)
	for n > 0 && run.OfLibrary(frames[n-1]) {
		n--
	}
	if n == 0 || n == len(frames) || frames[n-1].Function == "main" {
		return ""
	}
	return frames[n-1].Function
}

// withoutUnnamed returns a call stack without the functions of the C library at its inner end that have no name: what they
// wait for is a label.
func withoutUnnamed(frames []event.Frame) []event.Frame {
	i := slices.IndexFunc(frames, func(f event.Frame) bool { return f.Function != "" || !run.OfLibrary(f) })
	return frames[max(0, i):]
}

// isContended reports whether a profile is one of Contended.
func isContended(p *profile.Profile) bool {
	n := len(p.SampleType)
	return n > 0 && p.SampleType[n-1].Type == "futex_wait"
}
