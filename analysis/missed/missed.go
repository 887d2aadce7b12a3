// Package missed finds wake-ups that a thread misses in another schedule: a signal that comes after the thread has decided to
// sleep and before it sleeps, and a store to an atomic variable that nobody is notified of (atomic.go).
//
// A thread that sleeps until a signal handler has run (event.Pause) decides to by what it has read before, and no mask of
// signals keeps the signal back between the two: a signal that woke it in this run may come then, and the handler returns
// before the sleep begins. The thread then sleeps for ever, unless another signal comes.
//
// No search is needed for a schedule: in the run up to the signal, the thread does nothing from where it falls asleep on.
// So its sleep may as well begin after the signal.
//
// The input is the events of a run; the output one finding for each such sleep, by call stacks. A signal is no candidate
//
//   - if another one may come: the thread got two while it slept, or one was sent to it later that does not come after its
//     wake in every schedule;
//   - if its sender may send it again: after the signal, and before it has joined the thread, the sender reads what that
//     thread has written since, or the time limit of a wait of it is over;
//   - if the thread does nothing behind its sleep but sleep again: then its handlers do all the work.
//
// Memory is bounded by the threads that sleep so, and by maxWritten variables for each.
package missed

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/observer/event"
)

// The bounds of what is kept.
const (
	maxWritten  = 256 // variables that a thread has written since it fell asleep
	maxChannels = 1 << 12
	maxMissed   = 64
)

// Analysis is a finding.Analysis.
type Analysis struct {
	sent   map[event.ObjectID]signal // by channel: the last two signals
	sleeps map[event.ThreadID]*sleep
	open   []*sleep                    // those that are over, and may be candidates
	sender map[event.ThreadID][]*sleep // the sleeps that a signal has reached, by its sender
}

// signal is the last signal that was sent on a channel, and the number of the one before it.
type signal struct {
	step   finding.Step
	before uint64
}

// sleep is a thread's sleep, and what ended it.
type sleep struct {
	pause   finding.Step
	signal  finding.Step // Seq is 0: none is known
	on      []event.ObjectID
	written []event.ObjectID // since its beginning
	slot    uint32
	resumed event.Epoch // 0: it has not ended
	onward  bool        // the thread has gone on to something else
	other   bool        // it is no candidate
	joined  bool        // the sender sends no more
}

// Part is an Analysis as a part.Part, which also finds stores that nobody is notified of.
type Part struct {
	part.Base
	shared  *part.Shared
	signals *Analysis
	atomics atomics
}

// NewPart returns the part of a run that has not begun.
func NewPart(shared *part.Shared) *Part {
	return &Part{shared: shared, signals: New(), atomics: atomics{stores: map[event.ObjectID]store{}, pairs: map[pair]*missedStore{}, loads: map[place]uint64{}}}
}

// Event implements part.Part.
func (p *Part) Event(e *event.Event) {
	p.signals.Event(e)
	if e.Op.IsAccess() {
		p.atomics.event(e)
	}
}

// Remember implements part.Part.
func (p *Part) Remember(n *event.Names) {
	p.signals.Remember(n)
	p.atomics.remember(n)
}

// Finish implements part.Part.
func (p *Part) Finish(out *part.Outcome) {
	out.Add(p.signals.Finish()...)
	out.Add(p.atomics.finish(&p.shared.Known)...)
}

// New returns the analysis of a run that has not begun.
func New() *Analysis {
	return &Analysis{sent: map[event.ObjectID]signal{}, sleeps: map[event.ThreadID]*sleep{}, sender: map[event.ThreadID][]*sleep{}}
}

// Event implements finding.Analysis.
func (a *Analysis) Event(e *event.Event) {
	switch {
	case e.Op == event.Send && e.Kind == event.KindChannel:
		a.send(e)
		return
	case e.Op == event.Pause:
		a.pause(e)
		return
	case len(a.sleeps) == 0:
		return
	}
	if s := a.sleeps[e.Thread]; s != nil {
		a.bySleeper(s, e)
	}
	if of := a.sender[e.Thread]; len(of) > 0 {
		bySender(of, e)
	}
}

// send takes a message or a signal.
func (a *Analysis) send(e *event.Event) {
	last, known := a.sent[e.Object]
	if !known && len(a.sent) >= maxChannels {
		return
	}
	a.sent[e.Object] = signal{finding.StepOf(e), last.step.Seq}
	for _, s := range a.open {
		if slices.Contains(s.on, e.Object) && !e.Before(s.slot, s.resumed) {
			s.other = true // it may come in any case
		}
	}
}

// pause begins a sleep.
func (a *Analysis) pause(e *event.Event) {
	if s := a.sleeps[e.Thread]; s != nil && !s.onward {
		s.other = true
	}
	a.sleeps[e.Thread] = &sleep{pause: finding.StepOf(e), slot: e.Slot, other: e.Flags&event.AfterHole != 0}
}

// bySleeper takes an event of a thread whose latest sleep is s.
func (a *Analysis) bySleeper(s *sleep, e *event.Event) {
	switch {
	case e.Op == event.Resume:
		a.resume(s, e)
		return
	case s.resumed != 0:
		s.onward = true
	case e.Op == event.Receive:
		a.receive(s, e)
	}
	if e.Op.IsWrite() && len(s.written) < maxWritten && !slices.Contains(s.written, e.Object) {
		s.written = append(s.written, e.Object)
	}
}

// receive takes a signal that comes to a thread in its sleep.
func (a *Analysis) receive(s *sleep, e *event.Event) {
	s.on = append(s.on, e.Object)
	last := a.sent[e.Object]
	switch {
	case last.step.Seq < s.pause.Seq:
		return // another channel of the same signal
	case s.signal.Seq != 0, last.before > s.pause.Seq, last.step.Thread == e.Thread:
		s.other = true
		return
	}
	s.signal = last.step
	a.sender[last.step.Thread] = append(a.sender[last.step.Thread], s)
}

// resume ends a sleep.
func (a *Analysis) resume(s *sleep, e *event.Event) {
	if s.resumed = max(e.Epoch, 1); s.signal.Seq == 0 || e.Flags&event.AfterHole != 0 {
		s.other = true
	}
	if !s.other && len(a.open) < maxMissed {
		a.open = append(a.open, s)
	}
}

// bySender takes an event of the thread that sent the signals by which these sleeps ended.
func bySender(of []*sleep, e *event.Event) {
	for _, s := range of {
		switch {
		case s.joined:
		case e.Op == event.Join && e.Peer == s.pause.Thread:
			s.joined = true
		case (e.Op == event.Read || e.Op == event.Update) && slices.Contains(s.written, e.Object),
			e.Flags&event.TimedOut != 0, e.Op == event.SemFailed && e.Flags&event.Timed != 0:
			s.other = true
		}
	}
}

// Remember adds the threads, objects and call stacks that findings may name.
func (a *Analysis) Remember(n *event.Names) {
	for _, s := range a.sleeps {
		s.pause.Remember(n)
		s.signal.Remember(n)
	}
	for _, s := range a.open {
		s.pause.Remember(n)
		s.signal.Remember(n)
	}
	for _, s := range a.sent {
		s.step.Remember(n)
	}
}

// Finish implements finding.Analysis.
func (a *Analysis) Finish() (out []finding.Finding) {
	for _, s := range a.open {
		if s.other || !s.onward {
			continue
		}
		at := slices.IndexFunc(out, func(f finding.Finding) bool {
			return f.Evidence[0].Stack == s.pause.Stack && f.Lost[0].Stack == s.signal.Stack
		})
		if at >= 0 {
			out[at].Count++
			continue
		}
		s.pause.Blocked = true
		f := finding.Finding{
			Kind: finding.Deadlock, Confidence: finding.Likely, Reason: reason.Reason{What: reason.AnotherSignal}, NoCycle: true, Count: 1,
			Evidence: []finding.Step{s.pause}, Lost: []finding.Step{s.signal},
		}
		f.AddSides()
		f.Objects = []event.ObjectID{s.signal.Object}
		out = append(out, f)
	}
	return out
}
