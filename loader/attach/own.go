package attach

import (
	"fmt"
	"runtime"
)

// LinkProgram creates a link of probes at offsets of a file that run another program than the Tracer's. cookies[i] is what
// the program gets at offsets[i]. The link belongs to no process until SetOwner is called.
func LinkProgram(to LinkTarget, program int, offsets, cookies []uint64) (*Link, error) {
	all := make([]offset, len(offsets))
	for i := range all {
		all[i] = offset{offsets[i], cookies[i]}
	}
	l, err := linkMulti(fmt.Sprintf("/proc/self/fd/%d", to.File.Fd()), program, false, to.Owner, all)
	runtime.KeepAlive(to.File)
	if err != nil {
		return nil, fmt.Errorf("attach the probes that stop threads to %s: %w", to.File.Name(), err)
	}
	return l, nil
}
