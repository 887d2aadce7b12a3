package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

var update = flag.Bool("update", false, "renew the golden files")

// table is a run.Namer made of maps. base is added to every address, as another
// layout of the address space does.
type table struct {
	objects map[event.ObjectID]run.Object
	threads map[event.ThreadID]run.Thread
	stacks  map[event.StackID][]event.Frame
	base    uint64
}

func (t table) Object(id event.ObjectID) run.Object {
	o := t.objects[id]
	if o.Addr != 0 {
		o.Addr += t.base
	}
	return o
}

func (t table) Thread(id event.ThreadID) run.Thread { return t.threads[id] }

func (t table) Func(event.FuncID) event.Func { return event.Func{} }

func (t table) Frames(id event.StackID) []event.Frame {
	frames := slices.Clone(t.stacks[id])
	for i := range frames {
		frames[i].Addr += t.base
	}
	return frames
}

func stackOf(frames ...event.Frame) []event.Frame {
	return append(frames, event.Frame{Function: "start_thread", Module: "/lib/x86_64-linux-gnu/libc.so.6", Offset: 0x304})
}

func src(function, file string, line int) event.Frame {
	return event.Frame{Function: function, File: file, Line: line, Module: "/opt/shop/shop", Offset: 0x20, Addr: 0x1000 + uint64(line)}
}

const (
	ledger event.ObjectID = iota + 1
	till
	tickets
	heapA
	heapB
	queue
)

func shopTable() table {
	lock := event.Frame{Function: "pthread_mutex_lock", Module: "/lib/x86_64-linux-gnu/libc.so.6", Offset: 0xe}
	return table{
		objects: map[event.ObjectID]run.Object{
			ledger:  {Name: "ledger", Addr: 0x5040, Kind: event.KindMutex},
			till:    {Name: "till+0x8", Addr: 0x5080, Kind: event.KindMutex},
			tickets: {Name: "tickets", Addr: 0x50c0, Kind: event.KindVariable},
			heapA:   {Addr: 0x9000, Kind: event.KindMutex, Init: 20, First: 1, FirstThread: 1},
			heapB:   {Addr: 0x9100, Kind: event.KindMutex, First: 2, FirstThread: 2},
			queue:   {Name: "jobs::Queue<int, std::allocator<int>>::depth", Addr: 0x50d0, Kind: event.KindVariable},
		},
		threads: map[event.ThreadID]run.Thread{
			1: {TID: 4242, Name: "shop", Main: true},
			2: {TID: 4243, Name: "shop", Start: "front_desk", Parent: 1, Created: 10},
			3: {TID: 4244, Name: "shop", Start: "back_desk", Parent: 1, Created: 11},
			4: {TID: 4245, Name: "größe-线程"},
		},
		stacks: map[event.StackID][]event.Frame{
			1:  stackOf(lock, src("sell", "/home/u/shop/shop.c", 20), src("front_desk", "/home/u/shop/shop.c", 41)),
			2:  stackOf(lock, src("sell", "/home/u/shop/shop.c", 22), src("front_desk", "/home/u/shop/shop.c", 41)),
			3:  stackOf(lock, src("refund", "/home/u/shop/desk/shop.c", 30), src("back_desk", "/home/u/shop/desk/shop.c", 55)),
			4:  stackOf(lock, src("refund", "/home/u/shop/desk/shop.c", 32), src("back_desk", "/home/u/shop/desk/shop.c", 55)),
			5:  stackOf(src("sell", "/home/u/shop/shop.c", 24), src("front_desk", "/home/u/shop/shop.c", 41)),
			6:  stackOf(src("count_tickets", "/home/u/shop/count.c", 9), src("back_desk", "/home/u/shop/desk/shop.c", 57)),
			7:  {src("jobs::Queue<int, std::allocator<int>>::push(int const&, std::function<void (int)>)", "/home/u/shop/queue.cc", 120)},
			8:  {{Module: "/opt/shop/libplugin.so", Offset: 0x12f0, Addr: 0x712f0}},
			10: {src("main", "/home/u/shop/shop.c", 60)},
			11: {src("main", "/home/u/shop/shop.c", 61)},
			20: {src("order_new", "/home/u/shop/order.c", 12)},
		},
	}
}

func shopRun() Run {
	return Run{Summary: run.Summary{Program: "/opt/shop/shop", PID: 4242, Events: 1204, Threads: 3, Duration: 812 * time.Millisecond}}
}

func deadlock(a, b event.ObjectID) finding.Finding {
	wait := func(seq uint64, t event.ThreadID, want, held event.ObjectID, at, heldAt event.StackID) finding.Step {
		return finding.Step{
			Seq: seq, Thread: t, Op: event.Acquire, Object: want, Stack: at,
			Held: []event.ObjectID{held}, HeldAt: []event.StackID{heldAt},
		}
	}
	f := finding.Finding{
		Kind: finding.Deadlock, Confidence: finding.Predicted, Order: finding.OrderSyncPreserving,
		Objects: []event.ObjectID{b, a}, Threads: []event.ThreadID{2, 3},
		Evidence: []finding.Step{wait(7, 2, b, a, 2, 1), wait(17, 3, a, b, 4, 3)},
		Assumes:  []string{"race-free", "guarded-data"}, Count: 1,
	}
	f.Witness = []finding.Step{
		{Seq: 1, Thread: 1, Op: event.Fork, Peer: 2, Stack: 10},
		{Seq: 2, Thread: 2, Op: event.Begin},
		{Seq: 3, Thread: 1, Op: event.Fork, Peer: 3, Stack: 11},
		{Seq: 6, Thread: 2, Op: event.Acquire, Object: a, Stack: 1},
		{Seq: 15, Thread: 3, Op: event.Begin},
		{Seq: 16, Thread: 3, Op: event.Acquire, Object: b, Stack: 3},
		{Seq: 7, Thread: 2, Op: event.Acquire, Object: b, Stack: 2, Blocked: true},
		{Seq: 17, Thread: 3, Op: event.Acquire, Object: a, Stack: 4, Blocked: true},
	}
	return f
}

func race() finding.Finding {
	return finding.Finding{
		Kind: finding.Race, Confidence: finding.Potential, Reason: "the program orders threads by atomic operations that were not watched (3 in worker.c)",
		Objects: []event.ObjectID{tickets}, Threads: []event.ThreadID{2, 3},
		Evidence: []finding.Step{
			{Seq: 8, Thread: 2, Op: event.Write, Object: tickets, Stack: 5, Held: []event.ObjectID{ledger}, HeldAt: []event.StackID{1}, Value: 41, Flags: event.HasValue},
			{Seq: 18, Thread: 3, Op: event.Read, Object: tickets, Stack: 6},
		},
		Count: 3,
	}
}

func longNames() finding.Finding {
	return finding.Finding{
		Kind: finding.Race, Confidence: finding.Predicted, Objects: []event.ObjectID{queue}, Threads: []event.ThreadID{4, 2},
		Evidence: []finding.Step{
			{Seq: 5, Thread: 4, Op: event.Update, Object: queue, Stack: 7, Flags: event.Atomic},
			{Seq: 9, Thread: 2, Op: event.Read, Object: queue, Stack: 8},
		},
	}
}

func all() []finding.Finding {
	return []finding.Finding{race(), deadlock(ledger, till), deadlock(heapA, heapB), longNames()}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (renew with -update):\n%s", name, diff)
	}
}

func text(t testing.TB, r Report, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteText(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextGolden(t *testing.T) {
	holes := shopRun()
	holes.Lost, holes.LostThreads, holes.Notes = 12, 2, []string{"libplugin.so was loaded before it could be probed: its calls are missing."}
	reports := map[string]Report{
		"deadlock": Build(shopRun(), []finding.Finding{deadlock(ledger, till)}, shopTable()),
		"race":     Build(shopRun(), []finding.Finding{race()}, shopTable()),
		"all":      Build(holes, all(), shopTable()),
		"none":     Build(shopRun(), nil, shopTable()),
		"block":    Build(shopRun(), []finding.Finding{race()}, blockTable(run.Object{})),
	}
	for name, r := range reports {
		for _, width := range []int{40, 80, 160} {
			t.Run(fmt.Sprint(name, "-", width), func(t *testing.T) {
				got := text(t, r, TextOptions{Width: width})
				golden(t, fmt.Sprintf("%s-%d.txt", name, width), []byte(got))
				checkWidth(t, got, width)
			})
		}
	}
	golden(t, "all-80-color.txt", []byte(text(t, reports["all"], TextOptions{Width: 80, Color: true})))
}

func checkWidth(t *testing.T, text string, width int) {
	t.Helper()
	for _, l := range strings.Split(text, "\n") {
		if ansi.StringWidth(l) > width && !strings.Contains(l, "fingerprint ") {
			t.Errorf("wider than %d: %q", width, l)
		}
		if strings.TrimRight(l, " ") != l {
			t.Errorf("trailing space: %q", l)
		}
	}
}

func TestColorAddsOnlyEscapes(t *testing.T) {
	r := Build(shopRun(), all(), shopTable())
	for _, width := range []int{40, 80, 160} {
		plain, colored := text(t, r, TextOptions{Width: width}), text(t, r, TextOptions{Width: width, Color: true})
		if !strings.Contains(colored, "\x1b[") {
			t.Errorf("width %d: no colour", width)
		}
		if diff := cmp.Diff(plain, ansi.Strip(colored)); diff != "" {
			t.Errorf("width %d: colour changed the text:\n%s", width, diff)
		}
	}
}

func TestNoFindingsIsOneLine(t *testing.T) {
	got := text(t, Build(shopRun(), nil, shopTable()), TextOptions{Width: 160})
	want := "tracepredict: no findings in shop (pid 4242): 1,204 events, 3 threads, 0.8 s, nothing lost\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func writeJSON(t testing.TB, r Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJSONGolden(t *testing.T) {
	goldenJSON(t, "all.json", Build(shopRun(), all(), shopTable()))
	goldenJSON(t, "none.json", Build(shopRun(), nil, nil))
}

// goldenJSON compares the report with a golden file, which is indented so that people can
// read it. The report itself is one line.
func goldenJSON(t *testing.T, name string, r Report) {
	t.Helper()
	compact := writeJSON(t, r)
	if lines := bytes.Count(compact, []byte("\n")); lines != 1 || !bytes.HasSuffix(compact, []byte("}\n")) {
		t.Errorf("%s: %d lines", name, lines)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, compact, "", " "); err != nil {
		t.Fatal(err)
	}
	golden(t, name, indented.Bytes())
}

// TestAtLeast checks that findings weaker than requested are counted, in text and JSON.
func TestAtLeast(t *testing.T) {
	fs := all()
	fs[3].Confidence = finding.Observed // of all: one observed, two predicted, one potential
	whole := Build(shopRun(), fs, shopTable())
	for _, c := range []struct {
		least finding.Confidence
		shown int
		says  string // in the last line
	}{
		{finding.Observed, 1, "2 predicted and 1 potential findings are not shown: --confidence potential shows them"},
		{finding.Predicted, 3, "1 potential finding is not shown: --confidence potential shows it"},
		{finding.Potential, 4, "fingerprint"},
	} {
		r := whole.AtLeast(c.least)
		if len(r.Findings) != c.shown {
			t.Errorf("%s: %d findings, want %d", c.least, len(r.Findings), c.shown)
		}
		lines := strings.Split(strings.TrimSpace(text(t, r, TextOptions{Width: 120})), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, c.says) {
			t.Errorf("%s: the last line is %q", c.least, last)
		}
		var got struct {
			Confidence jsonConfidence
			Findings   []json.RawMessage
		}
		if err := json.Unmarshal(writeJSON(t, r), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(jsonConfidence{c.least, 1, 2, 0, 1}, got.Confidence); diff != "" || len(got.Findings) != c.shown {
			t.Errorf("%s: %d findings in JSON; (-want +got)\n%s", c.least, len(got.Findings), diff)
		}
	}
	if len(whole.Findings) != 4 || whole.Hidden != nil {
		t.Error("the whole report has changed")
	}
}

// contract is the fixed part of the JSON format, written by hand.
type contract struct {
	Run *struct {
		Program    *string
		PID        *int
		Events     *uint64
		Lost       *uint64
		Threads    *int
		DurationNS *int64 `json:"duration_ns"`
	}
	Findings *[]struct {
		Kind, Confidence, Property, Message, Order, Fingerprint *string
		Objects, Assumes                                        *[]string
		Threads                                                 *[]int
		Evidence, Witness                                       *[]struct {
			Thread            *int
			Operation, Object *string
			Stack             *[]struct {
				Function, File *string
				Line           *int
			}
		}
	}
}

func TestJSONKeepsTheContract(t *testing.T) {
	bare := finding.Finding{Kind: finding.Misuse, Confidence: finding.Observed, Evidence: []finding.Step{{Thread: 1, Op: event.Release}}}
	for name, r := range map[string]Report{
		"full":  Build(shopRun(), append(all(), bare), shopTable()),
		"bare":  Build(Run{}, []finding.Finding{bare, {}}, nil),
		"empty": Build(Run{}, nil, nil),
	} {
		raw := writeJSON(t, r)
		if bytes.Contains(raw, []byte("null")) {
			t.Errorf("%s: null in\n%s", name, raw)
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		var c contract
		if err := dec.Decode(&c); err != nil || dec.More() {
			t.Fatalf("%s: %v, more: %v", name, err, dec.More())
		}
		if c.Run == nil || c.Run.Program == nil || c.Run.PID == nil || c.Run.Events == nil || c.Run.Lost == nil || c.Run.Threads == nil || c.Run.DurationNS == nil {
			t.Errorf("%s: run lacks a field: %s", name, raw)
		}
		if c.Findings == nil || len(*c.Findings) != len(r.Findings) {
			t.Fatalf("%s: findings missing", name)
		}
		for _, f := range *c.Findings {
			for i, p := range []*string{f.Kind, f.Confidence, f.Property, f.Message, f.Order, f.Fingerprint} {
				if p == nil {
					t.Errorf("%s: string field %d missing", name, i)
				}
			}
			if f.Objects == nil || f.Assumes == nil || f.Threads == nil || f.Evidence == nil || f.Witness == nil {
				t.Fatalf("%s: an array is missing", name)
			}
			for _, s := range append(*f.Evidence, *f.Witness...) {
				if s.Thread == nil || s.Operation == nil || s.Object == nil || s.Stack == nil {
					t.Fatalf("%s: a step lacks a field", name)
				}
				for _, fr := range *s.Stack {
					if fr.Function == nil || fr.File == nil || fr.Line == nil {
						t.Fatalf("%s: a frame lacks a field", name)
					}
				}
			}
		}
	}
}

func TestFingerprint(t *testing.T) {
	base := shopTable()
	one := func(f finding.Finding, tab table) string {
		return Build(Run{}, []finding.Finding{f}, tab).Findings[0].Fingerprint
	}
	want := one(deadlock(ledger, till), base)

	moved := shopTable()
	moved.base = 0x7f0000000000
	mirrored := deadlock(ledger, till)
	slices.Reverse(mirrored.Evidence)
	slices.Reverse(mirrored.Threads)
	slices.Reverse(mirrored.Objects)
	other := deadlock(ledger, till)
	for i := range other.Evidence {
		other.Evidence[i].Thread += 5
		other.Evidence[i].Seq = 100 - other.Evidence[i].Seq
	}
	other.Confidence, other.Witness, other.Assumes = finding.Potential, nil, nil
	elsewhere := shopTable()
	for id, frames := range elsewhere.stacks {
		for i := range frames {
			frames[i].File = strings.Replace(frames[i].File, "/home/u/", "/build/ci/", 1)
			frames[i].Module = strings.Replace(frames[i].Module, "/opt/", "/tmp/", 1)
		}
		elsewhere.stacks[id] = frames
	}
	for name, got := range map[string]string{
		"address layout":         one(deadlock(ledger, till), moved),
		"mirrored":               one(mirrored, base),
		"threads, order of run":  one(other, base),
		"directory of the build": one(deadlock(ledger, till), elsewhere),
	} {
		if got != want {
			t.Errorf("%s changes the fingerprint", name)
		}
	}

	line := shopTable()
	line.stacks[2] = stackOf(src("sell", "/home/u/shop/shop.c", 23))
	renamed := shopTable()
	renamed.objects[ledger] = run.Object{Name: "book", Kind: event.KindMutex}
	for name, got := range map[string]string{
		"another line": one(deadlock(ledger, till), line),
		"another lock": one(deadlock(ledger, till), renamed),
		"a race":       one(race(), base),
	} {
		if got == want {
			t.Errorf("%s keeps the fingerprint", name)
		}
	}

	if one(deadlock(heapA, heapB), base) != one(deadlock(heapA, heapB), moved) {
		t.Error("locks without a name: the fingerprint depends on their addresses")
	}
	update := race()
	update.Evidence[0].Op = event.Update
	if one(update, base) != one(race(), base) {
		t.Error("n++ caught as a write and as an update are two fingerprints")
	}
}

func TestRaceUnderAReadLock(t *testing.T) {
	f := race()
	f.Evidence[1].Held, f.Evidence[1].HeldAt = []event.ObjectID{ledger}, []event.StackID{3}
	if got := Build(Run{}, []finding.Finding{f}, shopTable()).Findings[0].Message; !strings.Contains(got, "shares only a read lock with") {
		t.Error(got)
	}
}

func TestSketchAcquiresTheLocksOfTheCycle(t *testing.T) {
	f := deadlock(ledger, till)
	f.Witness, f.Confidence = nil, finding.Potential
	f.Evidence[0].Held = []event.ObjectID{heapA, ledger}
	f.Evidence[0].HeldAt = []event.StackID{7, 1}
	var got []string
	for _, s := range Build(Run{}, []finding.Finding{f}, shopTable()).Findings[0].Sketch {
		got = append(got, fmt.Sprint("T", s.Thread, " ", s.Op, " ", s.Object.Name, " ", s.Blocked))
	}
	want := []string{"T2 acquire ledger false", "T3 acquire till+0x8 false", "T2 acquire till+0x8 true", "T3 acquire ledger true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLongWitnessShowsWhatMatters(t *testing.T) {
	f := deadlock(ledger, till)
	noise := make([]finding.Step, 500)
	for i := range noise {
		noise[i] = finding.Step{Seq: uint64(100 + i), Thread: 1, Op: event.Read, Object: tickets, Stack: 5}
	}
	f.Witness = slices.Concat(f.Witness[:4], noise, f.Witness[4:])
	got := text(t, Build(Run{}, []finding.Finding{f}, shopTable()), TextOptions{})
	if lines := strings.Count(got, "\n"); lines > 60 {
		t.Errorf("%d lines", lines)
	}
	for _, part := range []string{"... 500 other steps", "waits for till+0x8", "locks ledger"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
}

func TestWithoutNamesOrLocations(t *testing.T) {
	bare := func(a, b event.ObjectID) finding.Finding {
		f := deadlock(a, b)
		for i := range f.Evidence {
			f.Evidence[i].Stack, f.Evidence[i].HeldAt = 0, nil
		}
		f.Witness = nil
		return f
	}
	r := Build(Run{Summary: run.Summary{Program: "trace"}}, []finding.Finding{bare(1, 2), bare(3, 4)}, nil)
	if len(r.Findings) != 2 {
		t.Fatalf("%d findings, want 2: nothing says they are the same", len(r.Findings))
	}
	golden(t, "bare-80.txt", []byte(text(t, r, TextOptions{})))
}

func TestMergeShowsTheStrongest(t *testing.T) {
	weak, twin, again := race(), race(), race()
	twin.Confidence, twin.Count, twin.Reason = finding.Predicted, 1, ""
	again.Evidence = slices.Clone(again.Evidence)
	again.Evidence[0].Seq, again.Count = 108, 2
	got := Build(Run{}, []finding.Finding{weak, twin, again}, shopTable()).Findings
	if len(got) != 1 {
		t.Fatalf("%d findings, want 1", len(got))
	}
	if got[0].Confidence != finding.Predicted || got[0].Reason != "" {
		t.Errorf("shown: %s (%s)", got[0].Confidence, got[0].Reason)
	}
	if got[0].Count != 5 { // weak and twin are the same 3 instances
		t.Errorf("count %d, want 5", got[0].Count)
	}
}

func drawFinding(t *rapid.T) finding.Finding {
	step := rapid.Custom(func(t *rapid.T) finding.Step {
		held := rapid.SliceOfN(rapid.Uint32Range(1, 6), 0, 2).Draw(t, "held")
		s := finding.Step{
			Seq:    uint64(rapid.IntRange(0, 30).Draw(t, "seq")),
			Thread: event.ThreadID(rapid.IntRange(1, 5).Draw(t, "thread")),
			Op:     event.Op(rapid.IntRange(0, int(event.NumOps)).Draw(t, "op")),
			Flags:  event.Flags(rapid.IntRange(0, 127).Draw(t, "flags")),
			Object: event.ObjectID(rapid.IntRange(0, 7).Draw(t, "object")),
			Stack:  event.StackID(rapid.IntRange(0, 12).Draw(t, "place")),
		}
		for _, h := range held {
			s.Held = append(s.Held, event.ObjectID(h))
			s.HeldAt = append(s.HeldAt, event.StackID(h))
		}
		return s
	})
	return finding.Finding{
		Kind:       rapid.SampledFrom([]finding.Kind{finding.Race, finding.Deadlock, finding.Misuse, "property"}).Draw(t, "kind"),
		Confidence: rapid.SampledFrom(confidences).Draw(t, "confidence"),
		Reason:     rapid.SampledFrom([]string{"", "a reason"}).Draw(t, "reason"),
		Objects:    []event.ObjectID{event.ObjectID(rapid.IntRange(1, 6).Draw(t, "object"))},
		Threads:    []event.ThreadID{1, 2},
		Evidence:   rapid.SliceOfN(step, 0, 3).Draw(t, "evidence"),
		Witness:    rapid.SliceOfN(step, 0, 60).Draw(t, "witness"),
		Count:      rapid.IntRange(0, 3).Draw(t, "count"),
	}
}

func TestOrderOfFindingsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := rapid.SliceOfN(rapid.Custom(drawFinding), 0, 8).Draw(t, "findings")
		shuffled := rapid.Permutation(fs).Draw(t, "shuffled")
		a, b := Build(shopRun(), fs, shopTable()), Build(shopRun(), shuffled, shopTable())
		var x, y, u, v bytes.Buffer
		if WriteJSON(&x, a) != nil || WriteJSON(&y, b) != nil || WriteText(&u, a, TextOptions{}) != nil || WriteText(&v, b, TextOptions{}) != nil {
			t.Fatal("cannot write")
		}
		if diff := cmp.Diff(x.String(), y.String()); diff != "" {
			t.Fatalf("JSON differs:\n%s", diff)
		}
		if u.String() != v.String() {
			t.Fatal("text differs")
		}
	})
}

func TestAnyWidthHolds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fs := rapid.SliceOfN(rapid.Custom(drawFinding), 1, 3).Draw(rt, "findings")
		width := rapid.IntRange(minWidth, 200).Draw(rt, "width")
		checkWidth(t, text(t, Build(shopRun(), fs, shopTable()), TextOptions{Width: width}), width)
		if t.Failed() {
			rt.Fatalf("at width %d", width)
		}
	})
}

func TestAnyNamesHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z:<>(), ]{0,90}`), rapid.StringMatching(`[a-z/]{0,90}`))
		tab := shopTable()
		tab.objects[tickets] = run.Object{Name: word.Draw(rt, "object"), Addr: rapid.Uint64().Draw(rt, "address")}
		tab.threads[2] = run.Thread{Start: word.Draw(rt, "start"), Name: word.Draw(rt, "comm")}
		for id := event.StackID(1); id < 8; id++ {
			tab.stacks[id] = []event.Frame{{
				Function: word.Draw(rt, "function"), File: word.Draw(rt, "file"),
				Line: rapid.IntRange(-1, 1<<40).Draw(rt, "line"), Module: word.Draw(rt, "module"),
			}}
		}
		run := Run{Summary: run.Summary{Program: word.Draw(rt, "program"), Notes: []string{word.Draw(rt, "note")}, Threads: -1, PID: -1}}
		r := Build(run, all(), tab)
		got := text(t, r, TextOptions{Width: rapid.IntRange(-1, 120).Draw(rt, "width")})
		for _, c := range got {
			if c != '\n' && !unicode.IsPrint(c) && c != '\uFFFD' {
				rt.Fatalf("%q in\n%s", c, got)
			}
		}
		if !json.Valid(writeJSON(t, r)) {
			rt.Fatal("not JSON")
		}
	})
}

func TestHostileNamesDoNotReachTheTerminal(t *testing.T) {
	tab := shopTable()
	tab.objects[tickets] = run.Object{Name: "t\x1b[31m\nick\xffets\u202e", Kind: event.KindVariable}
	tab.threads[2] = run.Thread{Name: "\x07\x1b]0;x"}
	run := shopRun()
	run.Program, run.Notes = "/opt/\x1b[2J", []string{"a\rb"}
	got := text(t, Build(run, []finding.Finding{race()}, tab), TextOptions{})
	for _, r := range got {
		if r != '\n' && (r < ' ' || r == 0x7f || r == 0x202e || r == 0xFFFD) {
			t.Fatalf("%q in\n%s", r, got)
		}
	}
	if !strings.Contains(got, `t\x1b[31m\x0aick\xffets\u202e`) {
		t.Errorf("the name is not shown:\n%s", got)
	}
}

// The run of a wrapper that executes another program is reported as a run of that program.
func TestHeadlineOfAProgramThatBecameAnother(t *testing.T) {
	observed := shopRun()
	observed.Program, observed.LastProgram = "/usr/bin/sh", "/opt/shop"
	r := Build(observed, nil, shopTable())
	want := "tracepredict: no findings in shop (pid 4242, started as sh): "
	if got := text(t, r, TextOptions{}); !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := string(writeJSON(t, r)); !strings.Contains(got, `"program":"/usr/bin/sh"`) || !strings.Contains(got, `"program":"/opt/shop"`) {
		t.Errorf("JSON:\n%s", got)
	}
	r.Run.Processes = make([]run.Process, 3)
	want = strings.Replace(want, "sh):", "sh) and 2 processes from it:", 1)
	if got := text(t, r, TextOptions{Width: 160}); !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestShortName(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"sell", 10, "sell"},
		{"a::Map<int, std::less<int>>::put(int)", 30, "a::Map<...>::put(int)"},
		{"a::operator<(a::T const&, int)", 24, "a::operator<(...)"},
		{"store::Table<int, long>::visit(std::function<void (int)>) const", 24, "store::Table<...>::visit"},
		{"store::Table<int, long>::visit(int)", 20, "...::visit"},
		{"store::part::Table<int>::visit(int)", 22, "...::Table<int>::visit"},
		{"store::visit_everything(int)", 13, "visit...thing"},
		{"store::visit(int)", 5, "visit"},
		{"(anonymous namespace)::visit(int)", 12, "(...)::visit"},
		{"abcdefghijklmnopqrstuvwxyz", 11, "abcd...wxyz"},
		{"线程线程线程线程", 9, "线...线程"},
		{"abcdef", 4, "abcd"},
		{"abc线程线线", 9, "abc...线"},
		{"abcdef", 0, ""},
	} {
		got := shortName(c.in, c.width)
		if got != c.want || ansi.StringWidth(got) > c.width {
			t.Errorf("shortName(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func FuzzShortName(f *testing.F) {
	f.Add("a<b>(c)", 5)
	f.Add("operator<<", 6)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width %= 100
		s = clean(s)
		if got := shortName(s, width); ansi.StringWidth(got) > max(width, 0) {
			t.Errorf("shortName(%q, %d) = %q", s, width, got)
		}
	})
}

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

// checkHostile checks that no name passes control characters to a terminal, makes JSON
// invalid, or makes a report long.
func checkHostile(t *testing.T, name string) {
	t.Helper()
	side := func(id event.ThreadID) finding.Step {
		return finding.Step{Seq: uint64(id), Thread: id, Op: event.Acquire, Object: 1, Stack: 1, Held: []event.ObjectID{2}, HeldAt: []event.StackID{2}}
	}
	run := Run{Properties: &Properties{}, Coverage: &Coverage{}, Suppressions: &Suppressions{}}
	fillTexts(reflect.ValueOf(&run).Elem(), name)
	run.Signal.Name, run.Events = "SIGSEGV", 1
	fs := []finding.Finding{
		{Kind: finding.Deadlock, Confidence: finding.Potential, Reason: name, Property: name, Objects: []event.ObjectID{1, 2}, Threads: []event.ThreadID{1, 2},
			Evidence: []finding.Step{side(1), side(2)}, Witness: []finding.Step{side(1), side(2)}, Assumes: []string{name}},
		{Kind: finding.Misuse, Confidence: finding.Observed, Message: name},
	}
	rep := Build(run, fs, hostileNames(name))
	var text, js bytes.Buffer
	if err := WriteText(&text, rep, TextOptions{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&js, rep); err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(js.Bytes()) || !json.Valid(js.Bytes()) {
		t.Errorf("%.80q: invalid JSON", name)
	}
	for _, out := range []string{text.String(), js.String()} {
		if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%.80q: %q gets through", name, out[i:min(len(out), i+8)])
		}
		if len(out) > 2<<20 {
			t.Errorf("%.80q: %d bytes", name, len(out))
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
	if got := Sanitize("a\x1b\nb\r\n"); got != `a\x1b`+"\nb"+`\x0d`+"\n" {
		t.Errorf("got %q", got)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("\x1b[2J")
	f.Add("ns::Queue<int, (anonymous namespace)::T>::depth")
	f.Fuzz(checkHostile)
}

func TestShorten(t *testing.T) {
	got := shorten([]string{"/a/b/x.c", "/a/c/x.c", "/q/c/x.c", "y.c", "/z/y.c", "/only.c"})
	want := names{
		"/a/b/x.c": "b/x.c", "/a/c/x.c": "a/c/x.c", "/q/c/x.c": "q/c/x.c",
		"y.c": "y.c", "/z/y.c": "z/y.c", "/only.c": "only.c",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrorsAreReported(t *testing.T) {
	if WriteJSON(failing{}, Report{}) == nil || WriteText(failing{}, Report{}, TextOptions{}) == nil {
		t.Error("a failed write was not reported")
	}
}

func TestPlainKeepsLinesAndNothingElse(t *testing.T) {
	for text, want := range map[string]string{
		"one\n\ttwo\n":              "one\n    two\n",
		"\x1b]0;title\a\x1b[2Jname": `\x1b]0;title\x07\x1b[2Jname`,
		"a\rb\x00\xff":              `a\x0db\x00\xff`,
		"größer":                    "größer",
		"right \u202e to left":      `right \u202e to left`,
	} {
		if got := Sanitize(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestPropertyShowsWhatHolds(t *testing.T) {
	truth := func(q bool) []finding.Truth { return []finding.Truth{{Name: "p", Holds: true}, {Name: "q", Holds: q}} }
	step := func(seq uint64, value uint64, q bool) finding.Step {
		return finding.Step{Seq: seq, Thread: 1, Op: event.Write, Object: 1, Stack: 1, Flags: event.HasValue, Value: value, Truth: truth(q)}
	}
	f := finding.Finding{
		Kind: finding.Property, Confidence: finding.Predicted, Order: finding.OrderSync, Property: "high_water", Message: "the valve opens too late",
		Evidence: []finding.Step{step(9, 31, true)},
		Witness:  []finding.Step{step(5, 27, false), {Seq: 6, Thread: 2, Op: event.Read, Object: 2}, step(9, 31, true)},
	}
	r := Build(Run{}, []finding.Finding{f}, table{objects: map[event.ObjectID]run.Object{1: {Name: "water", Kind: event.KindVariable}}})
	var text, out bytes.Buffer
	if err := WriteText(&text, r, TextOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"PROPERTY predicted (high_water)", "writes water = 27 {p, !q}", "writes water = 31 {p, q}"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text has no %q:\n%s", want, &text)
		}
	}
	if !strings.Contains(strings.Join(strings.Fields(out.String()), ""), `"propositions":{"p":true,"q":false}`) {
		t.Errorf("the JSON has no propositions:\n%s", &out)
	}
}

// TestNoSentenceTwice checks that a note, or a reason that several findings share, is written once.
func TestNoSentenceTwice(t *testing.T) {
	var fs []finding.Finding
	stacks := []event.StackID{5, 6, 7, 8, 10, 11} // races with a source location in common would be one finding
	for i, object := range []event.ObjectID{tickets, queue, heapA} {
		f := race()
		f.Objects = []event.ObjectID{object}
		f.Evidence = slices.Clone(f.Evidence)
		for k := range f.Evidence {
			f.Evidence[k].Object, f.Evidence[k].Stack = object, stacks[2*i+k]
			f.Evidence[k].Seq += uint64(i)
		}
		fs = append(fs, f)
	}
	const note = "nothing was recorded of it"
	out := strings.Join(strings.Fields(text(t, Build(Run{Summary: run.Summary{Notes: []string{note, "other", note}}}, fs, shopTable()), TextOptions{})), " ")
	for sentence, want := range map[string]int{note: 1, fs[0].Reason[len("the"):]: 1, "The reason is that of 1.": 2} {
		if got := strings.Count(out, sentence); got != want {
			t.Errorf("%q is written %d times, want %d:\n%s", sentence, got, want, out)
		}
	}
}
