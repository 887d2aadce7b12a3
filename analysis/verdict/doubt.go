package verdict

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Doubt returns a function for engine.Finish, which returns the reason why a finding of the run
// may be wrong even though it has a witness, "" if there is none. What one process synchronises
// unobserved is no reason to doubt a finding about the threads of others.
//
// With code, the assumption that sections which were left out or moved decide nothing is settled too:
// see guardedData. A finding whose
// witness rests on what was not recorded is Unrecorded then. code is nil if the run has all accesses, as an imported trace does.
func Doubt(s run.Summary, names run.Namer, code Code) func(*finding.Finding) string {
	until := map[event.ThreadID]uint64{}
	for _, u := range s.UncertainHolders {
		until[u.Thread] = u.Until
	}
	return func(f *finding.Finding) string {
		guarded := guardedData(f, code, s.Pointers != nil, names)
		if f.Unrecorded {
			return guarded // whatever else may be in doubt
		}
		if s.Doubt != "" {
			return s.Doubt
		}
		for _, e := range f.Evidence {
			if e.Seq <= until[e.Thread] {
				return mayHaveHeld(e.Thread)
			}
		}
		own := processesOf(f.Evidence, names)
		if i := slices.IndexFunc(f.Evidence, func(e finding.Step) bool { return e.Flags&event.Polled != 0 }); i >= 0 && f.Kind == finding.Race {
			return fmt.Sprintf("T%d waits for the value in a loop: it is no race if the accesses are those of atomic built-ins, which machine code does not show", f.Evidence[i].Thread)
		}
		if why := wider(f); why != "" {
			return why
		}
		if i := slices.IndexFunc(f.Evidence, func(e finding.Step) bool { return e.Flags&(event.Untyped|event.Atomic) == event.Untyped }); i >= 0 && f.Kind == finding.Race {
			return fmt.Sprintf("nothing shows whether the access of T%d, or what orders it, is atomic: its code has no debug information (compile with -g), or is too much to be searched", f.Evidence[i].Thread)
		}
		if f.Confidence == finding.Predicted {
			if why := cmp.Or(temporary(f), severalLives(f, names, untracked(s.Untracked, f, own)), acrossProcesses(own)); why != "" {
				return why
			}
		}
		for _, d := range s.Doubts {
			if concerns(d.Processes, own) {
				return d.Reason
			}
		}
		why := unseenOrder(inProcesses(s.Executed, own, names), f)
		if why == "" && len(f.Unexplained) > 0 {
			why = unexplained(&f.Unexplained[0], names)
		}
		if why == "" && len(f.OtherValues) > 0 {
			why = otherValue(&f.OtherValues[0], names)
		}
		if why != "" {
			return why
		}
		return guarded
	}
}

// unexplained returns the reason for doubt that a finding rests on an event which the record
// contradicts.
func unexplained(x *finding.Step, names run.Namer) string {
	at := ""
	if frames := names.Frames(x.Stack); len(frames) > 0 && frames[0].Line > 0 {
		at = fmt.Sprintf(" at %s:%d", path.Base(frames[0].File), frames[0].Line)
	} else if len(frames) > 0 && frames[0].Function != "" {
		at = " in " + frames[0].Function
	}
	object := names.Object(x.Object).Name
	switch x.Op {
	case event.SemWait:
		return fmt.Sprintf("T%d got past its wait for %s%s although no recorded post was left, and what posted may order any two events", x.Thread, cmp.Or(object, "a semaphore"), at)
	case event.Wake:
		return fmt.Sprintf("T%d woke from its wait on %s%s although no recorded notification was left, and what woke it may order any two events", x.Thread, cmp.Or(object, "a condition"), at)
	case event.BarrierDepart:
		return fmt.Sprintf("T%d left %s%s although fewer threads than it waits for were seen to arrive, and those not seen may order any two events", x.Thread, cmp.Or(object, "a barrier"), at)
	case event.Join:
		return fmt.Sprintf("T%d was joined twice, the second time%s, so that what its end orders is not known", x.Peer, at)
	}
	if x.Peer == x.Thread {
		return fmt.Sprintf("T%d went on%s after it had been joined, so that what its end orders is not known", x.Thread, at)
	}
	return fmt.Sprintf("T%d read a value of %s%s that no recorded write left, and what wrote it may order any two events", x.Thread, cmp.Or(object, "a variable"), at)
}

// wider returns the reason for doubt that the source may not read what the instruction of a race's load does.
func wider(f *finding.Finding) string {
	i := slices.IndexFunc(f.Evidence, func(e finding.Step) bool { return e.Flags&event.Wider != 0 })
	if i < 0 || f.Kind != finding.Race {
		return ""
	}
	return fmt.Sprintf("the instruction of T%d loads more bytes at once than this variable has: compilers join loads of neighbouring variables, and load whole vectors of which the source uses only some; it is no race if the source does not read the variable there (code compiled with -O0 shows it)", f.Evidence[i].Thread)
}

// temporary returns the reason for doubt that a wait of a deadlock has a time limit.
func temporary(f *finding.Finding) string {
	if f.Kind != finding.Deadlock || !f.HasTimeout {
		return ""
	}
	return cmp.Or(f.Reason, "a wait of this cycle has a time limit, after which its thread may let the others go on")
}

// acrossProcesses returns the reason for doubt that the threads of a finding are of several processes.
func acrossProcesses(own []uint32) string {
	if len(own) == 0 || !slices.ContainsFunc(own, func(id uint32) bool { return id != own[0] }) {
		return ""
	}
	return "the threads are of several processes, which may wait for each other by what is not recorded: a signal, a file, memory that they map"
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
func otherValue(read *finding.Step, names run.Namer) string {
	at := ""
	if frames := names.Frames(read.Stack); len(frames) > 0 && frames[0].Line > 0 {
		at = fmt.Sprintf(" at %s:%d", path.Base(frames[0].File), frames[0].Line)
	}
	return fmt.Sprintf("in this schedule T%d reads another value of %s%s than in this run, and it was not checked that it then does the same", read.Thread, cmp.Or(names.Object(read.Object).Name, "a variable"), at)
}
