/* SPDX-License-Identifier: MIT */
/*
 * A library's state of each thread, one variable, reached by a TLS descriptor: VGPU_TLS(type, name) in a header declares
 * it, VGPU_TLS_HERE(type, name) in one file defines it, and *name_at() is the calling thread's.
 *
 * Of the models that a library can use (Drepper, "ELF Handling For Thread-Local Storage"; Oliva and Araújo,
 * "Thread-Local Storage Descriptors"):
 *   general dynamic   calls __tls_get_addr, which in a static program that has dlopened the library is that of another,
 *                     unprepared libc: it crashes (glibc 2.36);
 *   initial exec      takes room in the static block, and dlopen fails where other libraries have used that up;
 *   descriptors       take room there while there is some, and are dynamic else. ld.so has them since glibc 2.10.
 * Clang 14 has no option for them on x86 and gcc's is -mtls-dialect=gnu2, so the sequence, which linkers know to the byte
 * and make a constant of in an executable, is written out. It stands in a function of its own for one more reason: before
 * glibc 2.40 the dynamic descriptor may lose vector registers, which belong to the callee in a call.
 *
 * glibc from 2.32 on gives descriptors 512 bytes in all: keep it small.
 */
#ifndef VGPU_TLS_H
#define VGPU_TLS_H

#define VGPU_TLS(type, name) \
	extern __attribute__((visibility("hidden"))) __thread type name; \
	__attribute__((visibility("hidden"), const)) type *name##_at(void)

#define VGPU_TLS_HERE(type, name) \
	__attribute__((visibility("hidden"), used)) __thread type name; \
	VGPU_TLS_ASM(VGPU_TLS_TEXT(name))
#define VGPU_TLS_TEXT(name) VGPU_TLS_TEXT_(name)
#define VGPU_TLS_TEXT_(name) #name
/* the stack is aligned to 16 bytes at the descriptor's call, as at any other */
#define VGPU_TLS_ASM(name) \
	__asm__(".pushsection .text\n.balign 16\n.globl " name "_at\n.hidden " name "_at\n.type " name "_at,@function\n" \
		name "_at:\n\t.cfi_startproc\n\tsubq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n" \
		"\tleaq " name "@tlsdesc(%rip), %rax\n\tcall *" name "@tlscall(%rax)\n" \
		"\taddq %fs:0, %rax\n\taddq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.cfi_endproc\n" \
		".size " name "_at, . - " name "_at\n.popsection\n")

#endif
