package main

import (
	"errors"
	"io"
	"os"
	"testing"
)

// TestKept checks that a trace that is kept for the end of the run ends, and gives back its space, when there is no
// room for it, and that the run goes on.
func TestKept(t *testing.T) {
	keep := func(room int64) *kept {
		file, err := unnamedFile()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return &kept{file: file, room: room}
	}
	write := func(k *kept) (size int64) {
		for range 3 {
			if n, err := k.Write(make([]byte, 10)); n != 10 || err != nil {
				t.Errorf("a write of 10 bytes: %d, %v", n, err)
			}
		}
		size, err := k.file.Seek(0, io.SeekEnd)
		if err != nil {
			t.Fatal(err)
		}
		return size
	}
	whole := keep(30)
	if size := write(whole); size != 30 || whole.why != nil {
		t.Errorf("with room: %d bytes, %v", size, whole.why)
	}
	long := keep(29)
	if size := write(long); size != 0 || !errors.Is(long.why, errTooLong) {
		t.Errorf("too long: %d bytes, %v", size, long.why)
	}
	t.Setenv("TMPDIR", "/dev/null")
	if k := newKept(); k.why == nil || k.close() != nil {
		t.Errorf("a place without files: %+v", k)
	} else if n, err := k.Write(make([]byte, 10)); n != 10 || err != nil {
		t.Errorf("a place without files: %d, %v", n, err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	disk := &kept{file: full, room: 30}
	if n, err := disk.Write(make([]byte, 10)); n != 10 || err != nil || disk.why == nil {
		t.Errorf("a full disk: %d, %v, kept %v", n, err, disk.why)
	}
}
