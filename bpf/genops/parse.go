package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// enum is an enumeration of a header.
type enum struct {
	file    string
	name    string // "" if it has none
	comment string
	items   []item
}

// item is a constant of an enumeration.
type item struct {
	name    string
	value   uint64
	comment string
}

var (
	declaration = regexp.MustCompile(`(?s)(?:(/\*[^/]*?\*/)\n)?enum(?: (\w+))? \{(.*?)\n\};`)
	token       = regexp.MustCompile(`(?s)/\*.*?\*/|\w+(?:\s*=\s*\w+)?|,|\n`)
	lineBreak   = regexp.MustCompile(`\s*\n\s*\*?\s*`)
)

// parse returns the enumerations of a header, in its order.
func parse(file, text string) (enums []enum, err error) {
	for _, m := range declaration.FindAllStringSubmatch(text, -1) {
		e := enum{file: file, name: m[2], comment: plain(m[1])}
		if e.items, err = items(m[3]); err != nil {
			return nil, fmt.Errorf("%s: enum %s: %w", file, e.name, err)
		}
		enums = append(enums, e)
	}
	return enums, nil
}

// plain returns the text of a comment, on one line.
func plain(comment string) string {
	text := strings.TrimSuffix(strings.TrimPrefix(comment, "/*"), "*/")
	return strings.TrimSpace(lineBreak.ReplaceAllString(text, " "))
}

// items returns the constants between the braces of an enumeration. A comment is that of the constant before it
// on its line, else of the one that follows.
func items(body string) (all []item, err error) {
	var before string
	sameLine := false
	next := uint64(0)
	for _, t := range token.FindAllString(body, -1) {
		switch {
		case t == ",":
		case t == "\n":
			sameLine = false
		case strings.HasPrefix(t, "/*") && sameLine:
			all[len(all)-1].comment = plain(t)
		case strings.HasPrefix(t, "/*"):
			before = plain(t)
		default:
			name, value, given := strings.Cut(t, "=")
			if given {
				if next, err = strconv.ParseUint(strings.TrimSpace(value), 0, 64); err != nil {
					return nil, err
				}
			}
			all = append(all, item{strings.TrimSpace(name), next, before})
			before, sameLine = "", true
			next++
		}
	}
	return all, nil
}
