package report

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// ValueText returns the value of an access as the source writes it; "" if it is unknown.
func (s *Step) ValueText() string {
	if s.Flags&event.HasValue == 0 {
		return ""
	}
	if s.Written != "" {
		return s.Written
	}
	var form *event.Form // nil: a number
	if s.Object != nil {
		form = s.Object.Form
	}
	return Clean(form.Text(s.Value))
}

// StepText returns a step in words, as "locks ledger". Names and values that have more columns than most are shortened.
func StepText(s Step, most int) string {
	verb := verbs(s.Op)
	switch {
	case s.Use != "":
		verb = Clean(s.Use)
	case s.Blocked && s.Op.IsAcquire() && s.Flags&event.Repeated != 0:
		verb = "keeps trying"
	case s.Blocked && (s.Object != nil || s.Peer != 0):
		verb = "waits for"
	case s.Blocked:
		verb = "waits"
	case (s.Op == event.Destroy || s.Op == event.Write) && s.Flags&event.Freed != 0:
		verb = "frees the memory of"
	case s.Flags&event.Atomic != 0 && s.Op.IsAccess():
		verb = "atomically " + verb
	}
	switch {
	case s.Peer != 0 && s.Op != event.QuitHolding:
		verb += fmt.Sprintf(" T%d", s.Peer)
	case s.Object != nil:
		verb += " " + ShortName(s.Object.Name, most)
	}
	if s.Flags&event.HasValue != 0 && s.Op.IsAccess() {
		verb += " = " + ShortText(s.ValueText(), most)
	}
	if s.Flags&event.Kernel != 0 && s.Op.IsAccess() {
		verb += " (" + byKernel(s) + ")"
	}
	if by := byLibrary(s); by != "" {
		verb += " (" + strings.TrimSpace(by) + ")"
	}
	if s.Flags&event.TimedOut != 0 {
		verb += " (timed out)"
	}
	return verb + propositions(s.Truth)
}

// propositions returns the propositions with their truth values, in the form of specifications:
// " {p, !q}".
func propositions(truth []finding.Truth) string {
	if len(truth) == 0 {
		return ""
	}
	literals := make([]string, 0, len(truth))
	for _, t := range truth {
		switch {
		case t.Holds:
			literals = append(literals, t.Name)
		case strings.ContainsAny(t.Name, " <>=&|"): // an expression without a name
			literals = append(literals, "!("+t.Name+")")
		default:
			literals = append(literals, "!"+t.Name)
		}
	}
	return " {" + strings.Join(literals, ", ") + "}"
}

// verbs returns an operation as a verb with its preposition, as "waits on".
func verbs(o event.Op) string {
	switch o {
	case event.Read:
		return "reads"
	case event.Write:
		return "writes"
	case event.Update:
		return "changes"
	case event.Acquire:
		return "locks"
	case event.AcquireRead:
		return "read-locks"
	case event.ReleaseUnheld, event.ReleaseInconsistent:
		return "unlocks"
	case event.JoinFailed:
		return "fails to join"
	case event.UseDestroyed:
		return "uses"
	case event.AcquireFailed:
		return "fails to lock"
	case event.Release:
		return "unlocks"
	case event.Fork:
		return "starts"
	case event.Begin:
		return "begins"
	case event.End:
		return "ends"
	case event.Join:
		return "joins"
	case event.Detach, event.DetachAgain:
		return "detaches"
	case event.Wait:
		return "waits on"
	case event.Wake:
		return "wakes on"
	case event.Signal:
		return "signals"
	case event.Broadcast:
		return "broadcasts"
	case event.BarrierArrive:
		return "arrives at"
	case event.BarrierDepart:
		return "leaves"
	case event.SemPost:
		return "posts"
	case event.SemWait:
		return "takes"
	case event.SemFailed:
		return "fails to take"
	case event.OnceEnter:
		return "enters once"
	case event.OnceDone:
		return "initialises"
	case event.OnceLeave:
		return "finds initialised"
	case event.Init:
		return "makes"
	case event.Destroy:
		return "destroys"
	case event.QuitHolding:
		return "ends the process holding"
	case event.DestroyAgain:
		return "destroys again"
	case event.Hole:
		return "loses events"
	case event.Send:
		return "sends to"
	case event.Sent:
		return "has sent to"
	case event.Receive:
		return "receives from"
	case event.Receiving:
		return "waits to receive from"
	case event.ReceiveFailed:
		return "finds nothing in"
	case event.Pause:
		return "sleeps until a signal comes"
	case event.Resume:
		return "goes on after a signal"
	}
	return o.String()
}
