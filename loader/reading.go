package loader

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/stacks"
)

// startReading starts to pass records to the handler.
func (s *Session) startReading() {
	if s.unnamed != nil {
		s.unnamed.run()
	}
	if s.thinner != nil {
		s.thinner.run()
	}
	s.tender.run()
	safely.Go(s.finder.Run, s.fail)
	safely.Go(func() {
		defer close(s.readDone)
		s.readErr = s.tracer.Ring.Run(&filter{s: s, copies: stacks.Collector{}}, s.stop)
	}, s.fail)
}

// filter handles the records that concern the session itself, and passes the others on.
// The reader alone uses it.
type filter struct {
	s               *Session
	pastEnd         bool   // a record later than Session.end has been read
	lostLifeRecords uint64 // Tracer.LostLifeRecords at Idle's last look for libraries
	copies          stacks.Collector
}

func (f *filter) Record(r *bpf.Record) {
	if f.afterEnd(r) && bpf.Op(r.Op) != bpf.OpHole { // it may report losses from before the end
		return
	}
	if bpf.Op(r.Op) == bpf.OpLibrary { // a library was mapped or unmapped
		if r.Result != 0 { // the tracer holds the thread, see loaded
			return
		}
		f.s.noteUnsynced(int(r.Tgid), f.s.syncLate(int(r.Tgid), r.Time))
		return
	}
	f.s.anchorEnded(r)
	if f.s.lifetimeByRecord(r) {
		f.s.handleLifetime(r)
	}
	if bpf.Op(r.Op) == bpf.OpUnseen && r.Result == bpf.UnseenCosts {
		f.s.unseen.remove(r.Object)
	}
	if f.s.atomics.discards(r) || f.s.leftOut(r) {
		return
	}
	if bpf.Op(r.Op) == bpf.OpHeapCost {
		if !f.s.heap.cost(r) {
			return
		}
		f.s.thinner.end() // what is used again would be taken for what was there before

		removed := *r // the record itself is read-only
		removed.Result = 1
		r = &removed
	}
	f.s.opts.Handler.Record(r)
}

// afterEnd reports whether a record came after the end of the observation. The kernel needs
// milliseconds to remove the probes. All records from the first late one on are discarded, so
// that those before it are a trace without gaps.
func (f *filter) afterEnd(r *bpf.Record) bool {
	if end := f.s.end.Load(); end != 0 && r.Time > end {
		f.pastEnd = true
	}
	return f.pastEnd
}

func (f *filter) Call(r *bpf.CallRecord) {
	if !f.afterEnd(&r.Head) {
		f.s.opts.Handler.Call(r)
	}
}

// Part adds a part of a copied stack.
func (f *filter) Part(p *bpf.StackPart) { f.copies.Part(p) }

func (f *filter) Stack(r *bpf.StackRecord) {
	f.s.finder.Add(f.copies.Finish(r))
	f.s.opts.Handler.Stack(r)
}

func (f *filter) Idle() {
	if n := f.s.tracer.LostLifeRecords(); n != f.lostLifeRecords {
		// The lost records may include that of a library that was mapped.
		f.lostLifeRecords = n
		for _, pid := range f.s.livePIDs() {
			f.s.noteUnsynced(pid, f.s.syncLate(pid, monotonic()))
		}
	}
	if f.s.opts.Follow && (!f.s.traced || f.s.yields.any.Load()) {
		f.s.findLateLibraries()
	}
	f.s.opts.Handler.Idle()
}

// CallStack returns the call stack of an ID, innermost frame first: the address of the event,
// and then return addresses, as far as they can be found. It waits until the call stack has been
// found.
func (s *Session) CallStack(id uint32) []uint64 { return s.finder.CallStack(id) }

// FoundCallStack returns the same as CallStack if the call stack has been found, and does not wait for it.
func (s *Session) FoundCallStack(id uint32) (pcs []uint64, found bool) { return s.finder.Found(id) }

// CallStackCounts returns the number of call stack IDs, and of those whose call stack reaches
// the first function of its thread or of the program.
func (s *Session) CallStackCounts() (total, complete int) { return s.finder.Counts() }

// reportLost passes to the handler, as records of OpHole, the numbers of events that were lost
// after the last record of their thread.
func (s *Session) reportLost() error {
	lines, err := s.tracer.LostByThread()
	for _, tid := range slices.Sorted(maps.Keys(lines)) {
		line := lines[tid]
		s.opts.Handler.Record(&bpf.Record{Time: monotonic(), Op: uint8(bpf.OpHole), Tid: tid, Tgid: line.Tgid, Value: line.Records})
	}
	return err
}
