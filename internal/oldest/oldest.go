// Package oldest says which of many things were not used for the longest time, so that these can be evicted.
package oldest

import "slices"

// Half returns the time of use before which half of all were used last, or a few less where several were used at that
// time; 0 if there are none. It takes time and memory in proportion to all.
func Half[K comparable, V any](all map[K]V, used func(V) uint64) uint64 {
	if len(all) == 0 {
		return 0
	}
	times := make([]uint64, 0, len(all))
	for _, x := range all {
		times = append(times, used(x))
	}
	slices.Sort(times)
	return times[len(times)/2]
}
