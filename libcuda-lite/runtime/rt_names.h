/* SPDX-License-Identifier: MIT */
/*
 * In libcuda-lite.a the runtime shares one namespace with the program that links it, and hidden
 * visibility does not help there: what the files of the runtime share gets a prefix of its own.
 *
 * Included by rt.h and unsupported.c.
 */
#ifndef RT_NAMES_H
#define RT_NAMES_H

#define rt_adopt_kernel vgpu_rt_adopt_kernel
#define rt_check_device vgpu_rt_check_device
#define rt_complain vgpu_rt_complain
#define rt_copy_of vgpu_rt_copy_of
#define rt_cu vgpu_rt_cu
#define rt_describe_array vgpu_rt_describe_array
#define rt_device_count vgpu_rt_device_count
#define rt_devices vgpu_rt_devices
#define rt_enter_slow vgpu_rt_enter_slow
#define rt_find vgpu_rt_find
#define rt_find_managed vgpu_rt_find_managed
#define rt_forget_functions vgpu_rt_forget_functions
#define rt_function_slow vgpu_rt_function_slow
#define rt_host_of vgpu_rt_host_of
#define rt_init vgpu_rt_init
#define rt_kernel_slow vgpu_rt_kernel_slow
#define rt_library vgpu_rt_library
#define rt_lock_slow vgpu_rt_lock_slow
#define rt_primary vgpu_rt_primary
#define rt_resets vgpu_rt_resets
#define rt_set vgpu_rt_set
#define rt_symbol_range vgpu_rt_symbol_range
#define rt_texel_bytes vgpu_rt_texel_bytes
#define rt_translate vgpu_rt_translate
#define rt_unlock_slow vgpu_rt_unlock_slow
#define rt_unsupported vgpu_rt_unsupported
#define rt_variable vgpu_rt_variable

#endif
