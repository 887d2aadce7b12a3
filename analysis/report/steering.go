package report

import "time"

// Steering says how another run of the program is led into a finding: which threads wait before which instructions, and
// for whom. It is all that is needed for that, without the run that the finding is of.
type Steering struct {
	Files []SteeredFile `json:"files"`
	// Exact reports that threads wait before the very instructions of Steps, and not at the entry of what is called.
	Exact bool `json:"exact,omitempty"`
	// Steps are the operations of a schedule, in its order, before which threads wait.
	Steps []SteeredStep `json:"steps"`
	// Meets are two accesses, before which threads are to stand at the same time, at the end of the schedule if there is
	// one.
	Meets []SteeredStep `json:"meets,omitempty"`
	// Reason says why no other run can be led into the finding; "" if one can.
	Reason string `json:"reason,omitempty"`
}

// SteeredFile is a program or library.
type SteeredFile struct {
	Path  string `json:"path"`
	Build string `json:"build_id"` // in hexadecimal digits; "" if it has none
	// Program reports that it is the program, wherever that is.
	Program bool `json:"program,omitempty"`
}

// SteeredStep is an instruction of a thread.
type SteeredStep struct {
	// Thread is the thread by its creation: how many threads had been created before it by the same thread, from the
	// first thread of the program on. An empty path is the first thread.
	Thread []int `json:"thread"`
	File   int   `json:"file"` // index in Steering.Files
	// Address, as linked, is that behind the call of a step, or of an instruction that does something itself.
	Address     uint64 `json:"address"`
	Instruction bool   `json:"instruction,omitempty"` // Address is that of the instruction; so it always is in Meets
	// Count is which of its thread's operations there it is, from 1, of an exact schedule since its step before; 0: that
	// is not known.
	Count uint32 `json:"count,omitempty"`
	After []int  `json:"after,omitempty"` // the steps that must have been come to before the thread goes on
	// Behind are the steps of an exact schedule whose operations must be done before the thread goes on.
	Behind []int `json:"behind,omitempty"`
	// Returns reports that the operation is done when the call has returned.
	Returns bool `json:"returns,omitempty"`
	// Pause is the time that passes after the operation, before others that wait for it go on.
	Pause time.Duration `json:"pause_ns,omitempty"`
	// Optional reports that the schedule is complete without the step.
	Optional bool   `json:"optional,omitempty"`
	Text     string `json:"text"` // for people: "T2 requests b at gate.c:17"
}
