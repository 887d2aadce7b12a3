package textreport

import (
	"fmt"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// stats prints the section of figures.
func (p *printer) stats(r report.Report) {
	s := r.Stats
	if s == nil {
		return
	}
	p.out.WriteByte('\n')
	p.line(p.style.title, "Statistics")
	write := func(format string, args ...any) { p.para(unchanged, 2, 4, fmt.Sprintf(format, args...)) }
	write("events: %s", p.events(r))
	write("seen: %s, %s, %s", plural.Counted(uint64(max(r.Run.Threads, 0)), "thread", "threads"), plural.Counted(s.Variables, "variable", "variables"), plural.Counted(s.Locks, "lock", "locks"))
	write("witnesses: %s found and checked, %d refused%s", plural.Counted(s.Witnesses.Checked, "schedule", "schedules"), s.Witnesses.Refused, unseenText(s.Witnesses.Unseen))
	write("tracepredict: %s", usageText(s.Tool))
	if s.Program != nil {
		write("program: %s", usageText(report.Usage{CPUTime: *s.Program}))
	}
	if b := s.RingBuffer; b != nil {
		waits := "the program never waited"
		if b.Waits > 0 {
			waits = fmt.Sprintf("the program waited %s, %.3f s in all", plural.Counted(uint64(b.Waits), "time", "times"), b.Waited.Seconds())
		}
		if b.Late > 0 {
			waits += plural.Sprintf("; %d {record|records} came too late for their place", b.Late)
		}
		write("ring buffer: at most %s of %s used; %s", byteSize(b.HighWater), byteSize(b.Bytes), waits)
	}
	if p := s.Plans; p != nil {
		write("plans of where probes are put: %d made, %d of earlier runs, in %.3f s", p.Made, p.Cached, p.Time.Seconds())
	}
	if m := s.Monitor; m != nil {
		write("monitor of %s: %s", m.Formula, monitorText(m))
	}
	if l := s.Lattice; l != nil {
		write("lattice: %s, %s (at most %d on a level), %s; left out: %s on %s, %s too late; at most %s waited",
			plural.Counted(l.Levels, "level", "levels"), plural.Counted(l.States, "state", "states"), l.Widest, plural.Counted(l.Edges, "step", "steps"),
			plural.Counted(l.Dropped, "state", "states"), plural.Counted(l.CutLevels, "level", "levels"), plural.Counted(l.Late, "event", "events"),
			plural.Counted(uint64(max(l.Queue, 0)), "event", "events"))
	}
	for _, m := range s.Monitors {
		write("%s", m)
	}
	if o := s.ObjectRaces; o != nil {
		write("object races: %s compared, %s kept, each once%s; %d of %s and %d of %s race",
			plural.Counted(o.Calls, "call", "calls"), plural.Counted(o.Tuples, "tuple", "tuples"), evictedText(o.Evicted),
			o.Racing, plural.Counted(o.Objects, "object", "objects"), o.RacingTypes, plural.Counted(uint64(max(o.Types, 0)), "type", "types"))
	}
	if t := s.Latency; t != nil {
		write("latency from event to verdict, of %s: median %s, 99 %% at most %s, all at most %s",
			plural.Counted(t.Events, "event", "events"), shortDuration(t.Median), shortDuration(t.P99), shortDuration(t.Max))
	}
}

func evictedText(tuples uint64) string {
	if tuples == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s of them forgotten to bound memory)", plural.Thousands(tuples))
}

func unseenText(refused uint64) string {
	if refused == 0 {
		return ""
	}
	return fmt.Sprintf(", %d more because something in the run was not recorded", refused)
}

func (p *printer) events(r report.Report) string {
	text := plural.Thousands(r.Run.Events) + " in all"
	if r.Run.Duration > 0 {
		text += fmt.Sprintf(", %s a second", plural.Thousands(uint64(r.Run.EventsPerSecond()+0.5)))
	}
	var kinds []string
	for _, c := range r.Stats.Events {
		kinds = append(kinds, fmt.Sprintf("%s %s", plural.Thousands(c.Events), c.Operation))
	}
	if len(kinds) > 0 {
		text += ": " + strings.Join(kinds, ", ")
	}
	return text
}

// usageText returns a phrase for the resource usage of a process.
func usageText(u report.Usage) string {
	text := fmt.Sprintf("%.3f s of CPU", u.CPU.Seconds())
	if u.Elapsed > 0 {
		text += fmt.Sprintf(" in %.3f s", u.Elapsed.Seconds())
	}
	if u.Peak > 0 {
		text += fmt.Sprintf(", at most %s of memory", byteSize(u.Peak))
	}
	return text
}

// byteSize returns a number of bytes in a readable unit.
func byteSize(n uint64) string {
	switch {
	case n < 1<<10:
		return plural.Counted(n, "byte", "bytes")
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// shortDuration returns a duration with about three digits.
func shortDuration(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", float64(d.Nanoseconds())/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d.Nanoseconds())/1e6)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// monitorText says where a formula was evaluated.
func monitorText(m *report.MonitorStats) string {
	if m.Where != "kernel" {
		return fmt.Sprintf("in user space, since %s", m.Why)
	}
	text := fmt.Sprintf("in the kernel (%s), %s, %s", m.Why, plural.Counted(m.States, "state", "states"), plural.Counted(m.Violations, "violation", "violations"))
	if m.Unsure > 0 {
		text += plural.Sprintf("; %d of %d {thread|threads} not judged to the end: ", m.Unsure, m.Threads) + strings.Join(m.Doubts, ", ")
	}
	if m.GivenUp != "" {
		text += "; given up: " + m.GivenUp
	}
	return text
}
