package format

import (
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// hostileNames is a run.Namer that returns the same name for everything.
type hostileNames string

func (h hostileNames) Object(event.ObjectID) run.Object {
	return run.Object{Name: string(h), Addr: 1, Kind: event.KindMutex, Init: 1, First: 2, FirstThread: 1}
}

func (h hostileNames) Func(event.FuncID) event.Func { return event.Func{} }

func (h hostileNames) Thread(id event.ThreadID) run.Thread {
	return run.Thread{Name: string(h), Start: string(h), Created: 3}
}

func (h hostileNames) Frames(event.StackID) []event.Frame {
	return []event.Frame{{Function: string(h), File: string(h), Line: 1, Module: string(h)}, {Module: string(h), Offset: 1}}
}

// checkHostile checks for each format that no name passes control characters to a terminal, makes the report invalid,
// or makes it long.
func checkHostile(t *testing.T, name string) {
	t.Helper()
	side := func(id event.ThreadID) finding.Step {
		return finding.Step{Seq: uint64(id), Thread: id, Op: event.Acquire, Object: 1, Stack: 1, Held: []event.ObjectID{2}, HeldAt: []event.StackID{2}}
	}
	run := report.Run{Properties: &run.Properties{}, Coverage: &report.Coverage{}, Suppressions: &report.Suppressions{}}
	fillTexts(reflect.ValueOf(&run).Elem(), name)
	run.Signal.Name, run.Events = "SIGSEGV", 1
	fs := []finding.Finding{
		{Kind: finding.Deadlock, Confidence: finding.Potential, Reason: reason.Noted(name), Property: name, Objects: []event.ObjectID{1, 2}, Threads: []event.ThreadID{1, 2},
			Evidence: []finding.Step{side(1), side(2)}, Witness: []finding.Step{side(1), side(2)}, Assumes: []string{name}},
		{Kind: finding.Misuse, Confidence: finding.Observed, Message: name},
	}
	rep := report.Build(run, fs, hostileNames(name))
	for _, f := range All() {
		out := written(t, f, rep, report.Options{Width: 80})
		if !utf8.ValidString(out) || !wellFormed(f, out) {
			t.Errorf("%.80q: invalid %s", name, f.Name)
		}
		if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%.80q: %s: %q gets through", name, f.Name, out[i:min(len(out), i+8)])
		}
		if len(out) > 2<<20 {
			t.Errorf("%.80q: %s: %d bytes", name, f.Name, len(out))
		}
	}
}

// fillTexts sets all texts in v, with one element of each slice that is empty.
func fillTexts(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() { // others are words of the tool
			v.SetString(text)
		}
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fillTexts(v.Elem(), text)
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			fillTexts(v.Index(i), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillTexts(v.Field(i), text)
			}
		}
	}
}

func TestHostileNames(t *testing.T) {
	for _, name := range []string{
		"\x1b[2J\x1b]0;owned\a", "a\nb\r\nc\td", "\xff\xfe\x80", "\u202eevil\u2066", "\u2028\u2029\ufeff", "\x00", "<b>&\"'\\", "%s%n%!d", "\u200b",
		strings.Repeat("x", 16<<20), strings.Repeat("\x1b", 4<<20), strings.Repeat("é", 1<<20), strings.Repeat("<", 1<<20), "",
	} {
		checkHostile(t, name)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("\x1b[2J")
	f.Add("ns::Queue<int, (anonymous namespace)::T>::depth")
	f.Fuzz(checkHostile)
}
