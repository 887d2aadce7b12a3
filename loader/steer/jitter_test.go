package steer

import (
	"reflect"
	"testing"
	"time"
)

// drawn returns what a thread is asked for in a run: where it is stopped, and when it goes on, each time.
func drawn(seed uint64, path []int) (all []any) {
	d, now := NewDelays(Jitter{seed}, 2), time.Unix(1, 0)
	all = append(all, d.Created(7, path), d.Begins(7, now))
	for range maxDelays {
		d.Tick(now.Add(maxDelay))
		again := d.Came(7, 1, now)
		all = append(all, again, d.threads[7].until)
	}
	return all
}

// TestJitterRepeats: equal seeds are equal delays of a thread, whatever its number is; others are others.
func TestJitterRepeats(t *testing.T) {
	if !reflect.DeepEqual(drawn(5, []int{0, 1}), drawn(5, []int{0, 1})) {
		t.Error("the same seed draws other delays")
	}
	if reflect.DeepEqual(drawn(5, []int{0, 1}), drawn(6, []int{0, 1})) || reflect.DeepEqual(drawn(5, []int{0, 1}), drawn(5, []int{1})) {
		t.Error("another seed, or another thread, draws the same delays")
	}
}

// TestJitterEnds: a thread that is held goes on after maxDelay, begins once, and is delayed a bounded number of times.
func TestJitterEnds(t *testing.T) {
	now := time.Unix(1, 0)
	begun := 0
	for seed := range uint64(20) {
		d := NewDelays(Jitter{seed}, 1)
		if got := d.Created(7, nil); len(got) != 1 || got[0].In != 1 {
			t.Fatalf("%+v", got)
		}
		if d.Begins(7, now) {
			begun++
			if !d.Holds() || len(d.Tick(now.Add(maxDelay))) != 1 || d.Holds() {
				t.Errorf("seed %d: it does not begin", seed)
			}
		}
		if d.Begins(7, now) {
			t.Errorf("seed %d: it begins twice", seed)
		}
		for n := 1; ; n++ {
			again := d.Came(7, 0, now)
			if !d.Holds() || !reflect.DeepEqual(d.Tick(now.Add(maxDelay)), []int{7}) || d.Holds() {
				t.Errorf("seed %d: it does not go on", seed)
			}
			if len(again) == 0 {
				if n != maxDelays {
					t.Errorf("seed %d: delayed %d times", seed, n)
				}
				break
			}
			if again[0].In < 1 || again[0].In > 1<<n {
				t.Errorf("seed %d: the next is call %d", seed, again[0].In)
			}
		}
		d.Came(7, 0, now)
		if d.Ended(7); d.Holds() || d.Knows(7) || d.Begins(7, now) {
			t.Errorf("seed %d: it has not ended", seed)
		}
	}
	if begun == 0 || begun == 20 {
		t.Errorf("%d of 20 begin late", begun)
	}
}
