package report

// Steering says how another run of the program is led into a finding: which threads wait before which instructions, and
// for whom. It is all that is needed for that, without the run that the finding is of.
type Steering struct {
	Files []SteeredFile `json:"files"`
	// Steps are the calls of a schedule, in its order, before which threads wait.
	Steps []SteeredStep `json:"steps"`
	// Meets are two accesses, before which threads are to stand at the same time.
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
	// Address, as linked, is that behind the call of a step, and of the instruction that accesses memory.
	Address uint64 `json:"address"`
	Count   uint32 `json:"count,omitempty"` // of the call in its thread, from 1; 0: it is not known
	After   []int  `json:"after,omitempty"` // the steps that must have been come to before the thread goes on
	Text    string `json:"text"`            // for people: "T2 requests b at gate.c:17"
}
