// Package fixedseed makes the property tests of a package try the same cases each time,
// unless TRACEPREDICT_ALL=1 or -rapid.seed says otherwise: a change then passes or fails for
// a reason of its own. make test-all tries other cases each time. A test package imports it
// for its effect.
package fixedseed

import (
	"flag"
	"os"

	_ "pgregory.net/rapid" // whose flag is set
)

func init() {
	if os.Getenv("TRACEPREDICT_ALL") == "1" {
		return
	}
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}
