package elf

import (
	"slices"
	"testing"
)

func TestWithoutCutsRanges(t *testing.T) {
	all := []Range{{10, 20}, {30, 40}}
	for _, c := range []struct {
		cut  Range
		want []Range
	}{
		{Range{0, 5}, all},
		{Range{10, 15}, []Range{{15, 20}, {30, 40}}},
		{Range{12, 15}, []Range{{10, 12}, {15, 20}, {30, 40}}},
		{Range{15, 35}, []Range{{10, 15}, {35, 40}}},
		{Range{0, 50}, nil},
	} {
		if got := without(all, c.cut); !slices.Equal(got, c.want) {
			t.Errorf("without %v: %v, want %v", c.cut, got, c.want)
		}
	}
}
