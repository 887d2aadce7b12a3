package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// FirstOfEach returns which of many things to keep where there is room for so many, by their keys: the first of each key,
// then the second of each, and so on. So what is left out is the latest of a key of which there are others.
func FirstOfEach[K comparable](keys []K, room int) (keep []bool) {
	keep = make([]bool, len(keys))
	order, again, seen := make([]int, len(keys)), make([]int, len(keys)), map[K]int{}
	for i, k := range keys {
		order[i], again[i] = i, seen[k]
		seen[k]++
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(again[a], again[b]) })
	for _, i := range order[:min(max(room, 0), len(order))] {
		keep[i] = true
	}
	return keep
}

// Thin returns which of many reports to keep where there is room for so many, as FirstOfEach does by their keys. What is not
// kept is added to the last one before it of the same key that is; dropped counts those without such a one.
func Thin[K, R comparable](all []R, key func(R) K, room int, add func(to, from R)) (keep map[R]bool, dropped uint64) {
	keys := make([]K, len(all))
	for i, r := range all {
		keys[i] = key(r)
	}
	keep = map[R]bool{}
	last := map[K]R{}
	for i, is := range FirstOfEach(keys, room) {
		to, some := last[keys[i]]
		switch {
		case is:
			keep[all[i]], last[keys[i]] = true, all[i]
		case some:
			add(to, all[i])
		default:
			dropped++
		}
	}
	return keep, dropped
}

// LeastBytes is about the memory that a finding without a schedule needs until it is printed, with the names of what its
// evidence refers to, in bytes.
const LeastBytes = 16 << 10

// Bytes that a step needs before it is printed, and each lock that is held at it.
const (
	stepBytes = 160
	heldBytes = 1 << 4
)

// Bytes returns about the memory that the finding needs until it is printed, in bytes; its schedule only before.
func (f *Finding) Bytes() uint64 {
	n := uint64(LeastBytes)
	for _, steps := range [][]Step{f.Evidence, f.Witness, f.Observed, f.Lost} {
		n += StepsBytes(steps)
	}
	return n
}

// StepsBytes returns about the memory that the steps of a schedule need before they are printed, in bytes.
func StepsBytes(steps []Step) uint64 {
	n := uint64(len(steps)) * stepBytes
	for i := range steps {
		n += uint64(len(steps[i].Held)) * heldBytes
	}
	return n
}

// WithinBytes removes findings, so that those that are left need so many bytes at most, and returns them in their order.
// The least certain go first, and of equally certain ones those of which there are others at the same call stacks, the
// later ones first. The first of the most certain ones is kept whatever it needs. The count of a removed one is added to
// the first at the same call stacks that is kept; removed is the number of those without such a one.
func WithinBytes(all []Finding, bytes uint64) (kept []Finding, removed uint64) {
	keep := keptWithin(all, bytes)
	at := map[string]int{}
	for i := range all {
		if keep[i] {
			if key := all[i].places(); at[key] == 0 {
				at[key] = len(kept) + 1
			}
			kept = append(kept, all[i])
		}
	}
	for i := range all {
		if keep[i] {
			continue
		}
		if same := at[all[i].places()]; same > 0 {
			kept[same-1].Count = max(kept[same-1].Count, 1) + max(all[i].Count, 1)
		} else {
			removed++
		}
	}
	return kept, removed
}

// keptWithin returns which findings WithinBytes keeps.
func keptWithin(all []Finding, bytes uint64) []bool {
	order, again, rank, seen := make([]int, len(all)), make([]int, len(all)), make([]int, len(all)), map[string]int{}
	for i := range all {
		key := all[i].places()
		order[i], again[i], rank[i] = i, seen[key], slices.Index(Confidences(), all[i].Confidence)
		seen[key]++
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(again[a], again[b])) })
	keep, used := make([]bool, len(all)), uint64(0)
	for n, i := range order {
		if used += all[i].Bytes(); n > 0 && used > bytes {
			break
		}
		keep[i] = true
	}
	return keep
}

// places identifies the findings of one kind at the same call stacks.
func (f *Finding) places() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s %s", f.Kind, f.Property, f.Rule, f.Message)
	for i := range f.Evidence {
		fmt.Fprintf(&b, " %d/%d", f.Evidence[i].Stack, f.Evidence[i].Op)
	}
	return b.String()
}
