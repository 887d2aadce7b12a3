package target

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Credentials are those of the user that a program runs as. They are passed as JSON to the process that becomes the
// program.
type Credentials struct {
	UID, GID int
	Groups   []int
	Name     string
	Home     string
}

// LookupUser returns the credentials of the user called name or, if name is "", of the user who
// called sudo. Nil means the tool's own user.
func LookupUser(name string) (*Credentials, error) {
	if name == "" {
		uid := os.Getenv("SUDO_UID")
		if uid == "" || os.Geteuid() != 0 || uid == "0" {
			return nil, nil
		}
		u, err := user.LookupId(uid)
		if err != nil {
			return nil, fmt.Errorf("find the user who called sudo (SUDO_UID=%s); name one with --user: %w", uid, err)
		}
		return credentials(u)
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("--user %s: %w", name, err)
	}
	c, err := credentials(u)
	if err != nil || c.UID == os.Geteuid() {
		return nil, err
	}
	return c, nil
}

func credentials(u *user.User) (*Credentials, error) {
	c := &Credentials{Name: u.Username, Home: u.HomeDir}
	var err error
	if c.UID, err = strconv.Atoi(u.Uid); err != nil {
		return nil, fmt.Errorf("user %s has the id %q: %w", u.Username, u.Uid, err)
	}
	if c.GID, err = strconv.Atoi(u.Gid); err != nil {
		return nil, fmt.Errorf("user %s has the group %q: %w", u.Username, u.Gid, err)
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("find the groups of user %s: %w", u.Username, err)
	}
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil {
			c.Groups = append(c.Groups, n)
		}
	}
	return c, nil
}

// Assume makes the calling thread run as c, irrevocably. It is for a process whose calling
// thread executes a program next, which ends all other threads. Changing the threads of the Go
// runtime too would take the cooperation of each, for which syscall.Setuid and the like can wait
// for ever in a process that is traced.
func (c *Credentials) Assume() error {
	if c.Name == "" {
		return errors.New("become another user: it was not passed on which one")
	}
	groups := make([]uint32, len(c.Groups), len(c.Groups)+1)
	for i, g := range c.Groups {
		groups[i] = uint32(g)
	}
	// Because of the spare element an empty list has an address too.
	list := unsafe.Pointer(unsafe.SliceData(groups))
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(list), 0); e != 0 {
		return fmt.Errorf("take the groups of user %s: %w", c.Name, e)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETGID, uintptr(c.GID), 0, 0); e != 0 {
		return fmt.Errorf("take the group of user %s: %w", c.Name, e)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETUID, uintptr(c.UID), 0, 0); e != 0 {
		return fmt.Errorf("become user %s: %w", c.Name, e)
	}
	return nil
}
