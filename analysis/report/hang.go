package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// WriteHangs writes the hangs of a program that still hangs: the sentence of each, and the
// source locations at which its threads wait.
func WriteHangs(w io.Writer, r Report, o TextOptions) error {
	p := newPrinter(r, o)
	for i := range r.Findings {
		f := &r.Findings[i]
		what := "the program hangs"
		if f.HasTimeout {
			what = "threads of the program wait for each other"
		}
		if f.Confidence != finding.Observed {
			what = "the program may hang"
		}
		p.para(p.style.bad, 0, 2, fmt.Sprintf("tracepredict: %s: %s.", what, f.Message))
		p.out.WriteByte('\n')
		p.sides(f)
		p.anonymous(f)
		p.out.WriteByte('\n')
	}
	if _, err := io.WriteString(w, p.out.String()); err != nil {
		return fmt.Errorf("write of a hang: %w", err)
	}
	return nil
}

// waitsFor returns a phrase for what a thread waits for.
func waitsFor(s Step) string {
	switch {
	case s.Op == event.Join && s.Peer != 0:
		return fmt.Sprintf("waits for T%d to end", s.Peer)
	case s.Op == event.Join:
		return "waits for a thread to end"
	case s.Op == event.AcquireRead || s.Op == event.AcquireAgain:
		return "waits to read " + quoted(s.Object)
	case s.Object == nil && s.Op == event.Wait: // musl's condition variables do not show the address
		return "waits to be woken"
	case s.Op == event.Wait:
		return "waits on " + quoted(s.Object)
	case s.Op == event.BarrierArrive:
		return "waits at " + quoted(s.Object)
	case s.Op == event.OnceEnter:
		return "waits until " + quoted(s.Object) + " is initialised"
	}
	return "waits for " + quoted(s.Object) + readers(s)
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
func (n names) noCycle(f *Finding) string {
	s := f.Evidence[0]
	if len(f.Witness) > 0 {
		return n.alone(f)
	}
	if len(f.Evidence) == 1 && s.Op.IsAcquire() {
		return fmt.Sprintf("T%d %s%s for ever: the thread that held it has ended", s.Thread, waitsFor(s), prefixed(" at ", n.at(s.Stack)))
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
		text += fmt.Sprintf("; T%d signalled %s%s when nobody waited", l.Thread, quoted(l.Object), prefixed(" at ", n.at(l.Stack)))
	}
	return text
}

// alone returns the sentence of a thread that waits for ever in another schedule, because its
// signal comes too early or wakes another thread, or the thread that holds a lock ends.
func (n names) alone(f *Finding) string {
	s, until := f.Evidence[0], "for ever"
	if f.HasTimeout {
		until = "until it gives up"
	}
	wait := strings.Replace(waitsFor(s), "waits", "can wait", 1)
	text := fmt.Sprintf("T%d %s%s %s", s.Thread, wait, prefixed(" at ", n.at(s.Stack)), until)
	for _, l := range f.Lost {
		return text + fmt.Sprintf(": T%d signals %s%s before T%d waits", l.Thread, quoted(l.Object), prefixed(" at ", n.at(l.Stack)), s.Thread)
	}
	if !s.Op.IsAcquire() {
		return text + ": another thread takes its signal, and waits again"
	}
	return text + ": the thread that holds it ends"
}

// relock returns the sentence of a thread that waits for itself.
func (n names) relock(f *Finding) string {
	s := f.Evidence[0]
	since := ""
	for _, h := range s.Held {
		if s.Object != nil && same(*h.Object, *s.Object) {
			since = prefixed(" since ", n.at(h.Stack))
		}
	}
	return fmt.Sprintf("T%d locks %s again%s, holds it%s, and waits for itself for ever", s.Thread, quoted(s.Object), prefixed(" at ", n.at(s.Stack)), since)
}
