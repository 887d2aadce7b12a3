package engine

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/observer/event"
)

// atomicWait reports whether a load is one that std::atomic's wait makes, or its notify_one and notify_all, by the call
// stack. Those of libstdc++ are in the program's own code, as far as its headers have them; others are no such loads, as of
// them nothing shows whether a notification was seen.
func atomicWait(frames []event.Frame) (waits, notifies bool) {
	inside := false // the functions of libstdc++ that both are made of
	for _, f := range frames {
		name := plainName(f.Function)
		of, method, ok := cutLast(name, "::")
		switch {
		case !ok:
		case strings.HasPrefix(name, "std::__atomic_notify_address"): // whose caller may have jumped there
			return false, true
		case strings.HasPrefix(name, "std::__detail::__waiter"), strings.HasPrefix(name, "std::__atomic_wait_address"):
			inside = true
		case !slices.Contains([]string{"std::__atomic_base", "std::__atomic_float", "std::__atomic_ref", "std::atomic", "std::atomic_ref", "std::atomic_flag"}, of):
		case method == "wait" && inside:
			return true, false
		case (method == "notify_one" || method == "notify_all") && inside:
			return false, true
		}
	}
	return false, false
}

// plainName returns the name of a C++ function without its parameters, its template arguments and its result.
func plainName(function string) string {
	var plain strings.Builder
	depth := 0
	for _, c := range function {
		switch {
		case c == '<':
			depth++
		case c == '>':
			depth--
		case depth > 0:
		case c == '(':
			_, name, _ := cutLast(plain.String(), " ")
			return name
		default:
			plain.WriteRune(c)
		}
	}
	_, name, _ := cutLast(plain.String(), " ")
	return name
}

// cutLast returns what is before and behind the last separator in a text; without one all is behind it.
func cutLast(text, separator string) (before, behind string, ok bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return "", text, false
	}
	return text[:at], text[at+len(separator):], true
}
