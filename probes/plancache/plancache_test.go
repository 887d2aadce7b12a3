package plancache

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

func key(s string) Key { return sha256.Sum256([]byte(s)) }

// noise returns bytes that cannot be compressed.
func noise(n int, seed uint64) []byte {
	r, b := rand.New(rand.NewPCG(seed, 0)), make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func open(t *testing.T, dir string) *Cache {
	t.Helper()
	c, err := OpenIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func store(t *testing.T, c *Cache, name string, data []byte) {
	t.Helper()
	if err := c.Store(key(name), data); err != nil {
		t.Fatal(err)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	if b := c.Load(key("a")); b != nil {
		t.Errorf("an empty cache has %q", b)
	}
	store(t, c, "a", []byte("one"))
	store(t, c, "b", noise(100_000, 1))
	store(t, c, "a", []byte("two"))
	for _, c := range []*Cache{c, open(t, dir)} {
		if b := c.Load(key("a")); string(b) != "two" {
			t.Errorf("a is %q", b)
		}
		if b := c.Load(key("b")); !bytes.Equal(b, noise(100_000, 1)) {
			t.Errorf("b has %d bytes", len(b))
		}
		if b := c.Load(key("c")); b != nil {
			t.Errorf("c is %q", b)
		}
	}
	var none *Cache
	if err := none.Store(key("a"), nil); err != nil || none.Load(key("a")) != nil || none.Close() != nil {
		t.Error("a nil cache is not empty")
	}
}

// TestDamage damages each byte of the file in turn: an entry is what was stored, or it is not there. A new one
// can be stored afterwards.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	store(t, c, "a", []byte("content of a"))
	store(t, c, "b", []byte("content of b"))
	path := filepath.Join(dir, fileName)
	intact, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(t *testing.T, what string, at int) {
		t.Helper()
		for _, name := range []string{"a", "b"} {
			if b := c.Load(key(name)); b != nil && string(b) != "content of "+name {
				t.Fatalf("%s at %d: %s is %q", what, at, name, b)
			}
		}
		store(t, c, "c", []byte("content of c"))
		if b := c.Load(key("c")); string(b) != "content of c" {
			t.Fatalf("%s at %d: c, stored later, is %q", what, at, b)
		}
	}
	for i := range intact {
		damaged := bytes.Clone(intact)
		damaged[i] ^= 0x40
		for what, b := range map[string][]byte{"a bit": damaged, "an end": intact[:i]} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			check(t, what, i)
		}
	}
}

// TestRoom stores more than there is room for: the newest entries are there, and the file is not larger.
func TestRoom(t *testing.T) {
	c := open(t, t.TempDir())
	c.max = 10_000
	for i := range 40 {
		name := string(rune('A' + i))
		store(t, c, name, noise(900, uint64(i)))
		st, err := c.file.Stat()
		if err != nil || st.Size() > c.max {
			t.Fatalf("after %d entries the file has %d bytes (%v)", i+1, st.Size(), err)
		}
		for back := range min(i+1, 4) {
			if b := c.Load(key(string(rune('A' + i - back)))); !bytes.Equal(b, noise(900, uint64(i-back))) {
				t.Fatalf("after %d entries the one %d before is not there", i+1, back)
			}
		}
	}
	if b := c.Load(key("A")); b != nil {
		t.Error("the first entry is still there")
	}
	store(t, c, "large", noise(20_000, 1))
	if b := c.Load(key("large")); b != nil {
		t.Error("an entry that is larger than the file may be was stored")
	}
}

func TestWhoseDirectory(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, parent string)
		ok      bool
	}{
		{"new", func(*testing.T, string) {}, true},
		{"existing", func(t *testing.T, p string) { mkdir(t, filepath.Join(p, "tracepredict"), 0o700) }, true},
		{"readable by others", func(t *testing.T, p string) { mkdir(t, filepath.Join(p, "tracepredict"), 0o755) }, false},
		{"parent writable by others", func(t *testing.T, p string) { mkdir(t, p, 0o777) }, false},
		{"parent sticky", func(t *testing.T, p string) { mkdir(t, p, 0o777|os.ModeSticky) }, true},
		{"a file", func(t *testing.T, p string) {
			mkdir(t, p, 0o700)
			if err := os.WriteFile(filepath.Join(p, "tracepredict"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"of another user", func(t *testing.T, p string) {
			mkdir(t, filepath.Join(p, "tracepredict"), 0o700)
			if err := os.Chown(filepath.Join(p, "tracepredict"), 12345, 12345); err != nil {
				t.Skip("only root can make a directory of another user: ", err)
			}
		}, false},
		{"parent of another user", func(t *testing.T, p string) {
			mkdir(t, p, 0o700)
			if err := os.Chown(p, 12345, 12345); err != nil {
				t.Skip("only root can make a directory of another user: ", err)
			}
		}, false},
		{"link to a directory of another user", func(t *testing.T, p string) {
			mkdir(t, p, 0o700)
			theirs := filepath.Join(t.TempDir(), "theirs")
			mkdir(t, theirs, 0o700)
			if err := os.Chown(theirs, 12345, 12345); err != nil {
				t.Skip("only root can make a directory of another user: ", err)
			}
			if err := os.Symlink(theirs, filepath.Join(p, "tracepredict")); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := filepath.Join(t.TempDir(), "cache")
			c.prepare(t, parent)
			dir, err := safeDirectory(parent)
			if (err == nil) != c.ok {
				t.Fatalf("%q, %v", dir, err)
			}
		})
	}
}

func mkdir(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestWhoseFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	if err := os.Symlink("/etc/passwd", path); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenIn(dir); err == nil {
		t.Error("a symbolic link was opened")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenIn(dir); err == nil {
		t.Error("a file that others can write was opened")
	}
}

// FuzzPlaces reads files of any content.
func FuzzPlaces(f *testing.F) {
	dir := f.TempDir()
	c, err := OpenIn(dir)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"", "some content", "some other content"} {
		if err := c.Store(key(s), []byte(s)); err != nil {
			f.Fatal(err)
		}
	}
	c.Close()
	b, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		all, end := places(bytes.NewReader(b), 0, int64(len(b)))
		if end > int64(len(b)) {
			t.Fatalf("%d bytes end at %d", len(b), end)
		}
		for _, p := range all {
			_, _ = content(bytes.NewReader(b), p)
		}
	})
}

// TestOtherRunMovesEntries has one run fill the file, so that entries move and go, while another one reads: it finds what is
// there, and nothing else.
func TestOtherRunMovesEntries(t *testing.T) {
	dir := t.TempDir()
	var caches [2]*Cache
	for i := range caches {
		c, err := OpenIn(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.max = 4096
		caches[i] = c
	}
	writer, reader := caches[0], caches[1]
	content := func(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(i * 7), byte(i * 31)}, 20+i%50) }
	for i := range 200 {
		if err := writer.Store(Key{byte(i)}, content(i)); err != nil {
			t.Fatal(err)
		}
		if got := reader.Load(Key{byte(i)}); !bytes.Equal(got, content(i)) {
			t.Fatalf("entry %d, just stored: %x", i, got)
		}
		for j := range i {
			if got := reader.Load(Key{byte(j)}); got != nil && !bytes.Equal(got, content(j)) {
				t.Fatalf("entry %d after %d: %x", j, i, got)
			}
		}
	}
}
