//go:build !race

package suite_test

// longRun is how many events a long run has.
const longRun = 10_000_000
