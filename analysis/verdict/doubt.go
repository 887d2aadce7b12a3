package verdict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Doubt returns a function for engine.Finish, which returns the reason why a finding of the run
// may be wrong even though it has a witness. What one process synchronises
// unobserved is no reason to doubt a finding about the threads of others.
//
// With code, the assumption that sections which were left out or moved decide nothing is settled too:
// see guardedData. A finding whose
// witness rests on what was not recorded is Unrecorded then. code is nil if the run has all accesses, as an imported trace does.
func Doubt(s run.Summary, names run.Namer, code Code) func(*finding.Finding) reason.Reason {
	until := map[event.ThreadID]uint64{}
	for _, u := range s.UncertainHolders {
		until[u.Thread] = u.Until
	}
	return func(f *finding.Finding) reason.Reason {
		guarded := guardedData(f, code, s.Pointers != nil, names)
		if f.Unrecorded {
			return guarded // whatever else may be in doubt
		}
		if s.Doubt != "" {
			return reason.Noted(s.Doubt)
		}
		for _, e := range f.Evidence {
			if e.Seq <= until[e.Thread] {
				return reason.Reason{What: reason.HeldBefore, Thread: e.Thread}
			}
		}
		own := processesOf(f.Evidence, names)
		if why := unintended(f); why.Given() {
			return why
		}
		if f.Confidence == finding.Predicted {
			if why := firstOf(temporary(f), severalLives(f, names, untracked(s.Untracked, f, own)), acrossProcesses(own)); why.Given() {
				return why
			}
		}
		for _, d := range s.Doubts {
			if concerns(d.Processes, own) {
				return reason.Noted(d.Reason)
			}
		}
		why := unseenOrder(inProcesses(s.Executed, own, names), f)
		if !why.Given() && len(f.Unexplained) > 0 {
			why = unexplained(&f.Unexplained[0])
		}
		if !why.Given() && len(f.OtherValues) > 0 {
			why = otherValue(&f.OtherValues[0])
		}
		return firstOf(why, guarded, triesAgain(f))
	}
}

// firstOf returns the first reason that there is.
func firstOf(all ...reason.Reason) reason.Reason {
	for _, r := range all {
		if r.Given() {
			return r
		}
	}
	return reason.Reason{}
}

// unexplained returns the reason for doubt that a finding rests on an event which the record
// contradicts.
func unexplained(x *finding.Step) reason.Reason {
	r := reason.Reason{What: reason.WriteMissing, Thread: x.Thread, Object: x.Object, Stack: x.Stack}
	switch {
	case x.Op == event.SemWait:
		r.What = reason.PostMissing
	case x.Op == event.Wake:
		r.What = reason.NotifyMissing
	case x.Op == event.BarrierDepart:
		r.What = reason.ArrivalMissing
	case x.Op == event.Join:
		r.What, r.Thread = reason.JoinedTwice, x.Peer
	case x.Peer == x.Thread:
		r.What = reason.WentOnJoined
	}
	return r
}

// Harmless returns the reason why what a finding says may be no error even if it happens; none if there is no such reason.
func Harmless(f *finding.Finding) reason.Reason {
	if f.Reason.What == reason.Learned || f.Reason.What == reason.PerhapsFlag {
		return f.Reason
	}
	return firstOf(unintended(f), temporary(f))
}

// unintended returns the reason for doubt that the source may not say what the instructions of a race do: its accesses may
// be atomic ones, or read less.
func unintended(f *finding.Finding) reason.Reason {
	if f.Kind != finding.Race {
		return reason.Reason{}
	}
	for _, doubt := range []struct {
		what      reason.What
		mask, set event.Flags
	}{
		{reason.PerhapsWaits, event.Polled, event.Polled},
		{reason.PerhapsWider, event.Wider, event.Wider},
		{reason.PerhapsAtomic, event.Untyped | event.Atomic, event.Untyped},
	} {
		if i := slices.IndexFunc(f.Evidence, func(e finding.Step) bool { return e.Flags&doubt.mask == doubt.set }); i >= 0 {
			return reason.Reason{What: doubt.what, Thread: f.Evidence[i].Thread}
		}
	}
	return reason.Reason{}
}

// temporary returns the reason for doubt that a wait of a deadlock has a time limit.
func temporary(f *finding.Finding) reason.Reason {
	if f.Kind != finding.Deadlock || !f.HasTimeout {
		return reason.Reason{}
	}
	return firstOf(f.Reason, reason.Reason{What: reason.TimedCycle})
}

// triesAgain returns the reason for doubt that a thread of a deadlock does not wait, but tries again and again.
func triesAgain(f *finding.Finding) reason.Reason {
	if f.Kind != finding.Deadlock {
		return reason.Reason{}
	}
	for i := range f.Evidence {
		if s := &f.Evidence[i]; s.Op.IsAcquire() && s.Flags&event.Repeated != 0 {
			return reason.Reason{What: reason.TriesAgain, Thread: s.Thread, Object: s.Object, Stack: s.Stack}
		}
	}
	return reason.Reason{}
}

// acrossProcesses returns the reason for doubt that the threads of a finding are of several processes.
func acrossProcesses(own []uint32) reason.Reason {
	if len(own) == 0 || !slices.ContainsFunc(own, func(id uint32) bool { return id != own[0] }) {
		return reason.Reason{}
	}
	return reason.Reason{What: reason.SeveralProcesses}
}

// processesOf returns the kernel's IDs of the processes of the evidence's threads; nil if the process
// of one of them is unknown.
func processesOf(evidence []finding.Step, names run.Namer) []uint32 {
	var ids []uint32
	for _, e := range evidence {
		id := names.Thread(e.Thread).TGID
		if id == 0 {
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}

// concerns reports whether what happens in some processes concerns others; nil is any process.
func concerns(processes, others []uint32) bool {
	return len(processes) == 0 || len(others) == 0 ||
		slices.ContainsFunc(processes, func(id uint32) bool { return slices.Contains(others, id) })
}

// otherValue returns the reason for doubt that a read sees another value in a schedule than in the run.
func otherValue(read *finding.Step) reason.Reason {
	return reason.Reason{What: reason.OtherValue, Thread: read.Thread, Object: read.Object, Stack: read.Stack}
}
