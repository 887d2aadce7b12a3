package loader

import (
	"context"

	"github.com/tracepredict/tracepredict/internal/safely"
)

// endsWith returns a context that ends with ctx, or when the session fails.
func (s *Session) endsWith(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	return ctx, cancel
}

// fail handles a panic in a goroutine of the session: it calls Options.Failed and ends the observation, and the program
// goes on. Further panics are ignored. endsWith must have been called.
func (s *Session) fail(p *safely.Panic) {
	if !s.failed.CompareAndSwap(nil, p) {
		return
	}
	if s.opts.Failed != nil {
		s.opts.Failed(p)
	}
	s.cancel()
}

// attempt calls f, and makes its panic an error, after which the observation ends.
func (s *Session) attempt(f func() error) (err error) {
	if p := safely.Call(func() { err = f() }); p != nil {
		s.fail(p)
		return p
	}
	return err
}
