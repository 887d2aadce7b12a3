package observer

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// counter reads the clocks of events, as an analysis does.
type counter struct {
	must *clock.Must
	n    int
}

func (c *counter) Event(e *event.Event) {
	c.n++
	own := *e
	c.must.Stamp(&own)
	c.must.Done(&own)
}

// FuzzRawRecords passes any bytes as records, stacks and tasks: decreasing times, unknown
// sites and operations, any loss. All getters must work afterwards, and the number of events
// must not exceed what the records can have made.
func FuzzRawRecords(f *testing.F) {
	size := binary.Size(bpf.Record{})
	for _, b := range []byte{0, 1, 0x7f, 0xff} {
		f.Add(bytes.Repeat([]byte{b}, 4*size), true)
	}
	ramp := make([]byte, 40*size)
	for i := range ramp {
		ramp[i] = byte(i * i / 7)
	}
	f.Add(ramp, false)
	f.Fuzz(func(t *testing.T, data []byte, attached bool) {
		if len(data) > 256*size {
			return
		}
		c := &counter{must: clock.New()}
		opts := Options{Sites: site, Sinks: []Sink{c}, Attached: attached}
		if !attached {
			opts.Past = func(*event.Event) {}
		}
		o := New(opts)
		in := bytes.NewReader(data)
		records := 0
		for {
			var r bpf.Record
			if binary.Read(in, binary.LittleEndian, &r) != nil {
				break
			}
			records++
			switch r.Op {
			case 0xfe:
				o.Stack(&bpf.StackRecord{Stack: r.Stack, Site: r.Site, Caller: r.Object})
			case 0xff:
				o.AddTask(bpf.TaskLine{Tid: r.Tid, Tgid: r.Tgid, ThreadPointer: r.Object}, 0, false)
			default:
				o.Record(&r)
			}
			o.StackOf(event.StackID(r.Value))
			o.ObjectInfo(event.ObjectID(r.Value))
			o.ThreadInfo(event.ThreadID(r.Value))
		}
		o.Finish()
		s := o.Stats()
		if s.Threads > 3*records+1 || s.Events != uint64(c.n) {
			t.Errorf("%d threads and %d events (%d seen) of %d records", s.Threads, s.Events, c.n, records)
		}
	})
}

// TestPastOfNoAccess: a record of any operation may have the flag of accesses of the past.
func TestPastOfNoAccess(t *testing.T) {
	o := New(Options{Sites: site, Past: func(*event.Event) {}})
	for op := range 256 {
		o.Record(&bpf.Record{Op: uint8(op), Flags: bpf.RecPast, Tid: 11, Tgid: 11, Time: 1, Object: 0x7f0000001000})
	}
}
