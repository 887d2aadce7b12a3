package monitor_test

import (
	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// Package lattice declares the interface itself, since it cannot import this package.
var (
	_ lattice.Monitor = monitor.Monitor(nil)
	_ lattice.Monitor = (*monitor.Deterministic)(nil)
	_ lattice.Monitor = (*monitor.Automaton)(nil)
)
