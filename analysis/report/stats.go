package report

import (
	"fmt"
	"strings"
	"time"
)

// Stats are figures of a run and of the tool, for --stats. The JSON tags are those of the
// report.
type Stats struct {
	Events     []OpCount        `json:"-"`         // by operation, without those that have no events
	Variables  uint64           `json:"variables"` // number of variables that appear in events
	Locks      uint64           `json:"locks"`     // number of locks that appear in events
	Witnesses  Witnesses        `json:"witnesses"`
	Tool       Usage            `json:"tool"`
	Program    *CPUTime         `json:"program,omitempty"` // of the live program; nil for a recorded run
	RingBuffer *RingBufferStats `json:"ring,omitempty"`    // nil for a recorded run
	Plans      *PlanStats       `json:"plans,omitempty"`   // nil for a recorded run
	Lattice    *Lattice         `json:"lattice,omitempty"` // nil without a specification
	Latency    *LatencyTime     `json:"latency,omitempty"` // nil without a specification, and for a recorded run
}

// OpCount is the number of events of an operation.
type OpCount struct {
	Operation string
	Events    uint64
}

// Witnesses counts the schedules that were found and then checked.
type Witnesses struct {
	Checked uint64 `json:"checked"`
	Refused uint64 `json:"refused"`        // schedules that the checker refused, each a defect of tracepredict
	Unseen  uint64 `json:"refused_unseen"` // schedules refused because of something in the run that was not observed
}

// CPUTime is the CPU time of a process.
type CPUTime struct {
	CPU time.Duration `json:"cpu_ns"`
}

// Usage is the resource usage of a process. Unknown values are 0.
type Usage struct {
	CPUTime
	Elapsed time.Duration `json:"elapsed_ns"`
	Peak    uint64        `json:"peak_rss_bytes"` // largest resident set size
}

// RingBufferStats are figures of the ring buffer.
type RingBufferStats struct {
	Bytes     uint64        `json:"bytes"`            // its size
	HighWater uint64        `json:"high_water_bytes"` // largest fill level that the reader has found
	Waits     int           `json:"waits"`            // number of times that the program was made to wait for the reader
	Waited    time.Duration `json:"waited_ns"`
}

// PlanStats are figures of the plans: of where probes are put in each file of the program.
type PlanStats struct {
	Made   int           `json:"made"`
	Cached int           `json:"cached"` // taken from earlier runs
	Time   time.Duration `json:"time_ns"`
}

// Lattice counts the part of the computation lattice that was built.
type Lattice struct {
	Levels    uint64 `json:"levels"`
	States    uint64 `json:"states"`
	Edges     uint64 `json:"edges"`
	Dropped   uint64 `json:"states_dropped"` // states for which a level had no room
	CutLevels uint64 `json:"levels_cut"`     // levels with such states
	Late      uint64 `json:"late_events"`    // events that arrived when a level to which they belong was closed
	Widest    int    `json:"widest_level"`   // states of the widest level
	Queue     int    `json:"longest_queue"`  // largest number of events that waited at a time
}

// LatencyTime is the distribution of the time from an event to its verdict, which is known
// when the level of the lattice that contains the event on the observed run is closed.
type LatencyTime struct {
	Events uint64        `json:"events"` // number of events measured
	Median time.Duration `json:"median_ns"`
	P99    time.Duration `json:"p99_ns"`
	Max    time.Duration `json:"max_ns"`
}

// rate returns the number of events per second; 0 if no time has passed.
func rate(events uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(events) / d.Seconds()
}

// stats prints the section of figures.
func (p *printer) stats(r Report) {
	s := r.Stats
	if s == nil {
		return
	}
	p.out.WriteByte('\n')
	p.line(p.style.title, "Statistics")
	write := func(format string, args ...any) { p.para(unchanged, 2, 4, fmt.Sprintf(format, args...)) }
	write("events: %s", p.events(r))
	write("seen: %s, %s, %s", counted(uint64(max(r.Run.Threads, 0)), "thread", "threads"), counted(s.Variables, "variable", "variables"), counted(s.Locks, "lock", "locks"))
	write("witnesses: %s found and checked, %d refused%s", counted(s.Witnesses.Checked, "schedule", "schedules"), s.Witnesses.Refused, unseenText(s.Witnesses.Unseen))
	write("tracepredict: %s", usageText(s.Tool))
	if s.Program != nil {
		write("program: %s", usageText(Usage{CPUTime: *s.Program}))
	}
	if b := s.RingBuffer; b != nil {
		waits := "the program never waited"
		if b.Waits > 0 {
			waits = fmt.Sprintf("the program waited %s, %.3f s in all", counted(uint64(b.Waits), "time", "times"), b.Waited.Seconds())
		}
		write("ring buffer: at most %s of %s used; %s", byteSize(b.HighWater), byteSize(b.Bytes), waits)
	}
	if p := s.Plans; p != nil {
		write("plans of where probes are put: %d made, %d of earlier runs, in %.3f s", p.Made, p.Cached, p.Time.Seconds())
	}
	if l := s.Lattice; l != nil {
		write("lattice: %s, %s (at most %d on a level), %s; left out: %s on %s, %s too late; at most %s waited",
			counted(l.Levels, "level", "levels"), counted(l.States, "state", "states"), l.Widest, counted(l.Edges, "step", "steps"),
			counted(l.Dropped, "state", "states"), counted(l.CutLevels, "level", "levels"), counted(l.Late, "event", "events"),
			counted(uint64(max(l.Queue, 0)), "event", "events"))
	}
	if t := s.Latency; t != nil {
		write("latency from event to verdict, of %s: median %s, 99 %% at most %s, all at most %s",
			counted(t.Events, "event", "events"), shortDuration(t.Median), shortDuration(t.P99), shortDuration(t.Max))
	}
}

func unseenText(refused uint64) string {
	if refused == 0 {
		return ""
	}
	return fmt.Sprintf(", %d more because something in the run was not recorded", refused)
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

// usageText returns a phrase for the resource usage of a process.
func usageText(u Usage) string {
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
		return counted(n, "byte", "bytes")
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

// jsonStats are Stats with the fields that only the JSON report has.
type jsonStats struct {
	*Stats
	Events          map[string]uint64 `json:"events"`
	EventsPerSecond float64           `json:"events_per_second"`
	Threads         int               `json:"threads"`
}

func toJSONStats(r Report) jsonStats {
	out := jsonStats{r.Stats, map[string]uint64{}, rate(r.Run.Events, r.Run.Duration), r.Run.Threads}
	for _, c := range r.Stats.Events {
		out.Events[c.Operation] = c.Events
	}
	return out
}
