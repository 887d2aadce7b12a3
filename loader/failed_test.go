package loader

import (
	"context"
	"errors"
	"testing"

	"github.com/tracepredict/tracepredict/internal/safely"
)

// TestFail: the first panic of a session is told, and ends the observation.
func TestFail(t *testing.T) {
	var told []*safely.Panic
	s := &Session{opts: Options{Failed: func(p *safely.Panic) { told = append(told, p) }}}
	ctx, cancel := s.endsWith(context.Background())
	defer cancel()
	if err := s.attempt(func() error { return nil }); err != nil || ctx.Err() != nil {
		t.Errorf("without a panic: %v, the observation has ended: %v", err, ctx.Err())
	}
	var p *safely.Panic
	for range 2 {
		if err := s.attempt(func() error { panic("broken") }); !errors.As(err, &p) {
			t.Errorf("%v is no panic", err)
		}
	}
	if len(told) != 1 || told[0].Value != "broken" || ctx.Err() == nil {
		t.Errorf("told of %v, the observation has ended: %v", told, ctx.Err())
	}
}
