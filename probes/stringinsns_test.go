package probes

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// stringText returns what a site of a string instruction observes: the operation, where the probe is, the register
// with the address, and how many bytes.
func stringText(s *Site) string {
	d := &s.BPF.Access
	name := func(r uint8) string {
		return [...]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}[r]
	}
	where := "before"
	if s.Addr > s.At {
		where = "behind"
	} else if s.Addr == s.At {
		where = "at"
	}
	text := fmt.Sprintf("%v %s", bpf.Op(s.BPF.Op), where)
	object := name(s.BPF.ObjectReg)
	if s.BPF.ObjectDisp != 0 {
		object += fmt.Sprintf("%+d", s.BPF.ObjectDisp)
	}
	switch bpf.Reach(d.Reach) {
	case bpf.ReachRemember:
		return text + " remember " + object
	case bpf.ReachRange, bpf.ReachString:
	default:
		return text + " ?"
	}
	text += fmt.Sprintf(" %s: %d", object, int32(d.Span))
	if bpf.Reach(d.Reach) == bpf.ReachString {
		text += fmt.Sprintf(" * (%d", int64(d.Imm))
	}
	switch {
	case d.Times == bpf.TimesRemembered:
		text += " + remembered"
	case d.Times > 0 && bpf.Reach(d.Reach) == bpf.ReachString:
		text += " + " + name(d.Times-1)
	case d.Times > 0:
		text += " * " + name(d.Times-1)
	}
	if d.Extra > 0 {
		text += " - " + name(d.Extra-1)
	}
	if bpf.Reach(d.Reach) == bpf.ReachString {
		text += ")"
	}
	return text
}

// TestStringInstructions checks where the probes of string instructions with a repeat prefix sit, and what they
// read: never at the instruction, where they would be hit in each iteration.
func TestStringInstructions(t *testing.T) {
	for _, x := range []struct {
		name, code string
		want       []string
		unseen     bool
	}{
		{"constant", "mov $5,%ecx; mov %rdx,%rsi; mov %rax,%rdi; rep movsq; nop",
			[]string{"read before rdx: 40", "write before rax: 40"}, false},
		{"own frame", "mov $5,%ecx; lea -64(%rsp),%rdi; rep stosq; nop", nil, false},
		{"offset", "mov $5,%ecx; lea 24(%rdx),%rdi; rep stosl; nop", []string{"write before rdx+24: 20"}, false},
		{"argument", "mov %rdx,%rcx; rep movsb; nop", []string{"read before rsi: 1 * rdx", "write before rdi: 1 * rdx"}, false},
		{"computed", "mov %rdx,%rcx; shr $3,%rcx; rep movsq; nop", []string{"read before remember rdi", "write before remember rdi", "read behind rsi: -1 * (0 + remembered - rdi)", "write behind rdi: -1 * (0 + remembered - rdi)"}, false},
		{"computed, copied", "lea 8(%rax),%rdi; shr $3,%rcx; rep stosq; nop", []string{"write behind rdi: -1 * (8 + rax - rdi)"}, false},
		{"searched", "mov $-1,%rcx; repne scasb; nop", []string{"read behind rdi: 1 * (-1 - rcx)"}, false},
		{"compared", "mov %rdx,%rcx; repe cmpsb; nop", []string{"read behind rsi: 1 * (0 + rdx - rcx)", "read behind rdi: 1 * (0 + rdx - rcx)"}, false},
		{"jumped to", "1: rep stosb; dec %edx; jnz 1b", nil, true},
		{"downwards", "mov $5,%ecx; std; rep stosb; cld", nil, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			source := "void f(void);\nasm(\".text; .globl f; .type f,@function; f: " + x.code + "; ret; .size f,.-f\");\nint main(void) { f(); return 0; }\n"
			p := plan(t, build(t, "gcc", source, "-O1", "-g"), Options{Atomics: true, Pointers: true})
			var got []string
			for i := range p.Sites {
				if s := &p.Sites[i]; s.Program == ProgramPointer && s.Function == "f" {
					if want := p.File.Arch().Arguments()[s.Argument-1]; bpf.Reach(s.BPF.Access.Reach) == bpf.ReachString && want != insn.Reg(s.BPF.ObjectReg) {
						t.Errorf("argument %d of %s", s.Argument, stringText(s))
					}
					got = append(got, stringText(s))
				}
			}
			if diff := cmp.Diff(x.want, got); diff != "" || (len(p.Notes) > 0) != x.unseen {
				t.Errorf("%s (notes: %q)", diff, plural.Texts(p.Notes))
			}
		})
	}
}
