package probes

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/pointer"
)

// formatArguments are the functions that print by a format, and which argument is the format; what is printed comes
// next. The fortified ones have more arguments before it.
var formatArguments = map[string]int{
	"printf": 1, "fprintf": 2, "dprintf": 2, "sprintf": 2, "snprintf": 3, "asprintf": 2, "syslog": 2,
	"__printf_chk": 2, "__fprintf_chk": 3, "__dprintf_chk": 3, "__sprintf_chk": 4, "__snprintf_chk": 5, "__asprintf_chk": 3, "__syslog_chk": 3,
}

// scanArguments are the functions that store by a format, and which argument is the format; where they store comes next.
var scanArguments = map[string]int{
	"scanf": 1, "__isoc99_scanf": 1, "__isoc23_scanf": 1,
	"fscanf": 2, "__isoc99_fscanf": 2, "__isoc23_fscanf": 2, "sscanf": 2, "__isoc99_sscanf": 2, "__isoc23_sscanf": 2,
}

// maxFormat bounds the length of a format that is read, in bytes.
const maxFormat = 1 << 10

// formatRanges returns what a call that prints or scans accesses because its format says so, if the format is a
// constant string of the file.
func (b *builder) formatRanges(c pointer.Call) []memoryRange {
	prints, scans := formatArguments[c.Callee], scanArguments[c.Callee]
	n := max(prints, scans)
	if n == 0 {
		return nil
	}
	format, ok := b.constantText(c.Addr, b.argument(n))
	if !ok {
		return nil
	}
	var ranges []memoryRange
	if scans > 0 {
		ranges = scannedRanges(format, n+1)
	} else {
		ranges = printedTexts(format, n+1)
	}
	return slices.DeleteFunc(ranges, func(r memoryRange) bool { return r.pointer > len(b.arch.Arguments()) })
}

// constantText returns the text to which a register points before an instruction, if it certainly is that one.
func (b *builder) constantText(addr uint64, r insn.Reg) (string, bool) {
	if b.arch != insn.AMD64 {
		return "", false
	}
	values := b.stringLine(&insn.Inst{Addr: addr}).values
	v := values[len(values)-1][r]
	f := b.plan.File
	if v.of != constant || f.IsData(uint64(v.imm)) {
		return "", false
	}
	text, err := f.Bytes(uint64(v.imm), maxFormat)
	end := bytes.IndexByte(text, 0)
	if err != nil || end < 0 {
		return "", false
	}
	return string(text[:end]), true
}

// printedTexts returns the texts that a format of printf(3) prints, as far as it certainly reads them. First is the number of the first argument behind the format, counted from 1; of arguments in vector registers
// there is none. What it does not understand ends the search.
func printedTexts(format string, first int) (texts []memoryRange) {
	next := first
	for {
		_, rest, found := strings.Cut(format, "%")
		if !found {
			return texts
		}
		rest = strings.TrimLeft(rest, "-+ #0'I")
		width, rest := number(rest, &next)
		precision, some := "", true
		if after, ok := strings.CutPrefix(rest, "."); ok {
			precision, rest = number(after, &next)
			some = strings.Trim(precision, "0*") != "" // at least one byte
		}
		long := strings.TrimLeft(rest, "hlqjztL")
		length := rest[:len(rest)-len(long)]
		if long == "" || strings.HasPrefix(long, "$") {
			return texts
		}
		format = long[1:]
		switch long[0] {
		case 's', 'S':
			if some {
				texts = append(texts, printedText(next, precision, length != "" || long[0] == 'S'))
			}
			next++
		case 'd', 'i', 'o', 'u', 'x', 'X', 'c', 'C', 'p', 'n':
			next++
		case 'e', 'E', 'f', 'F', 'g', 'G', 'a', 'A':
			if strings.Contains(length, "L") {
				continue // on the stack
			}
		case '%', 'm':
			if width+precision != "" {
				return texts
			}
		default:
			return texts
		}
	}
}

// printedText returns what is read of a text of which so many bytes are printed, if a number says how many; of a text of
// wide characters, the first byte.
func printedText(argument int, precision string, wide bool) memoryRange {
	r := reads(argument)
	if wide {
		return r
	}
	if most, err := strconv.Atoi(precision); err == nil && most > 0 && most < maxText {
		r.bytes = most
	}
	return r.asText(argument)
}

// scannedRanges returns what a format of scanf(3) stores once it has assigned as many values as each says. First is the
// number of the first argument behind the format, counted from 1. What it does not understand ends the search.
func scannedRanges(format string, first int) (ranges []memoryRange) {
	assigned, next := 0, first
	for {
		before, rest, found := strings.Cut(format, "%")
		if !found {
			return ranges
		}
		if rest, found = strings.CutPrefix(rest, "%"); found {
			format = rest
			continue
		}
		rest, skipped := strings.CutPrefix(rest, "*")
		stars := 0
		width, rest := number(rest, &stars)
		long := strings.TrimLeft(rest, "hlqjztL")
		length := rest[:len(rest)-len(long)]
		if bytes := integers[length]; strings.HasPrefix(long, "n") && bytes > 0 && !skipped {
			if before == "" && assigned > 0 { // what has been read so far, if the conversion before it is done
				ranges = append(ranges, scanned(next, bytes, assigned))
			}
			format = long[1:]
			next++
			continue
		}
		bytes, rest := scannedBytes(length, width, long)
		if bytes == 0 || stars > 0 {
			return ranges
		}
		if format = rest; skipped {
			continue
		}
		assigned++
		r := scanned(next, bytes, assigned)
		if strings.ContainsAny(long[:1], "s[") && length == "" {
			r = r.asScannedText(width)
		}
		ranges = append(ranges, r)
		next++
	}
}

// scanned returns the range that is stored if so many values were assigned.
func scanned(argument, bytes, assigned int) memoryRange {
	r := writes(argument).part(0, bytes)
	r.returned, r.whole, r.int, r.least = true, true, true, assigned
	return r
}

// asScannedText returns the range of a text, with the byte that ends it, of which a width bounds the others.
func (r memoryRange) asScannedText(width string) memoryRange {
	r.text, r.bytes = r.pointer, maxText
	if most, err := strconv.Atoi(width); err == nil && most > 0 && most < maxText {
		r.bytes = most + 1
	}
	return r
}

// integers and reals are the sizes of numbers, by the length modifiers of their conversions.
var (
	integers = map[string]int{"": 4, "hh": 1, "h": 2, "l": 8, "ll": 8, "q": 8, "j": 8, "z": 8, "t": 8}
	reals    = map[string]int{"": 4, "l": 8, "L": 16}
)

// scannedBytes returns how many bytes a conversion of scanf(3) certainly stores, 0 if it is not understood, and what
// follows it.
func scannedBytes(length, width, conversion string) (bytes int, rest string) {
	if conversion == "" {
		return 0, ""
	}
	switch kind, rest := conversion[0], conversion[1:]; kind {
	case 'd', 'i', 'o', 'u', 'x', 'X':
		return integers[length], rest
	case 'e', 'E', 'f', 'F', 'g', 'G', 'a', 'A':
		return reals[length], rest
	case 'p':
		return 8, rest
	case 'c':
		n, err := strconv.Atoi(cmp.Or(width, "1"))
		if err != nil || n < 1 || n > maxFormat {
			return 0, ""
		}
		return n, rest
	case 's':
		return 1, rest // at least
	case '[':
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, "^"), "]") // a bracket that is one of the set
		_, rest, closed := strings.Cut(rest, "]")
		if closed {
			return 1, rest
		}
	}
	return 0, ""
}

// number cuts a number, or a star that stands for an argument, off a format.
func number(format string, next *int) (n, rest string) {
	if rest, ok := strings.CutPrefix(format, "*"); ok {
		*next++
		return "*", rest
	}
	rest = strings.TrimLeft(format, "0123456789")
	return format[:len(format)-len(rest)], rest
}
