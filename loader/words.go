package loader

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/attach"
)

// wordsEvery is the time between two looks whether there is room for more words of memory: a table has room for a
// million, and a processor comes to two million new words a second at most.
const wordsEvery = 20 * time.Millisecond

// wordTender makes room for words while the program runs.
type wordTender struct {
	tracer *attach.Tracer
	notes  *notes
	stop   chan struct{}
	done   safely.Group
}

// run starts a goroutine that makes room until halt, if there is anything to make room for.
func (w *wordTender) run() {
	if !w.tracer.KeepsWords() {
		return
	}
	w.stop = make(chan struct{})
	w.done.Go(func() {
		each := time.NewTicker(wordsEvery)
		defer each.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-each.C:
				if err := w.tracer.TendWords(); err != nil {
					w.notes.say("no room can be made for more memory that is accessed through pointers: " + err.Error())
					return
				}
			}
		}
	})
}

// halt ends that goroutine, if it was started.
func (w *wordTender) halt() {
	if w.stop != nil {
		close(w.stop)
		w.done.Wait()
	}
}

// Crowded says which functions accessed memory of which something was not kept.
type Crowded struct {
	Unseen    []string // those whose accesses were not looked at, most first
	Forgotten []string // those that accessed last what was forgotten, likewise
}

// Crowded returns which functions accessed memory of which something was not kept, for want of room. It is valid at the
// end of the run.
func (s *Session) Crowded() Crowded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crowdedBy
}

// collectCrowded collects what Crowded returns, before the BPF programs are unloaded.
func (s *Session) collectCrowded(lost Lost) error {
	var c Crowded
	if lost.Words > 0 {
		unseen, err := s.tracer.UnseenWords()
		if err != nil {
			return err
		}
		c.Unseen = s.functionsOf(unseen)
	}
	c.Forgotten = s.functionsOf(s.tracer.ForgottenWords())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crowdedBy = c
	return nil
}

// functionsOf returns the functions of sites, those with the largest counts first.
func (s *Session) functionsOf(counts map[uint32]uint64) []string {
	sums := map[string]uint64{}
	for index, n := range counts {
		if site := s.Site(index); site != nil {
			sums[site.Function] += n
		}
	}
	return slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
	})
}
