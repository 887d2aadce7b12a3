package part

import "github.com/tracepredict/tracepredict/analysis/predict"

// Search counts the candidates for which schedules are searched, and those that are left when the time for the analysis is
// over.
type Search struct {
	Done  func() string   // why the time is over, "" as long as it is not; nil: there is no end
	Asked func(n, of int) // called for each candidate: n of about so many; nil: nobody wants to know
	n, of int
	left  uint64 // candidates whose schedules were not all searched, since the time was over
}

// Over reports whether the time is over.
func (s *Search) Over() bool { return s.Done != nil && s.Done() != "" }

// Expect adds candidates that will be asked about.
func (s *Search) Expect(n int) { s.of += n }

// Count counts the result of a question, and returns it.
func (s *Search) Count(r predict.Result) predict.Result {
	s.n++
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
	return s.left, s.Done()
}
