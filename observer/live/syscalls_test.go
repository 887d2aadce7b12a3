package live

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestSystemCallNames checks the first and the last name of each row, which shows that none
// is missing in between, and numbers beyond the tables.
func TestSystemCallNames(t *testing.T) {
	for number, want := range map[uint32]string{
		0: "read(2)", 19: "readv(2)", 202: "futex(2)", 310: "process_vm_readv(2)", 334: "rseq(2)", 335: "system call 335",
		423: "system call 423", 424: "pidfd_send_signal(2)", 449: "futex_waitv(2)", 471: "rseq_slice_yield(2)", 472: "system call 472", 65534: "system call 65534",
	} {
		if f := inKernel(number); f.Function != want || f.Module != event.KernelModule {
			t.Errorf("%d is %+v, want %s", number, f, want)
		}
	}
}
