// Package plural puts counts into sentences. A format contains both forms of each word that
// depends on a count: "{one|many}". A Note is such a sentence with what joins it to the same sentence
// about other files. The package knows nothing of what is counted.
package plural

import (
	"fmt"
	"reflect"
	"strings"
)

// Sprintf formats like fmt.Sprintf, after it has replaced each {one|many} of the format by its
// first form if the count is 1, and by its second form otherwise. The count is the last integer
// among the arguments before it in the format or, if there is none, the first one after it.
// Other braces, and those of arguments, stay.
func Sprintf(format string, args ...any) string {
	if false {
		_ = fmt.Sprintf(format, args...) // go vet then checks the formats of callers
	}
	return fmt.Sprintf(choose(format, args), args...)
}

// choose returns the format with its forms replaced.
func choose(format string, args []any) string {
	var b strings.Builder
	singular := firstIsOne(args)
	next := 0 // index of the next argument
	for format != "" {
		i := strings.IndexAny(format, "%{")
		if i < 0 {
			break
		}
		b.WriteString(format[:i])
		format = format[i:]
		size := 0
		if format[0] == '%' {
			size = verb(format)
			if format[size-1] != '%' {
				if one, ok := isOne(args, next); ok {
					singular = one
				}
				next++
			}
			b.WriteString(format[:size])
		} else {
			var text string
			text, size = form(format, singular)
			b.WriteString(text)
		}
		format = format[size:]
	}
	return b.String() + format
}

// verb returns the length of the verb at the start of a format, with its flags. A verb takes one
// argument: widths and precisions are numbers.
func verb(format string) int {
	i := 1
	for i < len(format)-1 && strings.IndexByte("+-# 0123456789.", format[i]) >= 0 {
		i++
	}
	return min(i+1, len(format))
}

// form returns the chosen form at the start of a format, which begins with a brace, and the length
// of what it replaces.
func form(format string, singular bool) (text string, size int) {
	end := strings.IndexByte(format, '}')
	if end < 0 {
		return format[:1], 1
	}
	one, many, ok := strings.Cut(format[1:end], "|")
	switch {
	case !ok:
		return format[:1], 1
	case singular:
		return one, end + 1
	}
	return many, end + 1
}

// firstIsOne reports whether the first integer among the arguments is 1.
func firstIsOne(args []any) bool {
	for i := range args {
		if one, ok := isOne(args, i); ok {
			return one
		}
	}
	return false
}

// isOne reports whether an argument is 1; ok is false if it is no integer.
func isOne(args []any, i int) (one, ok bool) {
	if i >= len(args) {
		return false, false
	}
	switch v := reflect.ValueOf(args[i]); {
	case v.CanInt():
		return v.Int() == 1, true
	case v.CanUint():
		return v.Uint() == 1, true
	}
	return false, false
}
