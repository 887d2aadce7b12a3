package perfetto

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// The tests read the wire form with their own table of the schema, which is that of
// protos/perfetto/trace in github.com/google/perfetto: what field a number is, and of which
// message.
var schema = map[string]map[protowire.Number]string{
	"Trace": {1: "packet TracePacket"},
	"TracePacket": {
		8: "timestamp", 10: "trusted_packet_sequence_id", 11: "track_event TrackEvent", 12: "interned_data InternedData",
		13: "sequence_flags", 60: "track_descriptor TrackDescriptor", 87: "first_packet_on_sequence",
	},
	"TrackDescriptor":   {1: "uuid", 3: "process ProcessDescriptor", 4: "thread ThreadDescriptor", 5: "parent_uuid"},
	"ProcessDescriptor": {1: "pid", 6: "process_name string"},
	"ThreadDescriptor":  {1: "pid", 2: "tid", 3: "legacy_sort_index", 5: "thread_name string"},
	"TrackEvent": {
		3: "category_iids", 4: "debug_annotations DebugAnnotation", 9: "type", 10: "name_iid", 11: "track_uuid",
		22: "categories string", 23: "name string", 47: "flow_ids fixed64", 48: "terminating_flow_ids fixed64",
	},
	"DebugAnnotation": {1: "name_iid", 3: "uint_value", 6: "string_value string", 10: "name string"},
	"InternedData":    {1: "event_categories Entry", 2: "event_names Entry", 3: "debug_annotation_names Entry"},
	"Entry":           {1: "iid", 2: "name string"},
}

// field is one field of a message as it was read; sub is nil of one that is no message.
type field struct {
	name   string
	number uint64
	text   string
	sub    fields
}

type fields []field

// one returns the field of a name, and whether there is one.
func (fs fields) one(name string) (field, bool) {
	i := slices.IndexFunc(fs, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return fs[i], true
}

func decode(message string, b []byte) (fields, error) {
	out := fields{}
	for len(b) > 0 {
		num, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, fmt.Errorf("%s: %w", message, protowire.ParseError(n))
		}
		b = b[n:]
		name, kind, _ := strings.Cut(schema[message][num], " ")
		want, plain := map[string]protowire.Type{"": protowire.VarintType, "fixed64": protowire.Fixed64Type}[kind]
		if !plain {
			want = protowire.BytesType
		}
		if name == "" || want != wire {
			return nil, fmt.Errorf("%s has field %d of wire type %d", message, num, wire)
		}
		f := field{name: name}
		switch wire {
		case protowire.VarintType:
			f.number, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.number, n = protowire.ConsumeFixed64(b)
		default:
			var raw []byte
			raw, n = protowire.ConsumeBytes(b)
			f.text = string(raw)
			if kind != "string" && n >= 0 {
				var err error
				if f.sub, err = decode(kind, raw); err != nil {
					return nil, err
				}
			} else if !utf8.Valid(raw) {
				return nil, fmt.Errorf("%s.%s is not UTF-8: %q", message, name, raw)
			}
		}
		if n < 0 {
			return nil, fmt.Errorf("%s.%s: %w", message, name, protowire.ParseError(n))
		}
		b, out = b[n:], append(out, f)
	}
	return out, nil
}

// element is a packet as a viewer reads it: a track, or an event on one.
type element struct {
	kind         string // "process", "thread", "begin", "end", "instant"
	track        uint64
	name, cat    string
	time         uint64
	starts, ends uint64
	args         []string // "key=value"
}

// viewed is a whole file as a viewer reads it; the viewer keeps the interned texts.
func viewed(file []byte) ([]element, error) {
	trace, err := decode("Trace", file)
	if err != nil {
		return nil, err
	}
	var all []element
	known := map[string]string{}
	for i, p := range trace {
		sequence, _ := p.sub.one("trusted_packet_sequence_id")
		flags, _ := p.sub.one("sequence_flags")
		if want := uint64(min(i, 1) + 1); sequence.number != 1 || flags.number != want {
			return nil, fmt.Errorf("packet %d: sequence %d, flags %d", i, sequence.number, flags.number)
		}
		if data, ok := p.sub.one("interned_data"); ok {
			for _, e := range data.sub {
				id, _ := e.sub.one("iid")
				name, _ := e.sub.one("name")
				key := fmt.Sprint(e.name, id.number)
				if _, again := known[key]; again || id.number == 0 {
					return nil, fmt.Errorf("packet %d: entry %s again", i, key)
				}
				known[key] = name.text
			}
		}
		e, err := viewedPacket(p.sub, known)
		if err != nil {
			return nil, fmt.Errorf("packet %d: %w", i, err)
		}
		all = append(all, e)
	}
	return all, nil
}

func viewedPacket(p fields, known map[string]string) (element, error) {
	var e element
	if d, ok := p.one("track_descriptor"); ok {
		uuid, _ := d.sub.one("uuid")
		e.kind, e.track = "process", uuid.number
		about, ok := d.sub.one("process")
		if !ok {
			e.kind = "thread"
			about, _ = d.sub.one("thread")
		}
		for _, f := range about.sub {
			e.args = append(e.args, fmt.Sprintf("%s=%s", f.name, value(f)))
		}
		return e, nil
	}
	event, _ := p.one("track_event")
	at, timed := p.one("timestamp")
	e.time = at.number
	for _, f := range event.sub {
		switch f.name {
		case "type":
			e.kind = []string{"", "begin", "end", "instant"}[min(f.number, 3)]
		case "track_uuid":
			e.track = f.number
		case "name_iid":
			e.name = known[fmt.Sprint("event_names", f.number)]
		case "name":
			e.name = f.text
		case "category_iids":
			e.cat = known[fmt.Sprint("event_categories", f.number)]
		case "flow_ids":
			e.starts = f.number
		case "terminating_flow_ids":
			e.ends = f.number
		case "debug_annotations":
			key := known[fmt.Sprint("debug_annotation_names", f.sub[0].number)]
			e.args = append(e.args, fmt.Sprintf("%s=%s", key, value(f.sub[1])))
		}
	}
	if !timed || e.kind == "" || (e.name == "" || e.cat == "") != (e.kind == "end") {
		return e, fmt.Errorf("the event lacks a field: %+v", e)
	}
	return e, nil
}

func value(f field) string {
	if f.text != "" {
		return f.text
	}
	return fmt.Sprint(f.number)
}

func (e element) String() string {
	s := fmt.Sprint(e.track, " ", e.kind)
	if e.name != "" {
		s += " " + e.name
	}
	if e.time != 0 {
		s += fmt.Sprintf(" @%d", e.time)
	}
	if e.starts != 0 {
		s += fmt.Sprintf(" flow %d>", e.starts)
	}
	if e.ends != 0 {
		s += fmt.Sprintf(" >flow %d", e.ends)
	}
	return strings.Join(append([]string{s}, e.args...), " ")
}

func written(t fataler, opts Options, events []event.Event) []byte {
	t.Helper()
	var out bytes.Buffer
	w := New(&out, opts)
	for i := range events {
		w.Event(&events[i])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func draw(t fataler, opts Options, events []event.Event) []element {
	t.Helper()
	all, err := viewed(written(t, opts, events))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

type fataler interface {
	Helper()
	Fatal(...any)
}

// check checks what viewers require of a file: tracks are declared once and before their
// events, slices begin and end on their track in the order of time, and flows have both ends,
// the source first.
func check(all []element) error {
	open, last, flows := map[uint64]int{}, map[uint64]uint64{}, map[uint64]string{}
	declared := map[uint64]bool{}
	for i, e := range all {
		if e.kind == "process" || e.kind == "thread" {
			if declared[e.track] || e.track == 0 || (i == 0) != (e.kind == "process") {
				return fmt.Errorf("element %d declares a track again, or too late: %v", i, e)
			}
			declared[e.track] = true
			continue
		}
		if !declared[e.track] || e.time < last[e.track] {
			return fmt.Errorf("element %d goes back in time, or has no track: %v", i, e)
		}
		last[e.track] = e.time
		switch e.kind {
		case "begin":
			open[e.track]++
		case "end":
			open[e.track]--
		}
		if open[e.track] < 0 || open[e.track] == 0 && e.kind == "instant" {
			return fmt.Errorf("element %d lies outside of its thread's life: %v", i, e)
		}
		if e.starts != 0 {
			flows[e.starts] += "s"
		}
		if e.ends != 0 {
			flows[e.ends] += "f"
		}
	}
	for track, n := range open {
		if n > 0 {
			return fmt.Errorf("%d slices of track %d do not end", n, track)
		}
	}
	for id, f := range flows {
		if f != "sf" && f != "s" {
			return fmt.Errorf("flow %d has ends %q", id, f)
		}
	}
	return nil
}

type table struct{}

func (table) Object(id event.ObjectID) run.Object {
	return run.Object{Name: []string{"", "stock", "", "tickets"}[id], Addr: uint64(id) << 12}
}

func (table) Func(event.FuncID) event.Func { return event.Func{} }

func (table) Thread(id event.ThreadID) run.Thread {
	return run.Thread{Main: id == 1, Start: map[event.ThreadID]string{2: "desk"}[id]}
}

func (table) Frames(event.StackID) []event.Frame {
	return []event.Frame{{Function: "pthread_mutex_lock", Module: "/lib/libc.so.6"}, {Function: "sell", File: "/src/shop.c", Line: 20}}
}

func TestTimeline(t *testing.T) {
	events := []event.Event{
		{Op: event.Begin, Thread: 1},
		{Op: event.Fork, Thread: 1, Peer: 2, Stack: 1, Time: 1000},
		{Op: event.Begin, Thread: 2, Time: 1100},
		{Op: event.Acquire, Thread: 1, Object: 1, Time: 2000, Stack: 1},
		{Op: event.Acquire, Thread: 1, Object: 2, Kind: event.KindMutex, Time: 3000},
		{Op: event.Release, Thread: 1, Object: 1, Time: 4000},
		{Op: event.Acquire, Thread: 2, Object: 1, Time: 4500},
		{Op: event.Write, Thread: 2, Object: 3, Time: 4600, Flags: event.HasValue, Value: 7},
		{Op: event.Release, Thread: 2, Object: 1, Time: 4700},
		{Op: event.Wait, Thread: 2, Object: 2, Kind: event.KindCond, Time: 4800},
		{Op: event.Wake, Thread: 2, Object: 2, Kind: event.KindCond, Time: 4900},
		{Op: event.End, Thread: 2, Time: 5000},
		{Op: event.Join, Thread: 1, Peer: 2, Time: 6000},
	}
	all := draw(t, Options{Names: table{}, Program: "/opt/shop", PID: 70}, events)
	if err := check(all); err != nil {
		t.Error(err)
	}
	var got []string
	for _, e := range all {
		got = append(got, e.String())
	}
	want := `4294967296 process pid=70 process_name=shop
1 thread pid=70 tid=1 legacy_sort_index=1 thread_name=T1 main thread
1 begin T1 main thread @1000
1 instant starts T2 desk @1001 flow 1> at=sell shop.c:20
2 thread pid=70 tid=2 legacy_sort_index=2 thread_name=T2 desk
2 begin T2 desk @1101 >flow 1
1 begin stock @2001 at=sell shop.c:20
1 begin mutex 0x2000 @3001
1 end @4001
1 end @4001
1 begin mutex 0x2000 @4001
2 begin may wait for stock @2001 held by=T1
2 end @4501
2 begin stock @4501
2 instant write tickets @4601 value=7
2 end @4701
2 begin waits for condition 0x2000 @4801
2 end @4901
2 instant ends @5001 flow 2>
2 end @5001
1 begin joins T2 desk @4001
1 end @6001
1 instant joined T2 desk @6001 >flow 2
1 end @6001
1 end @6001`
	if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestInterned checks that a repeated name is in the file once, or each time beyond the bound,
// and that bytes that are not UTF-8 are replaced.
func TestInterned(t *testing.T) {
	events := []event.Event{{Op: event.Begin, Thread: 1}}
	for range 3 {
		events = append(events, event.Event{Op: event.Acquire, Thread: 1, Object: 4}, event.Event{Op: event.Release, Thread: 1, Object: 4})
	}
	file := written(t, Options{Names: hostile{}}, events)
	if n := bytes.Count(file, []byte("lock\uFFFD")); n != 1 {
		t.Errorf("the name is there %d times", n)
	}
	var out bytes.Buffer
	w := New(&out, Options{})
	for i := range maxInterned + 10 {
		w.Event(&event.Event{Op: event.Write, Thread: 1, Object: event.ObjectID(i + 1), Kind: event.KindVariable})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := viewed(out.Bytes())
	if err == nil {
		err = check(all)
	}
	if last := all[len(all)-2]; err != nil || last.name != fmt.Sprintf("write variable #%d", maxInterned+10) {
		t.Errorf("%v, the last is %v", err, last)
	}
	if len(w.names.ids) != maxInterned {
		t.Errorf("%d names are kept", len(w.names.ids))
	}
}

type hostile struct{ table }

func (hostile) Object(event.ObjectID) run.Object { return run.Object{Name: "lock\xff"} }

// TestNothingIsAllocated checks that events whose names are known cause no allocation.
func TestNothingIsAllocated(t *testing.T) {
	e := newEncoder(bufio.NewWriter(io.Discard))
	args := arguments{{key: "at", text: "f x.c:1"}}
	if n := testing.AllocsPerRun(100, func() {
		e.event(trackEvent{typ: sliceBegin, track: 1, time: 5, name: "m", category: "lock", starts: 7, args: args})
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestClocksDiffer has a previous holder that acquired the lock later, by the clock of its
// processor. The timeline must not show a wait, which would have a negative length.
func TestClocksDiffer(t *testing.T) {
	for _, since := range []uint64{2001, 2999, 9000} {
		all := draw(t, Options{}, []event.Event{
			{Op: event.Begin, Thread: 1, Time: 1000},
			{Op: event.Begin, Thread: 2, Time: 1000},
			{Op: event.Acquire, Thread: 2, Object: 1, Kind: event.KindMutex, Time: since},
			{Op: event.Release, Thread: 2, Object: 1, Kind: event.KindMutex, Time: since},
			{Op: event.Acquire, Thread: 1, Object: 1, Kind: event.KindMutex, Time: 2000},
			{Op: event.End, Thread: 2, Time: since + 1},
			{Op: event.End, Thread: 1, Time: since + 1},
		})
		if err := check(all); err != nil {
			t.Error(err)
		}
		for _, e := range all {
			if strings.HasPrefix(e.name, "may wait") {
				t.Errorf("acquired before at %d: %v", since, e)
			}
		}
	}
}

// TestAnyRun writes timelines of any events that a trace may contain, feasible or not.
func TestAnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []event.Event
		times := rapid.Bool().Draw(t, "times")
		for i := range rapid.IntRange(0, 60).Draw(t, "events") {
			e := event.Event{Seq: uint64(i + 1), Op: event.Op(rapid.IntRange(1, int(event.NumOps)-1).Draw(t, "op")),
				Thread: event.ThreadID(rapid.IntRange(1, 4).Draw(t, "thread")), Peer: event.ThreadID(rapid.IntRange(1, 4).Draw(t, "peer")),
				Object: event.ObjectID(rapid.IntRange(1, 3).Draw(t, "object"))}
			if times {
				e.Time = rapid.Uint64Range(0, 10_000).Draw(t, "time")
			}
			events = append(events, e)
		}
		if err := check(draw(t, Options{}, events)); err != nil {
			t.Fatal(err)
		}
	})
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteError(t *testing.T) {
	if err := New(full{}, Options{}).Close(); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// TestCalls checks that a call and its return are a slice. Calls that an exception left end
// with the call around them, and the slice of a held lock continues.
func TestCalls(t *testing.T) {
	funcs := func(id event.FuncID) event.Func {
		f := event.Func{Name: fmt.Sprintf("f%d", id), Params: []event.Param{{Name: "n"}}, Patterns: []event.Pattern{{Pattern: "call f"}}}
		if id < 3 {
			f.Patterns = append(f.Patterns, event.Pattern{Pattern: "return f", Return: true})
		}
		return f
	}
	call := func(op event.Op, id event.FuncID, time uint64) event.Event {
		return event.Event{Op: op, Thread: 1, Func: id, Kind: event.KindInstance, Time: time, Args: []uint64{1<<64 - 5}}
	}
	all := draw(t, Options{Funcs: funcs}, []event.Event{
		{Op: event.Begin, Thread: 1, Time: 1000},
		call(event.Call, 1, 2000), call(event.Call, 2, 3000), {Op: event.Acquire, Thread: 1, Object: 9, Kind: event.KindMutex, Time: 3500},
		call(event.Call, 3, 4000), call(event.Return, 1, 5000), call(event.Return, 2, 6000),
		{Op: event.End, Thread: 1, Time: 7000},
	})
	if err := check(all); err != nil {
		t.Error(err)
	}
	var got []string
	for _, e := range all[2:] {
		e.track, e.time = 0, 0
		got = append(got, strings.TrimPrefix(e.String(), "0 "))
	}
	want := []string{
		"begin T1", "begin f1 n=-5", "begin f2 n=-5", "begin mutex #9", "instant call f3 n=-5",
		"end", "end", "end", "begin mutex #9", "instant return f2 n=-5", "instant ends flow 1>", "end", "end",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
