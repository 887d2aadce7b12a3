package manual

import (
	"fmt"
	"io"
	"strings"
)

// WriteMan writes a page as a manual page of section 1, in troff. related are the names of other pages.
func WriteMan(w io.Writer, p Page, version string, related []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q \"User Commands\"\n", strings.ToUpper(FileName(p.Name)), troff("tracepredict "+version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", troff(FileName(p.Name)), troff(p.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", troff(p.Usage))
	b.WriteString(".SH DESCRIPTION\n")
	for i, text := range p.Text {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		writeParagraph(&b, text)
	}
	for _, g := range p.Commands {
		fmt.Fprintf(&b, ".SH %s\n", troff(strings.ToUpper(g.Title)))
		for _, r := range g.Rows {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", troff(r.Word), troff(r.Text))
		}
	}
	b.WriteString(".SH OPTIONS\n")
	for _, g := range p.Flags {
		if len(p.Flags) > 1 {
			fmt.Fprintf(&b, ".SS %s\n", troff(g.Title))
		}
		for _, f := range g.Rows {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", troff(f.Spelling()), troff(f.Text))
		}
	}
	if p.Examples != nil {
		b.WriteString(".SH EXAMPLES\n.nf\n")
		for _, line := range p.Examples {
			fmt.Fprintln(&b, troff(line))
		}
		b.WriteString(".fi\n")
	}
	writeRelated(&b, related)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeRelated(b *strings.Builder, related []string) {
	for i, name := range related {
		end := ","
		if i == len(related)-1 {
			end = ""
		}
		if i == 0 {
			b.WriteString(".SH SEE ALSO\n")
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", troff(FileName(name)), end)
	}
}

// writeParagraph writes a paragraph, and those of its lines that stand by themselves as a list.
func writeParagraph(b *strings.Builder, text string) {
	list := false
	for line := range strings.SplitSeq(text, "\n") {
		word, rest, two := strings.Cut(strings.TrimLeft(line, " "), "  ")
		switch {
		case strings.HasPrefix(line, " ") && two:
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", troff(word), troff(strings.TrimSpace(rest)))
			list = true
			continue
		case list:
			b.WriteString(".PP\n")
			list = false
		}
		fmt.Fprintln(b, troff(strings.TrimLeft(line, " ")))
	}
}

// FileName returns the name of a command's manual page.
func FileName(command string) string { return strings.ReplaceAll(command, " ", "-") }

// troff returns a text as troff prints it: with what it would take for its own escaped.
func troff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, `"`, `\(dq`, "^", `\(ha`, "~", `\(ti`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
