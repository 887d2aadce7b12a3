// Package manual says what a command does and takes: as help for a terminal, and as a manual page. Both are written
// from one plain form, which is made of the command itself, so that they cannot differ.
//
// It knows no command and no flag: who calls it says which flags belong together.
package manual

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Page is what is said about a command.
type Page struct {
	Name     string   // with the names of the commands that it belongs to
	Short    string   // what it does, in a phrase
	Text     []string // paragraphs; a line that begins with a space is a line by itself
	Usage    string
	Examples []string
	Commands []Commands
	Flags    []Flags
	Hidden   int // flags that are left out
}

// Commands are commands that belong together.
type Commands struct {
	Title string
	Rows  []Row
}

// Row is a word and what it stands for.
type Row struct{ Word, Text string }

// Flags are flags that belong together.
type Flags struct {
	Title string
	Rows  []Flag
}

// Flag is a flag as the user writes it.
type Flag struct {
	Letter   string // "" if it has none
	Name     string
	Value    string // what stands for its value; "" if it takes none
	Optional bool   // it may be given without its value
	Text     string // with its default
}

// Group says which flags belong together, by name.
type Group struct {
	Title string
	Names []string
}

// maxFlat is the number of flags up to which all are shown in one list.
const maxFlat = 14

// Of returns the page of a command. Its flags are in the order of groups; those of no group come last. A command
// with many flags has on its page those of the first group alone, unless all are asked for.
func Of(cmd *cobra.Command, groups []Group, all bool) Page {
	p := Page{Name: cmd.CommandPath(), Short: cmd.Short, Text: paragraphs(cmd.Long), Usage: cmd.UseLine(), Commands: commandsOf(cmd)}
	if cmd.Example != "" {
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			p.Examples = append(p.Examples, strings.TrimSpace(line))
		}
	}
	p.Flags = flagsOf(cmd, groups)
	about := []string{"help", helpAll, "version"}
	switch {
	case p.count() <= maxFlat:
		p.flatten()
		about = []string{"help", "version"}
	case !all:
		p.Hidden = p.count() - len(p.Flags[0].Rows)
		p.Flags = p.Flags[:1]
	}
	first := &p.Flags[0]
	first.Rows = append(first.Rows, rows(cmd.LocalFlags(), about)...)
	return p
}

// helpAll is the flag that asks for all flags.
const helpAll = "help-all"

// count returns how many flags the page has.
func (p *Page) count() (n int) {
	for _, g := range p.Flags {
		n += len(g.Rows)
	}
	return n
}

// flatten makes one list of all flags.
func (p *Page) flatten() {
	one := Flags{Title: "Flags"}
	for _, g := range p.Flags {
		one.Rows = append(one.Rows, g.Rows...)
	}
	p.Flags = []Flags{one}
}

func commandsOf(cmd *cobra.Command) []Commands {
	var out []Commands
	for _, g := range cmd.Groups() {
		one := Commands{Title: g.Title}
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && c.IsAvailableCommand() {
				one.Rows = append(one.Rows, Row{c.Name(), c.Short})
			}
		}
		out = append(out, one)
	}
	return out
}

func flagsOf(cmd *cobra.Command, groups []Group) []Flags {
	var out []Flags
	own := cmd.LocalFlags()
	named := map[string]bool{"help": true, helpAll: true, "version": true}
	for _, g := range groups {
		for _, name := range g.Names {
			named[name] = true
		}
		if all := rows(own, g.Names); len(all) > 0 {
			out = append(out, Flags{g.Title, all})
		}
	}
	var rest Flags
	own.VisitAll(func(f *pflag.Flag) {
		if !named[f.Name] && !f.Hidden {
			rest.Rows = append(rest.Rows, rowOf(f))
		}
	})
	if len(rest.Rows) > 0 {
		rest.Title = "Other"
		out = append(out, rest)
	}
	return out
}

// rows returns those flags of a set that have one of some names, in the order of these.
func rows(set *pflag.FlagSet, names []string) (out []Flag) {
	for _, name := range names {
		if f := set.Lookup(name); f != nil {
			out = append(out, rowOf(f))
		}
	}
	return out
}

// none are the defaults that say nothing.
var none = []string{"", "0", "0s", "[]", "false"}

func rowOf(f *pflag.Flag) Flag {
	value, text := pflag.UnquoteUsage(f)
	if !slices.Contains(none, f.DefValue) {
		text += " (default " + f.DefValue + ")"
	}
	optional := f.NoOptDefVal != "" && value != ""
	return Flag{Letter: f.Shorthand, Name: f.Name, Value: value, Optional: optional, Text: text}
}

// Spelling returns the flag as it is written.
func (f *Flag) Spelling() string {
	s := "--" + f.Name
	switch {
	case f.Optional:
		s += "[=" + f.Value + "]"
	case f.Value != "":
		s += " " + f.Value
	}
	if f.Letter != "" {
		s = "-" + f.Letter + ", " + s
	}
	return s
}

// paragraphs returns the paragraphs of a text. The source breaks their lines anywhere; those that begin with a space
// stay lines.
func paragraphs(text string) []string {
	var out []string
	for block := range strings.SplitSeq(text, "\n\n") {
		var lines []string
		for line := range strings.SplitSeq(block, "\n") {
			if n := len(lines); n > 0 && !strings.HasPrefix(line, " ") && !strings.HasPrefix(lines[n-1], " ") {
				lines[n-1] += " " + line
				continue
			}
			lines = append(lines, line)
		}
		if block != "" {
			out = append(out, strings.Join(lines, "\n"))
		}
	}
	return out
}
