package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// This file has what a report says of the processes of a run that has several, as the run of a test runner has: there is
// one report of all, each finding is in it once, and says in which processes it was seen.

const (
	maxProcesses = 16 // processes that a finding keeps
	maxCommands  = 4  // command lines that a sentence names
	maxPIDs      = 3  // processes of one command line that a sentence names
	maxPrograms  = 8  // programs that a sentence names
)

// processesOf returns the processes of the threads of a finding, as indices of Run.Processes; nil if there is one process.
func (b *builder) processesOf(f *finding.Finding) (in []int) {
	if len(b.processes) < 2 {
		return nil
	}
	threads := slices.Clone(f.AllThreads)
	for i := range f.Evidence {
		threads = append(threads, f.Evidence[i].Thread)
	}
	seen := map[event.ThreadID]bool{}
	for _, t := range threads {
		if seen[t] {
			continue
		}
		seen[t] = true
		if i, known := b.processes[b.resolver.Thread(t).TGID]; known && !slices.Contains(in, i) {
			in = append(in, i)
		}
	}
	return in
}

// setProcesses sets the processes of a finding that was seen in some, as indices of all.
func (f *Finding) setProcesses(in []int, all []run.Process) {
	slices.Sort(in)
	in = slices.Compact(in)
	f.ProcessCount = len(in)
	for _, i := range in[:min(len(in), maxProcesses)] {
		f.Processes = append(f.Processes, all[i])
	}
}

// ProcessesText returns "seen in 3 processes: ./first_test --all (pid 12); ./second_test (pids 14 and 17)", with command
// lines of at most columns columns; "" if the run has one process.
func ProcessesText(f *Finding, columns int) string {
	if f.ProcessCount == 0 {
		return ""
	}
	var commands []string
	pids := map[string][]string{}
	for _, p := range f.Processes {
		c := ShortText(cmp.Or(p.Command, path.Base(p.Program)), columns)
		if pids[c] == nil {
			commands = append(commands, c)
		}
		pids[c] = append(pids[c], fmt.Sprint(p.PID))
	}
	named := 0
	var parts []string
	for _, c := range commands[:min(len(commands), maxCommands)] {
		ids, word := pids[c], "pid"
		if len(ids) > 1 {
			word = "pids"
		}
		named += len(ids)
		if more := len(ids) - maxPIDs; more > 0 {
			ids = append(ids[:maxPIDs:maxPIDs], fmt.Sprintf("%d more", more))
		}
		parts = append(parts, fmt.Sprintf("%s (%s %s)", c, word, plural.Enumerated(ids)))
	}
	text := strings.Join(parts, "; ")
	if more := f.ProcessCount - named; more > 0 {
		text += plural.Sprintf("; and %d more {process|processes}", more)
	}
	return fmt.Sprintf("seen in %s: %s", plural.Counted(uint64(f.ProcessCount), "process", "processes"), text)
}

// ProgramsText returns "in first_test and second_test", the programs of the processes in which a finding was seen; "" if
// the run has one process.
func ProgramsText(f *Finding) string {
	if f.ProcessCount == 0 {
		return ""
	}
	var names []string
	for _, p := range f.Processes {
		if name := path.Base(p.Program); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if more := len(names) - maxPIDs; more > 0 {
		names = append(names[:maxPIDs], plural.Sprintf("%d more {program|programs}", more))
	}
	return "in " + plural.Enumerated(names)
}

// ProcessesObserved returns "9 processes were observed: 4 of sh, 2 of first_test, and 1 each of cc and ctest", those
// with the most first; "" if there was one.
func (r *Run) ProcessesObserved() string {
	if len(r.Processes) < 2 {
		return ""
	}
	counts := map[string]int{}
	for _, p := range r.Processes {
		counts[path.Base(p.Program)]++
	}
	programs := make([]string, 0, len(counts))
	for name := range counts {
		programs = append(programs, name)
	}
	slices.SortFunc(programs, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	var parts, single []string
	for _, name := range programs[:min(len(programs), maxPrograms)] {
		if counts[name] == 1 {
			single = append(single, name)
			continue
		}
		parts = append(parts, fmt.Sprintf("%s of %s", plural.Thousands(uint64(counts[name])), name))
	}
	if len(single) > 0 {
		each := ""
		if len(single) > 1 {
			each = " each"
		}
		parts = append(parts, fmt.Sprintf("1%s of %s", each, plural.Enumerated(single)))
	}
	text, rest := strings.Join(parts, ", "), 0
	for _, name := range programs[min(len(programs), maxPrograms):] {
		rest += counts[name]
	}
	if rest > 0 {
		text += plural.Sprintf(", and %d of {another program|other programs}", rest)
	}
	return fmt.Sprintf("%s were observed: %s", plural.Counted(uint64(len(r.Processes)), "process", "processes"), text)
}

// programsOf returns the programs of the processes in which a finding was seen, as one text; "" if the run has one process.
func programsOf(f *Finding) string {
	var all []string
	for _, p := range f.Processes {
		all = append(all, p.Program)
	}
	return strings.Join(sortedSet(all), "\n")
}
