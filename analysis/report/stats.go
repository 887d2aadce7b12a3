package report

import (
	"fmt"
	"strings"
	"time"
)

// Stats are figures of a run and of the tool, for --stats.
type Stats struct {
	Events           []OpCount // by operation, those that there were
	Variables, Locks uint64    // that events were on
	Witnesses        Witnesses
	Tool             Usage
	Program          *Usage       // of the live program; nil of a recorded run
	Ring             *RingStats   // nil of a recorded run
	Lattice          *Lattice     // nil without a specification
	Latency          *LatencyTime // nil without a specification, and of a recorded run
}

// OpCount is how many events of an operation there were.
type OpCount struct {
	Operation string
	Events    uint64
}

// Witnesses counts the schedules that were found and then judged by the checker.
type Witnesses struct {
	Checked uint64
	Refused uint64 // of these, each an error of tracepredict
	Unseen  uint64 // likewise, refused for something of the run that was not seen
}

// Usage is what a process took. What is not known is 0.
type Usage struct {
	CPU, Elapsed time.Duration
	Peak         uint64 // most bytes resident
}

// RingStats tell how full the ring buffer became.
type RingStats struct {
	Bytes, HighWater uint64 // its size; most that was taken when the reader looked
	Waits            int    // how often the program was made to wait for the reader
	Waited           time.Duration
}

// Lattice tells how much of the computation lattice was built.
type Lattice struct {
	Levels, States, Edges uint64
	Dropped, CutLevels    uint64 // states that full levels did not take, on so many levels
	Late                  uint64 // events that came when a level that they belong to was closed
	Widest                int    // states of the widest level
	Queue                 int    // most events that waited
}

// LatencyTime is the time from events to their verdicts: until the level of the lattice
// was closed that holds the event on the observed run.
type LatencyTime struct {
	Events              uint64 // measured
	Median, Most99, Max time.Duration
}

// rate is events a second; 0 where no time has passed.
func rate(events uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(events) / d.Seconds()
}

// stats is the section of figures.
func (p *printer) stats(r Report) {
	s := r.Stats
	if s == nil {
		return
	}
	p.out.WriteByte('\n')
	p.line(p.style.title, "Statistics")
	say := func(format string, args ...any) { p.para(itself, 2, 4, fmt.Sprintf(format, args...)) }
	say("events: %s", p.events(r))
	say("seen: %s, %s, %s", counted(uint64(max(r.Run.Threads, 0)), "thread", "threads"), counted(s.Variables, "variable", "variables"), counted(s.Locks, "lock", "locks"))
	say("witnesses: %s found and checked, %d refused%s", counted(s.Witnesses.Checked, "schedule", "schedules"), s.Witnesses.Refused, unseen(s.Witnesses.Unseen))
	say("tracepredict: %s", used(s.Tool))
	if s.Program != nil {
		say("program: %s", used(*s.Program))
	}
	if b := s.Ring; b != nil {
		waits := "it never waited"
		if b.Waits > 0 {
			waits = fmt.Sprintf("the program waited %s, %.3f s in all", counted(uint64(b.Waits), "time", "times"), b.Waited.Seconds())
		}
		say("ring buffer: at most %s of %s taken; %s", size(b.HighWater), size(b.Bytes), waits)
	}
	if l := s.Lattice; l != nil {
		say("lattice: %s, %s (at most %d on a level), %s; left out: %s on %s, %s too late; at most %s waited",
			counted(l.Levels, "level", "levels"), counted(l.States, "state", "states"), l.Widest, counted(l.Edges, "step", "steps"),
			counted(l.Dropped, "state", "states"), counted(l.CutLevels, "level", "levels"), counted(l.Late, "event", "events"),
			counted(uint64(max(l.Queue, 0)), "event", "events"))
	}
	if t := s.Latency; t != nil {
		say("latency from event to verdict, of %s: median %s, 99 %% at most %s, all at most %s",
			counted(t.Events, "event", "events"), short(t.Median), short(t.Most99), short(t.Max))
	}
}

func unseen(refused uint64) string {
	if refused == 0 {
		return ""
	}
	return fmt.Sprintf(", %d more for something of the run that was not seen", refused)
}

func (p *printer) events(r Report) string {
	text := thousands(r.Run.Events) + " in all"
	if r.Run.Duration > 0 {
		text += fmt.Sprintf(", %s a second", thousands(uint64(rate(r.Run.Events, r.Run.Duration)+0.5)))
	}
	var kinds []string
	for _, c := range r.Stats.Events {
		kinds = append(kinds, fmt.Sprintf("%s %s", thousands(c.Events), c.Operation))
	}
	if len(kinds) > 0 {
		text += ": " + strings.Join(kinds, ", ")
	}
	return text
}

func used(u Usage) string {
	text := fmt.Sprintf("%.3f s of CPU", u.CPU.Seconds())
	if u.Elapsed > 0 {
		text += fmt.Sprintf(" in %.3f s", u.Elapsed.Seconds())
	}
	if u.Peak > 0 {
		text += fmt.Sprintf(", at most %s of memory", size(u.Peak))
	}
	return text
}

// size is a number of bytes, to be read.
func size(n uint64) string {
	switch {
	case n < 1<<10:
		return counted(n, "byte", "bytes")
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// short is a duration in three digits.
func short(d time.Duration) string {
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

type jsonStats struct {
	Events          map[string]uint64 `json:"events"`
	EventsPerSecond float64           `json:"events_per_second"`
	Threads         int               `json:"threads"`
	Variables       uint64            `json:"variables"`
	Locks           uint64            `json:"locks"`
	Witnesses       jsonWitnesses     `json:"witnesses"`
	Tool            jsonTool          `json:"tool"`
	Program         *jsonProgram      `json:"program,omitempty"`
	Ring            *jsonRing         `json:"ring,omitempty"`
	Lattice         *jsonLattice      `json:"lattice,omitempty"`
	Latency         *jsonLatency      `json:"latency,omitempty"`
}

type jsonWitnesses struct {
	Checked uint64 `json:"checked"`
	Refused uint64 `json:"refused"`
	Unseen  uint64 `json:"refused_unseen"`
}

type jsonTool struct {
	CPU     int64  `json:"cpu_ns"`
	Elapsed int64  `json:"elapsed_ns"`
	Peak    uint64 `json:"peak_rss_bytes"`
}

type jsonProgram struct {
	CPU int64 `json:"cpu_ns"`
}

type jsonRing struct {
	Bytes     uint64 `json:"bytes"`
	HighWater uint64 `json:"high_water_bytes"`
	Waits     int    `json:"waits"`
	Waited    int64  `json:"waited_ns"`
}

type jsonLattice struct {
	Levels    uint64 `json:"levels"`
	States    uint64 `json:"states"`
	Edges     uint64 `json:"edges"`
	Dropped   uint64 `json:"states_dropped"`
	CutLevels uint64 `json:"levels_cut"`
	Late      uint64 `json:"late_events"`
	Widest    int    `json:"widest_level"`
	Queue     int    `json:"longest_queue"`
}

type jsonLatency struct {
	Events uint64 `json:"events"`
	Median int64  `json:"median_ns"`
	Most99 int64  `json:"p99_ns"`
	Max    int64  `json:"max_ns"`
}

func toJSONStats(r Report) *jsonStats {
	s := r.Stats
	if s == nil {
		return nil
	}
	out := &jsonStats{
		Events: map[string]uint64{}, EventsPerSecond: rate(r.Run.Events, r.Run.Duration),
		Threads: r.Run.Threads, Variables: s.Variables, Locks: s.Locks,
		Witnesses: jsonWitnesses(s.Witnesses),
		Tool:      jsonTool{s.Tool.CPU.Nanoseconds(), s.Tool.Elapsed.Nanoseconds(), s.Tool.Peak},
	}
	for _, c := range s.Events {
		out.Events[c.Operation] = c.Events
	}
	if s.Program != nil {
		out.Program = &jsonProgram{s.Program.CPU.Nanoseconds()}
	}
	if b := s.Ring; b != nil {
		out.Ring = &jsonRing{b.Bytes, b.HighWater, b.Waits, b.Waited.Nanoseconds()}
	}
	if s.Lattice != nil {
		l := jsonLattice(*s.Lattice)
		out.Lattice = &l
	}
	if t := s.Latency; t != nil {
		out.Latency = &jsonLatency{t.Events, t.Median.Nanoseconds(), t.Most99.Nanoseconds(), t.Max.Nanoseconds()}
	}
	return out
}
