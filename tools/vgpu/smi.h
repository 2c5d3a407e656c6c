/* SPDX-License-Identifier: MIT */
/* vgpu smi: what its parts share. */
#ifndef VGPU_SMI_H
#define VGPU_SMI_H

#include "vgpu.h"

#define SMI_UUID 48
#define SMI_NA "[N/A]"

struct smi {
	enum { SMI_TABLE, SMI_JSON, SMI_LIST, SMI_LOG, SMI_GPUS, SMI_APPS, SMI_SET, SMI_ABSENT } what;
	int xml, again;                         /* again: not the first of a loop */
	const char *sections, *ids, *file, *fields, *format;
	unsigned loop_ms;
	unsigned setting;                       /* of SMI_SET and SMI_ABSENT (smi_set.c) */
	const char *value;
	/* of each answer */
	char path[128];
	struct agent_status s;
	uint8_t chosen[VGPU_MAX_DEVICES];
};

int smi_ask(struct smi *o);                     /* exit status; agent_status_free(&o->s) after 0 */
/* o->chosen by o->ids; 6 (nvidia-smi's: an object was not found) after saying so. */
int smi_choose(struct smi *o);
void smi_list(const struct smi *o);
void smi_log(const struct smi *o);
int smi_csv(const struct smi *o);
const char *smi_no_section(const char *list);
int smi_help_query(int gpus);
int smi_watch(int argc, char **argv);
int smi_topo(int argc, char **argv);
/* Of argv[*i], and a value behind it: 1; 0: it is none of these, -1: not a value of it. */
int smi_option_of(struct smi *o, int argc, char **argv, int *i);
int smi_set(const struct smi *o);
int smi_absent_field(const struct smi *o, const char *name, size_t n);
int smi_other(const char *name);                /* exit status of a subcommand that is not ours; -1: nor nvidia-smi's */

void smi_uuid(char out[SMI_UUID], const uint8_t u[16]);
void smi_bus_id(char out[32], const char *id);  /* with eight digits of the domain */
/* "13.1": what cuDriverGetVersion answers with these devices; s NULL: ours */
#define SMI_CUDA 16
const char *smi_cuda(char out[SMI_CUDA], const struct agent_status *s);
void smi_now(char *out, size_t n, const char *form);
static inline unsigned smi_percent(uint32_t permille) { return (permille + 5) / 10; }
/* What /proc says, else what the agent knows: the program's name as it was called; all of its words. Printable. */
const char *smi_process(unsigned pid, const char *comm, char *out, size_t n);
const char *smi_command_line(unsigned pid, const char *comm, char *out, size_t n);
/* A process with its contexts on one device. */
struct smi_process {
	unsigned pid, device, permille;
	uint64_t memory;
	const char *comm;
};
/* Of the chosen devices, by device and pid; malloc'ed. */
struct smi_process *smi_processes(const struct smi *o, unsigned *n);

#endif
