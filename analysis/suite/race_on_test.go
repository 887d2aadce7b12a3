//go:build race

package suite_test

// longRun is how many events a long run has: the race detector makes each one
// ten times as dear.
const longRun = 3_000_000
