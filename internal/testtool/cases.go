package testtool

import (
	"os"
	"testing"
)

// All reports whether the environment has TRACEPREDICT_ALL=1: tests then try all their
// cases, as make test-all wants.
func All() bool { return os.Getenv("TRACEPREDICT_ALL") == "1" }

// Cases returns how many cases a random or exhaustive test tries: few with -short, all
// with TRACEPREDICT_ALL=1, and otherwise usual, which is to take a few seconds.
func Cases(few, usual, all int) int {
	switch {
	case All():
		return all
	case testing.Short():
		return few
	}
	return usual
}
