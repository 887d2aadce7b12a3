package manual

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tracepredict/tracepredict/internal/plural"
)

const (
	flagColumn    = 26 // where the text of a flag begins
	commandColumn = 17 // where that of a command does
)

// WriteText writes a page in lines of at most width characters, as far as its words allow.
func WriteText(w io.Writer, p Page, width int) error {
	var b strings.Builder
	for _, text := range p.Text {
		for line := range strings.SplitSeq(text, "\n") {
			fill(&b, line, width)
		}
		b.WriteByte('\n')
	}
	b.WriteString("Usage:\n")
	fill(&b, "  "+p.Usage, width)
	if p.Commands != nil {
		fill(&b, "  "+p.Name+" COMMAND ...", width)
	}
	if p.Examples != nil {
		fmt.Fprintf(&b, "\nExamples:\n  %s\n", strings.Join(p.Examples, "\n  "))
	}
	for _, g := range p.Commands {
		fmt.Fprintf(&b, "\n%s:\n", g.Title)
		for _, r := range g.Rows {
			fillAt(&b, "  "+r.Word, r.Text, commandColumn, width)
		}
	}
	for _, g := range p.Flags {
		fmt.Fprintf(&b, "\n%s:\n", g.Title)
		for _, f := range g.Rows {
			indent := "      "
			if f.Letter != "" {
				indent = "  "
			}
			fillAt(&b, indent+f.Spelling(), f.Text, flagColumn, width)
		}
	}
	p.writeMore(&b, width)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeMore says where there is more.
func (p *Page) writeMore(b *strings.Builder, width int) {
	if p.Hidden > 0 {
		b.WriteByte('\n')
		fill(b, plural.Sprintf("%d more {flag|flags}, in groups: ", p.Hidden)+p.Name+" --help-all", width)
	}
	if p.Commands != nil {
		b.WriteByte('\n')
		fill(b, p.Name+" COMMAND --help has more about a command.", width)
	}
}

// fill writes a line, wrapped below its own beginning; below the second column of one that has two.
func fill(b *strings.Builder, line string, width int) {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if word, rest, two := strings.Cut(text, "  "); two && indent > 0 {
		column := len(line) - len(strings.TrimLeft(rest, " "))
		fillAt(b, strings.Repeat(" ", indent)+word, strings.TrimLeft(rest, " "), column, width)
		return
	}
	fillAt(b, "", text, indent, width)
}

// fillAt writes a word and, from a column on, a text.
func fillAt(b *strings.Builder, word, text string, column, width int) {
	at := utf8.RuneCountInString(word)
	b.WriteString(word)
	if at > column-2 && word != "" {
		b.WriteByte('\n')
		at = 0
	}
	b.WriteString(strings.Repeat(" ", column-at))
	at = column
	for i, field := range strings.Fields(text) {
		n := utf8.RuneCountInString(field)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", column))
			at = column
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(field)
		at += n
	}
	b.WriteByte('\n')
}
