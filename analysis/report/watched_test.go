package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tracepredict/tracepredict/observer/run"
)

func watchedRun() Run {
	r := shopRun()
	r.Untouched = 4
	r.Watched = []run.Watched{
		{Variable: "tickets", Use: "unguarded", Threads: 2, Accesses: 25, Recorded: 25, Outcome: "kept"},
		{Variable: "orders", Use: "guarded", Threads: 3, Accesses: 120000, Recorded: 4300, Guards: []string{"ledger", "stock"}, Outcome: "guarded", Until: 1500 * time.Millisecond},
		{Variable: "slots", Use: "guarded", Threads: 2, Accesses: 20000, Recorded: 16384, Elements: 64, Guards: []string{"locks", "locks+0x28"}, Outcome: "enough", Until: 2 * time.Second},
		{Variable: "config.level", Use: "read-only", Threads: 3, Accesses: 9, Recorded: 3, Outcome: "kept"},
		{Variable: "state", Use: "ordered", Threads: 2, Accesses: 2, Recorded: 2, Outcome: "kept"},
		{Variable: "ready", Use: "atomic", Threads: 2, Accesses: 2, Recorded: 2, Outcome: "kept"},
		{Variable: "paces", Use: "unshared", Threads: 1, Accesses: 5000, Recorded: 1, Outcome: "unshared", Until: 60 * time.Millisecond},
	}
	return r
}

func TestWatchedTable(t *testing.T) {
	r := Build(watchedRun(), nil, shopTable())
	golden(t, "watched.txt", []byte(text(t, r, TextOptions{Width: 100})))
	golden(t, "watched-verbose.txt", []byte(text(t, r, TextOptions{Width: 100, Verbose: true})))
	goldenJSON(t, "watched.json", r)
}

func TestWatchedTableIsShort(t *testing.T) {
	many := shopRun()
	for i := range 3 * maxShown {
		many.Watched = append(many.Watched, run.Watched{Variable: fmt.Sprintf("v%02d", i), Use: "ordered", Threads: 2, Accesses: 1, Outcome: "kept"})
	}
	short, long := text(t, Build(many, nil, nil), TextOptions{}), text(t, Build(many, nil, nil), TextOptions{Verbose: true})
	if n := strings.Count(short, "one thread after the other"); n != maxShown || !strings.Contains(short, "and 40 more") {
		t.Errorf("%d variables listed:\n%s", n, short)
	}
	if n := strings.Count(long, "one thread after the other"); n != 3*maxShown {
		t.Errorf("of all, %d variables listed", n)
	}
}
