package attach

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestTurns: no link is closed while probes are put in, and never more than a few at a time; all are in the end.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tracer Tracer
		var closing, most, closed atomic.Int32
		release := make(chan struct{})
		links := make([]closer, 20)
		for i := range links {
			links[i] = func() error {
				if n := closing.Add(1); n > most.Load() {
					most.Store(n)
				}
				<-release
				closing.Add(-1)
				closed.Add(1)
				return nil
			}
		}
		first, second := tracer.Attaching(), tracer.Attaching()
		done := make(chan error)
		go func() { done <- CloseInTurn(&tracer, links) }()
		synctest.Wait()
		first()
		synctest.Wait()
		if n := closing.Load(); n != 0 {
			t.Errorf("%d links are closed while probes are put in", n)
		}
		second()
		synctest.Wait()
		if n := closing.Load(); n != maxClosing {
			t.Errorf("%d links are closed at a time", n)
		}
		for range maxClosing {
			release <- struct{}{}
		}
		synctest.Wait()
		if n := closing.Load(); n != maxClosing || most.Load() != maxClosing {
			t.Errorf("%d links are closed at a time, %d at most", n, most.Load())
		}
		defer tracer.Attaching()()
		tracer.CloseTogether()
		synctest.Wait()
		if n := closing.Load(); n != 20-maxClosing {
			t.Errorf("%d links are closed together", n)
		}
		close(release)
		if err := <-done; err != nil || closed.Load() != 20 {
			t.Errorf("%d links were closed: %v", closed.Load(), err)
		}
	})
}
