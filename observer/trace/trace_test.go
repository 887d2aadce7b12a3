package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// sample is the content of a trace.
type sample struct {
	events  []event.Event
	names   *run.Names
	summary run.Summary
}

// write returns a file with a run, flushed after the events with the given numbers.
func write(t testing.TB, r sample, flushAfter ...int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, WriterOptions{Names: r.names, Start: func() run.Summary { return run.Summary{Program: r.summary.Program} }, FlushEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.events {
		w.Event(&r.events[i])
		for _, at := range flushAfter {
			if at == i {
				w.flushNow()
			}
		}
	}
	if err := w.Close(r.summary); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read returns the content of a file.
func read(file []byte) (sample, *Reader, error) {
	var got sample
	r, err := NewReader(bytes.NewReader(file), "t.trace")
	if err != nil {
		return got, nil, err
	}
	for {
		e := event.Event{Must: event.ClockOf(1)}
		err := r.Next(&e)
		if err == io.EOF {
			break
		}
		if err != nil {
			return got, r, err
		}
		e.Args = slices.Clone(e.Args)
		got.events = append(got.events, e)
	}
	got.names = r.Names()
	got.summary, _ = r.Summary()
	return got, r, nil
}

// smallRun returns a run that uses each part of the format.
func smallRun() sample {
	n := &run.Names{}
	n.AddThread(run.Thread{TID: 70, TGID: 70, Name: "shop", Main: true})
	n.AddThread(run.Thread{TID: 71, TGID: 70, Parent: 1, Created: 9, Start: "front_desk", Name: "shop"})
	n.AddObject(run.Object{Name: "stock", Addr: 0x4010, Kind: event.KindMutex, First: 7, FirstThread: 1})
	n.AddObject(run.Object{Name: "tickets", Addr: 0x4020, TGID: 70, Kind: event.KindVariable, Init: 8, FirstThread: 2})
	n.SetFrames(7, []event.Frame{{Function: "sell", File: "shop.c", Line: 20, Module: "/opt/shop", Offset: 4, Addr: 1 << 40},
		{Function: "front_desk", File: "shop.c", Line: 41, Module: "/opt/shop", Inlined: true}})
	n.SetFrames(8, nil)
	n.SetFrames(9, []event.Frame{{Module: "/opt/shop", Offset: 0x1130}})
	e := []event.Event{
		{Op: event.Begin, Thread: 1, Flags: event.Inferred},
		{Op: event.Fork, Thread: 1, Peer: 2, Stack: 9, Time: 1000},
		{Op: event.Begin, Thread: 2, Time: 900},
		{Op: event.Acquire, Thread: 2, Object: 1, Kind: event.KindMutex, Stack: 7, Time: 1100},
		{Op: event.Update, Thread: 2, Object: 2, Kind: event.KindVariable, Stack: 7, Time: 1200, Flags: event.HasValue, Value: 1<<64 - 1},
		{Op: event.Read, Thread: 2, Object: 2, Kind: event.KindVariable, Stack: 7, Time: 1201, Flags: event.HasValue | event.NoSource},
		{Op: event.Release, Thread: 2, Object: 1, Kind: event.KindMutex, Stack: 7, Time: 1300},
		{Op: event.End, Thread: 2, Time: 1400},
		{Op: event.Join, Thread: 1, Peer: 2, Time: 1<<64 - 1},
	}
	for i := range e {
		e[i].Seq = uint64(i + 1)
	}
	return sample{e, n, run.Summary{Program: "/opt/shop", PID: 70, Events: 9, Threads: 2, Duration: 12345, Notes: []string{"a note"}, Doubt: "a doubt",
		UncertainHolders: []run.UncertainHolder{{Thread: 1, Until: 3}}}}
}

// callsRun has calls and returns.
func callsRun() sample {
	r := smallRun()
	r.summary.NoteKinds = []plural.Note{plural.About("/lib/z.so", "%d {call|calls} of %s", 3, "z.so")}
	r.summary.Signal = &run.Signal{Number: 11, Name: "SIGSEGV"}
	r.names.AddFunc(event.Func{Name: "queue_put", Module: "/opt/shop", Params: []event.Param{{Name: "this", Type: "Queue *", Index: -1}, {Name: "v", Type: "int"}, {Name: "out", Index: 3, Stored: true}, {Name: "out", Index: 3, Stored: true, Element: 255}},
		Result: "int", ReturnsAddress: true, Life: event.LifeEnd, Patterns: []event.Pattern{{Pattern: "call queue_put(this, v)"}, {Pattern: "return queue_put", Return: true}}})
	r.names.AddFunc(event.Func{Name: "idle"})
	call := event.Event{Op: event.Call, Thread: 2, Object: 2, Kind: event.KindInstance, Func: 1, Stack: 7, Args: []uint64{1 << 40, 1<<64 - 3}}
	back := call
	back.Op, back.Object2, back.Flags, back.Value = event.Return, 1, event.HasValue, 1<<63
	more := call
	more.Args = []uint64{5, 6}
	r.events = append(r.events[:7:7], call, back, more, event.Event{Op: event.Call, Thread: 1, Func: 2})
	for i := range r.events {
		r.events[i].Seq = uint64(i + 1)
	}
	r.summary.Calls = []run.Calls{{Pattern: "call queue_put(this, v)", Events: 2, Objects: 1}, {Pattern: "return queue_put", Return: true, Events: 1}}
	return r
}

// TestCalls checks that functions, arguments and results are read as they were written.
func TestCalls(t *testing.T) {
	want := callsRun()
	for _, flushes := range [][]int{nil, {7}, {7, 8, 9}} {
		got, _, err := read(write(t, want, flushes...))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, want, got)
	}
}

// compare compares the content that was read with the content that was written.
func compare(t testing.TB, want, got sample) {
	t.Helper()
	if diff := cmp.Diff(want.events, got.events); diff != "" {
		t.Errorf("events: %s", diff)
	}
	if diff := cmp.Diff(want.summary, got.summary); diff != "" {
		t.Errorf("summary: %s", diff)
	}
	for i := range got.events {
		e := &got.events[i]
		for _, id := range []event.ThreadID{e.Thread, e.Peer} {
			if diff := cmp.Diff(want.names.Thread(id), got.names.Thread(id)); diff != "" {
				t.Errorf("thread %d: %s", id, diff)
			}
		}
		for _, id := range []event.ObjectID{e.Object, e.Object2} {
			o := want.names.Object(id)
			if diff := cmp.Diff(o, got.names.Object(id)); diff != "" {
				t.Errorf("object %d: %s", id, diff)
			}
			compareStack(t, want, got, o.Init)
			compareStack(t, want, got, o.First)
		}
		compareStack(t, want, got, e.Stack)
		if diff := cmp.Diff(want.names.Func(e.Func), got.names.Func(e.Func)); diff != "" {
			t.Errorf("function %d: %s", e.Func, diff)
		}
	}
}

func compareStack(t testing.TB, want, got sample, id event.StackID) {
	t.Helper()
	if diff := cmp.Diff(fmt.Sprint(want.names.Frames(id)), fmt.Sprint(got.names.Frames(id))); diff != "" {
		t.Errorf("stack %d: %s", id, diff)
	}
}

func TestSmall(t *testing.T) {
	want := smallRun()
	got, r, err := read(write(t, want, 2, 4))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, want, got)
	if _, whole := r.Summary(); !whole || r.Cut() != nil {
		t.Errorf("whole %v, cut %v", whole, r.Cut())
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want, flushes := randomRun(rt)
		got, _, err := read(write(t, want, flushes...))
		if err != nil {
			rt.Fatal(err)
		}
		compare(t, want, got)
	})
}

func randomRun(t *rapid.T) (sample, []int) {
	r := sample{names: &run.Names{}}
	text := rapid.SampledFrom([]string{"", "a", "b", "ü|\n", strings.Repeat("long", 300)})
	stack := rapid.Custom(func(t *rapid.T) event.StackID {
		return event.StackID(rapid.SampledFrom([]uint32{0, 1, 2, 3, 77, 1<<32 - 1}).Draw(t, "stack"))
	})
	word := rapid.Uint64()
	for _, id := range []event.StackID{1, 2, 3, 77, 1<<32 - 1} {
		var frames []event.Frame
		for range rapid.IntRange(0, 3).Draw(t, "frames") {
			frames = append(frames, event.Frame{Function: text.Draw(t, "function"), File: text.Draw(t, "file"), Line: rapid.IntRange(0, 1<<31).Draw(t, "line"), Start: rapid.IntRange(0, 3).Draw(t, "start"),
				Module: text.Draw(t, "module"), Offset: word.Draw(t, "offset"), Inlined: rapid.Bool().Draw(t, "inlined"), Addr: word.Draw(t, "addr")})
		}
		r.names.SetFrames(id, frames)
	}
	form := rapid.Custom(func(t *rapid.T) *event.Form {
		f := &event.Form{Class: event.FormClass(rapid.IntRange(0, 6).Draw(t, "class")), Bits: uint8(rapid.IntRange(1, 64).Draw(t, "bits"))}
		for range rapid.IntRange(0, 3).Draw(t, "names") {
			f.Names = append(f.Names, event.Name{Value: word.Draw(t, "value"), Text: text.Draw(t, "constant")})
		}
		f.Names = event.SortNames(f.Names)
		return rapid.SampledFrom([]*event.Form{nil, f}).Draw(t, "known")
	})
	nThreads, nObjects := rapid.IntRange(1, 5).Draw(t, "threads"), rapid.IntRange(1, 8).Draw(t, "objects")
	for range nThreads {
		r.names.AddThread(run.Thread{TID: rapid.Uint32().Draw(t, "tid"), TGID: rapid.Uint32().Draw(t, "tgid"), Created: stack.Draw(t, "created"),
			Parent: event.ThreadID(rapid.Uint32().Draw(t, "parent")), Start: text.Draw(t, "start"), Name: text.Draw(t, "name"), Main: rapid.Bool().Draw(t, "main")})
	}
	block := rapid.Custom(func(t *rapid.T) run.Block {
		if rapid.Bool().Draw(t, "no block") {
			return run.Block{}
		}
		size := rapid.Uint64Min(1).Draw(t, "size")
		return run.Block{Size: size, Offset: rapid.Uint64Max(size-1).Draw(t, "offset"), Thread: event.ThreadID(rapid.Uint32().Draw(t, "allocator")), Element: word.Draw(t, "element")}
	})
	for range nObjects {
		r.names.AddObject(run.Object{
			Name: text.Draw(t, "object"), Member: text.Draw(t, "member"), Class: text.Draw(t, "class"), Addr: word.Draw(t, "addr"),
			TGID: rapid.Uint32().Draw(t, "process"), Kind: event.Kind(rapid.Byte().Draw(t, "kind")), Init: stack.Draw(t, "init"), First: stack.Draw(t, "first"),
			FirstThread: event.ThreadID(rapid.Uint32().Draw(t, "by")), Form: form.Draw(t, "form"), Block: block.Draw(t, "block"),
		})
	}
	seq := uint64(0)
	for range rapid.IntRange(0, 30).Draw(t, "events") {
		seq += rapid.SampledFrom([]uint64{1, 1, 1, 1, 1, 5}).Draw(t, "step")
		e := event.Event{Seq: seq, Time: word.Draw(t, "time"), Op: event.Op(rapid.IntRange(1, int(event.NumOps)-1).Draw(t, "op")),
			Kind: event.Kind(rapid.Byte().Draw(t, "kind")), Flags: event.Flags(rapid.Uint32Max(uint32(event.AllFlags)).Draw(t, "flags")), Stack: stack.Draw(t, "stack"),
			Thread: event.ThreadID(rapid.IntRange(1, nThreads).Draw(t, "thread")), Peer: event.ThreadID(rapid.IntRange(1, nThreads).Draw(t, "peer")),
			Object: event.ObjectID(rapid.IntRange(1, nObjects).Draw(t, "object")), Object2: event.ObjectID(rapid.IntRange(0, nObjects).Draw(t, "object2"))}
		if e.Flags&event.HasValue != 0 {
			e.Value = word.Draw(t, "value")
		}
		if e.Op.IsCall() {
			e.Func = event.FuncID(rapid.IntRange(1, 2).Draw(t, "function"))
			if args := rapid.SliceOfN(word, 0, event.MaxArgs).Draw(t, "args"); len(args) > 0 {
				e.Args = args
			}
		}
		r.events = append(r.events, e)
	}
	r.names.AddFunc(event.Func{Name: text.Draw(t, "name"), Module: text.Draw(t, "module")})
	r.names.AddFunc(event.Func{Name: text.Draw(t, "name"), Result: text.Draw(t, "result"), ReturnsAddress: rapid.Bool().Draw(t, "makes"), Params: []event.Param{{Name: text.Draw(t, "param"), Index: rapid.IntRange(-1, 1<<12-1).Draw(t, "index")},
		{Index: rapid.IntRange(0, 1<<12-1).Draw(t, "stored"), Stored: true, Element: rapid.IntRange(0, 255).Draw(t, "element")}}})
	r.summary = run.Summary{Program: text.Draw(t, "program"), Events: word.Draw(t, "recorded")}
	return r, rapid.SliceOfN(rapid.IntRange(0, 30), 0, 5).Draw(t, "flushes")
}

// TestCut cuts a file at each byte. All events of the whole blocks must be read, with their
// names, and the Reader must report what is missing. Without a whole block nothing is known
// about the run, which is an error.
func TestCut(t *testing.T) {
	want := smallRun()
	file := write(t, want, 2, 4)
	first := headerSize + blockHeaderSize + int(binary.LittleEndian.Uint32(file[headerSize+16:]))
	for n := range first {
		var wrong *Error
		if _, r, err := read(file[:n]); !errors.As(err, &wrong) && n > 0 || r != nil && r.Cut() != nil {
			t.Fatalf("cut at %d, inside the first block: %v", n, err)
		}
	}
	counts := map[int]bool{}
	for n := first; n < len(file); n++ {
		got, r, err := read(file[:n])
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		c := r.Cut()
		if c == nil || c.After != uint64(len(got.events)) || c.Offset+c.Dropped != int64(n) || !strings.Contains(c.String(), "cut short after event") {
			t.Fatalf("cut at %d: %d events, %+v", n, len(got.events), c)
		}
		if _, whole := r.Summary(); whole {
			t.Fatalf("cut at %d: the summary is whole", n)
		}
		counts[len(got.events)] = true
		part := want
		part.events, part.summary = want.events[:len(got.events)], got.summary
		if len(part.events) == 0 {
			part.events = nil
		} else if got.summary.Program != "/opt/shop" {
			t.Errorf("cut at %d: the program is %q", n, got.summary.Program)
		}
		compare(t, part, got)
	}
	if diff := cmp.Diff(map[int]bool{3: true, 5: true, 9: true}, counts); diff != "" {
		t.Errorf("events read: %s", diff)
	}
}

// TestFlipped damages each byte. The Reader must report an error with its offset, and the
// events read before must be right.
func TestFlipped(t *testing.T) {
	want := smallRun()
	file := write(t, want, 2, 4)
	for at := range file {
		for _, mask := range []byte{1, 0x10, 0x80, 0xff} {
			bad := bytes.Clone(file)
			bad[at] ^= mask
			got, _, err := read(bad)
			var wrong *Error
			if !errors.As(err, &wrong) || wrong.Offset > int64(at) || wrong.Name != "t.trace" || !strings.HasPrefix(err.Error(), "t.trace: at byte ") {
				t.Fatalf("byte %d flipped by %#x: %v", at, mask, err)
			}
			if diff := cmp.Diff(want.events[:len(got.events)], got.events); len(got.events) > 0 && diff != "" {
				t.Fatalf("byte %d flipped by %#x: %s", at, mask, diff)
			}
		}
	}
}

func TestGarbageAfterTheEnd(t *testing.T) {
	file := write(t, smallRun())
	for _, more := range []string{"x", strings.Repeat("y", 100), string(file)} {
		_, _, err := read(append(bytes.Clone(file), more...))
		if err == nil || !strings.Contains(err.Error(), "after the end") {
			t.Errorf("%d bytes more: %v", len(more), err)
		}
	}
}

func TestVersion(t *testing.T) {
	file := write(t, smallRun())
	file[8] = 2
	binary.LittleEndian.PutUint32(file[12:], checksum(file[:12]))
	_, _, err := read(file)
	if err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Error(err)
	}
}

var encoder = sync.OnceValue(func() *zstd.Encoder {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err)
	}
	return enc
})

// block makes a file of one block with the given sections.
func block(h blockHeader, sections ...[]byte) []byte {
	raw := bytes.Join(sections, nil)
	b := encoder().EncodeAll(raw, make([]byte, blockHeaderSize))
	if h.raw == 0 {
		h.raw = uint32(len(raw))
	}
	fillBlockHeader(b, h)
	return append(header(), b...)
}

// TestHostile reads traces that no Writer writes, with checksums that match.
func TestHostile(t *testing.T) {
	threads := appendCounted(nil, sectionThreads, []byte{0, 0, 0, 0, 0, 0, 0}, 1, 1)
	objects := appendCounted(nil, sectionObjects, []byte{2, 0, 0, 0, 0, 0, 0}, 1, 1)
	kind := func(b ...byte) []byte { return appendSection(nil, sectionKinds, b) }
	index := appendSection(nil, sectionIndex, []byte{0})
	times := appendSection(nil, sectionTimes, []byte{0})
	begin := []byte{byte(event.Begin), 0, 0, 1, 0, 0, 0, 0}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"size", block(blockHeader{raw: maxRaw + 1}), "too large"},
		{"raw", block(blockHeader{raw: 77}, threads), "decompressed"},
		{"flags", block(blockHeader{flags: 2}), "unknown flags"},
		{"section", block(blockHeader{}, []byte{1, 200, 1}), "beyond its block"},
		{"strings", block(blockHeader{}, []byte{1, 2, 9, 1}), "names"},
		{"string number", block(blockHeader{}, appendCounted(nil, sectionObjects, []byte{2, 5, 0, 0, 0, 0, 0}, 1, 1)), "names"},
		{"object gap", block(blockHeader{}, appendCounted(nil, sectionObjects, []byte{2, 0, 0, 0, 0, 0, 0}, 1<<30, 1)), "named from"},
		{"thread gap", block(blockHeader{}, appendCounted(nil, sectionThreads, []byte{0, 0, 0, 0, 0, 0, 0}, 9, 1)), "named from"},
		{"object count", block(blockHeader{}, appendCounted(nil, sectionObjects, nil, 1, 1<<40)), "names"},
		{"frames", block(blockHeader{}, appendCounted(nil, sectionStacks, []byte{1, 0xff, 0xff, 0x7f}, 1)), "names"},
		{"summary", block(blockHeader{}, appendSection(nil, sectionSummary, []byte("{"))), "summary"},
		{"no columns", block(blockHeader{events: 1, first: 1}, threads), "less than"},
		{"too much", block(blockHeader{events: 1, first: 1}, threads, kind(begin...), index, times, appendSection(nil, sectionValues, []byte{1})), "more than"},
		{"kind", block(blockHeader{events: 1, first: 1}, threads, kind(begin...), appendSection(nil, sectionIndex, []byte{3}), times), "of a kind"},
		{"operation", block(blockHeader{events: 1, first: 1}, threads, kind(200, 0, 0, 1, 0, 0, 0, 0), index, times), "unknown operation"},
		{"thread", block(blockHeader{events: 1, first: 1}, threads, kind(byte(event.Begin), 0, 0, 2, 0, 0, 0, 0), index, times), "threads 2 and 0 of 1"},
		{"no peer", block(blockHeader{events: 1, first: 1}, threads, kind(byte(event.Join), 0, 0, 1, 0, 0, 0, 0), index, times), "other thread"},
		{"no object", block(blockHeader{events: 1, first: 1}, threads, kind(byte(event.Read), 0, 0, 1, 0, 0, 0, 0), index, times), "without an object"},
		{"object", block(blockHeader{events: 1, first: 1}, threads, objects, kind(byte(event.Read), 0, 0, 1, 0, 4, 0, 0), index, times), "objects 2 and 0 of 1"},
		{"forms cut", block(blockHeader{}, objects, appendSection(nil, sectionForms, []byte{1, 0, 8})), "what the block says of values"},
		{"form count", block(blockHeader{}, objects, appendSection(nil, sectionForms, []byte{0xff, 0xff, 0x7f})), "what the block says of values"},
		{"form of no bits", block(blockHeader{}, objects, appendSection(nil, sectionForms, []byte{1, 0, 0, 0, 0})), "what the block says of values"},
		{"form of 65 bits", block(blockHeader{}, objects, appendSection(nil, sectionForms, []byte{1, 0, 65, 0, 0})), "what the block says of values"},
		{"form names disordered", block(blockHeader{}, objects, appendSection(nil, sectionForms, []byte{1, 0, 8, 2, 3, 0, 3, 0, 0})), "what the block says of values"},
		{"form of too many names", block(blockHeader{}, objects, appendSection(nil, sectionForms, []byte{1, 0, 8, 0xff, 0x7f})), "what the block says of values"},
		{"form of an unknown object", block(blockHeader{}, objects, appendSection(nil, sectionForms, []byte{1, 0, 8, 0, 1, 2, 1})), "what the block says of values"},
		{"unknown form", block(blockHeader{}, objects, appendSection(nil, sectionForms, []byte{1, 0, 8, 0, 1, 1, 2})), "what the block says of values"},
		{"after the forms", block(blockHeader{}, objects, appendSection(nil, sectionForms, []byte{1, 0, 8, 0, 1, 1, 1, 9})), "what the block says of values"},
		{"starts cut", block(blockHeader{}, appendSection(nil, sectionStarts, []byte{1, 7})), "functions' first lines"},
		{"starts of an unknown stack", block(blockHeader{}, appendSection(nil, sectionStarts, []byte{1, 7, 1, 20})), "functions' first lines"},
		{"after the starts", block(blockHeader{}, appendSection(nil, sectionStarts, []byte{1, 7, 0, 20})), "functions' first lines"},
		{"order", append(block(blockHeader{events: 1, first: 7}, threads, kind(begin...), index, times),
			block(blockHeader{events: 1, first: 7}, kind(begin...), index, times)[headerSize:]...), "number 7"},
	} {
		_, _, err := read(c.file)
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestManyNames has more names than one block takes.
func TestManyNames(t *testing.T) {
	want := sample{names: &run.Names{}}
	want.names.AddThread(run.Thread{})
	for i := range 3000 {
		stack := event.StackID(i + 1)
		want.names.AddObject(run.Object{Name: fmt.Sprint(i, strings.Repeat("x", 1000)), First: stack})
		want.names.SetFrames(stack, []event.Frame{{Function: fmt.Sprint("f", i)}})
		want.events = append(want.events, event.Event{Seq: uint64(i + 1), Thread: 1, Op: event.Init, Object: event.ObjectID(i + 1), Stack: stack})
	}
	got, _, err := read(write(t, want))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, want, got)
}

// TestLongNames checks that Shorten cuts a long name between two characters.
func TestLongNames(t *testing.T) {
	for _, s := range []string{"short", strings.Repeat("é", maxString), "a" + strings.Repeat("é", maxString), strings.Repeat("\x80", 2*maxString)} {
		got := Shorten(s)
		if len(got) > maxString || len(s) <= maxString && got != s || strings.HasPrefix(s, "é") && !strings.HasSuffix(got, "é…") {
			t.Errorf("%d bytes become %d", len(s), len(got))
		}
	}
}

// failing is a disk that is full after some writes.
type failing struct{ left int }

var errFull = errors.New("no space left on device")

func (f *failing) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriteError(t *testing.T) {
	w, err := NewWriter(&failing{}, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(run.Summary{}); !errors.Is(err, errFull) {
		t.Errorf("no room for the header: %v", err)
	}
	if w, err = NewWriter(&failing{left: 2}, WriterOptions{FlushEvery: -1}); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(40 * blockEvents) {
		w.Event(&event.Event{Seq: i + 1, Thread: 1, Op: event.Acquire, Object: 1})
	}
	err = w.Close(run.Summary{})
	if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "ends after event 65536") {
		t.Error(err)
	}
}

// TestNothingIsWrittenBeforeABlock checks that a trace leaves a file as it is until there is something of the run to
// write, and that one without events is a trace.
func TestNothingIsWrittenBeforeABlock(t *testing.T) {
	for name, end := range map[string]func(*Writer) error{
		"closed": func(w *Writer) error { return w.Close(run.Summary{}) },
		"cut":    (*Writer).CloseCut,
	} {
		var out bytes.Buffer
		w, err := NewWriter(&out, WriterOptions{FlushEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		w.Drain()
		if out.Len() != 0 {
			t.Errorf("%s: %d bytes before there is a block", name, out.Len())
		}
		if err := end(w); err != nil || !IsTrace(out.Bytes()) {
			t.Errorf("%s: %v, %d bytes", name, err, out.Len())
		}
	}
}

func TestReadError(t *testing.T) {
	file := write(t, smallRun(), 2)
	for n := range len(file) {
		r, err := NewReader(io.MultiReader(bytes.NewReader(file[:n]), broken{}), "t.trace")
		for e := (event.Event{}); err == nil; {
			err = r.Next(&e)
		}
		if !errors.Is(err, errFull) && n > 0 {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errFull }

func FuzzReader(f *testing.F) {
	file := write(f, smallRun(), 2, 4)
	f.Add(file)
	f.Add(file[:len(file)/2])
	f.Add(header())
	f.Add(write(f, callsRun(), 8))
	r, err := NewReader(bytes.NewReader(write(f, callsRun())), "")
	if err != nil || r.block() != nil {
		f.Fatal(err)
	}
	f.Add(append([]byte{9, 1, 0}, r.raw...)) // in the form of mend's argument
	formed := appendCounted(nil, sectionObjects, []byte{1, 0, 0, 0, 0, 0, 0}, 1, 1)
	f.Add(slices.Concat([]byte{0, 0, 1, 1, 5, 4, 'O', 'P', 'E', 'N'}, formed, []byte{sectionForms, 9, 1, 0, 8, 1, 7, 1, 1, 1, 1}))
	f.Fuzz(func(t *testing.T, file []byte) {
		read(file)
		read(mend(file))
	})
}

// mend returns a file with valid checksums, so that the Reader also decodes the data that they
// cover. Its argument is three bytes (number of events, first event, flags) and the payload of
// one block, not compressed.
func mend(raw []byte) []byte {
	if len(raw) < 8 {
		return raw
	}
	return block(blockHeader{events: uint32(raw[0]), first: uint64(raw[1]), flags: uint32(raw[2] & 1)}, raw[3:])
}
