# Calls of futex(2), a function each, as compilers write them. Only their code is read. A label call_NAME is the call of a
# function NAME, before_NAME and behind_NAME are where its probes are wanted.
	.text

	.macro begin name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	.endm
	.macro end name
	.cfi_endproc
	.size \name, .-\name
	.endm

	begin plain
	xor	%r10d, %r10d
before_plain:
	mov	$202, %eax
call_plain:
	syscall
behind_plain:
	ret
	end plain

	begin copied
	mov	$202, %r8d
	cmp	%esi, %edx
	je	1f
	mov	%edx, %esi
1:	nop
2:	dec	%edx
before_copied:
	mov	%r8d, %eax
call_copied:
	syscall
behind_copied:
	cmp	$-4, %eax
	je	2b
	ret
	end copied

	begin flipped
	mov	$202, %eax
before_flipped:
	xor	$0x81, %sil
call_flipped:
	syscall
behind_flipped:
	ret
	end flipped

	begin masked
	mov	$202, %eax
before_masked:
	and	$0x80, %esi
call_masked:
	syscall
behind_masked:
	ret
	end masked

	begin joined
	mov	$202, %eax
before_joined:
	or	$1, %esi
call_joined:
	syscall
behind_joined:
	ret
	end joined

	begin constant
	mov	$202, %eax
before_constant:
	mov	$0x89, %esi
call_constant:
	syscall
behind_constant:
	ret
	end constant

	begin moved
	mov	$202, %eax
before_moved:
	lea	40(%rbx), %rdi
call_moved:
	syscall
behind_moved:
	ret
	end moved

	begin fixed
	mov	$202, %eax
before_fixed:
	lea	word(%rip), %rdi
call_fixed:
	syscall
behind_fixed:
	ret
	end fixed

	begin either
	mov	$202, %r9d
	test	%edi, %edi
	je	1f
	mov	$1, %r9d
1:	nop
before_either:
	mov	%r9d, %eax
call_either:
	syscall
behind_either:
	ret
	end either

# The kernel accepts no probe at the lock prefix.
	begin locked
before_locked:
	mov	$202, %eax
call_locked:
	syscall
	lock incl (%rbx)
behind_locked:
	ret
	end locked

# The call is reached without what is before it.
	begin entered
	mov	$202, %eax
	test	%edi, %edi
	je	call_entered
	mov	%edx, %r10d
call_entered:
	syscall
	ret
	end entered

# The operation is in memory.
	begin loaded
	mov	$202, %eax
	mov	8(%rbx), %esi
call_loaded:
	syscall
	ret
	end loaded

	begin other
	mov	$1, %eax
	syscall
	ret
	end other

	begin number_from_memory
	mov	(%rbx), %eax
	syscall
	ret
	end number_from_memory

	begin passed
	mov	%rdi, %rax
	mov	%rsi, %rdi
call_passed:
	syscall
	ret
	end passed

	begin wrapped
	mov	$202, %edi
before_wrapped:
call_wrapped:
	call	wrapper
behind_wrapped:
	ret
	end wrapped

	begin wrapped_other
	mov	$39, %edi
	call	wrapper
	ret
	end wrapped_other

	begin wrapper
	mov	%rdi, %rax
call_wrapper:
	syscall
	ret
	end wrapper

# The last call of a function may be a jump.
	begin tail
	test	%edi, %edi
	jne	plain
	jmp	target
	end tail

	begin target
	ret
	end target

	.bss
word:	.zero 4
	.section .note.GNU-stack,"",@progbits
