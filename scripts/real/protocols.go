package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// This file has what -protocols measures: protocols of the use of objects, learned from a run and checked in others.

const (
	mined   mode = "mined"   // by tracepredict mine
	checked mode = "checked" // by tracepredict exec --spec
)

var protocolModes = []mode{plain, mined, checked}

// protocolPrograms are in the order of the table, each with the specification of the calls that matter.
func protocolPrograms() ([]program, map[string]string) {
	own, _ := filepath.Abs("scripts/real/protocols") // fails only without a working directory; then nothing is found
	own += "/"
	specs := map[string]string{}
	var all []program
	add := func(p program, spec string) {
		all = append(all, p)
		specs[p.name()] = spec
	}
	add(&redis{}, "std/descriptor")
	add(&nginx{}, "std/descriptor")
	add(&mariadb{}, "std/descriptor")
	add(&sqlite{}, "std/sqlite3")
	add(&curl{}, "std/curl")
	add(&gstreamer{}, own+"glib.tps")
	add(&povray{}, "std/mutex")
	return all, specs
}

var protocolMarks = figures.Marks{Begin: "<!-- protocols: written by make real -->", End: "<!-- end of protocols -->"}

func calls(s sample) float64 {
	if s.report.Run.Protocols == nil {
		return 0
	}
	return float64(s.report.Run.Protocols.Calls)
}

func objects(s sample) float64 {
	if s.report.Run.Protocols == nil {
		return 0
	}
	return float64(s.report.Run.Protocols.Objects)
}

func shared(s sample) float64 {
	if s.report.Run.Protocols == nil {
		return 0
	}
	return float64(s.report.Run.Protocols.Shared)
}

// returned is the share of returns among the calls, in percent.
func returned(s sample) float64 {
	var all, returns uint64
	for _, c := range s.report.Run.Calls {
		all += c.Events
		if strings.HasPrefix(c.Pattern, "return ") {
			returns += c.Events
		}
	}
	if all == 0 {
		return 0
	}
	return 100 * float64(returns) / float64(all)
}

// renderProtocols is the table of -protocols.
func renderProtocols(c config, results []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured with `make real` (rounds: %d, load: %g) on %s. *Returns* is the share of calls seen as the function returns, which costs more.\n\n", c.rounds, c.scale, figures.Machine())
	b.WriteString("| | calls | a second, plain | returns, % | objects | by two threads | plain, s | mined, s | checked, s | times | findings |\n" +
		"| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n")
	for _, r := range results {
		if len(r.samples[plain]) == 0 || len(r.samples[checked]) == 0 {
			continue
		}
		n := r.median(checked, calls)
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.2f | %.2f | %.2f | %.2f | %s |\n", r.name, n, n/r.median(plain, load), r.median(checked, returned),
			r.median(checked, objects), r.median(checked, shared), r.median(plain, load), r.median(mined, load), r.median(checked, load), r.ratio(checked), r.findings(checked))
	}
	b.WriteString("\nThe loads:\n\n")
	for _, r := range results {
		fmt.Fprintf(&b, "- %s: %s\n", r.name, r.load)
	}
	return b.String()
}
