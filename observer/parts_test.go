package observer

import (
	"reflect"
	"testing"
)

// TestPartsAreDivided checks that no part of an observer points to the observer, and that the core points to no part.
func TestPartsAreDivided(t *testing.T) {
	whole := reflect.TypeFor[Observer]()
	parts := map[reflect.Type]bool{}
	for i := range whole.NumField() {
		parts[whole.Field(i).Type] = true
	}
	core := reflect.TypeFor[core]()
	for part := range parts {
		if part.Kind() != reflect.Struct {
			continue
		}
		for i := range part.NumField() {
			f := part.Field(i)
			if f.Type.Kind() != reflect.Pointer {
				continue
			}
			if to := f.Type.Elem(); to == whole || part == core && parts[to] {
				t.Errorf("%s.%s points to %s", part, f.Name, to)
			}
		}
	}
}
