package report

import (
	"time"

	"github.com/tracepredict/tracepredict/observer/run"
)

// Stats are figures of a run and of the tool, for --stats. The JSON tags of figures are those of the
// JSON report.
type Stats struct {
	Events      []OpCount        `json:"-"`         // by operation, without those that have no events
	Variables   uint64           `json:"variables"` // number of variables that appear in events
	Locks       uint64           `json:"locks"`     // number of locks that appear in events
	Witnesses   Witnesses        `json:"witnesses"`
	Tool        Usage            `json:"tool"`
	Program     *CPUTime         `json:"program,omitempty"`      // of the live program; nil for a recorded run
	RingBuffer  *RingBufferStats `json:"ring,omitempty"`         // nil for a recorded run
	Plans       *PlanStats       `json:"plans,omitempty"`        // nil for a recorded run
	Monitor     *MonitorStats    `json:"monitor,omitempty"`      // nil without a formula, and for a recorded run
	Lattice     *run.Lattice     `json:"lattice,omitempty"`      // nil without a specification
	Monitors    []string         `json:"monitors,omitempty"`     // where scopes are monitored and why, a sentence each; nil for a recorded run
	ObjectRaces *run.ObjectRaces `json:"object_races,omitempty"` // nil without typestates
	Latency     *LatencyTime     `json:"latency,omitempty"`      // nil without a specification, and for a recorded run
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

// RingBufferStats are figures of the ring buffers.
type RingBufferStats struct {
	Bytes     uint64        `json:"bytes"`            // their size, all together
	HighWater uint64        `json:"high_water_bytes"` // largest fill level that the reader has found, as if all had that of one
	Waits     int           `json:"waits"`            // number of times that the program was made to wait for the reader
	Waited    time.Duration `json:"waited_ns"`
	Late      uint64        `json:"late,omitempty"` // records that came too late for their place in the order; holes are there
}

// PlanStats are figures of the plans: of where probes are put in each file of the program.
type PlanStats struct {
	Made   int           `json:"made"`
	Cached int           `json:"cached"` // taken from earlier runs
	Time   time.Duration `json:"time_ns"`
}

// MonitorStats says where a formula on what threads know was evaluated.
type MonitorStats struct {
	Formula    string `json:"formula"`
	Where      string `json:"where"` // kernel or user
	Why        string `json:"why"`
	States     uint64 `json:"states"`             // of threads, that the kernel evaluated
	Violations uint64 `json:"violations"`         // that it found, and sent
	GivenUp    string `json:"given_up,omitempty"` // why no verdict fell there any more; "": it went on to the end
	// Threads took part in the kernel, of which Unsure were not judged to the end, because of Doubts.
	Threads uint32   `json:"threads"`
	Unsure  uint32   `json:"unsure"`
	Doubts  []string `json:"doubts,omitempty"`
}

// LatencyTime is the distribution of the time from an event to its verdict, which is known
// when the level of the lattice that contains the event on the observed run is closed.
type LatencyTime struct {
	Events uint64        `json:"events"` // number of events measured
	Median time.Duration `json:"median_ns"`
	P99    time.Duration `json:"p99_ns"`
	Max    time.Duration `json:"max_ns"`
}

// EventsPerSecond returns the number of events per second of the run; 0 if no time has passed.
func (r *Run) EventsPerSecond() float64 {
	if r.Duration <= 0 {
		return 0
	}
	return float64(r.Events) / r.Duration.Seconds()
}
