package oldest_test

import (
	"testing"

	"github.com/tracepredict/tracepredict/internal/oldest"
)

func TestHalf(t *testing.T) {
	for _, c := range []struct {
		used []uint64
		want uint64
	}{{nil, 0}, {[]uint64{7}, 7}, {[]uint64{4, 1, 3, 2}, 3}, {[]uint64{1, 5, 5, 5}, 5}} {
		all := map[int]uint64{}
		for i, at := range c.used {
			all[i] = at
		}
		if got := oldest.Half(all, func(at uint64) uint64 { return at }); got != c.want {
			t.Errorf("%v: %d, want %d", c.used, got, c.want)
		}
	}
}
