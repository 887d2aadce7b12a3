package code

import "slices"

// Reach visits the nodes that can be reached: those in from, and all that next returns for a
// visited node. It visits each node once, and the node that was added last first. It returns the
// visited nodes, and false if next returned false, which ends the search.
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
