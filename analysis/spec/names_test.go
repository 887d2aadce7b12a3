package spec

import "testing"

// TestSameName: how a path of a specification and the name of an object may differ.
func TestSameName(t *testing.T) {
	for _, c := range []struct {
		path, name string
		want       bool
	}{
		{"hits", "hits", true},
		{"hits", "misses", false},
		{"hits", "", false},
		{"file.c:hits", "hits", true},
		{"file.c:hits", "misses", false},
		{"src/file.cc:ns::hits", "ns::hits", true},
		{"hits:u32", "hits", true},
		{"file.c:hits:u32", "hits", true},
		{"depth", "ns::Queue::depth", true},
		{"Queue::depth", "ns::Queue::depth", true},
		{"ns::Queue::depth", "ns::Queue::depth", true},
		{"pth", "ns::Queue::depth", false},
		{"server.stats.hits", "server.stats.hits", true},
		{"slots[3].state", "slots[3].state", true},
		{"slots[3].state", "slots[2].state", false},
		{"file.c:12:hits", "hits", true},
		{"src/file.c:12:hits:u32", "hits", true},
		{"libx.so:hits", "hits", true},
		{"server:hits", "hits", true},
		{"file.c:u32", "u32", true},
		{"u32:u32", "u32", true},
		{"file.c:u32", "file.c", false},
		{"table+0x10:u32", "table+16", true},
		{"table+0:u32", "table", true},
		{"server+8", "server+0x8", true},
		{"server+0x8", "server+0x8", true},
		{"table+16:u32", "table+32", false},
		{"handle.count", "handle::count", true},
		{"handle::count", "handle::count", true},
		{"file.c:handle.count", "handle::count", true},
		{"server::hits", "server.hits", false},
		{"hits", "server.hits", false},
		{"stats.hits", "server.stats.hits", false},
		{"stats.hits", "ns::stats.hits", true},
		{"::hits", "hits", true},
		{"ns::hidden", "ns::(anonymous namespace)::hidden", true},
		{"hidden", "(anonymous namespace)::hidden", true},
		{"Pool::used", "Pool<int>::used", true},
		{"Pool<int>::used", "Pool<int>::used", true},
		{"Pool<long>::used", "Pool<int>::used", false},
		{"Map::used", "Map<ns::A, B>::used", true},
		{"Map<ns::A,B>::used", "Map<ns::A, B>::used", true},
		{"", "hits", false},
	} {
		if got := SameName(c.path, c.name); got != c.want {
			t.Errorf("SameName(%q, %q) = %v", c.path, c.name, got)
		}
	}
}
