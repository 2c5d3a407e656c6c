/* SPDX-License-Identifier: MIT */
/*
 * vgpu: one binary, one table of subcommands. What they share stands here: the JSON writer, the
 * connection to an agent, and a private device + agent for one command.
 */
#ifndef VGPU_TOOL_H
#define VGPU_TOOL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "../../fw-protocol/vgpu_reach.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);      /* exit status */
	const char *summary;
};
int cmd_run(int argc, char **argv);
int cmd_sanitizer(int argc, char **argv);
int cmd_cc(int argc, char **argv);
int cmd_smi(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_toolkit(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_cdi(int argc, char **argv);
int cmd_debug(int argc, char **argv);

/* A pipe that nobody reads is a write error to us; what we start gets the signal as it was. Before every exec. */
void sigpipe_as_before(void);
int cmd_env(int argc, char **argv);
int cmd_ptxas(int argc, char **argv);
int cmd_nvlink(int argc, char **argv);

/* "vgpu: ..." on stderr. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A word behind a subcommand that is none of its own: said in one line; 2. */
int misused(const char *subcommand, const char *word);

/* What is no printable UTF-8 becomes '?' (plain.c). */
void printable(char *text);

/* ---- json.c: writes one object to stdout, commas and escapes by itself ---- */
struct json {
	FILE *out;
	int depth, first[16];
};
void json_open(struct json *j, const char *key, char bracket);  /* key NULL inside arrays */
void json_close(struct json *j, char bracket);
void json_str(struct json *j, const char *key, const char *s);
void json_u64(struct json *j, const char *key, uint64_t v);
void json_us(struct json *j, const char *key, uint64_t ns);     /* microseconds, three decimals */
void json_f(struct json *j, const char *key, double v);         /* NaN becomes null */

/* ---- agent.c: the agent's socket as a monitor sees it ---- */
/* Path of the socket an agent answers on, by the clients' search order; NULL if none answers. */
const char *agent_find(char *buf, size_t bytes);
int agent_answers(const char *path);
/* Whether that agent can be used; if not, why (it begins with the path) and what mends it. */
struct agent_reach {
	enum vgpu_reach is;
	char why[400], fix[400];
};
enum vgpu_reach agent_reach(const char *path, struct agent_reach *r);
/* Of all places where clients look, the most telling answer; OK with the path in buf. */
enum vgpu_reach agent_search(char *buf, size_t bytes, struct agent_reach *r);
struct agent_status {
	struct vgpu_msg_hello_r hello;
	struct vgpu_msg_status_r status;        /* totals; its client array is not used */
	struct vgpu_device_info device[VGPU_MAX_DEVICES];       /* lost ones too: load.device[i].state says it */
	struct vgpu_msg_load_r load;
	unsigned devices, clients, contexts, gates;
	int closed;                     /* only who is admitted comes in */
	struct vgpu_msg_client *client;         /* malloc'ed, as the next */
	struct vgpu_msg_context *context;
	struct vgpu_gate *gate;
	struct vgpu_work *work;                 /* of each context; NULL of an agent that does not say */
	struct vgpu_msg_times_r times[VGPU_MAX_DEVICES];        /* of each device; all zero where nothing is said */
};
/* 0 or -errno; says what went wrong. agent_status_free() afterwards. Texts in it end within their fields. */
int ctl_ask(const char *path, enum vgpu_ctl_op op, unsigned target, unsigned value);  /* ctl.c: exit status, said */
int agent_status(const char *path, struct agent_status *out);
/* A monitor's connection, HELLO said; or -errno. */
int agent_connect(const char *path);
/* Does every device of it run the machine code of NVIDIA's GPUs (engine cuda)? */
int agent_takes_cubins(const char *path);
void agent_status_free(struct agent_status *s);
unsigned agent_ready(const struct agent_status *s);     /* devices that are not lost */

/* ---- private.c: a vgpu-stub and a vgpu-agent that live as long as one command ---- */
struct private_gpu {
	char dir[108];          /* temporary folder with both sockets */
	char agent[108 + 16];
	pid_t stub_pid, agent_pid;
};
int private_start(struct private_gpu *p, char *const stub_args[], int verbose);
int private_start_with(struct private_gpu *p, char *const stub_args[], char *const agent_args[], int verbose);
void private_stop(struct private_gpu *p);

/* What vgpu run preloads: file names in our lib folder, NULL-terminated. */
extern const char *const run_preload[];
#define RUN_AUDIT "libvgpu-turn.so"     /* and its LD_AUDIT */

/* Folders next to this binary: <prefix>/bin and <prefix>/lib; installed, <prefix>/lib/vgpu. */
int tool_path(char *buf, size_t bytes, const char *folder, const char *name);

#endif
