package spelling

import "testing"

func TestFile(t *testing.T) {
	for _, c := range []struct {
		have, want string
		is         bool
	}{
		{"/src/shop.c", "/src/shop.c", true},
		{"/src/shop.c", "shop.c", true},
		{"/src/lib/../shop.c", "src/./shop.c", true},
		{"/src/workshop.c", "shop.c", false},
		{"shop.c", "src/shop.c", false},
		{"", "shop.c", false},
	} {
		if got := File(c.have, c.want); got != c.is {
			t.Errorf("File(%q, %q) is %v", c.have, c.want, got)
		}
	}
}
