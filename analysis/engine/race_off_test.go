//go:build !race

package engine_test

const (
	longRun = 10_000_000 // events of a long run
	churn   = 300_000    // threads of a long run
)
