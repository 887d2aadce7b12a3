package code

import "slices"

// Frame is what is known of the words of a function's stack frame, sorted by At. Nothing is known
// of other words. Copies share memory: methods that change a Frame return another one.
type Frame[V any] []Word[V]

// Word is what is known of eight bytes of a stack frame.
type Word[V any] struct {
	At    int64 // the distance in bytes from a fixed point of the frame, which the user chooses
	Value V
}

const wordSize = 8

func (f Frame[V]) find(at int64) (int, bool) {
	return slices.BinarySearchFunc(f, at, func(w Word[V], at int64) int { return int(max(-1, min(1, w.At-at))) })
}

// Get returns what is known of the word at an offset; false if nothing is.
func (f Frame[V]) Get(at int64) (v V, ok bool) {
	for i := range f {
		if f[i].At == at {
			return f[i].Value, true
		}
	}
	return v, false
}

// Put sets what is known of the word at an offset. Words that overlap it are left as they are.
func (f Frame[V]) Put(at int64, v V) Frame[V] {
	i, found := f.find(at)
	f = slices.Clone(f)
	if found {
		f[i].Value = v
		return f
	}
	return slices.Insert(f, i, Word[V]{at, v})
}

// Filter removes the words for which keep returns false.
func (f Frame[V]) Filter(keep func(*Word[V]) bool) Frame[V] {
	for i := range f {
		if keep(&f[i]) {
			continue
		}
		kept := append(make(Frame[V], 0, len(f)), f[:i]...)
		for j := i + 1; j < len(f); j++ {
			if keep(&f[j]) {
				kept = append(kept, f[j])
			}
		}
		return kept
	}
	return f
}

// Overwrite removes the words that n bytes at an offset overlap. An n of 0 means that the number is
// not known: then all words above the offset are removed too.
func (f Frame[V]) Overwrite(at int64, n int) Frame[V] {
	return f.Filter(func(w *Word[V]) bool { return w.At+wordSize <= at || n != 0 && w.At >= at+int64(n) })
}

// Join reduces a frame to what it has in common with another one, and reports whether that changed
// it. join returns what two words have in common; it receives nil for a word of which one of the
// frames knows nothing, and returns false if nothing is known of the word then.
func (f *Frame[V]) Join(from Frame[V], join func(a, b *V) (V, bool), same func(a, b V) bool) (changed bool) {
	a, b := *f, from
	if len(a) == 0 && len(b) == 0 || len(a) == len(b) && &a[0] == &b[0] {
		return false
	}
	var out Frame[V] // nil as long as it is the first n words
	n := 0
	for len(a) > 0 || len(b) > 0 {
		var x, y *V
		var at int64
		if len(a) > 0 && (len(b) == 0 || a[0].At <= b[0].At) {
			x, at = &a[0].Value, a[0].At
		}
		if len(b) > 0 && (len(a) == 0 || b[0].At <= a[0].At) {
			y, at = &b[0].Value, b[0].At
		}
		if v, ok := join(x, y); ok {
			if out == nil && n < len(*f) && (*f)[n].At == at && same((*f)[n].Value, v) {
				n++
			} else {
				if out == nil {
					out = append(make(Frame[V], 0, len(*f)+len(b)), (*f)[:n]...)
				}
				out = append(out, Word[V]{at, v})
			}
		}
		if x != nil {
			a = a[1:]
		}
		if y != nil {
			b = b[1:]
		}
	}
	if out == nil {
		out = (*f)[:n:n]
	}
	unchanged := len(out) == n && n == len(*f)
	*f = out
	return !unchanged
}
