/* SPDX-License-Identifier: MIT */
/*
 * A device core: what a context leaves of a fault, and what vgpu debug is shown at every stop. An ELF file (ET_CORE, EM_CUDA) of
 *
 *   PT_NOTE  notes named "VGPU": VGPU_CORE_STATE once, VGPU_CORE_PTX for each function that is being executed
 *   PT_LOAD  memory of the device, each at its address: the block's shared and local memory, and what registers point to (p_flags says
 *            which: VGPU_CORE_SHARED ...)
 *
 * State is text, one fact a line, a word and its values; a reader passes by words that it does not know. Numbers are decimal, values of
 * registers, masks of lanes and addresses are hexadecimal.
 *
 *   vgpu-core 1                    first
 *   release VERSION
 *   why TEXT                       "breakpoint 1", or the fault in words
 *   kernel NAME                    and: launch N; grid X Y Z; block X Y Z (its shape); at X Y Z (which block); thread X Y Z
 *   address A                      of an illegal or misaligned access
 *   shared A BYTES                 and: local A STRIDE, thread by thread
 *   param NAME OFFSET BYTES        of the kernel, as they lie in memory
 *   warp N LIVE                    then what belongs to it:
 *   frame DEPTH LANES NAME           0 is the innermost; of each:
 *   group LANES STATE LINE SOURCE CODE    where these lanes are: running, waiting, barrier, parked, calling; SOURCE is FILE:LINE or -
 *   reg NAME TYPE all V              the same in every lane, or "each" and a value for each of 32 lanes
 *   partly                         compiled code had registers that are not told; lanes whose values are not known have "-"
 *   end                            last; without it something was left out for want of room
 *
 * A PTX note is "NAME LINE\n" and the function's text from that line on.
 */
#ifndef VGPU_CORE_H
#define VGPU_CORE_H

#define VGPU_CORE_STATE 1u
#define VGPU_CORE_PTX 2u
#define VGPU_CORE_SHARED 0x00100000u    /* of PF_MASKOS */
#define VGPU_CORE_LOCAL 0x00200000u
#define VGPU_CORE_GLOBAL 0x00400000u
#define VGPU_CORE_NAME "VGPU"
#define VGPU_CORE_MACHINE 190u          /* EM_CUDA */
#define VGPU_CORE_MOST (48u << 20)      /* bytes of one */

#endif
