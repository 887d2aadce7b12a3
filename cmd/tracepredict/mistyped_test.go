package main

import (
	"io"
	"strings"
	"testing"
)

// TestMistyped: what was typed wrongly is told, with what may be meant, before anything else happens.
func TestMistyped(t *testing.T) {
	for line, want := range map[string]string{
		"exce -- ./shop":                  `there is no command "exce"; did you mean exec? see tracepredict --help`,
		"run ./shop":                      `there is no command "run"; did you mean exec?`,
		"analyse shop.trace":              `there is no command "analyse"; did you mean analyze?`,
		"su":                              `there is no command "su"; did you mean suggest-scope or suppressions?`,
		"bogus":                           `there is no command "bogus"; see tracepredict --help`,
		"help exce":                       `there is no command "exce"; did you mean exec?`,
		"exec --wach hits -- ./shop":      `unknown flag: --wach; did you mean --watch? see tracepredict exec --help`,
		"exec -watch hits -- ./shop":      `unknown shorthand flag: 'w' in -watch; did you mean --watch?`,
		"exec --supress f -- ./shop":      `did you mean --suppressions?`,
		"exec --confirm-tim 3 -- ./shop":  `did you mean --confirm-time?`,
		"exec --bogus -- ./shop":          `unknown flag: --bogus; see tracepredict exec --help-all`,
		"exec -x -- ./shop":               `unknown shorthand flag: 'x' in -x; see tracepredict exec --help`,
		"sites --duration 3 shop":         `unknown flag: --duration; it is a flag of attach, exec, profile;`,
		"exec --format jsn -- ./shop":     `--format jsn: it is text, json,`,
		"attach":                          "which process? give its id: -p PID",
		"attach -p":                       "flag needs an argument: 'p' in -p",
		"attach -p zero":                  `invalid argument "zero" for "-p, --pid" flag: it is no process id; pidof zero, or pgrep, finds that of a program`,
		"attach zero":                     `"zero": it is no process id; pidof zero`,
		"attach -p -5":                    `invalid argument "-5" for "-p, --pid" flag: it is no process id;`,
		"attach 0":                        `"0": it is no process id;`,
		"attach 4711 4712":                "one process at a time: this names 4711 and 4712",
		"attach -p 4711 4712":             "one process at a time: this names 4711 and 4712",
		"repair":                          "which process? give its id: -p PID",
		"repair 4711 -p 4712":             "one process at a time: this names 4711 and 4712",
		"hang":                            "which process? give its id: -p PID",
		"hang server":                     `"server": it is no process id; pidof server`,
		"attach --duration soon -p 4711":  `invalid argument "soon" for "--duration" flag: it is a time such as 30s, 5m or 1h30m; a number alone is seconds`,
		"attach --settle -- -p 4711":      `invalid argument "--" for "--settle" flag: it is a time such as`,
		"exec --analysis-time x -- ./sh":  `--analysis-time x: it is a time such as 30s or 5m, a number of seconds, auto or none`,
		"exec --duration 1e3 -- ./shop":   `invalid argument "1e3"`,
		"exec --duration 1.2.3 -- ./shop": `invalid argument "1.2.3"`,
	} {
		var stderr strings.Builder
		if status := execute(strings.Fields(line), io.Discard, &stderr); status != exitUsage {
			t.Errorf("%s: status %d", line, status)
		}
		if got := stderr.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %s\nwant: %s", line, got, want)
		}
	}
}
