package part

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/predict"
)

// Search counts the candidates for which schedules are searched, and those that are left when the time for the analysis is
// over, or the room for schedules is used up.
type Search struct {
	Done  func() string   // why the time is over, "" as long as it is not; nil: there is no end
	Asked func(n, of int) // called for each candidate: n of about so many; nil: nobody wants to know
	// Room is the memory for findings, in bytes, by an estimate; 0: there is no bound. Schedules may need twice as
	// much while they are searched, since most are of findings that a report shows as one.
	Room  uint64
	kept  uint64 // bytes of the schedules that were found
	early uint64 // those of KeepsEarly
	n, of int
	left  uint64 // candidates whose schedules were not all searched, since the time was over
}

// Over reports whether the time is over, or the room for schedules is used up.
func (s *Search) Over() bool { return s.why() != "" }

// why returns why no further schedules are searched; "" as long as they are.
func (s *Search) why() string {
	if s.Done != nil {
		if why := s.Done(); why != "" {
			return why
		}
	}
	if s.Room > 0 && s.kept > 2*s.Room {
		return "lack of memory for more schedules"
	}
	return ""
}

// KeepsEarly reports whether there is room for a finding that is kept from before the end of the run, and counts it if
// there is: a quarter of Room is for these.
func (s *Search) KeepsEarly(f *finding.Finding) bool {
	bytes := finding.StepsBytes(f.Witness)
	if s.Room > 0 && s.early+bytes > s.Room/4 {
		return false
	}
	s.early += bytes
	return true
}

// Expect adds candidates that will be asked about.
func (s *Search) Expect(n int) { s.of += n }

// Count counts the result of a question, and returns it.
func (s *Search) Count(r predict.Result) predict.Result {
	s.n++
	s.kept += finding.StepsBytes(r.Witness)
	if r.NotSearched() {
		s.left++
	}
	if s.Asked != nil {
		s.Asked(s.n, max(s.n, s.of))
	}
	return r
}

// FoundEarly takes a question back that was not searched, because its answer is known from the time of the run.
func (s *Search) FoundEarly(r predict.Result) {
	if r.NotSearched() {
		s.left--
	}
}

// Left returns the number of candidates whose schedules were not all searched because the time was over, and why it was.
func (s *Search) Left() (n uint64, why string) {
	if s.left == 0 {
		return 0, ""
	}
	return s.left, s.why()
}
