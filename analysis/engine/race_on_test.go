//go:build race

package engine_test

// The race detector makes each event ten times as expensive.
const (
	longRun = 3_000_000 // events of a long run
	churn   = 30_000    // threads of a long run
)
