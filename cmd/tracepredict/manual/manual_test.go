package manual

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func command() *cobra.Command {
	cmd := &cobra.Command{Use: "tool", Short: "Do it", Run: func(*cobra.Command, []string) {}}
	cmd.Long = "tool does\nwhat it does.\n\nForms are\n  long   a form that takes more words than fit\n  short  one that takes fewer\nand no other."
	cmd.Example = "  tool here\n  tool there"
	fs := cmd.Flags()
	fs.BoolP("all", "a", false, "take all")
	fs.Int("count", 3, "take `N` at most")
	fs.String("form", "", "`long|short`, the form")
	fs.Lookup("form").NoOptDefVal = "long"
	return cmd
}

func TestWriteText(t *testing.T) {
	var out strings.Builder
	if err := WriteText(&out, Of(command(), []Group{{"Common", []string{"form", "absent"}}}, false), 44); err != nil {
		t.Fatal(err)
	}
	want := `tool does what it does.

Forms are
  long   a form that takes more words than
         fit
  short  one that takes fewer
and no other.

Usage:
  tool [flags]

Examples:
  tool here
  tool there

Flags:
      --form[=long|short]
                          long|short, the
                          form
  -a, --all               take all
      --count N           take N at most
                          (default 3)
`
	if got := out.String(); got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
}

// TestManyFlags: of many flags the page has those of the first group, and the number of the others; none is lost from
// the page with all.
func TestManyFlags(t *testing.T) {
	cmd := command()
	for c := 'b'; c <= 'z'; c++ {
		cmd.Flags().Bool(strings.Repeat(string(c), 2), false, "a flag")
	}
	cmd.Flags().Bool("help", false, "print this")
	groups := []Group{{"Common", []string{"count", "all"}}, {"Forms", []string{"form"}}}
	short, all := Of(cmd, groups, false), Of(cmd, groups, true)
	if len(short.Flags) != 1 || len(short.Flags[0].Rows) != 3 || short.Hidden != 26 {
		t.Errorf("%+v", short)
	}
	if n := all.count(); n != 29 || all.Hidden != 0 || len(all.Flags) != 3 || all.Flags[1].Title != "Forms" || all.Flags[2].Title != "Other" {
		t.Errorf("%d flags: %+v", n, all)
	}
	var out strings.Builder
	if err := WriteText(&out, short, 80); err != nil || !strings.Contains(out.String(), "\n26 more flags, in groups: tool --help-all\n") {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestWriteMan(t *testing.T) {
	cmd := command()
	cmd.Long += "\n\n.leading 'quotes' and \\ ^ ~ `ticks`"
	var out strings.Builder
	if err := WriteMan(&out, Of(cmd, nil, true), "v1", []string{"tool exec", "tool hang"}); err != nil {
		t.Fatal(err)
	}
	want := `.TH "TOOL" 1 "" "tracepredict v1" "User Commands"
.SH NAME
tool \- Do it
.SH SYNOPSIS
.B tool [flags]
.SH DESCRIPTION
tool does what it does.
.PP
Forms are
.TP
.B long
a form that takes more words than fit
.TP
.B short
one that takes fewer
.PP
and no other.
.PP
\&.leading \(aqquotes\(aq and \e \(ha \(ti \(gaticks\(ga
.SH OPTIONS
.TP
.B \-a, \-\-all
take all
.TP
.B \-\-count N
take N at most (default 3)
.TP
.B \-\-form[=long|short]
long|short, the form
.SH EXAMPLES
.nf
tool here
tool there
.fi
.SH SEE ALSO
.BR tool\-exec (1),
.BR tool\-hang (1)
`
	if got := out.String(); got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
}
