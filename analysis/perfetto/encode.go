package perfetto

import (
	"bufio"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tracepredict/tracepredict/observer/event"
)

// A Perfetto trace is the message Trace of protos/perfetto/trace/trace.proto in
// github.com/google/perfetto. The encoder writes only these messages and fields, each with
// its number in the schema:
//
//	Trace              packet 1
//	TracePacket        timestamp 8 (ns), trusted_packet_sequence_id 10, track_event 11,
//	                   interned_data 12, sequence_flags 13, track_descriptor 60,
//	                   first_packet_on_sequence 87
//	TrackDescriptor    uuid 1, process 3, thread 4, parent_uuid 5
//	ProcessDescriptor  pid 1, process_name 6
//	ThreadDescriptor   pid 1, tid 2, legacy_sort_index 3, thread_name 5
//	TrackEvent         category_iids 3, debug_annotations 4, type 9, name_iid 10,
//	                   track_uuid 11, categories 22, name 23, flow_ids 47,
//	                   terminating_flow_ids 48
//	DebugAnnotation    name_iid 1, uint_value 3, string_value 6, name 10
//	InternedData       event_categories 1, event_names 2, debug_annotation_names 3
//	EventCategory, EventName, DebugAnnotationName
//	                   iid 1, name 2
//
// They are few and stable (TrackEvent is Perfetto's public interface), so the encoder uses
// protowire directly: generated types would be larger than all other code for the format.
const (
	tracePacket protowire.Number = 1

	packetTime       protowire.Number = 8
	packetSequence   protowire.Number = 10
	packetTrackEvent protowire.Number = 11
	packetInterned   protowire.Number = 12
	packetFlags      protowire.Number = 13
	packetTrack      protowire.Number = 60
	packetFirst      protowire.Number = 87

	trackUUID    protowire.Number = 1
	trackProcess protowire.Number = 3
	trackThread  protowire.Number = 4
	trackParent  protowire.Number = 5

	processPID  protowire.Number = 1
	processName protowire.Number = 6

	threadPID  protowire.Number = 1
	threadTID  protowire.Number = 2
	threadSort protowire.Number = 3
	threadName protowire.Number = 5

	eventCategory      protowire.Number = 3
	eventAnnotation    protowire.Number = 4
	eventType          protowire.Number = 9
	eventName          protowire.Number = 10
	eventTrack         protowire.Number = 11
	eventPlainCategory protowire.Number = 22
	eventPlainName     protowire.Number = 23
	eventFlow          protowire.Number = 47
	eventFlowEnd       protowire.Number = 48

	annotationName      protowire.Number = 1
	annotationNumber    protowire.Number = 3
	annotationText      protowire.Number = 6
	annotationPlainName protowire.Number = 10

	internedCategory   protowire.Number = 1
	internedName       protowire.Number = 2
	internedAnnotation protowire.Number = 3

	entryID   protowire.Number = 1
	entryName protowire.Number = 2
)

// The values of TrackEvent.Type.
const (
	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
)

// The values of TracePacket.SequenceFlags, and the number of the only sequence of packets.
const (
	stateCleared = 1
	needsState   = 2
	sequence     = 1
)

// processTrack is the identifier of the process's track. The identifier of a thread's track
// is the thread's number, which is smaller and not 0.
const processTrack = 1 << 32

// maxInterned bounds the different names that are interned. A run may name any number of
// objects; further names are written in each event.
const maxInterned = 1 << 16

// trackEvent is one event on the track of a thread.
type trackEvent struct {
	typ            uint64
	track          event.ThreadID
	time           int64 // ns
	name, category string
	starts, ends   uint64 // flows; 0: none
	args           arguments
}

// arguments are the properties of a slice or an instant that the viewer shows.
type arguments []argument

type argument struct {
	key, text string
	number    uint64 // the value if text is ""
}

// interned has the texts that events refer to by number.
type interned struct {
	entry, ref, plain protowire.Number // fields of a new entry, of a reference, and of a text that is not interned
	ids               map[string]uint64
}

// encoder writes packets.
type encoder struct {
	out                           *bufio.Writer
	names, categories, keys       interned
	begun                         bool
	packet, body, sub, entry, tag []byte // buffers, reused since a run has millions of events
	fresh                         []byte // the InternedData of the next packet
}

func newEncoder(out *bufio.Writer) encoder {
	table := func(entry, ref, plain protowire.Number) interned {
		return interned{entry, ref, plain, map[string]uint64{}}
	}
	return encoder{
		out:        out,
		names:      table(internedName, eventName, eventPlainName),
		categories: table(internedCategory, eventCategory, eventPlainCategory),
		keys:       table(internedAnnotation, annotationName, annotationPlainName),
	}
}

func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

// text appends a string. Names come from the observed program: bytes that are not UTF-8 are
// replaced.
func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), strings.ToValidUTF8(s, "\uFFFD"))
}

func message(b []byte, field protowire.Number, body []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), body)
}

func flow(b []byte, field protowire.Number, id uint64) []byte {
	if id == 0 {
		return b
	}
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), id)
}

// intern appends a reference to a text. If the text is new, it is added to the packet's
// InternedData.
func (e *encoder) intern(b []byte, in *interned, s string) []byte {
	id, known := in.ids[s]
	if !known {
		if len(in.ids) >= maxInterned {
			return text(b, in.plain, s)
		}
		id = uint64(len(in.ids)) + 1
		in.ids[s] = id
		e.entry = text(number(e.entry[:0], entryID, id), entryName, s)
		e.fresh = message(e.fresh, in.entry, e.entry)
	}
	return number(b, in.ref, id)
}

// process declares the track of the process.
func (e *encoder) process(pid int, name string) {
	e.sub = text(number(e.sub[:0], processPID, uint64(pid)), processName, name)
	e.body = message(number(e.body[:0], trackUUID, processTrack), trackProcess, e.sub)
	e.write(message(e.packet[:0], packetTrack, e.body))
}

// thread declares the track of a thread.
func (e *encoder) thread(pid int, id event.ThreadID, name string) {
	e.sub = number(number(e.sub[:0], threadPID, uint64(pid)), threadTID, uint64(id))
	e.sub = text(number(e.sub, threadSort, uint64(id)), threadName, name)
	e.body = number(number(e.body[:0], trackUUID, uint64(id)), trackParent, processTrack)
	e.body = message(e.body, trackThread, e.sub)
	e.write(message(e.packet[:0], packetTrack, e.body))
}

// event writes an event.
func (e *encoder) event(ev trackEvent) {
	b := number(number(e.body[:0], eventType, ev.typ), eventTrack, uint64(ev.track))
	if ev.name != "" {
		b = e.intern(b, &e.names, ev.name)
	}
	if ev.category != "" {
		b = e.intern(b, &e.categories, ev.category)
	}
	b = flow(flow(b, eventFlow, ev.starts), eventFlowEnd, ev.ends)
	for _, a := range ev.args {
		e.sub = e.intern(e.sub[:0], &e.keys, a.key)
		if a.text != "" {
			e.sub = text(e.sub, annotationText, a.text)
		} else {
			e.sub = number(e.sub, annotationNumber, a.number)
		}
		b = message(b, eventAnnotation, e.sub)
	}
	e.body = b
	p := message(number(e.packet[:0], packetTime, uint64(ev.time)), packetTrackEvent, b)
	if len(e.fresh) > 0 {
		p = message(p, packetInterned, e.fresh)
		e.fresh = e.fresh[:0]
	}
	e.write(p)
}

// write completes a packet with the fields of its sequence, and writes it.
func (e *encoder) write(p []byte) {
	p = number(p, packetSequence, sequence)
	if e.begun {
		p = number(p, packetFlags, needsState)
	} else {
		p = number(number(p, packetFlags, stateCleared), packetFirst, 1)
	}
	e.begun, e.packet = true, p
	e.tag = protowire.AppendVarint(protowire.AppendTag(e.tag[:0], tracePacket, protowire.BytesType), uint64(len(p)))
	_, _ = e.out.Write(e.tag) // bufio keeps the first error for Flush
	_, _ = e.out.Write(p)
}
