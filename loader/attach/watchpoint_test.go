package attach

import (
	"errors"
	"os"
	"testing"

	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/probes/watchpoint"
)

// TestSilentWatchpoints: where watchpoints report nothing, none are free, and the reason is said; a variable is not watched
// by what sees nothing.
func TestSilentWatchpoints(t *testing.T) {
	err := TryWatchpoint()
	if _, denied := need.AsRefusal(err); denied {
		t.Skip(err)
	}
	free, why := FreeWatchpoints(os.Getpid())
	silent := errors.Is(err, errSilent)
	if silent && (free != 0 || !errors.Is(why, errSilent) || !errors.Is(why, ErrNoWatchpoint)) || err == nil && errors.Is(why, errSilent) || free > watchpoint.Registers {
		t.Errorf("a watchpoint: %v; free: %d, %v", err, free, why)
	}
}
