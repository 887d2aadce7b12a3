package report

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/observer/event"
)

// waitsFor returns a phrase for what a thread waits for.
func waitsFor(s Step) string {
	switch {
	case s.Op == event.Join && s.Peer != 0:
		return fmt.Sprintf("waits for T%d to end", s.Peer)
	case s.Op == event.Join:
		return "waits for a thread to end"
	case s.Op == event.AcquireRead && s.Flags&event.Repeated != 0:
		return "tries again and again to read " + Quoted(s.Object)
	case s.Op.IsAcquire() && s.Flags&event.Repeated != 0:
		return "tries again and again to lock " + Quoted(s.Object)
	case s.Op == event.AcquireRead || s.Op == event.AcquireAgain:
		return "waits to read " + Quoted(s.Object)
	case s.Object == nil && s.Op == event.Wait: // musl's condition variables do not show the address
		return "waits to be woken"
	case s.Op == event.Wait:
		return "waits on " + Quoted(s.Object)
	case s.Op == event.BarrierArrive:
		return "waits at " + Quoted(s.Object)
	case s.Op == event.Pause:
		return "sleeps"
	case s.Op.IsAccess():
		return "waits until " + Quoted(s.Object) + " changes"
	case s.Op == event.OnceEnter:
		return "waits until " + Quoted(s.Object) + " is initialised"
	}
	return "waits for " + Quoted(s.Object) + readers(s)
}

// readers returns a phrase for the threads that hold a lock for reading, where only their
// number is known.
func readers(s Step) string {
	switch s.Readers {
	case 0:
		return ""
	case 1:
		return ", which one reader holds (which thread, memory does not keep)"
	}
	return fmt.Sprintf(", which %d readers hold (which threads, memory does not keep)", s.Readers)
}

// noCycle returns the sentence of a hang without a cycle: of all threads, or of one thread
// whose lock was never released.
func (n Names) noCycle(f *Finding) string {
	s := f.Evidence[0]
	if len(f.Witness) > 0 || s.Op == event.Pause || s.Op.IsAccess() {
		return n.alone(f)
	}
	if len(f.Evidence) == 1 && s.Op.IsAcquire() {
		return fmt.Sprintf("T%d %s%s for ever: the thread that held it has ended", s.Thread, waitsFor(s), prefixed(" at ", n.At(s.Stack)))
	}
	text := fmt.Sprintf("all %d threads wait, and nobody is left to wake them: ", len(f.Evidence))
	switch len(f.Evidence) {
	case 1:
		text = "the only thread waits, and nobody is left to wake it: "
	case 2:
		text = "both threads wait, and nobody is left to wake them: "
	}
	text += n.sides(f)
	for _, l := range f.Lost {
		text += fmt.Sprintf("; T%d signalled %s%s when nobody waited", l.Thread, Quoted(l.Object), prefixed(" at ", n.At(l.Stack)))
	}
	return text
}

// alone returns the sentence of a thread that waits for ever in another schedule, because its
// signal comes too early or wakes another thread, or the thread that holds a lock ends.
func (n Names) alone(f *Finding) string {
	s, until := f.Evidence[0], "for ever"
	if f.HasTimeout {
		until = "until it gives up"
	}
	wait := strings.NewReplacer("waits", "can wait", "sleeps", "can sleep", "tries", "can try").Replace(waitsFor(s))
	text := fmt.Sprintf("T%d %s%s %s", s.Thread, wait, prefixed(" at ", n.At(s.Stack)), until)
	if len(f.Lost) > 0 {
		l, missed := f.Lost[0], ": T%d signals %s%s before T%d waits"
		switch {
		case s.Op.IsAccess():
			return text + fmt.Sprintf(": T%d stores another value%s, and notifies nobody", l.Thread, prefixed(" at ", n.At(l.Stack)))
		case s.Op == event.Pause:
			missed = ": T%d sends it %s%s before T%d sleeps"
		}
		return text + fmt.Sprintf(missed, l.Thread, Quoted(l.Object), prefixed(" at ", n.At(l.Stack)), s.Thread)
	}
	if !s.Op.IsAcquire() {
		return text + ": another thread takes its signal, and waits again"
	}
	return text + ": the thread that holds it ends"
}

// relock returns the sentence of a thread that waits for itself.
func (n Names) relock(f *Finding) string {
	s := f.Evidence[0]
	since := ""
	for _, h := range s.Held {
		if s.Object != nil && Same(*h.Object, *s.Object) {
			since = prefixed(" since ", n.At(h.Stack))
		}
	}
	return fmt.Sprintf("T%d locks %s again%s, holds it%s, and waits for itself for ever", s.Thread, Quoted(s.Object), prefixed(" at ", n.At(s.Stack)), since)
}
