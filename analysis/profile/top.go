package profile

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/pprof/profile"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/internal/printable"
)

// table is one of the tables of WriteTop.
type table struct {
	value         int // of a sample: the number of times; the next one is their time
	label         string
	title         string // of what is summed up
	time, n, from string // the columns
	bound         bool   // the time is an upper bound
	held          bool   // it is of critical sections, and not of waits
}

// topTables are the tables, in their order: what people ask for first comes first.
var topTables = []table{
	{value: lockWaits, label: "lock", title: "waits for locks", time: "waited", n: "waits", from: "waits in", bound: true},
	{value: semaphoreWaits, label: "semaphore", title: "waits for semaphores", time: "waited", n: "waits", from: "waits in", bound: true},
	{value: conditionWaits, label: "condition", title: "waits for conditions", time: "waited", n: "waits", from: "waits in"},
	{value: barrierWaits, label: "barrier", title: "waits at barriers", time: "waited", n: "waits", from: "waits in"},
	{value: futexWaits, label: threadLabel, title: "waits for the end of threads", time: "waited", n: "waits", from: "waits in"},
	{value: futexWaits, label: futexLabel, title: "waits for other futexes", time: "waited", n: "waits", from: "waits in"},
	{value: holds, label: "lock", title: "locks held", time: "held", n: "times", from: "acquired in", held: true},
}

// tablesOf returns the tables of a profile, and what is said if all of them are empty.
func tablesOf(p *profile.Profile) (tables []table, nothing string) {
	if isContended(p) {
		return contendedTables, "nobody waited in the kernel for a futex\n"
	}
	return topTables, "no lock was taken, and nobody waited\n"
}

// row is a line of a table: all operations on one object from one place in the code.
type row struct {
	object, place string
	n, d          int64 // operations, and their ns
	threads       map[string]bool
	names         map[string]bool  // of the threads
	by            map[string]int64 // ns, by who is to blame
}

// WriteTop writes, for people, a table of each kind of wait and of critical sections: the n rows that took longest, each with
// the object, the function and the threads, and of waits, who made them wait. It changes the profile: the functions that
// readers leave out are removed.
func WriteTop(out io.Writer, p *profile.Profile, n int) error {
	if err := p.RemoveUninteresting(); err != nil {
		return fmt.Errorf("leave the functions of libraries out: %w", err)
	}
	var text strings.Builder
	tables, nothing := tablesOf(p)
	for i := range tables {
		writeTable(&text, p, &tables[i], n)
	}
	if text.Len() == 0 {
		text.WriteString(nothing)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// writeTable writes one table; nothing if it would have no row.
func writeTable(text *strings.Builder, p *profile.Profile, of *table, n int) {
	all := rows(p, of)
	if len(all) == 0 {
		return
	}
	total, bound := int64(0), ""
	for _, r := range all {
		total += r.d
	}
	if of.bound {
		bound = "at most "
	}
	if text.Len() > 0 {
		text.WriteByte('\n')
	}
	fmt.Fprintf(text, "%s: %s%s\n", of.title, bound, duration(total))
	w := tabwriter.NewWriter(text, 0, 8, 2, ' ', 0)
	waits := !of.held
	fmt.Fprintf(w, "%10s  %8s  %s\t%s\t%s", of.time, of.n, of.label, of.from, "threads")
	if waits && slices.ContainsFunc(all, func(r *row) bool { return len(r.by) > 0 }) {
		fmt.Fprintf(w, "\tbecause of")
	}
	fmt.Fprintln(w)
	for _, r := range all[:min(n, len(all))] {
		fmt.Fprintf(w, "%10s  %8d  %s\t%s\t%s", duration(r.d), r.n, printable.Escape(r.object), printable.Escape(r.place), printable.Escape(r.who()))
		if waits && len(r.by) > 0 {
			fmt.Fprintf(w, "\t%s", printable.Escape(r.blame()))
		}
		fmt.Fprintln(w)
	}
	w.Flush() // to memory
	if more := len(all) - n; more > 0 {
		text.WriteString(plural.Sprintf("and %d {row|rows} more\n", more))
	}
}

// rows returns the rows of a table, the one with the most time first.
func rows(p *profile.Profile, of *table) []*row {
	byPlace := map[[2]string]*row{}
	for _, s := range p.Sample {
		if s.Value[of.value] == 0 && s.Value[of.value+1] == 0 || len(s.Label[of.label]) == 0 {
			continue
		}
		k := [2]string{s.Label[of.label][0], innermost(s)}
		r := byPlace[k]
		if r == nil {
			r = &row{object: k[0], place: k[1], threads: map[string]bool{}, names: map[string]bool{}, by: map[string]int64{}}
			byPlace[k] = r
		}
		r.add(s, of)
	}
	return slices.SortedFunc(maps.Values(byPlace), func(a, b *row) int {
		return cmp.Or(cmp.Compare(b.d, a.d), cmp.Compare(b.n, a.n), cmp.Compare(a.object, b.object), cmp.Compare(a.place, b.place))
	})
}

// innermost returns the innermost function of a sample, with its file and line.
func innermost(s *profile.Sample) string {
	for _, l := range s.Location {
		for _, line := range l.Line {
			return placed(line.Function.Name, line.Function.Filename, line.Line)
		}
	}
	return "an unknown place"
}

func (r *row) add(s *profile.Sample, of *table) {
	r.n += s.Value[of.value]
	r.d += s.Value[of.value+1]
	r.threads[s.Label["thread"][0]] = true
	if name := s.Label["thread_name"]; len(name) > 0 {
		r.names[name[0]] = true
	}
	if by := s.Label[blockedByLabel]; !of.held && len(by) > 0 {
		r.by[by[0]] += s.Value[of.value+1]
	}
}

// who returns the threads of a row: their names if there are few, and how many they are.
func (r *row) who() string {
	names := slices.Sorted(maps.Keys(r.names))
	called := ""
	if len(names) == 1 {
		called = " " + names[0]
	}
	if len(r.threads) == 1 {
		for id := range r.threads {
			return id + called
		}
	}
	return plural.Sprintf("%d {thread|threads}", len(r.threads)) + called
}

// maxBlamed bounds the functions that a row names as the cause of its waits.
const maxBlamed = 2

// blame returns who made the threads of a row wait, with their parts of the time if they are several.
func (r *row) blame() string {
	by := slices.SortedFunc(maps.Keys(r.by), func(a, b string) int { return cmp.Or(cmp.Compare(r.by[b], r.by[a]), cmp.Compare(a, b)) })
	if len(by) == 1 && r.by[by[0]] == r.d {
		return by[0]
	}
	var parts []string
	for _, name := range by[:min(maxBlamed, len(by))] {
		parts = append(parts, fmt.Sprintf("%s %d %%", name, 100*r.by[name]/max(r.d, 1)))
	}
	if more := len(by) - maxBlamed; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// duration returns a time in the unit that suits it, with three digits or so.
func duration(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Second; unit > 1; unit /= 1000 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
