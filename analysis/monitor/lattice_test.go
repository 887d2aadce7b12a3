package monitor_test

import (
	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// The lattice names the interface by itself, since it is below.
var (
	_ lattice.Monitor = monitor.Monitor(nil)
	_ lattice.Monitor = (*monitor.Deterministic)(nil)
	_ lattice.Monitor = (*monitor.Automaton)(nil)
)
