package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tracepredict/tracepredict/analysis/report/format"
)

// destination is where a report goes, and in which format. "" stands for the default.
type destination struct{ format, output string }

// destinations are the pairs of --format and --output, which may be given several times: a flag begins a new pair if the
// last one has its part already.
type destinations struct {
	pairs []destination
	root  string // the folder to which formats for CI make paths relative, as the user gave it
}

// pairFlag is one of the two flags.
type pairFlag struct {
	of     *destinations
	member func(*destination) *string
	kind   string
}

// Set adds a value of the flag.
func (p pairFlag) Set(v string) error {
	d := p.of
	if n := len(d.pairs); n == 0 || *p.member(&d.pairs[n-1]) != "" {
		d.pairs = append(d.pairs, destination{})
	}
	*p.member(&d.pairs[len(d.pairs)-1]) = v
	return nil
}

// String returns the values of the flag, or its default.
func (p pairFlag) String() string {
	if p.of == nil {
		return ""
	}
	var all []string
	for _, d := range p.of.list() {
		all = append(all, *p.member(&d))
	}
	return strings.Join(all, ", ")
}

// Type returns the kind of the flag's values for --help.
func (p pairFlag) Type() string { return p.kind }

func (d *destinations) register(fs *pflag.FlagSet) {
	fs.Var(pairFlag{d, func(d *destination) *string { return &d.format }, "string"}, "format", format.Help())
	fs.VarP(pairFlag{d, func(d *destination) *string { return &d.output }, "string"}, "output", "o", "write the report to `FILE` instead of standard error, in place of an older one when it is complete; - is standard output. For several reports of one run give --format and --output several times")
	fs.StringVar(&d.root, "source-root", "", "`DIR` to which the formats for CI make paths of source files relative; by default the repository that the working directory is in, or else that directory itself")
}

// list returns the destinations: one at least, each with a format.
func (d *destinations) list() []destination {
	if len(d.pairs) == 0 {
		return []destination{{format: format.Default()}}
	}
	out := make([]destination, len(d.pairs))
	for i, p := range d.pairs {
		if p.format == "" {
			p.format = format.Default()
		}
		out[i] = p
	}
	return out
}

// has reports whether some report has a format.
func (d *destinations) has(name string) bool {
	return slices.ContainsFunc(d.list(), func(p destination) bool { return p.format == name })
}

// writes reports whether some report goes to a file.
func (d *destinations) writes(output string) bool {
	return slices.ContainsFunc(d.list(), func(p destination) bool { return p.output == output })
}

// check returns an error if there is no such format, or if two reports go to one place.
func (d *destinations) check() error {
	seen := map[string]bool{}
	for _, p := range d.list() {
		if err := oneOf("format", p.format, format.Names()...); err != nil {
			return err
		}
		if seen[p.output] {
			where := p.output
			if where == "" {
				where = "standard error"
			}
			return usage("two reports would go to %s: give each --format an --output of its own", where)
		}
		seen[p.output] = true
	}
	return nil
}
