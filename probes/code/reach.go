package code

import "slices"

// Reach visits what can be reached: the nodes in from, and all that next returns for a
// node visited, each once, the last that was returned first. It returns the nodes that
// it has visited, and false if next did, which ends it.
func Reach[N comparable](from []N, next func(N) (to []N, ok bool)) (seen map[N]bool, ok bool) {
	seen = map[N]bool{}
	todo := slices.Clone(from)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		to, ok := next(n)
		if !ok {
			return seen, false
		}
		todo = append(todo, to...)
	}
	return seen, true
}
